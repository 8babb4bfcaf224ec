"""Who is told, how they wish to be told, and in which words (spec 10)."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from tests.services.notified import CHAT, MAIL, begin, deliveries, emma, notices, staffed, template, told
from tests.support.engine import Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet, also_apart
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.notifications.model import (
    DeliveryState,
    Digest,
    EventRule,
    EventType,
    NoticePreferences,
    QuietHours,
)
from webapp.engine.ports.stores import StoreFailure

# --- the applicant --------------------------------------------------------------------------------


class Applicants:
    """A resolver that gives what it is told to give."""

    def __init__(self, found: object) -> None:
        self.found = found
        self.asked = 0

    def applicant(self, instance: WorkflowInstance, definition: WorkflowDefinition) -> str | None:
        self.asked += 1
        if isinstance(self.found, Exception):
            raise self.found
        return self.found  # type: ignore[return-value]  # an application may give anything


@pytest.mark.parametrize(
    ("found", "variables", "who"),
    [
        ("u2", {"currentApplicantId": "u3"}, "u2"),
        (None, {"currentApplicantId": "u3"}, "u3"),
        (" ", {"currentApplicantId": " u3 "}, "u3"),
        (RuntimeError("no such office"), {"currentApplicantId": "u3"}, "u3"),
        (RuntimeError("no such office"), {}, "emma"),
        (7, {"currentApplicantId": 7}, "emma"),
    ],
)
def test_the_applicant_is_the_resolvers_else_the_instances_else_the_starter(
    stores: StoreSet, found: object, variables: dict[str, Any], who: str
) -> None:
    resolver = Applicants(found)
    house = staffed(stores, "u1", "u2", "u3", applicants=resolver)
    begin(house, variables={"what": "it", **variables})
    assert resolver.asked == 0
    house.decide("u1", "approved")
    assert resolver.asked == 1
    assert {name: told(house, name) for name in ("emma", "u2", "u3") if told(house, name)} == {
        who: ["TaskCompleted", "InstanceCompleted"]
    }


# --- who is told, and how -------------------------------------------------------------------------


def test_a_user_of_another_tenant_is_dropped_and_not_named_in_full(
    stores: StoreSet, caplog: pytest.LogCaptureFixture
) -> None:
    house = staffed(stores)
    house.account("mallory@elsewhere.example", partition="t2")
    who = {"Assignees": ["mallory@elsewhere.example", "u1"]}
    with caplog.at_level(logging.INFO, "waypost.notices"):
        begin(house, flow("approval", [START, node("ask", "UserTask", who), END]))
    assert told(house, "u1") == ["TaskCreated"]
    for partition in (None, "t2"):
        assert notices(house, "mallory@elsewhere.example", partition) == []
    assert "1 not told" in caplog.text
    assert "mallory" not in caplog.text


@also_apart
def test_a_tenants_notices_stay_with_the_tenant(stores: StoreSet) -> None:
    house = staffed(stores)
    boss = house.account("boss", ADMINISTRATOR, partition="t1")
    house.account("tina", partition="t1")
    asked = node("ask", "UserTask", {"Assignees": ["tina", "u1"], "CompletionPolicy": "All"})
    house.publish(flow("approval", [START, asked, END]), by=boss)
    house.start("approval", by=boss)
    (one,) = notices(house, "tina", "t1")
    assert (one.tenant_id, one.event_type) == ("t1", EventType.TASK_CREATED)
    assert notices(house, "tina") == []
    assert [told(house, "u1"), notices(house, "u1", "t1")] == [[], []]


def test_a_disabled_account_is_not_told(stores: StoreSet) -> None:
    house = staffed(stores)
    instance = begin(house)
    account = house.services.accounts.find_by_name("emma")
    assert account is not None
    house.services.accounts.set_disabled(account, True)
    house.decide("u1", "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    assert told(house, "emma") == []


def prefer(house: Installation, who: str, **more: Any) -> None:
    house.store_set.notice_settings.save_preferences(NoticePreferences(user_id=who, **more), 0)


def test_the_inbox_can_be_switched_off_and_with_all_else_off_nothing_is_written(stores: StoreSet) -> None:
    house = staffed(stores, built_in=lambda partition: [MAIL])
    house.account("u3", email="u3@here.example")
    house.account("u4", email="u4@here.example")
    prefer(house, "u3", rules={EventType.TASK_CREATED: EventRule(inbox=False)})
    prefer(house, "u4", rules={EventType.TASK_CREATED: EventRule(inbox=False, endpoints={"email": False})})
    begin(house, flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u3", "u4", "u1"]}), END]))
    assert [told(house, name) for name in ("u1", "u3", "u4")] == [["TaskCreated"], [], []]
    (mail,) = deliveries(house)
    assert (mail.recipient_id, mail.address, mail.endpoint_id, mail.state) == (
        "u3",
        "u3@here.example",
        "email",
        DeliveryState.PENDING,
    )
    with stores.stores.reading(None) as work:
        kept = work.notices.find(None, mail.notice_id or "")
    assert kept is not None
    assert not kept.in_inbox


def test_deliveries_hold_what_was_decided_when_they_were_written(stores: StoreSet) -> None:
    house = staffed(stores, built_in=lambda partition: [MAIL, CHAT])
    house.account("u3", email="u3@here.example")
    prefer(
        house,
        "u3",
        rules={EventType.TASK_CREATED: EventRule(endpoints={"chat": True})},
        handles={"chat": "U0333"},
    )
    instance = begin(house, flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u3"]}), END]))
    (notice,) = notices(house, "u3")
    mail, chat = sorted(deliveries(house), key=lambda one: one.endpoint_id, reverse=True)
    assert (mail.address, chat.address) == ("u3@here.example", "U0333")
    assert mail.line == f"email/u3/{instance.id}"
    assert (mail.content.title, mail.content.body, mail.content.task_id) == (notice.title, notice.body, notice.task_id)
    assert (mail.next_attempt_at, mail.bundle) == (house.store_set.clock.now(), None)
    assert notice.sequence < min(mail.sequence, chat.sequence)
    assert house.instance(instance.id).last_sequence == max(mail.sequence, chat.sequence)


def test_quiet_hours_and_digests_put_deliveries_off_together(stores: StoreSet) -> None:
    house = staffed(stores, built_in=lambda partition: [MAIL, CHAT])
    house.account("u3", email="u3@here.example")
    now = stores.clock.now()
    prefer(
        house,
        "u3",
        rules={EventType.TASK_CREATED: EventRule(endpoints={"chat": True})},
        digest={"email": Digest.HOURLY},
        quiet=QuietHours(start=f"{now:%H}:00", end=f"{(now.hour + 2) % 24:02}:00", time_zone="UTC"),
    )
    document = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u3"]}), END])
    begin(house, document)
    house.start("approval", by=emma())
    end = now.replace(minute=0, second=0, microsecond=0).timestamp() + 2 * 3600
    found = deliveries(house)
    assert {one.next_attempt_at.timestamp() for one in found} == {end}
    assert len(found) == 4
    assert len({one.bundle for one in found}) == 2
    assert all(one.bundle for one in found)


class Settings:
    """The settings' store, which can be made to fail."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.fails = False

    def __getattr__(self, name: str) -> Any:
        if self.fails:
            raise StoreFailure("the settings are gone")
        return getattr(self._real, name)


def test_settings_that_cannot_be_read_keep_what_is_known_and_without_any_everybody_is_told(
    stores: StoreSet, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(stores.notice_settings)
    house = staffed(replace(stores, notice_settings=settings), "u1", "u2", built_in=lambda partition: [MAIL])
    prefer(house, "u1", rules={EventType.TASK_CREATED: EventRule(inbox=False)})
    settings.fails = True
    with caplog.at_level(logging.WARNING, "waypost.notices"):
        begin(house)
    assert told(house, "u1") == ["TaskCreated"]
    assert "could not be read; everybody is told as always" in caplog.text
    assert "preferences cannot be looked up" in caplog.text

    settings.fails = False
    stores.clock.advance(6)
    house.start("approval", {"what": "it"}, by=emma())
    settings.fails = True
    stores.clock.advance(6)
    house.start("approval", {"what": "it"}, by=emma())
    assert told(house, "u1") == ["TaskCreated"]
    assert "the old copy is used" in caplog.text


def test_a_template_is_told_with_its_version_and_people_by_their_shown_names(stores: StoreSet) -> None:
    house = install(stores)
    house.account("emma", display_name="Emma Stone")
    house.account("u1")
    stores.notice_settings.add_template(template())
    begin(house)
    (one,) = notices(house, "u1")
    assert (one.title, one.template_id, one.template_version) == ("To sign: Sign it", "tpl", 3)
    assert one.body == "Approval of Emma Stone, {what}"


def test_a_template_that_fails_falls_back_and_is_logged(stores: StoreSet, caplog: pytest.LogCaptureFixture) -> None:
    house = staffed(stores)
    stores.notice_settings.add_template(template(title="{dueAt}"))
    with caplog.at_level(logging.WARNING, "waypost.notices"):
        begin(house)
    (one,) = notices(house, "u1")
    assert one.template_id is None
    assert "Sign it" in one.title
    assert "template tpl was passed over" in caplog.text
