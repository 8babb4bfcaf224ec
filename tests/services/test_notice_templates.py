"""The texts that administrators write: versions, checks, trying out, the trail."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.notices import NOW
from tests.support.stores import memory_stores
from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMINISTRATOR, DESIGNER, OPERATOR, USER
from webapp.engine.errors import Conflict, Denied, InputInvalid, StaleRevision
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.notifications.model import EventType, NoticeTemplate
from webapp.engine.ports.stores import DuplicateRecord

CREATED = EventType.TASK_CREATED
OTHER = actor("eve", ADMINISTRATOR, partition="acme")


@pytest.fixture
def house() -> Installation:
    return install(memory_stores())


def add(house: Installation, title: str = "Do {title}", by: Actor = ADMIN, **more: Any) -> NoticeTemplate:
    members: dict[str, Any] = {"event_type": CREATED, "language": "en", "body": "Due {dueAt}", **more}
    return house.services.notice_templates.add(by, title=title, **members)


def refused(house: Installation, **more: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputInvalid) as found:
        add(house, **more)
    assert house.services.notice_templates.list(ADMIN) == []
    return [(one.path, one.key) for one in found.value.problems]


def test_versions_are_added_and_never_changed(house: Installation) -> None:
    service = house.services.notice_templates
    first = add(house)
    assert (first.version, first.created_by, first.created_at, first.enabled) == (1, "admin", NOW, True)
    second = add(house, "Now {title}", enabled=False)
    assert service.versions(ADMIN, CREATED, None, "en") == [second, first]
    assert service.list(ADMIN) == [second]


def test_each_text_has_versions_of_its_own(house: Installation) -> None:
    service = house.services.notice_templates
    made = [
        add(house, "for all"),
        add(house, "for leave", business_type=" leave "),
        add(house, "in Chinese", language="zh"),
        add(house, "urged", event_type=EventType.TASK_URGED),
    ]
    assert [one.version for one in made] == [1, 1, 1, 1]
    assert [one.title for one in service.list(ADMIN)] == ["for all", "in Chinese", "for leave", "urged"]
    assert service.versions(ADMIN, CREATED, "leave", "en") == [made[1]]
    assert service.versions(ADMIN, CREATED, "", "en") == [made[0]]
    assert service.versions(ADMIN, CREATED, "travel", "en") == []


def test_texts_are_those_of_the_own_partition(house: Installation) -> None:
    service = house.services.notice_templates
    add(house, "theirs", by=OTHER)
    assert service.list(ADMIN) == []
    assert service.versions(ADMIN, CREATED, None, "en") == []
    assert add(house).version == 1
    assert [one.title for one in service.list(OTHER)] == ["theirs"]


@pytest.mark.parametrize("role", [USER, DESIGNER, OPERATOR])
def test_only_who_may_administer_notifications_reads_and_writes_them(house: Installation, role: str) -> None:
    service, who = house.services.notice_templates, actor("bob", role)
    for call in (
        lambda: service.list(who),
        lambda: service.versions(who, CREATED, None, "en"),
        lambda: add(house, by=who),
        lambda: service.preview(who, CREATED, "en", "{title}", ""),
    ):
        with pytest.raises(Denied):
            call()


def test_what_is_wrong_is_told_at_once_with_its_place(house: Installation) -> None:
    wrong = refused(
        house,
        title="x" * 201,
        body="x" * 4001,
        language="fr",
        business_type="x" * 501,
        event_type=EventType.NODE_LISTENER,
    )
    assert wrong == [
        ("eventType", "services.notice_template.event_type"),
        ("businessType", "workflow.input.too_long"),
        ("title", "workflow.input.too_long"),
        ("body", "workflow.input.too_long"),
        ("language", "services.notice_template.language"),
    ]
    assert refused(house, title=" \n") == [("title", "workflow.input.blank")]
    assert refused(house, body="a\0b") == [("body", "workflow.input.nul")]


def test_a_text_at_its_limits_is_kept_as_it_is(house: Installation) -> None:
    made = add(house, "x" * 200, body=" {title.__class__}\r\n" + "y" * 3980)
    assert len(made.body) == 4000
    assert house.services.notice_templates.versions(ADMIN, CREATED, None, "en")[0] == made


def test_a_name_that_the_event_does_not_have_is_a_warning_and_no_mistake(house: Installation) -> None:
    made = add(house, "{titel} {title}", body="{outcome} {{dueAt}} {starter}")
    found = house.services.notice_templates.warnings(CREATED, made.title, made.body)
    assert [(one.path, one.params["name"], one.severity) for one in found] == [
        ("title", "{titel}", "warning"),
        ("body", "{outcome}", "warning"),
        ("body", "{{dueAt}}", "warning"),
    ]
    assert found[0].params["known"] == [
        "{title}", "{instanceTitle}", "{definition}", "{businessKey}", "{starter}", "{assignee}", "{dueAt}",
            "{absent}",
    ]  # fmt: skip


def test_who_read_an_older_version_is_told(house: Installation) -> None:
    with pytest.raises(StaleRevision) as stale:
        add(house, expected_version=1)
    assert stale.value.details == {"revision": 0}
    assert add(house, expected_version=0).version == 1
    assert add(house, expected_version=1).version == 2
    with pytest.raises(StaleRevision) as stale:
        add(house, expected_version=1)
    assert stale.value.details == {"revision": 2, "updatedBy": "admin", "updatedAt": NOW}


def test_who_lost_a_race_is_told_and_overwrites_nothing(house: Installation) -> None:
    store = house.store_set.notice_settings
    insert = store.add_template

    def overtaken(template: NoticeTemplate) -> None:
        raise DuplicateRecord("version 1")

    store.add_template = overtaken  # type: ignore[method-assign]  # somebody is faster, between reading and writing
    with pytest.raises(Conflict):
        add(house)
    store.add_template = insert  # type: ignore[method-assign]
    assert add(house).version == 1


def test_each_version_is_in_the_trail_with_the_one_before(house: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    entries: list[AuditEntry] = []
    storage = house.services.notice_templates._storage
    note = storage.note

    def noting(entry: AuditEntry) -> None:
        note(entry)
        entries.append(entry)

    monkeypatch.setattr(storage, "note", noting)
    add(house, "old")
    made = add(house, "new")
    assert [(one.action, one.actor_id, one.request_id) for one in entries] == [
        ("addNoticeTemplate", "admin", "request-of-admin")
    ] * 2
    assert entries[0].before is None
    assert entries[1].before is not None
    assert entries[1].before["title"] == "old"
    assert entries[1].after is not None
    assert (entries[1].after["id"], entries[1].after["title"], entries[1].after["version"]) == (made.id, "new", 2)
    with house.store_set.stores.reading(None) as work:
        assert all(work.audit.holds(None, one.id) for one in entries)


def test_the_process_hears_of_each_change_and_of_no_refusal(house: Installation) -> None:
    heard: list[bool] = []
    house.services.notice_templates.changed = lambda: heard.append(True)
    with pytest.raises(InputInvalid):
        add(house, "")
    assert heard == []
    add(house)
    assert heard == [True]


def test_a_text_is_tried_out_with_sample_values(house: Installation) -> None:
    service = house.services.notice_templates
    text = ("{title}: {outcome} {title.x}", "Key {businessKey}\n{comment}")
    shown = service.preview(ADMIN, EventType.TASK_COMPLETED, "en", *text)
    assert shown == ("Approve the purchase: approved {title.x}", "Key PO-2026-0117\nPlease check the amount.")
    assert service.preview(ADMIN, CREATED, "zh", "{title} {outcome}", "").title == "审批采购 {outcome}"
    assert service.preview(ADMIN, CREATED, "en", "", "") == ("", "")
    assert service.list(ADMIN) == []


def test_what_is_far_too_long_can_be_tried_out(house: Installation) -> None:
    shown = house.services.notice_templates.preview(ADMIN, CREATED, "en", "{" * 1_000_000, "{title}" * 200_000)
    assert len(shown.title) == 200
    assert len(shown.body) == 4000


def test_every_name_has_a_sample_in_both_languages(house: Installation) -> None:
    service = house.services.notice_templates
    for language in ("en", "zh"):
        for event_type in EventType:
            samples = service.samples(event_type, language)
            assert list(samples) == list(service.names(event_type))
            assert all(samples.values()), event_type
    assert service.names(EventType.NODE_LISTENER) == ()
    assert service.built_in(CREATED, "zh").title == "您有新的审批任务：{title}"
