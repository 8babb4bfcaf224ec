"""What the caller was told: list, count, read (spec 10, 11 Notifications)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta

from webapp.engine.notifications.model import EventType, Notice, NoticeType, Severity
from webapp.engine.numbers import JsonObject
from webapp.services.queries import NoticeQuery
from webapp.services.texts import read_moment
from webapp.web.api.query import Window, paging
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ListOf, Shape
from webapp.web.wire import Instant, instant_text, optional_instant

section = Section("Notifications")


class NoticeFilter(Window, frozen=True, kw_only=True):
    """Which notices, newest first."""

    unread: bool = False
    type: NoticeType | None = None
    instance_id: str | None = None


class NoticeShape(Shape, frozen=True, kw_only=True):
    """A notice; ``code`` is ``workflow.`` and the event type."""

    id: str
    type: NoticeType
    severity: Severity
    code: str
    event_type: EventType
    category: str | None
    title: str
    body: str
    language: str
    instance_id: str
    instance_title: str
    definition_name: str
    task_id: str | None
    metadata: JsonObject
    created_at: Instant
    read_at: Instant | None


class UnreadCount(Shape, frozen=True, kw_only=True):
    """How many notices are unread."""

    unread: Annotated[int, Meta(description="Counted up to 100; that number means so many or more")]


class ReadAllBody(Body, frozen=True, kw_only=True):
    """Until when; without it until now."""

    until: str | None = None


class Marked(Shape, frozen=True, kw_only=True):
    """How many notices were marked as read."""

    marked: int


@section.call("GET", "/notifications", query=NoticeFilter, answers={200: ListOf[NoticeShape]})
def list_notifications(call: Call[None, NoticeFilter]) -> Reply:
    """List the caller's notices, newest first."""
    wanted = call.query
    query = NoticeQuery(unread=wanted.unread, type=wanted.type, instance_id=wanted.instance_id, paging=paging(wanted))
    found = call.services.notices.list(call.actor, query)
    return Reply(value=ListOf(items=[_shape(notice) for notice in found.items], total=found.total))


@section.call("GET", "/notifications/count", answers={200: UnreadCount})
def count_notifications(call: Call[None, None]) -> Reply:
    """Count the caller's unread notices."""
    return Reply(value=UnreadCount(unread=call.services.notices.unread(call.actor)))


@section.call(
    "POST", "/notifications/<id>/read", answers={200: NoticeShape}, refuses=(404,), answers_once="after"
)  # fmt: skip
def read_notification(call: Call[None, None], id: str) -> Reply:
    """Mark one of the caller's notices as read."""
    return Reply(value=_shape(call.services.notices.read(call.actor, id)))


@section.call(
    "POST", "/notifications/read-all", body=ReadAllBody, body_required=False, answers={200: Marked},
    answers_once="after",
)  # fmt: skip
def read_all_notifications(call: Call[ReadAllBody, None]) -> Reply:
    """Mark everything that the caller was told until a moment as read."""
    until = None if call.body.until is None else _whole(read_moment("until", call.body.until))
    return Reply(value=Marked(marked=call.services.notices.mark_all_read(call.actor, until)))


def _whole(until: datetime) -> datetime:
    """Return the end of a millisecond: ``createdAt`` is told without what is finer, and must include its own notice."""
    return until + timedelta(microseconds=999) if until.microsecond % 1000 == 0 else until


def _shape(notice: Notice) -> NoticeShape:
    return NoticeShape(
        id=notice.id,
        type=notice.type,
        severity=notice.severity,
        code=notice.code,
        event_type=notice.event_type,
        category=notice.category,
        title=notice.title,
        body=notice.body,
        language=notice.language,
        instance_id=notice.instance_id,
        instance_title=notice.instance_title,
        definition_name=notice.definition_name,
        task_id=notice.task_id,
        metadata=notice.metadata,
        created_at=instant_text(notice.created_at),
        read_at=optional_instant(notice.read_at),
    )
