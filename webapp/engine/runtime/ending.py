"""How an instance ends: by itself, by a Terminate node, by being canceled (spec 3.10, 3.13)."""

from __future__ import annotations

from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, WorkflowFault
from webapp.engine.runtime import events, faults
from webapp.engine.runtime.effects import WaveState


def finalize(wave: WaveState) -> None:
    """Settle an instance whose queue is empty: it waits, its branch is dead, or it has come to its end."""
    instance = wave.instance
    if instance.status is not InstanceStatus.RUNNING:
        return
    if any(bookmark.kind is not BookmarkKind.INSTANCE_TIMEOUT for bookmark in wave.waits.open.values()):
        return
    dead = [node_id for node_id, state in instance.join_states.items() if not state.fired]
    if dead:
        fault = WorkflowFault(code=UNEXPECTED, key="workflow.join.dead", args={"nodeIds": dead})
        faults.fault_instance(wave, [], fault, None)
        return
    _end(wave, InstanceStatus.COMPLETED, EndReason.COMPLETED)
    wave.instance_event(events.INSTANCE_COMPLETED)


def terminate(wave: WaveState, reason: str | None) -> None:
    """End the instance as Terminated; nothing is compensated."""
    wave.instance.cancellation_reason = reason
    _end(wave, InstanceStatus.TERMINATED, EndReason.TERMINATED)
    wave.cancel_active_nodes()
    wave.instance_event(events.INSTANCE_TERMINATED)


def cancel(wave: WaveState, reason: str | None) -> None:
    """End the instance as Canceled."""
    wave.instance.cancellation_reason = reason
    _end(wave, InstanceStatus.CANCELED, EndReason.CANCELED)
    wave.cancel_active_nodes()
    wave.instance_event(events.INSTANCE_CANCELED)


def _end(wave: WaveState, status: InstanceStatus, reason: EndReason) -> None:
    instance = wave.instance
    instance.status = status
    instance.ended_at = wave.now
    instance.join_states = {}
    instance.pending_tokens = []
    wave.clear_all(reason)
