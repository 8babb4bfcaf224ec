"""A definition as a graph: edges in and out, what can be reached, and what lies on a cycle (spec 2.4, 3.6)."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from webapp.engine.definitions.model import Transition, WorkflowDefinition


class DefinitionGraph:
    """Nodes by id and transitions between nodes that exist; conditions are ignored.

    Of several nodes with one id the first counts. Everything here is a loop: a chain of 2,000 nodes is legal.
    """

    def __init__(self, definition: WorkflowDefinition) -> None:
        self._outgoing: dict[str, list[Transition]] = {node.id: [] for node in definition.nodes}
        self._incoming: dict[str, list[Transition]] = {node.id: [] for node in definition.nodes}
        # sorted() is stable: transitions of one priority stay in the order of the definition (spec 1.3).
        for transition in sorted(definition.transitions, key=lambda transition: transition.priority):
            source, target = transition.source_node_id, transition.target_node_id
            if source in self._outgoing and target in self._incoming:
                self._outgoing[source].append(transition)
                self._incoming[target].append(transition)

    def outgoing(self, node_id: str) -> tuple[Transition, ...]:
        """Return the transitions that leave a node, by priority."""
        return tuple(self._outgoing.get(node_id, ()))

    def incoming(self, node_id: str) -> tuple[Transition, ...]:
        """Return the transitions that lead to a node, by priority."""
        return tuple(self._incoming.get(node_id, ()))

    def reachable(self, *starts: str, without: Container[str] = ()) -> frozenset[str]:
        """Return the nodes that can be reached from any of *starts*, themselves included, never entering *without*."""
        return frozenset(_closure(starts, self._targets, without))

    def leading_to(self, node_id: str) -> frozenset[str]:
        """Return the nodes from which a node can be reached, itself included."""
        return frozenset(_closure((node_id,), self._sources))

    def cycles(self, without: Iterable[str] = ()) -> list[frozenset[str]]:
        """Return the strongly connected parts that hold a cycle, in the order of their first node (Kosaraju).

        Nodes of *without* count as if they were not there.
        """
        found = []
        placed = set(without)
        for root in reversed(self._finished(without)):
            if root in placed:
                continue
            part = _closure((root,), self._sources, placed)
            placed |= part
            if len(part) > 1 or root in self._targets(root):
                found.append(frozenset(part))
        order = {node_id: index for index, node_id in enumerate(self._outgoing)}
        return sorted(found, key=lambda part: min(order[node_id] for node_id in part))

    def _targets(self, node_id: str) -> list[str]:
        return [transition.target_node_id for transition in self._outgoing.get(node_id, ())]

    def _sources(self, node_id: str) -> list[str]:
        return [transition.source_node_id for transition in self._incoming.get(node_id, ())]

    def _finished(self, without: Iterable[str]) -> list[str]:
        """Return all nodes but *without* in the order in which a depth-first walk leaves them."""
        finished: list[str] = []
        seen = set(without)
        for root in self._outgoing:
            waiting = [(root, False)]
            while waiting:
                node_id, done = waiting.pop()
                if done:
                    finished.append(node_id)
                elif node_id not in seen:
                    seen.add(node_id)
                    waiting.append((node_id, True))
                    waiting.extend((target, False) for target in self._targets(node_id))
        return finished


def _closure(
    starts: Iterable[str], following: Callable[[str], Iterable[str]], without: Container[str] = ()
) -> set[str]:
    """Return *starts* and all that follows from them, never entering *without*."""
    reached: set[str] = set()
    waiting = list(starts)
    while waiting:
        node_id = waiting.pop()
        if node_id not in reached and node_id not in without:
            reached.add(node_id)
            waiting.extend(following(node_id))
    return reached
