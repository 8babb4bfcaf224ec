"""Start: where every instance begins, by whom or what it is started, and how long it first waits (spec 4.1, 3.18)."""

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
from webapp.engine.descriptors import (
    TIME_ZONE_PROPERTY,
    ActivityDescriptor,
    Category,
    Editor,
    PropertyDescriptor,
    cron_property,
    moment_property,
    span_property,
)
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.schedules import CatchUp

_NAMES = ("DelaySeconds", "StartAt")


class StartActivity:
    """Completes at once, or waits on a timer first: the instance is Running either way."""

    descriptor = ActivityDescriptor(
        type="Start",
        category=Category.ENDS,
        icon="circle-play",
        waits=True,
        properties=(
            PropertyDescriptor(name="SignalName", editor=Editor.TEXT, example="order.placed"),
            cron_property("Cron"),
            TIME_ZONE_PROPERTY,
            PropertyDescriptor(
                name="CatchUp",
                editor=Editor.CHOICE,
                options=tuple(choice.value for choice in CatchUp),
                default=CatchUp.ONE.value,
                section="time",
            ),
            span_property("DelaySeconds"),
            moment_property("StartAt"),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Pass the token on, at once or when the time has come."""
        due = _due(context)
        if due is None or due <= context.now:
            return Complete()
        return Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.TIMER, due_at=due),))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Pass the token on without outputs; a node timeout must not look like an elapsed delay."""
        if resume.bookmark.kind is not BookmarkKind.TIMER:
            raise ActivityFault("workflow.node.timed_out", code=UNEXPECTED, args={"node": context.node_name})
        return Complete()


def _due(context: ActivityContext) -> datetime | None:
    given = [name for name in _NAMES if context.literal(name) not in (None, "")]
    if not given:
        return None
    if len(given) > 1:
        raise ActivityFault("workflow.start.delay_twice", code=UNEXPECTED)
    name, value = given[0], context.evaluate(given[0])
    found = context.instant(value) if name == "StartAt" else context.later(value)
    if found is None:
        raise ActivityFault("workflow.start.delay_invalid", code=UNEXPECTED, args={"name": name, "value": value})
    return found
