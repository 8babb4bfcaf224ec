"""Parallel: takes every edge, whatever its condition (spec 4.6)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category, OutgoingMode


class ParallelActivity:
    """Splits one token into one for each edge."""

    descriptor = ActivityDescriptor(
        type="Parallel", category=Category.ROUTING, icon="columns-2", outgoing_mode=OutgoingMode.ALL
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Leave the fan-out to the edges."""
        return Complete()
