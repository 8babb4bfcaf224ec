"""Who stands in for an absent assignee is told of what that one is asked to do (spec 10, decision D34)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from msgspec import structs

from webapp.engine.notifications.model import EventType
from webapp.engine.notifications.recipients import Telling

ABSENT = "absent"
"""The name of a text for the person in whose place somebody is told."""

ASKING = frozenset(
    {
        EventType.TASK_CREATED,
        EventType.TASK_TRANSFERRED,
        EventType.TASK_ADDED,
        EventType.TASK_RETURNED,
        EventType.TASK_URGED,
        EventType.TASK_REMINDER,
        EventType.TASK_OVERDUE,
        EventType.TASK_ESCALATED,
    }
)
"""What asks for a decision: the task that it is about stands in the substitute's inbox too."""


def with_stand_ins(found: Iterable[Telling], stand_ins: Callable[[str], Collection[str]]) -> list[Telling]:
    """Return the tellings, each followed by those to the people who stand in for its recipient.

    Tasks of a group are told to its members only, as they are listed for them only. Who is told of it already, as
    another assignee for instance, is not told twice. *stand_ins* are an account's substitutes now; there are no chains.
    """
    every = list(found)
    known = {_occasion(one, one.recipient_id) for one in every}
    told: list[Telling] = []
    for one in every:
        told.append(one)
        if one.event_type not in ASKING or one.task_id is None or one.names.get("assignee") != one.recipient_id:
            continue
        for name in stand_ins(one.recipient_id):
            if _occasion(one, name) not in known:
                known.add(_occasion(one, name))
                told.append(structs.replace(one, recipient_id=name, names={**one.names, ABSENT: one.recipient_id}))
    return told


def _occasion(one: Telling, recipient: str) -> tuple[str, EventType, str, int]:
    return one.origin, one.event_type, recipient, one.occurrence
