"""How an instance ends: by itself, by a Terminate node, by being canceled (spec 3.10, 3.13)."""

from __future__ import annotations

from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, NodeInstance, WorkflowFault
from webapp.engine.runtime import children, compensation, events, faults
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.queue import Item


def finalize(wave: WaveState) -> None:
    """Settle an instance whose queue is empty: it waits, its branch is dead, or it has come to its end."""
    if not _has_nothing_left(wave):
        return
    dead = _dead_joins(wave)
    if dead:
        dead_branch = WorkflowFault(code=UNEXPECTED, key="workflow.join.dead", args={"nodeIds": dead})
        fault(wave, [], dead_branch, None)
        return
    _end(wave, InstanceStatus.COMPLETED, EndReason.COMPLETED)
    wave.instance_event(events.INSTANCE_COMPLETED)


def is_over(wave: WaveState) -> bool:
    """Whether the instance is about to end by itself."""
    return _has_nothing_left(wave) and not _dead_joins(wave)


def _has_nothing_left(wave: WaveState) -> bool:
    if wave.instance.status is not InstanceStatus.RUNNING:
        return False
    return all(bookmark.kind is BookmarkKind.INSTANCE_TIMEOUT for bookmark in wave.waits.open.values())


def _dead_joins(wave: WaveState) -> list[str]:
    instance = wave.instance
    return [
        node_id
        for node_id, state in instance.join_states.items()
        if not state.fired and node_id not in instance.loosened_joins
    ]


def fault(wave: WaveState, queue: list[Item], cause: WorkflowFault, node_instance: NodeInstance | None) -> None:
    """Fault the instance, and undo what it has done if its definition says so."""
    faults.fault_instance(wave, queue, cause, node_instance)
    if wave.compiled.definition.compensate_on_fault:
        compensation.run(wave)


def terminate(wave: WaveState, reason: str | None) -> None:
    """End the instance as Terminated; nothing is compensated."""
    wave.instance.cancellation_reason = reason
    _end(wave, InstanceStatus.TERMINATED, EndReason.TERMINATED)
    wave.cancel_active_nodes()
    wave.instance_event(events.INSTANCE_TERMINATED)
    children.cascade(wave, children.TERMINATE, reason)


def cancel(wave: WaveState, reason: str | None) -> None:
    """End the instance as Canceled, and undo what it has done if its definition says so."""
    wave.instance.cancellation_reason = reason
    _end(wave, InstanceStatus.CANCELED, EndReason.CANCELED)
    wave.cancel_active_nodes()
    wave.instance_event(events.INSTANCE_CANCELED)
    if wave.compiled.definition.compensate_on_cancel:
        compensation.run(wave)
    children.cascade(wave, children.CANCEL, reason)


def _end(wave: WaveState, status: InstanceStatus, reason: EndReason) -> None:
    instance = wave.instance
    if not instance.status.ended:
        # The parent knows of a fault already: closing what has failed is no second end (decision D9).
        children.tell_parent(wave)
    instance.status = status
    instance.ended_at = wave.now
    instance.join_states = {}
    instance.pending_tokens = []
    wave.clear_all(reason)
