"""WaitSignal: waits until a signal comes (spec 4.11)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Suspend
from webapp.engine.activities.signals import ACCEPT_ANY, SIGNAL_NAME, flag_of, signal_request
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor


class WaitSignalActivity:
    """What the signal carries becomes variables; a node timeout is a fault: both are the engine's usual resumption."""

    descriptor = ActivityDescriptor(
        type="WaitSignal",
        category=Category.CONNECT,
        icon="radio-tower",
        waits=True,
        properties=(
            PropertyDescriptor(
                name=SIGNAL_NAME, editor=Editor.TEMPLATE, kind=Kind.TEMPLATE, required=True, example="payment.received"
            ),
            PropertyDescriptor(name=ACCEPT_ANY, editor=Editor.SWITCH, type="boolean", default=False),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Suspend until the signal comes.

        A wait that takes any correlation id must be asked for: without one of its own, an instance fails (spec 3.17).
        """
        name = context.text(SIGNAL_NAME)
        accepts_any = flag_of(ACCEPT_ANY, context.literal(ACCEPT_ANY))
        return Suspend(bookmarks=(signal_request(context, name, accepts_any=accepts_any),))
