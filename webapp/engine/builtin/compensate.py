"""Compensate: undoes in mid-flow what completed nodes have done (spec 4.17)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityFault, ActivityOutcome, Compensation
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED


class CompensateActivity:
    """The latest start is undone first; what cannot be undone is noted, and the flow goes on."""

    descriptor = ActivityDescriptor(
        type="Compensate",
        category=Category.ERRORS,
        icon="rotate-ccw",
        properties=(PropertyDescriptor(name="NodeIds", editor=Editor.LIST, type="array"),),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Ask for the compensation of the nodes named, of all when none is."""
        value = context.literal("NodeIds")
        if value is None or value == []:
            return Compensation()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": "NodeIds", "type": "array"})
        return Compensation(node_ids=tuple(value))
