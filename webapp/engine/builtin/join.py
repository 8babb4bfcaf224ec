"""Join: one token out of many; the engine counts the arrivals (spec 3.9, 4.7)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityFault, ActivityOutcome, Complete
from webapp.engine.activities.compiled import JOIN, WAIT_ALL, WAIT_ANY, join_mode
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED


class JoinActivity:
    """Runs once for each wave of arrivals that fires."""

    descriptor = ActivityDescriptor(
        type=JOIN,
        category=Category.ROUTING,
        icon="merge",
        properties=(
            PropertyDescriptor(name="Mode", editor=Editor.CHOICE, default=WAIT_ALL, options=(WAIT_ALL, WAIT_ANY)),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Complete; a mode that is none is a fault, never a silent WaitAll."""
        mode = context.literal("Mode")
        if join_mode(mode) is None:
            raise ActivityFault("workflow.join.unknown_mode", code=UNEXPECTED, args={"mode": mode})
        return Complete()
