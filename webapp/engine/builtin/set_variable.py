"""SetVariable: writes literal values and computed ones (spec 4.4)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityFault, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED


class SetVariableActivity:
    """Every expression sees the variables as they were before the node: not the values, not each other."""

    descriptor = ActivityDescriptor(
        type="SetVariable",
        category=Category.DATA,
        icon="braces",
        properties=(
            PropertyDescriptor(name="Values", editor=Editor.KEY_VALUE, type="object"),
            PropertyDescriptor(name="Expressions", editor=Editor.KEY_VALUE, kind=Kind.EXPRESSION, type="object"),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Complete with the values and, over them, the expressions' results."""
        values = context.literal("Values")
        computed = context.evaluate_each("Expressions")
        if values is None:
            return Complete(outputs=computed)
        if not isinstance(values, dict):
            raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": "Values", "type": "object"})
        values.update(computed)
        return Complete(outputs=values)
