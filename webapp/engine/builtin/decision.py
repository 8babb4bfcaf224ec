"""Decision: takes the first edge whose condition holds (spec 4.5)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category, OutgoingMode


class DecisionActivity:
    """Completes without a label, so that its edges see the outcome that was there before."""

    descriptor = ActivityDescriptor(
        type="Decision", category=Category.ROUTING, icon="split", outgoing_mode=OutgoingMode.EXCLUSIVE
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Leave the choice to the edges."""
        return Complete()
