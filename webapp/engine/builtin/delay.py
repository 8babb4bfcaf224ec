"""Delay: waits for a span of time, until a moment, or for the next time of a schedule (spec 4.8, 4.20)."""

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
    CALENDAR_PROPERTY,
    TIME_ZONE_PROPERTY,
    ActivityDescriptor,
    Category,
    cron_property,
    moment_property,
    span_property,
)
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind

_SPANS = ("DurationSeconds", "Until", "Cron")


class DelayActivity:
    """Waits on a timer; fractions of seconds count."""

    descriptor = ActivityDescriptor(
        type="Delay",
        category=Category.TIME,
        icon="timer",
        waits=True,
        properties=(
            span_property("DurationSeconds", "setup"),
            moment_property("Until", "setup"),
            cron_property("Cron", "setup"),
            CALENDAR_PROPERTY,
            TIME_ZONE_PROPERTY,
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Suspend until the time has come; what names no time is a fault. A moment that has passed is due at once."""
        given = [name for name in _SPANS if context.literal(name) not in (None, "")]
        if len(given) != 1:
            args = {"choices": ", ".join(_SPANS), "given": ", ".join(given)}
            raise ActivityFault("workflow.delay.span", code=UNEXPECTED, args=args)
        return Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.TIMER, due_at=_due(context, given[0])),))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Complete without outputs; a node timeout must not look like an elapsed delay."""
        if resume.bookmark.kind is not BookmarkKind.TIMER:
            raise ActivityFault("workflow.node.timed_out", code=UNEXPECTED, args={"node": context.node_name})
        return Complete()


def _due(context: ActivityContext, name: str) -> datetime:
    if name == "Cron":
        return context.next_firing(str(context.literal(name)))
    value = context.evaluate(name)
    if name == "Until":
        found, key = context.instant(value), "workflow.delay.until_invalid"
    else:
        found, key = context.later(value), "workflow.delay.invalid"
    if found is None:
        raise ActivityFault(key, code=UNEXPECTED, args={"value": value})
    return found
