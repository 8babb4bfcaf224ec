"""Delay: waits for a span of time (spec 4.8)."""

from __future__ import annotations

from webapp.engine.activities.api import (
    ActivityContext,
    ActivityFault,
    ActivityOutcome,
    BookmarkRequest,
    Complete,
    ResumeInput,
    Suspend,
)
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.schedules import later, positive


class DelayActivity:
    """Waits on a timer; fractions of seconds count."""

    descriptor = ActivityDescriptor(
        type="Delay",
        category=Category.TIME,
        icon="timer",
        waits=True,
        properties=(
            PropertyDescriptor(
                name="DurationSeconds",
                editor=Editor.DURATION,
                kind=Kind.LITERAL_OR_EXPRESSION,
                type="number",
                required=True,
            ),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Suspend until the time is over; what is no number above zero is a fault."""
        value = context.evaluate("DurationSeconds")
        seconds = positive(value)
        if seconds is None:
            raise ActivityFault("workflow.delay.invalid", code=UNEXPECTED, args={"value": value})
        return Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.TIMER, due_at=later(context.now, seconds)),))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Complete without outputs; a node timeout must not look like an elapsed delay."""
        if resume.bookmark.kind is not BookmarkKind.TIMER:
            raise ActivityFault("workflow.node.timed_out", code=UNEXPECTED, args={"node": context.node_name})
        return Complete()
