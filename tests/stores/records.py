"""Records for the stores' tests: valid ones with as few words as possible."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, FollowUp, TaskRecord
from webapp.engine.instances.model import NodeInstance, WorkflowInstance
from webapp.engine.notifications.model import (
    AttemptOutcome,
    ChannelKind,
    Delivery,
    DeliveryAttempt,
    DeliveryContent,
    EventType,
    Notice,
    NoticeType,
)
from webapp.engine.ports.stores import Partition, Stores, WriteSet

T0 = datetime(2026, 7, 16, 8, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return the instant so many seconds after T0."""
    return T0 + timedelta(seconds=seconds)


def process_start(pid: int) -> str:
    """Return when a process started, as the kernel counts."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


def definition(definition_id: str = "d1", **values: Any) -> WorkflowDefinition:
    defaults: dict[str, Any] = {
        "name": "leave",
        "version": 1,
        "revision": 1,
        "created_at": T0,
        "nodes": [Node(id="start", activity_type="Start")],
    }
    return WorkflowDefinition(id=definition_id, **(defaults | values))


def instance(instance_id: str = "i1", **values: Any) -> WorkflowInstance:
    defaults: dict[str, Any] = {
        "revision": 1,
        "sequence": 1,
        "definition_id": "d1",
        "definition_name": "leave",
        "definition_version": 1,
        "definition_title": "Leave request",
        "title": "Leave of Ann",
        "root_instance_id": instance_id,
        "created_at": T0,
        "command_id": f"start-{instance_id}",
    }
    return WorkflowInstance(id=instance_id, **(defaults | values))


def node(node_instance_id: str, instance_id: str = "i1", **values: Any) -> NodeInstance:
    defaults: dict[str, Any] = {"node_id": "step", "started_at": T0}
    return NodeInstance(id=node_instance_id, instance_id=instance_id, **(defaults | values))


def bookmark(bookmark_id: str, instance_id: str | None = "i1", **values: Any) -> Bookmark:
    defaults: dict[str, Any] = {
        "node_id": "step",
        "node_instance_id": f"{instance_id}-n",
        "kind": BookmarkKind.USER_TASK,
        "key": "ann",
        "title": "Approve",
        "created_at": T0,
    }
    return Bookmark(id=bookmark_id, instance_id=instance_id, **(defaults | values))


def timer(bookmark_id: str, due: float, instance_id: str | None = "i1", **values: Any) -> Bookmark:
    """Return a timer due so many seconds after T0."""
    defaults: dict[str, Any] = {"kind": BookmarkKind.TIMER, "key": None, "title": None, "due_at": at(due)}
    return bookmark(bookmark_id, instance_id, **(defaults | values))


def record(task_id: str, instance_id: str = "i1", **values: Any) -> TaskRecord:
    defaults: dict[str, Any] = {
        "root_instance_id": instance_id,
        "node_id": "step",
        "node_instance_id": f"{instance_id}-n",
        "definition_name": "leave",
        "definition_title": "Leave request",
        "instance_title": "Leave of Ann",
        "title": "Approve",
        "assignee_id": "ann",
        "created_at": T0,
    }
    return TaskRecord(task_id=task_id, instance_id=instance_id, **(defaults | values))


def audit(entry_id: str, **values: Any) -> AuditEntry:
    return AuditEntry(id=entry_id, **({"at": T0, "action": "start", "instance_id": "i1"} | values))


def follow_up(follow_up_id: str, **values: Any) -> FollowUp:
    return FollowUp(id=follow_up_id, **({"action": "childEnded", "created_at": T0, "due_at": T0} | values))


def save(stores: Stores, partition: Partition = None, **values: Any) -> None:
    """Apply a write set in a unit of work of its own; every record gets the partition."""
    for value in values.values():
        for each in value if isinstance(value, list) else [value]:
            if hasattr(each, "tenant_id") and not each.__struct_config__.frozen:
                each.tenant_id = partition
    with stores.writing(partition) as work:
        work.apply(WriteSet(partition=partition, **values))


def start(stores: Stores, instance_id: str = "i1", partition: Partition = None, **values: Any) -> None:
    """Store a new instance with what belongs to it."""
    members = {name: values.pop(name) for name in list(values) if name in WriteSet.__struct_fields__}
    save(stores, partition, instance=instance(instance_id, **values), is_new=True, **members)


def notice(notice_id: str, **values: Any) -> Notice:
    defaults: dict[str, Any] = {
        "sequence": 1,
        "recipient_id": "ann",
        "event_type": EventType.TASK_CREATED,
        "code": "workflow.TaskCreated",
        "type": NoticeType.APPROVAL,
        "title": "Approve leave",
        "body": "Ann asks for leave.",
        "language": "en",
        "instance_id": "i1",
        "instance_title": "Leave of Ann",
        "definition_name": "leave",
        "task_id": "k",
        "origin": "k",
        "occurrence": 0,
        "metadata": {"instanceId": "i1", "officeId": None},
        "created_at": T0,
    }
    return Notice(id=notice_id, **(defaults | values))


def delivery(delivery_id: str, **values: Any) -> Delivery:
    defaults: dict[str, Any] = {
        "sequence": 1,
        "line": f"hook/{delivery_id}",
        "kind": ChannelKind.WEBHOOK,
        "endpoint_id": "hook",
        "instance_id": "i1",
        "next_attempt_at": T0,
        "created_at": T0,
        "content": DeliveryContent(title="Approve leave", body="Ann asks."),
    }
    return Delivery(id=delivery_id, **(defaults | values))


def attempt(delivery_id: str, number: int = 1, **values: Any) -> DeliveryAttempt:
    defaults: dict[str, Any] = {"started_at": T0, "duration_ms": 12, "outcome": AttemptOutcome.SENT}
    return DeliveryAttempt(delivery_id=delivery_id, number=number, **(defaults | values))
