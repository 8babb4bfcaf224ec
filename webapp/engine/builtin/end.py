"""End: consumes its token; with an outcome it gives the instance its result (spec 4.2)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, OutgoingMode, PropertyDescriptor


class EndActivity:
    """Other branches go on; the instance ends when nothing is left."""

    descriptor = ActivityDescriptor(
        type="End",
        category=Category.ENDS,
        icon="flag",
        outgoing_mode=OutgoingMode.NONE,
        properties=(
            PropertyDescriptor(name="Outcome", editor=Editor.TEMPLATE, kind=Kind.TEMPLATE, example="approved"),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Complete, with the outcome as label and as the instance's result when there is one."""
        outcome = context.text("Outcome")
        if outcome is None or not outcome.strip():
            return Complete()
        return Complete(label=outcome, result=outcome)
