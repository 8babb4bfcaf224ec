"""What a failed node means: an automatic retry, going on after the error, or the fault of the instance (spec 3.8)."""

from __future__ import annotations

from msgspec import structs

from webapp.engine.activities.api import ActivityFault, BookmarkRequest
from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.errors import UNEXPECTED, WorkflowError
from webapp.engine.instances.bookmarks import BACKGROUND_KEY, BookmarkKind
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import (
    ERROR,
    OUTCOME,
    InstanceStatus,
    NodeInstance,
    NodeStatus,
    PendingToken,
    WorkflowFault,
)
from webapp.engine.numbers import JsonValue, encode
from webapp.engine.runtime import children
from webapp.engine.runtime import events as topics
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.queue import Fresh, Item
from webapp.engine.schedules import backoff, later

MAX_FOREIGN_TEXT = 10_000
"""How much of a third party's text a fault keeps."""


def fault_of(error: Exception) -> WorkflowFault:
    """Return the fault that an exception out of an activity means (spec 3.4)."""
    if isinstance(error, ActivityFault):
        return error.fault
    if isinstance(error, WorkflowError):
        return WorkflowFault(code=error.code, key=error.key, args=error.params)
    args = {"text": _text_of(error) or type(error).__name__, "type": type(error).__name__}
    return WorkflowFault(code=UNEXPECTED, key="workflow.activity.exception", args=args)


def _text_of(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        # An exception that cannot even tell its text is a fault like any other.
        return ""


def bounded(fault: WorkflowFault) -> WorkflowFault:
    """Return the fault with arguments that can be kept: JSON, and none larger than a third party's text.

    A fault goes into the instance, the trail of its node, events, and ``lastError``: an argument must not carry a whole
    variable there, past the limit of size.
    """
    args = {name: _kept(value) for name, value in fault.args.items()}
    return structs.replace(fault, args=args, inner=None if fault.inner is None else bounded(fault.inner))


def _kept(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return value.replace("\x00", "")[:MAX_FOREIGN_TEXT]
    try:
        data = encode(value)
    except Exception:
        return type(value).__name__
    return value if len(data) <= MAX_FOREIGN_TEXT else data.decode()[:MAX_FOREIGN_TEXT]


def schedule_retry(wave: WaveState, node: CompiledNode, node_instance: NodeInstance, fault: WorkflowFault) -> bool:
    """Arm the node's next attempt if its policy has one left; the instance goes on, other bookmarks stay."""
    policy = node.node.retry_policy
    if policy is None or node_instance.try_count >= policy.max_attempts:
        return False
    node_instance.status = NodeStatus.FAULTED
    node_instance.fault = fault
    # A second failure of the same attempt replaces the retry that is armed already, and no deadline runs meanwhile.
    for bookmark in wave.waits.of_node(node_instance.id):
        if bookmark.kind in (BookmarkKind.RETRY, BookmarkKind.NODE_TIMEOUT, BookmarkKind.SUB_WORKFLOW):
            wave.waits.consume(bookmark)
    # The next attempt starts children of its own.
    children.cancel_children(wave, node_instance)
    wait = backoff(policy.first_delay_seconds, policy.backoff_factor, node_instance.try_count)
    # A node that was left to the poller must not keep its other threads busy when it runs again.
    key = BACKGROUND_KEY if node.node.background else None
    wave.add_bookmark(node_instance, BookmarkRequest(kind=BookmarkKind.RETRY, key=key, due_at=later(wave.now, wait)))
    wave.node_event(topics.NODE_FAULTED, node_instance, willRetry=True)
    return True


def end_failed(wave: WaveState, node_instance: NodeInstance, fault: WorkflowFault) -> None:
    """End a node that will not be tried again by itself; what it waited for is gone."""
    node_instance.status = NodeStatus.FAULTED
    node_instance.fault = fault
    node_instance.ended_at = wave.now
    wave.clear_node(node_instance.id, EndReason.FAULTED)
    children.cancel_children(wave, node_instance)
    wave.node_event(topics.NODE_FAULTED, node_instance, willRetry=False)


def go_on(wave: WaveState, node_instance: NodeInstance, fault: WorkflowFault) -> None:
    """Let the flow go on after a node that continues on error: ``lastError`` and the label ``error``."""
    end_failed(wave, node_instance, fault)
    node_instance.outputs = {OUTCOME: ERROR}
    wave.variables.set_last_error(topics.fault_json(fault))
    wave.variables.set_label(ERROR)


def fault_instance(
    wave: WaveState, queue: list[Item], fault: WorkflowFault, node_instance: NodeInstance | None
) -> None:
    """Fault the instance; the tokens left in the queue are kept for a retry, the other branches keep waiting.

    A Resumption or a Retrial left in the queue still has its bookmark. Without a node instance there is no retry.
    """
    instance = wave.instance
    instance.status = InstanceStatus.FAULTED
    instance.fault = fault
    instance.fault_node_id = None if node_instance is None else node_instance.node_id
    instance.fault_node_instance_id = None if node_instance is None else node_instance.id
    instance.ended_at = wave.now
    instance.pending_tokens = [
        PendingToken(
            node_id=item.node.id,
            caused_by=item.caused_by,
            via_transition_ids=item.via,
            back=item.back or [],
            late=item.late or [],
        )
        for item in queue
        if isinstance(item, Fresh)
    ]
    wave.instance_event(topics.INSTANCE_FAULTED)
    children.tell_parent(wave)
