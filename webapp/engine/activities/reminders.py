"""The reminders that a user task node asks for when it begins to wait (spec 4.9, 4.20, 6.4)."""

from __future__ import annotations

from datetime import datetime

from webapp.engine.activities.api import ActivityContext, ActivityFault, BookmarkRequest
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.numbers import JsonNumber, JsonObject, JsonValue
from webapp.engine.schedules import positive

REASON = "reason"
DUE = "due"
REMIND = "remind"
COUNT = "count"
EVERY = "every"
MOST = "most"

REMIND_AFTER = "RemindAfterSeconds"
REMIND_EVERY = "RemindEverySeconds"
MAX_REMINDERS = "MaxReminders"


def reminders(context: ActivityContext, due_at: datetime | None) -> tuple[BookmarkRequest, ...]:
    """Return the first reminder, when the node asks for any, and the word at *due_at* that it is overdue.

    Without ``RemindAfterSeconds`` the first one comes after ``RemindEverySeconds``; without the latter it is the only
    one. ``MaxReminders`` counts all of them.
    """
    found = []
    every, after = context.evaluate(REMIND_EVERY), context.evaluate(REMIND_AFTER)
    if every is not None:
        _moment(context, REMIND_EVERY, every)
    first = REMIND_EVERY if after is None else REMIND_AFTER
    if after is not None or every is not None:
        payload: JsonObject = {REASON: REMIND, COUNT: 0, EVERY: every, MOST: _most(context)}
        at = _moment(context, first, every if after is None else after)
        found.append(BookmarkRequest(kind=BookmarkKind.REMINDER, due_at=at, payload=payload))
    if due_at is not None:
        found.append(BookmarkRequest(kind=BookmarkKind.REMINDER, due_at=due_at, payload={REASON: DUE}))
    return tuple(found)


def _moment(context: ActivityContext, name: str, span: JsonValue) -> datetime:
    moment = context.later(span)
    if moment is None:
        raise ActivityFault("workflow.task.reminder_invalid", code=UNEXPECTED, args={"name": name, "value": span})
    return moment


def _most(context: ActivityContext) -> JsonNumber | None:
    value = context.literal(MAX_REMINDERS)
    if value is None:
        return None
    most = positive(value)
    if most is None:
        args = {"name": MAX_REMINDERS, "value": value}
        raise ActivityFault("workflow.task.reminder_invalid", code=UNEXPECTED, args=args)
    return most
