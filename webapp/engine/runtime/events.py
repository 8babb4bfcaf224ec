"""The ``workflow.*`` events: topics and what their data hold (spec 9.1). Variables are in none of them."""

from __future__ import annotations

from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.model import NodeInstance, WorkflowFault, WorkflowInstance
from webapp.engine.instances.topics import (
    CUSTOM,
    INSTANCE_CANCELED,
    INSTANCE_COMPLETED,
    INSTANCE_FAULTED,
    INSTANCE_JUMPED,
    INSTANCE_MIGRATED,
    INSTANCE_RESUMED,
    INSTANCE_STARTED,
    INSTANCE_SUSPENDED,
    INSTANCE_TERMINATED,
    INSTANCE_VARIABLES_UPDATED,
    NODE_EXECUTED,
    NODE_EXECUTING,
    NODE_FAULTED,
    TASK_ADDED,
    TASK_CLAIMED,
    TASK_COMPLETED,
    TASK_CREATED,
    TASK_DELEGATED,
    TASK_ESCALATED,
    TASK_OVERDUE,
    TASK_RECALLED,
    TASK_RELEASED,
    TASK_REMINDED,
    TASK_REMOVED,
    TASK_RETURNED,
    TASK_TRANSFERRED,
    TASK_URGED,
    TIMER_FAILED,
)
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.commands import Command
from webapp.engine.schedules import instant_text

__all__ = [
    "CUSTOM",
    "INSTANCE_CANCELED",
    "INSTANCE_COMPLETED",
    "INSTANCE_FAULTED",
    "INSTANCE_JUMPED",
    "INSTANCE_MIGRATED",
    "INSTANCE_RESUMED",
    "INSTANCE_STARTED",
    "INSTANCE_SUSPENDED",
    "INSTANCE_TERMINATED",
    "INSTANCE_VARIABLES_UPDATED",
    "NODE_EXECUTED",
    "NODE_EXECUTING",
    "NODE_FAULTED",
    "TASK_ADDED",
    "TASK_CLAIMED",
    "TASK_COMPLETED",
    "TASK_CREATED",
    "TASK_DELEGATED",
    "TASK_ESCALATED",
    "TASK_OVERDUE",
    "TASK_RECALLED",
    "TASK_RELEASED",
    "TASK_REMINDED",
    "TASK_REMOVED",
    "TASK_RETURNED",
    "TASK_TRANSFERRED",
    "TASK_URGED",
    "TIMER_FAILED",
    "action_data",
    "fault_json",
    "instance_data",
    "node_data",
    "task_data",
]


def fault_json(fault: WorkflowFault) -> JsonObject:
    """Return a fault as the JSON that ``lastError`` and events hold; decimals in its arguments stay decimals."""
    inner = None if fault.inner is None else fault_json(fault.inner)
    return {"code": fault.code, "key": fault.key, "args": dict(fault.args), "inner": inner}


def instance_data(instance: WorkflowInstance) -> JsonObject:
    """Return what events tell of an instance."""
    return {
        "id": instance.id,
        "tenantId": instance.tenant_id,
        "definitionId": instance.definition_id,
        "definitionName": instance.definition_name,
        "definitionVersion": instance.definition_version,
        "title": instance.title,
        "status": instance.status,
        "correlationId": instance.correlation_id,
        "starterId": instance.starter_id,
        "parentInstanceId": instance.parent_instance_id,
        "rootInstanceId": instance.root_instance_id,
        "outcome": instance.outcome,
        "fault": None if instance.fault is None else fault_json(instance.fault),
        "faultNodeId": instance.fault_node_id,
        "cancellationReason": instance.cancellation_reason,
    }


def node_data(node_instance: NodeInstance) -> JsonObject:
    """Return what events tell of a node instance."""
    fault = node_instance.fault
    return {
        "id": node_instance.id,
        "nodeId": node_instance.node_id,
        "name": node_instance.name,
        "activityType": node_instance.activity_type,
        "status": node_instance.status,
        "tryCount": node_instance.try_count,
        "outcome": node_instance.outputs.get("outcome"),
        "fault": None if fault is None else fault_json(fault),
    }


def action_data(instance: WorkflowInstance, bookmark: Bookmark, command: Command) -> JsonObject:
    """Return what the event of a person's action on a task begins with; ``round``: the task's when it was done."""
    due = bookmark.task_due_at
    return {
        "taskId": bookmark.id,
        "instanceId": instance.id,
        "nodeId": bookmark.node_id,
        "actorId": command.actor_id,
        "onBehalfOf": command.on_behalf_of,
        "asOperator": command.as_operator,
        "title": bookmark.title,
        "priority": bookmark.priority.value,
        "round": bookmark.round,
        "dueAt": None if due is None else instant_text(due),
        "claimedBy": bookmark.claimed_by,
    }


def task_data(instance: WorkflowInstance, bookmark: Bookmark, copies: list[str]) -> JsonObject:
    """Return the task view of an event, with the copied users."""
    due = bookmark.task_due_at
    return {
        "taskId": bookmark.id,
        "instanceId": instance.id,
        "instanceTitle": instance.title,
        "definitionName": instance.definition_name,
        "nodeId": bookmark.node_id,
        "nodeInstanceId": bookmark.node_instance_id,
        "title": bookmark.title,
        "assigneeId": bookmark.key,
        "correlationId": bookmark.correlation_id or instance.correlation_id,
        "starterId": instance.starter_id,
        "priority": bookmark.priority.value,
        "dueAt": None if due is None else instant_text(due),
        "createdAt": instant_text(bookmark.created_at),
        "tenantId": instance.tenant_id,
        "ccUserIds": copies,
        "round": bookmark.round,
        "claimedBy": bookmark.claimed_by,
    }
