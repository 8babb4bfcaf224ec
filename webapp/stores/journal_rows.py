"""Task records, audit entries and follow-ups: models to columns and columns to models, as in ``rows``."""

from __future__ import annotations

from webapp.engine.instances.journal import (
    AuditEntry,
    EndReason,
    FiringStatus,
    FollowUp,
    OutboxEntry,
    TaskCopy,
    TaskEnd,
    TaskRecord,
    TimerFiring,
)
from webapp.engine.numbers import JsonObject, decode
from webapp.engine.ports.queries import DoneTaskSummary
from webapp.engine.ports.stores import Partition
from webapp.stores.keywords import fold_field, join_fields, sort_key
from webapp.stores.rows import PRIORITIES, Columns, Row, document, json_or_none, pick


def _object_or_none(text: str | None) -> JsonObject | None:
    return None if text is None else decode(text, JsonObject)


def task_record_row(record: TaskRecord) -> Row:
    """Return the columns of a task round; the correlation id lives on in the folded text only."""
    return {
        "task_id": record.task_id,
        "round": record.round,
        "tenant_id": record.tenant_id,
        "sequence": record.sequence,
        "instance_id": record.instance_id,
        "root_instance_id": record.root_instance_id or record.instance_id,
        "node_id": record.node_id,
        "node_instance_id": record.node_instance_id,
        "definition_name": record.definition_name,
        "definition_title": record.definition_title,
        "instance_title": record.instance_title,
        "starter_id": record.starter_id,
        "title": record.title,
        "title_sort_key": sort_key(record.title),
        "search_title": fold_field(record.title),
        "search_instance_text": join_fields(record.instance_title, record.correlation_id, record.definition_name),
        "assignee_id": record.assignee_id,
        "actor_id": record.actor_id,
        "on_behalf_of": record.on_behalf_of,
        "as_operator": record.as_operator,
        "outcome": record.outcome,
        "comment": record.comment,
        "priority": record.priority.rank,
        "task_due_at": record.task_due_at,
        "created_at": record.created_at,
        "opened_at": record.opened_at,
        "ended_at": record.ended_at,
        "end_reason": None if record.end_reason is None else record.end_reason.value,
    }


def task_end_values(end: TaskEnd) -> Row:
    """Return the columns that end a round."""
    return {
        "ended_at": end.ended_at,
        "end_reason": end.end_reason.value,
        "actor_id": end.actor_id,
        "on_behalf_of": end.on_behalf_of,
        "as_operator": end.as_operator,
        "outcome": end.outcome,
        "comment": end.comment,
    }


def task_record(row: Columns) -> TaskRecord:
    """Return a task round; its correlation id is not kept."""
    reason = row["end_reason"]
    return pick(
        TaskRecord,
        row,
        priority=PRIORITIES[row["priority"]],
        end_reason=None if reason is None else EndReason(reason),
        correlation_id=None,
    )


def done_task_summary(row: Columns) -> DoneTaskSummary:
    """Return the list row of an ended round."""
    return pick(DoneTaskSummary, row, id=row["task_id"], end_reason=EndReason(row["end_reason"]))


def task_copy_row(partition: Partition, copy: TaskCopy) -> Row:
    """Return the columns of a copy of a task."""
    return {
        "task_id": copy.task_id,
        "user_id": copy.user_id,
        "tenant_id": partition,
        "instance_id": copy.instance_id,
        "created_at": copy.created_at,
        "read_at": copy.read_at,
    }


def audit_row(entry: AuditEntry) -> Row:
    """Return the columns of an audit entry, not yet sealed."""
    return {
        "id": entry.id,
        "tenant_id": entry.tenant_id,
        "sequence": entry.sequence,
        "at": entry.at,
        "actor_id": entry.actor_id,
        "on_behalf_of": entry.on_behalf_of,
        "action": entry.action,
        "definition_id": entry.definition_id,
        "instance_id": entry.instance_id,
        "task_id": entry.task_id,
        "node_id": entry.node_id,
        "outcome": entry.outcome,
        "comment": entry.comment,
        "reason": entry.reason,
        "request_id": entry.request_id,
        "command_id": entry.command_id,
        "before": json_or_none(entry.before),
        "after": json_or_none(entry.after),
        "seal_number": None,
        "hash": None,
    }


def audit_entry(row: Columns) -> AuditEntry:
    """Return an audit entry."""
    return pick(AuditEntry, row, before=_object_or_none(row["before"]), after=_object_or_none(row["after"]))


def follow_up_row(follow_up: FollowUp) -> Row:
    """Return the columns of a follow-up, unclaimed."""
    return {
        "id": follow_up.id,
        "tenant_id": follow_up.tenant_id,
        "action": follow_up.action,
        "source_instance_id": follow_up.source_instance_id,
        "target_instance_id": follow_up.target_instance_id,
        "payload": document(follow_up.payload),
        "created_at": follow_up.created_at,
        "due_at": follow_up.due_at,
        "failures": follow_up.failures,
        "claim_token": None,
        "claimed_until": None,
    }


def follow_up(row: Columns) -> FollowUp:
    """Return a follow-up."""
    return pick(FollowUp, row, payload=decode(row["payload"], JsonObject))


def outbox_row(entry: OutboxEntry) -> Row:
    """Return the columns of an event to be sent."""
    return {
        "id": entry.id,
        "tenant_id": entry.tenant_id,
        "sequence": entry.sequence,
        "topic": entry.topic,
        "instance_id": entry.instance_id,
        "created_at": entry.created_at,
        "document": document(entry.data),
        # Empty once it was handed on, so that an index of those that wait is short.
        "waits_since": entry.created_at,
    }


def outbox_entry(row: Columns) -> OutboxEntry:
    """Return an event to be sent."""
    return pick(OutboxEntry, row, data=decode(row["document"], JsonObject))


def timer_firing_row(firing: TimerFiring) -> Row:
    """Return the columns of a timer's firing."""
    return {
        "tenant_id": firing.tenant_id,
        "definition_name": firing.definition_name,
        "scheduled_at": firing.scheduled_at,
        "instance_id": firing.instance_id,
        "status": firing.status.value,
        "fired_at": firing.fired_at,
        "failures": firing.failures,
        "fault": None if firing.fault is None else document(firing.fault),
    }


def timer_firing(row: Columns) -> TimerFiring:
    """Return a timer's firing."""
    return pick(TimerFiring, row, status=FiringStatus(row["status"]), fault=_object_or_none(row["fault"]))
