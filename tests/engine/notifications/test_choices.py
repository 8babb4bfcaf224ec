"""Which ways a person is told something: one place decides (spec 10, Preferences)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from msgspec import structs

from webapp.engine.notifications.choices import ways
from webapp.engine.notifications.model import ChannelKind, Endpoint, EventRule, EventType, NoticePreferences

AT = datetime(2026, 1, 1, tzinfo=UTC)
MAIL = Endpoint(id="email", kind=ChannelKind.EMAIL, name="E-mail", for_notices=True, created_at=AT, updated_at=AT)
CHAT = Endpoint(id="chat", kind=ChannelKind.SLACK, name="Chat", for_notices=True, created_at=AT, updated_at=AT)


def chosen(rule: EventRule | None, email: str | None = "u1@here") -> tuple[bool, list[tuple[str, str | None]]]:
    rules = {} if rule is None else {EventType.TASK_CREATED: rule}
    preferences = NoticePreferences(user_id="u1", rules=rules, handles={"chat": "U1"})
    found = ways(preferences, EventType.TASK_CREATED, [MAIL, CHAT], email)
    return found.inbox, [(one.endpoint.id, one.address) for one in found.external]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (None, (True, [("email", "u1@here")])),
        (EventRule(), (True, [("email", "u1@here")])),
        (EventRule(endpoints={"email": False}), (True, [])),
        (EventRule(endpoints={"chat": True}), (True, [("email", "u1@here"), ("chat", "U1")])),
        (EventRule(inbox=False), (False, [("email", "u1@here")])),
        (EventRule(inbox=False, endpoints={"email": False}), (False, [])),
    ],
)
def test_what_was_not_chosen_is_as_always(
    rule: EventRule | None, expected: tuple[bool, list[tuple[str, str | None]]]
) -> None:
    assert chosen(rule) == expected


def test_nobody_is_told_where_they_cannot_be_reached() -> None:
    assert chosen(None, email=None) == (True, [])
    assert chosen(EventRule(inbox=False), email="") == (False, [])


def test_what_chose_nothing_of_another_event_does_not_count() -> None:
    preferences = NoticePreferences(user_id="u1", rules={EventType.TASK_URGED: EventRule(inbox=False)})
    assert ways(preferences, EventType.TASK_CREATED, [MAIL], None).any
    assert not ways(preferences, EventType.TASK_URGED, [MAIL], None).any
    assert ways(None, EventType.TASK_URGED, [], None).any


@pytest.mark.parametrize("off", [{"enabled": False}, {"for_notices": False}])
def test_an_endpoint_that_is_off_or_not_for_people_is_none(off: dict[str, bool]) -> None:
    switched = structs.replace(CHAT, **off)
    preferences = NoticePreferences(user_id="u1", rules={EventType.TASK_CREATED: EventRule(endpoints={"chat": True})})
    assert ways(preferences, EventType.TASK_CREATED, [switched], None).external == []
