"""Suspend, resume, terminate: what an operator does to an instance as a whole (spec 3.13, 3.22, D9, D16, D17)."""

from __future__ import annotations

from webapp.engine.errors import Conflict, InputInvalid
from webapp.engine.instances.limits import MAX_REMARK, length_problems
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.runtime import children, events, operations
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState

SUSPEND = "suspend"
RESUME = "resume"
"""The names under which a cascade does the same to the children."""


def suspend(wave: WaveState, reason: str | None, *, cascade: bool = False) -> Wave:
    """Stop a Running instance where it stands: its waiting points stay and refuse to be resumed.

    *cascade*: the children that run are suspended as well, each by a command of its own.

    :raises Conflict: it does not run.
    """
    check_reason(reason)
    instance = wave.instance
    if instance.status is not InstanceStatus.RUNNING:
        raise Conflict("workflow.instance.not_running", params={"status": instance.status})
    instance.status = InstanceStatus.SUSPENDED
    instance.suspended_by = wave.command.on_behalf_of or wave.command.actor_id
    instance.suspended_at = wave.now
    instance.suspension_reason = reason
    wave.instance_event(events.INSTANCE_SUSPENDED, reason=reason)
    if cascade:
        children.cascade(wave, SUSPEND, reason)
    return wave.finish(wave.entry(reason=reason))


def resume(wave: WaveState, reason: str | None, *, cascade: bool = False) -> Wave:
    """Let a Suspended instance go on; what was pushed back meanwhile is due again when it was.

    *cascade*: the children that are suspended are resumed as well.

    :raises Conflict: it is not suspended.
    """
    check_reason(reason)
    instance = wave.instance
    if instance.status is not InstanceStatus.SUSPENDED:
        raise Conflict("workflow.instance.not_suspended", params={"status": instance.status})
    instance.status = InstanceStatus.RUNNING
    instance.suspended_by = instance.suspended_at = instance.suspension_reason = None
    wave.waits.restore_due_times()
    wave.instance_event(events.INSTANCE_RESUMED)
    if cascade:
        children.cascade(wave, RESUME, reason)
    children.recheck(wave)
    return wave.finish(wave.entry(reason=reason))


def terminate(wave: WaveState, reason: str | None) -> Wave:
    """End an instance as Terminated, a Faulted one too; any other that has ended stays as it is (decision D9).

    Nothing is ever compensated.
    """
    return operations.close(wave, reason, terminates=True)


def check_reason(reason: str | None) -> None:
    """Refuse a reason that is too long."""
    problems = length_problems("reason", reason, MAX_REMARK)
    if problems:
        raise InputInvalid("workflow.instance.invalid", problems=problems)
