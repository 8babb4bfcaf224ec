"""Moving an instance to another step (spec 3.20, 3.22)."""

from __future__ import annotations

import msgspec

from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.errors import Conflict, InputInvalid, Problem
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, JoinState, NodeInstance, PendingToken
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime import children, events, variable_changes
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.lineage import Lineage
from webapp.engine.runtime.operations import token_of
from webapp.engine.runtime.queue import Fresh
from webapp.engine.runtime.rerouting import Detour
from webapp.engine.runtime.suspension import check_reason
from webapp.engine.runtime.tokens import is_live
from webapp.engine.runtime.undoing import cancel_executions


class Jump(msgspec.Struct, frozen=True, kw_only=True):
    """Where to; *from_node_id*: only what stands there is moved; variables are set before the target runs."""

    to_node_id: str
    from_node_id: str | None = None
    variables: JsonObject = {}
    reason: str | None = None


class JumpPlan(msgspec.Struct, kw_only=True):
    """What a jump takes away: executions, waits, pending tokens, Joins whose wave is dropped."""

    canceled: list[NodeInstance] = []
    bookmarks: list[Bookmark] = []
    tokens: list[PendingToken] = []
    dropped_joins: list[str] = []


def plan(wave: WaveState, jump: Jump) -> JumpPlan:
    """Return what the jump would take away; the wave is to be thrown away."""
    return _prepare(wave, jump)[0]


def run(wave: WaveState, jump: Jump) -> Wave:
    """Jump: cancel what stands at the source (default: everything), and run the target. The wave needs the history.

    :raises Conflict: the instance neither runs nor is Faulted. :raises InputInvalid: an unknown target, the Start, a
        source where nothing stands, a variable that cannot be set.
    """
    faulted = wave.instance.status is InstanceStatus.FAULTED
    planned, items = _prepare(wave, jump)
    if faulted:
        _take_up_again(wave)
    wave.instance_event(
        events.INSTANCE_JUMPED, toNodeId=jump.to_node_id, fromNodeId=jump.from_node_id, reason=jump.reason
    )
    Executor(wave, items).run()
    details: JsonObject = {
        "toNodeId": jump.to_node_id,
        "fromNodeId": jump.from_node_id,
        "canceledNodeIds": [execution.node_id for execution in planned.canceled],
        "droppedJoinIds": planned.dropped_joins,
    }
    return wave.finish(wave.entry(reason=jump.reason, details=details))


def _prepare(wave: WaveState, jump: Jump) -> tuple[JumpPlan, list[Fresh]]:
    check_reason(jump.reason)
    instance = wave.instance
    if instance.status not in (InstanceStatus.RUNNING, InstanceStatus.FAULTED):
        raise Conflict("workflow.jump.not_running", params={"status": instance.status})
    target = _check(wave, jump)
    moved = _Moved(wave, jump.from_node_id)
    variable_changes.put(wave, jump.variables)
    bookmarks = [one for execution in moved.executions for one in wave.waits.of_node(execution.id)]
    kept = [token_of(wave, token) for token in instance.pending_tokens if token not in moved.tokens]
    taken = [token_of(wave, token) for token in moved.tokens]
    instance.pending_tokens = []
    partial = jump.from_node_id is not None
    detour = Detour(wave, kept, taken, executions=moved.executions, joins=moved.joins, target=target, partial=partial)
    canceled = cancel_executions(wave, moved.executions, EndReason.JUMPED)
    token = detour.go(moved.causes)
    dropped = [node_id for node_id, state in moved.joins.items() if not state.fired]
    planned = JumpPlan(
        canceled=canceled,
        bookmarks=bookmarks,
        tokens=moved.tokens,
        dropped_joins=list(dict.fromkeys([*dropped, *detour.dropped])),
    )
    return planned, [token, *kept]


class _Moved:
    """What stands at the source of a jump, and is taken away: without a source all that the instance has."""

    def __init__(self, wave: WaveState, from_node_id: str | None) -> None:
        instance = wave.instance
        fault = instance.fault_node_instance_id

        def there(node_id: str) -> bool:
            return from_node_id in (None, node_id)

        self.executions = [
            one for one in wave.known_nodes() if there(one.node_id) and (is_live(wave, one) or one.id == fault)
        ]
        self.tokens = [token for token in instance.pending_tokens if there(token.node_id)]
        self.joins: dict[str, JoinState] = {
            node_id: state
            for node_id, state in instance.join_states.items()
            if from_node_id is None or (node_id == from_node_id and not state.fired)
        }
        tokens: list[list[str]] = [one.caused_by for one in self.executions]
        tokens += [token.caused_by for token in self.tokens]
        tokens += [[one] for state in self.joins.values() if not state.fired for one in _ids(state)]
        self.causes = tokens[0] if len(tokens) == 1 else _shared(Lineage(wave.known_nodes()), tokens)
        if from_node_id is not None and not (self.executions or self.tokens or self.joins):
            raise InputInvalid("workflow.jump.source", path="fromNodeId", params={"nodeId": from_node_id})
        if from_node_id is not None and instance.fault_node_id not in (None, from_node_id):
            params = {"nodeId": instance.fault_node_id}
            raise InputInvalid("workflow.jump.source_faulted", path="fromNodeId", params=params)


def _check(wave: WaveState, jump: Jump) -> CompiledNode:
    target = wave.compiled.nodes.get(jump.to_node_id)
    problems = variable_changes.set_problems(wave.compiled, jump.variables, "variables")
    if target is None:
        problems.append(Problem(path="toNodeId", key="workflow.jump.target", params={"nodeId": jump.to_node_id}))
    elif target is wave.compiled.start:
        problems.append(Problem(path="toNodeId", key="workflow.jump.start"))
    if jump.from_node_id is not None and jump.from_node_id not in wave.compiled.nodes:
        params = {"nodeId": jump.from_node_id}
        problems.append(Problem(path="fromNodeId", key="workflow.jump.target", params=params))
    if problems or target is None:
        raise InputInvalid("workflow.jump.invalid", problems=problems)
    return target


def _shared(lineage: Lineage, tokens: list[list[str]]) -> list[str]:
    """Return the latest executions that all of these tokens came from: one token now stands for them.

    A later return goes back to what caused all of them, never into the branch of one, whose others are gone.
    """
    if not tokens:
        return []
    pasts = [_past(lineage, causes) for causes in tokens]
    common = set.intersection(*pasts)
    earlier = {one.id for cause in common for one in lineage.ancestors(cause)}
    return sorted(common - earlier)


def _past(lineage: Lineage, causes: list[str]) -> set[str]:
    return {*causes, *(one.id for cause in causes for one in lineage.ancestors(cause))}


def _ids(state: JoinState) -> list[str]:
    return [one for arrived in state.arrived.values() for one in arrived]


def _take_up_again(wave: WaveState) -> None:
    """Let a Faulted instance run: the fault goes, and what was pushed back meanwhile is due when it was."""
    instance = wave.instance
    instance.status = InstanceStatus.RUNNING
    instance.fault = instance.fault_node_id = instance.fault_node_instance_id = None
    instance.ended_at = None
    wave.waits.restore_due_times()
    if instance.parent_instance_id is not None:
        children.tell_parent_of_retry(wave)
    children.recheck(wave)
    wave.instance_event(events.INSTANCE_RESUMED)
