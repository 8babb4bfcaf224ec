"""Notices for tests: made by hand, and stored as a command stores them."""

from __future__ import annotations

from typing import Any

from tests.support.clock import FakeClock
from webapp.engine.notifications.model import EventType, Notice, NoticeType, notice_id
from webapp.engine.ports.stores import Stores, WriteSet

NOW = FakeClock().now()


def notice(recipient: str, **more: Any) -> Notice:
    """Return a notice of a new task; its id is made of what makes it unique."""
    members: dict[str, Any] = {
        "tenant_id": None,
        "recipient_id": recipient,
        "event_type": EventType.TASK_CREATED,
        "type": NoticeType.APPROVAL,
        "title": "New approval task: Check",
        "body": "Request: Trip",
        "language": "en",
        "instance_id": "i1",
        "instance_title": "Trip",
        "definition_name": "leave",
        "task_id": "t1",
        "occurrence": 0,
        "metadata": {"instanceId": "i1"},
        "created_at": NOW,
        **more,
    }
    origin = members.setdefault("origin", members["task_id"] or members["instance_id"])
    kind = members["event_type"]
    members.setdefault("code", f"workflow.{kind.value}")
    parts = (members["tenant_id"], members["instance_id"], origin, kind.value, recipient, members["occurrence"])
    members.setdefault("id", notice_id(*parts))
    return Notice(**members)


def tell(stores: Stores, *notices: Notice) -> None:
    """Store notices of one partition."""
    partition = notices[0].tenant_id
    with stores.writing(partition) as work:
        work.apply(WriteSet(partition=partition, notices=list(notices)))
