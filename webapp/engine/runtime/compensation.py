"""Undoing what completed nodes have done, the latest first (spec 3.14, 1.17, 3.22).

A node is undone by its activity, if that knows how, or by another node that its definition names (``compensateWith``).
What fails is noted, and the rest is undone all the same; what has been undone is never undone again.
"""

from __future__ import annotations

from collections.abc import Collection

from webapp.engine.activities.api import ActivityOutcome, Complete, Fault, Suspend
from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.errors import NOTFOUND_TYPE, UNEXPECTED, OperationCancelled
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import LogLine
from webapp.engine.instances.model import OUTCOME, NodeInstance, NodeStatus, WorkflowFault
from webapp.engine.json_input import check_json
from webapp.engine.numbers import copy_json
from webapp.engine.ports.stores import StoreFailure
from webapp.engine.runtime import children, events, faults
from webapp.engine.runtime.context import NodeContext
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.variables import OutputsRefused

COMPENSATED = "compensated"
"""What the expressions of a compensating node call the outputs of the node that it undoes."""

COMPENSATED_IDS = "compensatedNodeInstanceIds"
FAILED = "compensationsFailed"


def run(wave: WaveState, only: Collection[str] | None = None) -> None:
    """Compensate the completed nodes of the instance, or those of them whose node ids are in *only*.

    The wave must know the instance's history.
    """
    for found in reversed(wave.known_nodes()):
        if found.status is not NodeStatus.COMPLETED or (only is not None and found.node_id not in only):
            continue
        node = wave.compiled.nodes.get(found.node_id)
        if node is not None and node.is_compensable:
            _compensate(wave, node, wave.touch(found.id) or found)


def was_compensated(wave: WaveState) -> bool:
    """Whether the fault of the instance has undone something: a retry would go on from what is there no more."""
    instance = wave.instance
    if not wave.compiled.definition.compensate_on_fault:
        return False
    return any(
        found.status is NodeStatus.COMPENSATED and found.compensated_at == instance.ended_at
        for found in wave.known_nodes()
    )


def _compensate(wave: WaveState, node: CompiledNode, node_instance: NodeInstance) -> None:
    with wave.callbacks.run():
        other = node.node.compensate_with is not None
        fault = _run_other(wave, node, node_instance) if other else _run_own(wave, node, node_instance)
        if fault is not None:
            wave.callbacks.undo()
    if fault is None:
        node_instance.status = NodeStatus.COMPENSATED
        node_instance.compensated_at = wave.now
        node_instance.fault = None
        wave.facts.setdefault(COMPENSATED_IDS, []).append(node_instance.id)
        return
    node_instance.fault = fault = faults.bounded(fault)
    wave.facts.setdefault(FAILED, []).append({"nodeInstanceId": node_instance.id, "fault": events.fault_json(fault)})
    message = f"The compensation of {node.name} failed: {fault.key} {fault.args}"
    wave.log_lines.append(LogLine(level="Error", message=message, instance_id=wave.instance.id, node_id=node.id))


def _run_own(wave: WaveState, node: CompiledNode, node_instance: NodeInstance) -> WorkflowFault | None:
    """Let the activity undo what this execution did; what it changed in its state counts only when it succeeds."""
    before = copy_json(node_instance.state)
    context = NodeContext(wave, node, node_instance)
    try:
        if node.compensate is not None:
            node.compensate(context)
            check_json(node_instance.state, "state")
        return None
    except Exception as error:
        if _is_not_its_own(error, context):
            raise
        node_instance.state = before
        return faults.fault_of(error)


def _is_not_its_own(error: Exception, context: NodeContext) -> bool:
    """Whether an error means the whole command: the caller has gone, or the transaction is lost."""
    gone = isinstance(error, OperationCancelled) and context.cancellation.is_set
    return gone or isinstance(error, StoreFailure)


def _run_other(wave: WaveState, node: CompiledNode, original: NodeInstance) -> WorkflowFault | None:
    """Run the node that stands in for the undoing, as an execution of its own; no arrow leads on from it."""
    other = wave.compiled.nodes.get(node.node.compensate_with or "")
    if other is None or other.execute is None:
        missing = node.node.compensate_with if other is None else other.node.activity_type
        return WorkflowFault(code=NOTFOUND_TYPE, key="workflow.activity.unknown", args={"type": missing})
    made = wave.open_node(other, [original.id], [])
    wave.node_event(events.NODE_EXECUTING, made)
    with wave.variables.beside({COMPENSATED: copy_json(original.outputs)}):
        outcome = _executed(wave, other, made)
    try:
        fault = _settle(wave, made, outcome)
    except OutputsRefused as refused:
        fault = WorkflowFault(code=UNEXPECTED, key=refused.key, args=refused.arguments)
    if fault is None:
        wave.node_event(events.NODE_EXECUTED, made)
    else:
        faults.end_failed(wave, made, faults.bounded(fault))
    return fault


def _executed(wave: WaveState, node: CompiledNode, made: NodeInstance) -> ActivityOutcome:
    context = NodeContext(wave, node, made)
    try:
        return node.execute(context)  # type: ignore[misc]  # the caller has seen that there is an activity
    except Exception as error:
        if _is_not_its_own(error, context):
            raise
        return Fault(fault=faults.fault_of(error))


def _settle(wave: WaveState, made: NodeInstance, outcome: ActivityOutcome) -> WorkflowFault | None:
    if isinstance(outcome, Fault):
        return outcome.fault
    if isinstance(outcome, Complete):
        wave.variables.merge(outcome.outputs)
        made.status, made.ended_at = NodeStatus.COMPLETED, wave.now
        made.outputs = outcome.outputs if outcome.label is None else {**outcome.outputs, OUTCOME: outcome.label}
        children.request(wave, made, outcome.children, waits=False, lasting=True)
        return None
    kinds = {one.kind for one in outcome.bookmarks} if isinstance(outcome, Suspend) else set()
    if isinstance(outcome, Suspend) and kinds == {BookmarkKind.EXTERNAL_TASK}:
        made.status = NodeStatus.SUSPENDED
        for request in outcome.bookmarks:
            wave.add_bookmark(made, request)
        return None
    return WorkflowFault(code=UNEXPECTED, key="workflow.compensation.waits", args={"node": made.name})
