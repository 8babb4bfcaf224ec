"""Start: where every instance begins (spec 4.1)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category


class StartActivity:
    """Completes at once."""

    descriptor = ActivityDescriptor(type="Start", category=Category.ENDS, icon="circle-play")

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Pass the token on."""
        return Complete()
