"""Taking back what came of an execution: cancel its descendants, mend the Joins they went through (spec 3.22).

A return into a branch undoes a Join that has fired already: what the other branches brought to it is put back, so that
the restarted branch finds it there and the Join fires once more, not never.
"""

from __future__ import annotations

from collections.abc import Iterable

from webapp.engine.activities.compiled import JOIN, WAIT_ANY
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import JoinState, NodeInstance, NodeStatus
from webapp.engine.runtime import children, loose_joins
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.lineage import Lineage, Offspring
from webapp.engine.runtime.queue import LATE
from webapp.engine.runtime.tokens import Reach, Token, inherited_late, is_live, of_execution, tokens_of

UNDONE = "__undone"
"""In the state of a Join's execution: it was taken back, what it had gathered stands in its join state again."""


def cancel_executions(wave: WaveState, node_instances: Iterable[NodeInstance], reason: EndReason) -> list[NodeInstance]:
    """Cancel those that hold a token, with all they wait for, their children too; return them."""
    canceled = []
    for present in node_instances:
        own = wave.touch(present.id) if is_live(wave, present) else None
        if own is not None:
            wave.clear_node(own.id, reason)
            children.cancel_children(wave, own)
            own.status = NodeStatus.CANCELED
            own.ended_at = wave.now
            canceled.append(own)
    return canceled


def undo(wave: WaveState, lineage: Lineage, root: NodeInstance, reason: EndReason) -> list[str]:
    """Take back all that came from *root*: live executions are canceled, arrivals and pending tokens dropped.

    What has been executed stays executed. Return the Joins that the one token which begins anew is late for.
    """
    instance = wave.instance
    undone = lineage.offspring(
        [root.id],
        bookmarks=wave.waits.open.values(),
        join_states=instance.join_states,
        tokens=instance.pending_tokens,
    )
    late = _late(wave, undone, root) if instance.loosened_joins else []
    cancel_executions(wave, undone.node_instances, reason)
    instance.pending_tokens = [token for token in instance.pending_tokens if token not in undone.tokens]
    _drop_arrivals(wave, undone)
    ids = undone.ids
    for execution in undone.node_instances:
        if execution.activity_type == JOIN and execution.status is NodeStatus.COMPLETED and execution.id != root.id:
            _take_back_join(wave, lineage, execution, ids)
    return late


def _late(wave: WaveState, undone: Offspring, root: NodeInstance) -> list[str]:
    tokens = [of_execution(one) for one in undone.node_instances if is_live(wave, one)]
    tokens += [Token(one.node_id, one.late) for one in undone.tokens]
    states = wave.instance.join_states
    tokens += [Token(node_id, states[node_id].late) for node_id in undone.arrivals if not states[node_id].fired]
    return inherited_late(Reach(wave.compiled.forward, states), tokens, root.node_id)


def _drop_arrivals(wave: WaveState, undone: Offspring) -> None:
    for join_id, arrived in undone.arrivals.items():
        state = wave.instance.join_states[join_id]
        for transition_id, gone in arrived.items():
            kept = [one for one in state.arrived[transition_id] if one not in gone]
            if kept:
                state.arrived[transition_id] = kept
            else:
                del state.arrived[transition_id]
        if not state.arrived:
            del wave.instance.join_states[join_id]


def _take_back_join(wave: WaveState, lineage: Lineage, execution: NodeInstance, undone: frozenset[str]) -> None:
    if execution.state.get(UNDONE):
        return
    own = wave.touch(execution.id)
    if own is not None:
        own.state[UNDONE] = True
    states = wave.instance.join_states
    if wave.compiled.nodes[execution.node_id].join_mode == WAIT_ANY:
        if _fired_last(wave, execution):
            _take_back_race(wave, execution.node_id)
        return
    kept = [one for one in execution.caused_by if one not in undone]
    for transition_id in execution.via_transition_ids:
        source = _source_of(wave, transition_id)
        back = [one for one in kept if (found := lineage.get(one)) is not None and found.node_id == source]
        if back:
            state = states.setdefault(execution.node_id, JoinState(late=list(execution.state.get(LATE, ()))))
            there = state.arrived.setdefault(transition_id, [])
            there += [one for one in back if one not in there]


def _take_back_race(wave: WaveState, join_id: str) -> None:
    """Let the next token that comes to a WaitAny fire it again, whoever came too late before.

    Who came too late cannot come again, so that the transitions are not counted any more.
    """
    wave.instance.join_states.pop(join_id, None)
    loose_joins.loosen(wave.instance, [join_id])
    for token in tokens_of(wave):
        token.unmark(join_id)


def _fired_last(wave: WaveState, execution: NodeInstance) -> bool:
    fired = [one for one in wave.known_nodes() if one.node_id == execution.node_id]
    return fired[-1].id == execution.id


def _source_of(wave: WaveState, transition_id: str) -> str | None:
    for transition in wave.compiled.definition.transitions:
        if transition.id == transition_id:
            return transition.source_node_id
    return None
