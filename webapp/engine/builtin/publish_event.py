"""PublishEvent: tells the world that something happened (spec 4.10)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityFault, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.limits import MAX_KEY


class PublishEventActivity:
    """Publishes a ``workflow.custom`` event; nobody who listens can make the node fail."""

    descriptor = ActivityDescriptor(
        type="PublishEvent",
        category=Category.CONNECT,
        icon="megaphone",
        properties=(
            PropertyDescriptor(
                name="EventName", editor=Editor.TEMPLATE, kind=Kind.TEMPLATE, required=True, example="order.shipped"
            ),
            PropertyDescriptor(name="Payload", editor=Editor.KEY_VALUE, kind=Kind.TEMPLATE, type="object"),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Queue the event: texts of the payload are templates, everything deeper stands as it is."""
        name = context.text("EventName")
        if name is None or not name.strip():
            raise ActivityFault("workflow.property.missing", code=UNEXPECTED, args={"name": "EventName"})
        if len(name) > MAX_KEY:
            raise ActivityFault("workflow.event.name_too_long", code=UNEXPECTED, args={"max": MAX_KEY})
        context.publish(name, context.evaluate_each("Payload"))
        return Complete()
