"""Log: writes a line to the log of flows (spec 4.15)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor

LEVELS = ("Trace", "Debug", "Information", "Warning", "Error", "Critical")
_BY_NAME = {level.lower(): level for level in LEVELS}


class LogActivity:
    """Never faults because of its level."""

    descriptor = ActivityDescriptor(
        type="Log",
        category=Category.DATA,
        icon="scroll-text",
        properties=(
            PropertyDescriptor(
                name="Message", editor=Editor.TEMPLATE, kind=Kind.TEMPLATE, example="Order {{orderId}} arrived"
            ),
            PropertyDescriptor(name="Level", editor=Editor.CHOICE, default="Information", options=LEVELS),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Queue the line; an unknown level or none is Information."""
        level = context.literal("Level")
        known = _BY_NAME.get(level.lower(), "Information") if isinstance(level, str) else "Information"
        context.log(known, context.text("Message") or "")
        return Complete()
