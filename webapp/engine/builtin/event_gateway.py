"""EventGateway: waits for several things at once; the first one decides (spec 4.12, 4.20)."""

from __future__ import annotations

from datetime import datetime

from webapp.engine.activities.api import (
    ActivityContext,
    ActivityFault,
    ActivityOutcome,
    BookmarkRequest,
    Complete,
    ResumeInput,
    Suspend,
)
from webapp.engine.activities.signals import (
    ACCEPTS_ANY,
    EVENTS,
    GATEWAY,
    LABEL,
    MAX_EVENTS,
    NAME,
    SECONDS,
    TIMER,
    UNTIL,
    flag_of,
    signal_request,
)
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, OutgoingMode, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.limits import MAX_OUTCOME
from webapp.engine.instances.model import TIMEOUT
from webapp.engine.numbers import JsonObject, JsonValue
from webapp.engine.schedules import parse_instant, positive

_EXAMPLE = """[
  {"signalName": "payment.received"},
  {"timerSeconds": 86400, "outcome": "overdue"}
]"""


class EventGatewayActivity:
    """Signals and timers side by side; what comes first ends the others, and its name is the label."""

    descriptor = ActivityDescriptor(
        type=GATEWAY,
        category=Category.CONNECT,
        icon="radar",
        outgoing_mode=OutgoingMode.EXCLUSIVE,
        outcomes=(TIMER, TIMEOUT),
        waits=True,
        properties=(
            PropertyDescriptor(name=EVENTS, editor=Editor.JSON, type="array", required=True, example=_EXAMPLE),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Suspend with one bookmark for each event; what is no event is a fault."""
        events = context.literal(EVENTS)
        if not isinstance(events, list) or not 1 <= len(events) <= MAX_EVENTS:
            raise _invalid(None)
        return Suspend(bookmarks=tuple(_request(context, event) for event in events))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Complete with the signal's name, the timer's label, or ``timeout``; a signal's payload becomes outputs."""
        bookmark = resume.bookmark
        if bookmark.kind is BookmarkKind.NODE_TIMEOUT:
            return Complete(label=TIMEOUT)
        if bookmark.kind is BookmarkKind.TIMER:
            label = bookmark.payload.get(LABEL)
            return Complete(label=label if isinstance(label, str) else TIMER)
        return Complete(outputs=resume.inputs, label=bookmark.key)


def _request(context: ActivityContext, event: JsonValue) -> BookmarkRequest:
    if not isinstance(event, dict) or sum(event.get(name) is not None for name in (NAME, SECONDS, UNTIL)) != 1:
        raise _invalid(event)
    if event.get(NAME) is None:
        return _timer(context, event)
    name = event[NAME]
    if not isinstance(name, str):
        raise _invalid(event)
    request = signal_request(
        context, context.render(name), accepts_any=flag_of(f"{EVENTS}.{ACCEPTS_ANY}", event.get(ACCEPTS_ANY))
    )
    if len(request.key or "") > MAX_OUTCOME:
        # It could not become the label, and that shows before anybody waits.
        raise ActivityFault("workflow.outcome.too_long", code=UNEXPECTED, args={"max": MAX_OUTCOME})
    return request


def _timer(context: ActivityContext, event: JsonObject) -> BookmarkRequest:
    label = event.get(LABEL)
    if label is not None and not (isinstance(label, str) and 0 < len(label) <= MAX_OUTCOME):
        raise _invalid(event)
    due_at = _seconds(context, event[SECONDS]) if event.get(SECONDS) is not None else _moment(context, event[UNTIL])
    return BookmarkRequest(kind=BookmarkKind.TIMER, due_at=due_at, payload={LABEL: label or TIMER})


def _seconds(context: ActivityContext, value: JsonValue) -> datetime:
    found = context.evaluate_text(value) if isinstance(value, str) else value
    due_at = None if positive(found) is None else context.later(found)
    if due_at is None:
        raise ActivityFault("workflow.gateway.seconds", code=UNEXPECTED, args={"value": found})
    return due_at


def _moment(context: ActivityContext, value: JsonValue) -> datetime:
    moment = parse_instant(value) if isinstance(value, str) else None
    if moment is None:
        found = context.evaluate_text(value) if isinstance(value, str) else value
        moment = parse_instant(found) if isinstance(found, str) else None
        if moment is None:
            raise ActivityFault("workflow.gateway.until", code=UNEXPECTED, args={"value": found})
    return moment


def _invalid(event: JsonValue) -> ActivityFault:
    return ActivityFault("workflow.gateway.event", code=UNEXPECTED, args={"event": event})
