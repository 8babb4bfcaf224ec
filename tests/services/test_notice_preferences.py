"""What people choose about their notices, and what is refused with its place."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.engine import Installation, actor, install
from tests.support.notices import NOW
from tests.support.stores import memory_stores
from webapp.engine.errors import InputInvalid, StaleRevision
from webapp.engine.notifications.model import (
    ChannelKind,
    Digest,
    Endpoint,
    EventRule,
    EventType,
    NoticePreferences,
    QuietHours,
)

ANN = actor("ann")
MAIL = Endpoint(
    id="email", kind=ChannelKind.EMAIL, name="E-mail", for_notices=True, created_at=NOW, updated_at=NOW
)  # fmt: skip


def endpoint(id: str, **more: Any) -> Endpoint:
    members: dict[str, Any] = {
        "kind": ChannelKind.SLACK,
        "name": id.title(),
        "address": "https://hooks.example.org/secret-path",
        "secret": "s3cret",
        "for_notices": True,
        "topics": ["workflow.*"],
        "options": {"exchange": "x"},
        "created_at": NOW,
        "updated_at": NOW,
        **more,
    }
    return Endpoint(id=id, **members)


@pytest.fixture
def house() -> Installation:
    house = install(memory_stores())
    for one in (
        endpoint("slack"),
        endpoint("off", enabled=False),
        endpoint("events", for_notices=False),
        endpoint("theirs", tenant_id="acme"),
    ):
        house.store_set.notice_settings.insert_endpoint(one)
    house.services.notice_preferences.built_in = lambda partition: [MAIL]
    return house


def chosen(**more: Any) -> NoticePreferences:
    return NoticePreferences(user_id="ann", **more)


def problems(house: Installation, preferences: NoticePreferences) -> list[tuple[str, str]]:
    with pytest.raises(InputInvalid) as refused:
        house.services.notice_preferences.save(ANN, preferences, 0)
    assert house.services.notice_preferences.get(ANN).revision == 0
    return [(one.path, one.key.removeprefix("services.notice_preferences.")) for one in refused.value.problems]


def test_who_chose_nothing_has_what_is_usual(house: Installation) -> None:
    assert house.services.notice_preferences.get(ANN) == NoticePreferences(user_id="ann")


def test_what_was_chosen_is_kept_and_read_again(house: Installation) -> None:
    service = house.services.notice_preferences
    rules = {EventType.TASK_CREATED: EventRule(inbox=False, endpoints={"email": False, "slack": True})}
    wanted = chosen(
        rules=rules,
        quiet=QuietHours(start="22:00", end="07:30", time_zone="Asia/Shanghai"),
        digest={"email": Digest.DAILY},
        daily_at="09:15",
        time_zone="Europe/Berlin",
        handles={"slack": "U123"},
    )
    saved = service.save(ANN, wanted, 0)
    assert saved == msgspec.structs.replace(wanted, revision=1, updated_at=NOW)
    assert service.get(ANN) == saved
    assert service.get(actor("bo")).revision == 0
    assert service.save(ANN, chosen(), 1).revision == 2
    assert service.get(ANN).rules == {}


def test_nobody_writes_another_s_choices(house: Installation) -> None:
    service = house.services.notice_preferences
    service.save(actor("eve", partition="acme"), chosen(tenant_id=None, daily_at="10:00"), 0)
    assert service.get(ANN).revision == 0
    assert service.get(actor("eve", partition="acme")).daily_at == "10:00"
    assert service.get(actor("eve")).revision == 0


def test_who_read_an_older_revision_is_told(house: Installation) -> None:
    service = house.services.notice_preferences
    with pytest.raises(StaleRevision) as refused:
        service.save(ANN, chosen(), 3)
    assert refused.value.details == {"revision": 0}
    service.save(ANN, chosen(daily_at="10:00"), 0)
    with pytest.raises(StaleRevision) as refused:
        service.save(ANN, chosen(), 0)
    assert refused.value.details == {"revision": 1, "updatedBy": "ann", "updatedAt": NOW}
    assert service.get(ANN).daily_at == "10:00"


def test_who_lost_a_race_is_told_and_overwrites_nothing(house: Installation) -> None:
    service, store = house.services.notice_preferences, house.store_set.notice_settings
    found = store.preferences

    def overtaken(partition: str | None, user_id: str) -> NoticePreferences | None:
        read = found(partition, user_id)
        if read is None:
            store.save_preferences(chosen(revision=1, daily_at="06:00"), 0)
        return read

    store.preferences = overtaken  # type: ignore[method-assign]  # somebody is faster, between reading and writing
    with pytest.raises(StaleRevision):
        service.save(ANN, chosen(daily_at="10:00"), 0)
    assert service.get(ANN).daily_at == "06:00"


def test_what_there_is_to_choose_tells_no_address_and_no_secret(house: Installation) -> None:
    found = house.services.notice_preferences.choices(ANN)
    assert [(one.id, one.name) for one in found] == [("email", "E-mail"), ("slack", "Slack")]
    assert all((one.address, one.secret, one.topics, one.options) == ("", None, [], {}) for one in found)
    theirs = house.services.notice_preferences.choices(actor("eve", partition="acme"))
    assert [one.id for one in theirs] == ["email", "theirs"]


@pytest.mark.parametrize("unknown", ["never", "theirs", "off", "events"])
def test_only_what_is_offered_can_be_chosen(house: Installation, unknown: str) -> None:
    wanted = chosen(
        rules={EventType.MENTION: EventRule(endpoints={unknown: True})},
        digest={unknown: Digest.HOURLY},
        handles={unknown: "me"},
    )
    assert problems(house, wanted) == [
        (f"rules.Mention.endpoints.{unknown}", "unknown_endpoint"),
        (f"digest.{unknown}", "unknown_endpoint"),
        (f"handles.{unknown}", "unknown_endpoint"),
    ]


def test_a_choice_of_what_is_gone_may_stay_but_not_come_anew(house: Installation) -> None:
    service, store = house.services.notice_preferences, house.store_set.notice_settings
    wanted = chosen(digest={"slack": Digest.HOURLY})
    service.save(ANN, wanted, 0)
    store.delete_endpoint(None, "slack", 1)
    assert service.save(ANN, wanted, 1).digest == {"slack": Digest.HOURLY}
    service.save(ANN, chosen(), 2)
    with pytest.raises(InputInvalid):
        service.save(ANN, wanted, 3)


@pytest.mark.parametrize("time", ["", "8:00", "24:00", "12:60", "08:00:00", " 08:00", "08-00", "٠٨:٠٠", "08:00\n"])
def test_a_time_of_day_is_two_digits_and_two(house: Installation, time: str) -> None:
    quiet = QuietHours(start=time, end="07:00", time_zone="UTC")
    assert problems(house, chosen(quiet=quiet, daily_at=time)) == [("quiet.start", "time"), ("dailyAt", "time")]
    quiet = QuietHours(start="07:00", end=time, time_zone="UTC")
    assert problems(house, chosen(quiet=quiet)) == [("quiet.end", "time")]


@pytest.mark.parametrize("zone", ["", "Mars/Base", "../etc/passwd", "europe/berlin", "localtime", "UTC+8", "x" * 500])
def test_a_zone_is_one_of_the_list(house: Installation, zone: str) -> None:
    quiet = QuietHours(start="22:00", end="07:00", time_zone=zone)
    assert problems(house, chosen(quiet=quiet, time_zone=zone)) == [("quiet.timeZone", "zone"), ("timeZone", "zone")]


def test_quiet_hours_may_go_past_midnight_but_not_be_empty(house: Installation) -> None:
    empty = QuietHours(start="07:00", end="07:00", time_zone="UTC")
    assert problems(house, chosen(quiet=empty)) == [("quiet.end", "no_hours")]
    over = QuietHours(start="23:59", end="00:00", time_zone="UTC")
    assert house.services.notice_preferences.save(ANN, chosen(quiet=over), 0).quiet == over


@pytest.mark.parametrize(
    ("handle", "key"),
    [("x" * 201, "workflow.input.too_long"), ("a\nb", "handle"), ("a\x1bb", "handle"), ("a\0b", "workflow.input.nul")],
)
def test_a_handle_is_one_short_line(house: Installation, handle: str, key: str) -> None:
    assert problems(house, chosen(handles={"slack": handle})) == [("handles.slack", key)]


def test_mail_goes_to_the_account_s_address_and_nowhere_else(house: Installation) -> None:
    assert problems(house, chosen(handles={"email": "boss@example.org"})) == [("handles.email", "mail_handle")]


def test_what_says_nothing_is_not_kept(house: Installation) -> None:
    rules = {EventType.MENTION: EventRule(), EventType.TASK_CREATED: EventRule(inbox=False)}
    saved = house.services.notice_preferences.save(ANN, chosen(rules=rules, handles={"slack": "  "}), 0)
    assert (saved.rules, saved.handles) == ({EventType.TASK_CREATED: EventRule(inbox=False)}, {})
    again = house.services.notice_preferences.save(ANN, chosen(handles={"slack": " U1 "}), 1)
    assert again.handles == {"slack": "U1"}


def test_the_process_hears_of_each_change_and_of_no_refusal(house: Installation) -> None:
    service, heard = house.services.notice_preferences, []
    service.changed = lambda: heard.append(True)
    with pytest.raises(InputInvalid):
        service.save(ANN, chosen(daily_at="8"), 0)
    assert heard == []
    service.save(ANN, chosen(), 0)
    assert heard == [True]
