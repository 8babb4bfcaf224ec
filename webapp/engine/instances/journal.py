"""What a wave leaves beside its state: task records, audit, follow-ups, events (spec 1.17, 9.1, 3.22)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from webapp.engine.instances.bookmarks import Priority
from webapp.engine.numbers import JsonObject


class EndReason(StrEnum):
    """Why a round of a task ended."""

    COMPLETED = "completed"
    SIBLING = "sibling"
    CANCELED = "canceled"
    TIMEOUT = "timeout"
    TRANSFERRED = "transferred"
    REMOVED = "removed"
    RETURNED = "returned"
    RECALLED = "recalled"
    CLAIMED = "claimed"
    RELEASED = "released"
    REBUILT = "rebuilt"
    JUMPED = "jumped"
    TERMINATED = "terminated"
    FAULTED = "faulted"


class TaskRecord(msgspec.Struct, kw_only=True, rename="camel"):
    """One round of a task, key (task_id, round): a transfer, claim or release ends a round and opens the next."""

    task_id: str
    round: int = 1
    tenant_id: str | None = None
    sequence: int = 0
    instance_id: str
    root_instance_id: str
    node_id: str
    node_instance_id: str
    definition_name: str
    definition_title: str
    instance_title: str
    starter_id: str | None = None
    title: str
    correlation_id: str | None = None
    assignee_id: str
    actor_id: str | None = None
    on_behalf_of: str | None = None
    as_operator: bool = False
    outcome: str | None = None
    comment: str | None = None
    priority: Priority = Priority.NORMAL
    task_due_at: datetime | None = None
    created_at: datetime
    opened_at: datetime | None = None
    ended_at: datetime | None = None
    end_reason: EndReason | None = None


class TaskEnd(msgspec.Struct, frozen=True, kw_only=True):
    """Ends the open round of a task in the store, without reading it first."""

    task_id: str
    round: int = 1
    ended_at: datetime
    end_reason: EndReason
    actor_id: str | None = None
    on_behalf_of: str | None = None
    as_operator: bool = False
    outcome: str | None = None
    comment: str | None = None


class TaskCopy(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A user who gets a copy of a task."""

    task_id: str
    instance_id: str
    user_id: str
    created_at: datetime
    read_at: datetime | None = None


class TaskMove(msgspec.Struct, frozen=True, kw_only=True):
    """An open task that stands on another node, of another version of its definition, after a migration."""

    task_id: str
    node_id: str
    definition_title: str


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One command in the append-only trail; ``action`` is the service method's name (spec 25)."""

    id: str
    tenant_id: str | None = None
    sequence: int = 0
    at: datetime
    actor_id: str | None = None
    on_behalf_of: str | None = None
    action: str
    definition_id: str | None = None
    instance_id: str | None = None
    task_id: str | None = None
    node_id: str | None = None
    outcome: str | None = None
    comment: str | None = None
    reason: str | None = None
    request_id: str | None = None
    command_id: str | None = None
    before: JsonObject | None = None
    after: JsonObject | None = None


class FollowUp(msgspec.Struct, kw_only=True, rename="camel"):
    """What one instance owes another: a durable row, run after the commit as a command of its own (spec 3.22)."""

    id: str
    tenant_id: str | None = None
    action: str
    source_instance_id: str | None = None
    target_instance_id: str | None = None
    payload: JsonObject = {}
    created_at: datetime
    due_at: datetime
    failures: int = 0


class Event(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A ``workflow.*`` event in the order of spec 9.1; data is JSON."""

    topic: str
    data: JsonObject


class OutboxEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An event that somebody subscribes to: written with the command, sent by a later pass, in the order of its number.

    ``data`` is the event's; ``sequence`` is the instance's write order where there is an instance.
    """

    id: str
    tenant_id: str | None = None
    sequence: int = 0
    topic: str
    instance_id: str | None = None
    created_at: datetime
    data: JsonObject


class FiringStatus(StrEnum):
    """What became of a due time of a definition's timer."""

    STARTED = "started"
    FAILED = "failed"
    SKIPPED = "skipped"


class TimerFiring(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One due time of a definition's timer; (partition, definition name, due time) fires once, ever (spec 3.22)."""

    tenant_id: str | None = None
    definition_name: str
    scheduled_at: datetime
    instance_id: str | None = None
    status: FiringStatus
    fired_at: datetime
    failures: int = 0
    fault: JsonObject | None = None


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a Log node says; written to the logger ``waypost.flow`` after the commit (spec 25)."""

    level: str
    message: str
    instance_id: str
    node_id: str
