"""The store of templates, preferences and endpoints: partitions, versions, revisions (spec 10, 8.10)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.stores.records import T0, at
from tests.support.stores import StoreSet
from webapp.engine.notifications.model import (
    ChannelKind,
    Digest,
    Endpoint,
    EventRule,
    EventType,
    NoticePreferences,
    NoticeTemplate,
    QuietHours,
)
from webapp.engine.ports.stores import DuplicateRecord, RevisionConflict

CREATED = EventType.TASK_CREATED


def template(version: int = 1, **values: Any) -> NoticeTemplate:
    defaults: dict[str, Any] = {"event_type": CREATED, "language": "en", "title": "{title}", "body": "Do it."}
    own = {**defaults, **values}
    name = "/".join(str(own.get(one)) for one in ("tenant_id", "event_type", "business_type", "language"))
    return NoticeTemplate(id=f"{name}/{version}", version=version, created_at=T0, **own)


def endpoint(endpoint_id: str = "e", **values: Any) -> Endpoint:
    defaults: dict[str, Any] = {"kind": ChannelKind.WEBHOOK, "name": endpoint_id, "created_at": T0, "updated_at": T0}
    return Endpoint(id=endpoint_id, **(defaults | values))


def preferences(revision: int = 1, **values: Any) -> NoticePreferences:
    return NoticePreferences(**{"user_id": "ann", "revision": revision, **values})


def test_versions_of_a_template_are_kept_and_the_highest_counts(stores: StoreSet) -> None:
    settings = stores.notice_settings
    ones = [template(1), template(2, enabled=False, created_by="ada"), template(10, title="Ten")]
    others = [template(business_type="HR"), template(language="zh"), template(event_type=EventType.MENTION)]
    theirs = template(tenant_id="t1")
    for one in (*ones, *others, theirs):
        settings.add_template(one)
    assert settings.template_versions(None, CREATED, None, "en") == ones[::-1]
    assert settings.template_versions(None, CREATED, "HR", "en") == [others[0]]
    assert settings.template_versions("t1", CREATED, None, "en") == [theirs]
    assert settings.template_versions("t2", CREATED, None, "en") == []
    assert sorted(settings.templates(), key=lambda one: one.id) == sorted(
        [ones[2], *others, theirs], key=lambda one: one.id
    )


def test_a_version_is_stored_once(stores: StoreSet) -> None:
    stores.notice_settings.add_template(template())
    with pytest.raises(DuplicateRecord):
        stores.notice_settings.add_template(msgspec.structs.replace(template(title="Other"), id="other"))
    assert stores.notice_settings.templates() == [template()]


def test_preferences_are_stored_at_the_revision_that_was_read(stores: StoreSet) -> None:
    settings = stores.notice_settings
    first = preferences(
        rules={CREATED: EventRule(inbox=False, endpoints={"email": True})},
        quiet=QuietHours(start="22:00", end="07:00", time_zone="Europe/Berlin"),
        digest={"email": Digest.DAILY},
        handles={"hook": "ann-1"},
        updated_at=at(1),
    )
    assert settings.preferences(None, "ann") is None
    with pytest.raises(RevisionConflict):
        settings.save_preferences(preferences(2), 1)
    settings.save_preferences(first, 0)
    assert settings.preferences(None, "ann") == first
    with pytest.raises(RevisionConflict):
        settings.save_preferences(preferences(), 0)
    settings.save_preferences(preferences(2), 1)
    with pytest.raises(RevisionConflict):
        settings.save_preferences(preferences(2), 1)
    assert settings.preferences(None, "ann") == preferences(2)


def test_preferences_of_partitions_are_kept_apart(stores: StoreSet) -> None:
    settings = stores.notice_settings
    ones = [
        preferences(tenant_id=tenant, user_id=name) for tenant, name in ((None, "ben"), (None, "ann"), ("t1", "ann"))
    ]
    for one in ones:
        settings.save_preferences(one, 0)
    assert settings.preferences("t1", "ann") == ones[2]
    assert settings.preferences("t1", "ben") is None
    assert settings.all_preferences() == [ones[1], ones[0], ones[2]]


def test_endpoints_are_listed_by_name_and_belong_to_a_partition(stores: StoreSet) -> None:
    settings = stores.notice_settings
    full = endpoint(
        "e1",
        name="b",
        kind=ChannelKind.AMQP,
        address="amqp://broker",
        secret="s",
        topics=["workflow.*"],
        options={"exchange": "x"},
        enabled=False,
    )
    theirs = endpoint("e3", name="b", tenant_id="t1", for_notices=True)
    for one in (theirs, full, endpoint("e2", name="a")):
        settings.insert_endpoint(one)
    assert [one.id for one in settings.endpoints()] == ["e2", "e1", "e3"]
    assert settings.endpoint(None, "e1") == full
    assert settings.endpoint("t1", "e1") is None
    assert settings.endpoint("t1", "e3") == theirs


def test_a_name_is_there_once_a_partition(stores: StoreSet) -> None:
    settings = stores.notice_settings
    settings.insert_endpoint(endpoint("a", name="hook"))
    settings.insert_endpoint(endpoint("b", name="other"))
    with pytest.raises(DuplicateRecord):
        settings.insert_endpoint(endpoint("c", name="hook"))
    with pytest.raises(DuplicateRecord):
        settings.insert_endpoint(endpoint("a", name="third"))
    with pytest.raises(DuplicateRecord):
        settings.replace_endpoint(endpoint("b", name="hook", revision=2), 1)
    assert settings.endpoint(None, "b") == endpoint("b", name="other")
    settings.insert_endpoint(endpoint("d", name="hook", tenant_id="t1"))


def test_an_endpoint_is_replaced_and_deleted_at_its_revision_and_in_its_partition_only(stores: StoreSet) -> None:
    settings = stores.notice_settings
    settings.insert_endpoint(endpoint())
    second = endpoint(revision=2, name="renamed", enabled=False)
    for wrong, revision in ((second, 2), (msgspec.structs.replace(second, tenant_id="t1"), 1), (endpoint("no"), 1)):
        with pytest.raises(RevisionConflict):
            settings.replace_endpoint(wrong, revision)
    settings.replace_endpoint(second, 1)
    assert settings.endpoint(None, "e") == second
    for partition, revision in ((None, 1), ("t1", 2)):
        with pytest.raises(RevisionConflict):
            settings.delete_endpoint(partition, "e", revision)
    settings.delete_endpoint(None, "e", 2)
    with pytest.raises(RevisionConflict):
        settings.delete_endpoint(None, "e", 2)
    assert settings.endpoints() == []
