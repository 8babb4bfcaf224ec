"""Where the tokens of an instance stand, and what they can still come to in this round (spec 3.20, 3.22).

A token is an execution that waits, an item of the queue, or what has arrived at a Join that has not fired. Each may be
*late* for some Joins: those swallow it, for what they were waiting for has gone on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from webapp.engine.activities.compiled import START
from webapp.engine.definitions.graph import DefinitionGraph
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import JoinState, NodeInstance, NodeStatus, PendingToken, WorkflowInstance
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.queue import LATE, Fresh, Item, Retrial
from webapp.engine.runtime.resubmission import way_of

Touch = Callable[[str], NodeInstance | None]


class Token:
    """One token: the node that it stands on, the Joins that it is late for, and what holds it."""

    __slots__ = ("_holder", "_touch", "late", "node_id")

    def __init__(
        self,
        node_id: str,
        late: Iterable[str] = (),
        holder: NodeInstance | Fresh | JoinState | PendingToken | None = None,
        touch: Touch | None = None,
    ) -> None:
        self.node_id = node_id
        self.late = list(late)
        self._holder = holder
        self._touch = touch

    def mark(self, join_id: str) -> None:
        """Let the token be late for a Join."""
        if join_id not in self.late:
            self._keep([*self.late, join_id])

    def unmark(self, join_id: str) -> None:
        """Let the token be in time for a Join."""
        if join_id in self.late:
            self._keep([one for one in self.late if one != join_id])

    def _keep(self, late: list[str]) -> None:
        self.late = late
        holder = self._holder
        if isinstance(holder, NodeInstance):
            own = None if self._touch is None else self._touch(holder.id)
            if own is not None:
                own.state[LATE] = late
        elif holder is not None:
            holder.late = late


def is_live(wave: WaveState, node_instance: NodeInstance) -> bool:
    """Whether an execution holds a token: it runs, it waits, or it waits for its next attempt."""
    if node_instance.status is NodeStatus.FAULTED:
        waits = wave.waits.of_node(node_instance.id)
        return any(bookmark.kind is BookmarkKind.RETRY for bookmark in waits)
    return node_instance.status.active


def tokens_of(wave: WaveState, items: Iterable[Item] = ()) -> list[Token]:
    """Return where the instance's tokens stand now; *items*: the queue of the wave."""
    live = [one for one in wave.known_nodes() if is_live(wave, one)]
    return standing(wave.instance, live, items, wave.touch)


def standing(
    instance: WorkflowInstance,
    executions: Collection[NodeInstance],
    items: Iterable[Item] = (),
    touch: Touch | None = None,
) -> list[Token]:
    """Return the tokens of an instance; *executions* are those that hold one, *items* the queue of its wave."""
    found = [of_execution(one, touch) for one in executions]
    known = {one.id for one in executions}
    for item in items:
        if isinstance(item, Fresh):
            found.append(Token((item.back or [item.node.id])[-1], item.late or (), item))
        elif isinstance(item, Retrial) and item.node_instance_id not in known and touch is not None:
            failed = touch(item.node_instance_id)
            found += [] if failed is None else [of_execution(failed, touch)]
    found += [Token((one.back or [one.node_id])[-1], one.late, one) for one in instance.pending_tokens]
    found += [Token(node_id, one.late, one) for node_id, one in instance.join_states.items() if not one.fired]
    return found


def of_execution(execution: NodeInstance, touch: Touch | None = None) -> Token:
    """Return the token that an execution holds; what goes straight back stands where it then goes on."""
    at = [execution.node_id, *way_of(execution)]
    return Token(at[-1], execution.state.get(LATE, ()), execution, touch)


def awaited(definition: WorkflowDefinition, snapshot: InstanceSnapshot, join_id: str) -> list[str]:
    """Return the transitions that an unfired Join waits for, those that have arrived among them, in their order.

    All that lead to it; once its tokens were moved, those by which a token can still come.
    """
    graph, instance = DefinitionGraph(definition), snapshot.instance
    incoming = [transition.id for transition in graph.incoming(join_id)]
    start = next((node.id for node in definition.nodes if node.activity_type == START), None)
    if join_id not in instance.loosened_joins or start is None:
        return incoming
    reach = Reach(graph.forward(start), instance.join_states)
    coming = reach.coming(join_id, standing(instance, snapshot.node_instances))
    return [one for one in incoming if one in coming or one in instance.join_states[join_id].arrived]


class Reach:
    """What tokens can come to: nothing comes through a Join that swallows it."""

    def __init__(self, forward: DefinitionGraph, joins: Mapping[str, JoinState]) -> None:
        self._forward = forward
        self._fired = {node_id for node_id, state in joins.items() if state.fired}

    def coming(self, join_id: str, tokens: Iterable[Token]) -> set[str]:
        """Return the transitions by which any of *tokens* can come to a Join in this round."""
        groups: dict[frozenset[str], list[str]] = {}
        for token in tokens:
            if join_id not in token.late:
                groups.setdefault(frozenset(token.late), []).append(token.node_id)
        found = set[str]()
        for late, starts in groups.items():
            found |= self._forward.edges_into(join_id, starts, self._fired | late)
        return found

    def is_behind(self, node_id: str, other: str) -> bool:
        """Whether a token comes from one node to the other in one round."""
        return other in self._forward.reachable(node_id)


def shared_late(reach: Reach, tokens: list[Token]) -> list[str]:
    """Return the Joins that the one token which *tokens* become is late for: none of them could go on there.

    Who is swallowed before it comes to a Join does not bring the others in time for that.
    """
    late = dict.fromkeys(join_id for token in tokens for join_id in token.late)
    return [join_id for join_id in late if all(_is_kept_out(reach, join_id, token) for token in tokens)]


def _is_kept_out(reach: Reach, join_id: str, token: Token) -> bool:
    if join_id in token.late:
        return True
    return not reach.coming(join_id, [token]) and bool(reach.coming(join_id, [Token(token.node_id)]))


def inherited_late(reach: Reach, tokens: list[Token], target: str) -> list[str]:
    """Return what the token on *target* that stands for all of *tokens* is late for.

    What goes back to before the split begins a new wave of the Join: it can come there by more transitions than what
    was late could.
    """
    kept = []
    for join_id in shared_late(reach, tokens):
        before = reach.coming(join_id, [Token(token.node_id) for token in tokens])
        now = reach.coming(join_id, [Token(target)])
        if target != join_id and now and not now > before:
            kept.append(join_id)
    return kept
