"""Fault: always fails, with a message of the definition's own (spec 4.16)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityFault, ActivityOutcome
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, OutgoingMode, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED


class FaultActivity:
    """Retries and continue on error apply as to any node; nothing flows on, since it has no outgoing edges."""

    descriptor = ActivityDescriptor(
        type="Fault",
        category=Category.ERRORS,
        icon="zap",
        outgoing_mode=OutgoingMode.NONE,
        properties=(PropertyDescriptor(name="Message", editor=Editor.TEMPLATE, kind=Kind.TEMPLATE),),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Fault with the message, or with the node's name."""
        text = context.text("Message")
        args = {"text": text if text and text.strip() else context.node_name}
        raise ActivityFault("workflow.fault.node", code=UNEXPECTED, args=args)
