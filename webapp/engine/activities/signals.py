"""What WaitSignal and EventGateway have in common: a bookmark that waits for a signal, and its correlation (3.17)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityContext, ActivityFault, BookmarkRequest
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.numbers import JsonValue

SIGNAL_NAME = "SignalName"
ACCEPT_ANY = "AcceptAnyCorrelation"

GATEWAY = "EventGateway"
EVENTS = "Events"
MAX_EVENTS = 50
NAME = "signalName"
ACCEPTS_ANY = "acceptAnyCorrelation"
SECONDS = "timerSeconds"
UNTIL = "until"
LABEL = "outcome"
TIMER = "timer"
"""The label of a gateway's timer that names none (spec 4.20)."""


def signal_request(context: ActivityContext, name: str | None, *, accepts_any: bool) -> BookmarkRequest:
    """Return the request for a wait; a blank name is a fault, and so is a wait for any correlation id nobody asked for.

    :raises ActivityFault: one of these.
    """
    if name is None or not name.strip():
        raise ActivityFault("workflow.property.missing", code=UNEXPECTED, args={"name": SIGNAL_NAME})
    if not accepts_any and context.correlation_id is None:
        args = {"node": context.node_name, "signal": name}
        raise ActivityFault("workflow.signal.no_correlation", code=UNEXPECTED, args=args)
    correlation_id = None if accepts_any else context.correlation_id
    return BookmarkRequest(kind=BookmarkKind.SIGNAL, key=name, correlation_id=correlation_id)


def flag_of(name: str, value: JsonValue) -> bool:
    """Return a switch; null is off. :raises ActivityFault: it is no boolean, which must never count as "any"."""
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": name, "type": "boolean"})
