"""A definition as a graph: edges in and out, what can be reached, and what lies on a cycle (spec 2.4, 3.6)."""

from __future__ import annotations

import copy
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

    def forward(self, start: str) -> DefinitionGraph:
        """Return the graph without the transitions that close a loop, as a walk from *start* meets them.

        What can be reached in it from somewhere is what a token there may still come to in the same round.
        """
        closing = self._closing(start)
        forward = copy.copy(self)
        forward._outgoing = _except(closing, self._outgoing)
        forward._incoming = _except(closing, self._incoming)
        return forward

    def edges_into(self, node_id: str, starts: Iterable[str], walls: Container[str] = ()) -> set[str]:
        """Return the transitions into a node by which what leaves any of *starts* can come there, the first time.

        Nothing comes through *walls*; a start is left even when it is one.
        """
        found, seen = set[str](), set[str]()
        waiting = list(starts)
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            for transition in self._outgoing.get(at, ()):
                if transition.target_node_id == node_id:
                    found.add(transition.id)
                elif transition.target_node_id not in walls:
                    waiting.append(transition.target_node_id)
        return found

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

    def _closing(self, start: str) -> set[str]:
        closing, done, on_the_way = set[str](), set[str](), set[str]()
        waiting = [(node_id, False) for node_id in (*reversed(list(self._outgoing)), start)]
        while waiting:
            node_id, left = waiting.pop()
            if left:
                on_the_way.discard(node_id)
                done.add(node_id)
            elif node_id not in done and node_id not in on_the_way:
                on_the_way.add(node_id)
                waiting.append((node_id, True))
                for edge in reversed(self._outgoing[node_id]):
                    if edge.target_node_id in on_the_way:
                        closing.add(edge.id)
                    elif edge.target_node_id not in done:
                        waiting.append((edge.target_node_id, False))
        return closing

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


def _except(closing: set[str], edges: dict[str, list[Transition]]) -> dict[str, list[Transition]]:
    return {node_id: [one for one in of_node if one.id not in closing] for node_id, of_node in edges.items()}


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
