"""Terminate: ends the whole instance at once, whatever else is under way (spec 4.3)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityFault, ActivityOutcome, EndInstance
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, OutgoingMode, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.limits import MAX_REMARK


class TerminateActivity:
    """Nothing that is still queued runs, every waiting point goes, nothing is compensated."""

    descriptor = ActivityDescriptor(
        type="Terminate",
        category=Category.ENDS,
        icon="octagon-x",
        outgoing_mode=OutgoingMode.NONE,
        properties=(PropertyDescriptor(name="Reason", editor=Editor.TEMPLATE, kind=Kind.TEMPLATE),),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """End the instance; without a reason of its own the node's name is the reason."""
        reason = context.text("Reason")
        if reason is not None and len(reason) > MAX_REMARK:
            raise ActivityFault(
                "workflow.property.too_long", code=UNEXPECTED, args={"name": "Reason", "max": MAX_REMARK}
            )
        return EndInstance(reason=reason if reason and reason.strip() else context.node_name)
