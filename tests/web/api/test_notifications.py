"""What one was told, over REST (spec 10, 11 Notifications)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.notices import NOW, notice, tell
from tests.support.stores import StoreSet, memory_stores
from tests.support.web import Caller, Site, make_site
from tests.web.api.flows import APPROVAL, publish
from webapp.engine.notifications.model import EventType, NoticeType, Severity


@pytest.fixture
def stores() -> StoreSet:
    return memory_stores()


@pytest.fixture
def site(stores: StoreSet, tmp_path: Path) -> Site:
    site = make_site(tmp_path, stores)
    for name in ("emma", "manager"):
        site.account(name, "user")
    return site


def ids(caller: Caller, query: str = "") -> list[str]:
    return [one["id"] for one in caller.get(f"/notifications{query}").expect(200)["items"]]


def test_a_notice_tells_what_happened_and_nothing_of_other_people(site: Site, stores: StoreSet) -> None:
    made = notice("emma", severity=Severity.ERROR, category="hr", created_at=NOW + timedelta(microseconds=1_234_567))
    tell(stores.stores, made)
    assert site.caller("emma").get("/notifications").expect(200) == {
        "items": [
            {
                "id": made.id,
                "type": "Approval",
                "severity": "Error",
                "code": "workflow.TaskCreated",
                "eventType": "TaskCreated",
                "category": "hr",
                "title": "New approval task: Check",
                "body": "Request: Trip",
                "language": "en",
                "instanceId": "i1",
                "instanceTitle": "Trip",
                "definitionName": "leave",
                "taskId": "t1",
                "metadata": {"instanceId": "i1"},
                "createdAt": f"{NOW + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}.234Z",
                "readAt": None,
            }
        ],
        "total": 1,
    }


def test_notices_are_listed_by_page_and_filter(site: Site, stores: StoreSet) -> None:
    emma = site.caller("emma")
    made = [notice("emma", task_id=f"t{n}", created_at=NOW + timedelta(seconds=n)) for n in range(3)]
    copied: dict[str, Any] = {"event_type": EventType.CARBON_COPY, "type": NoticeType.TODO}
    copy = notice("emma", task_id="c", instance_id="i2", created_at=NOW - timedelta(seconds=1), **copied)
    tell(stores.stores, *made, copy, notice("manager"))
    newest = [one.id for one in reversed(made)]
    assert ids(emma) == [*newest, copy.id]
    assert emma.get("/notifications?offset=1&limit=2").expect(200)["total"] == 4
    assert ids(emma, "?offset=1&limit=2") == newest[1:]
    assert ids(emma, "?type=Todo") == ids(emma, "?instanceId=i2") == [copy.id]
    assert emma.post(f"/notifications/{copy.id}/read").expect(200)["readAt"] is not None
    assert ids(emma, "?unread=true") == newest
    assert ids(emma, "?unread=false") == [*newest, copy.id]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("unread=yes", "unread"),
        ("type=Nothing", "type"),
        ("instanceId=", "instanceId"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("offset=-1", "offset"),
        ("sort=createdAt", "sort"),
        ("recipientId=manager", "recipientId"),
    ],
)
def test_a_filter_that_cannot_be_read_is_named(site: Site, query: str, path: str) -> None:
    refused = site.caller("emma").get(f"/notifications?{query}").refused(400, "WORKFLOW_VALIDATION_002")
    assert [one["path"] for one in refused["errors"]] == [path]


def test_reading_one_is_counted_once_and_is_nobody_else_s(site: Site, stores: StoreSet) -> None:
    emma, manager = site.caller("emma"), site.caller("manager")
    one = notice("emma")
    tell(stores.stores, one)
    assert emma.get("/notifications/count").expect(200) == {"unread": 1}
    manager.post(f"/notifications/{one.id}/read").refused(404, "REQUEST_NOTFOUND_001")
    first = emma.post(f"/notifications/{one.id}/read").expect(200)
    stores.clock.advance(60)
    assert emma.post(f"/notifications/{one.id}/read").expect(200) == first
    assert emma.get("/notifications/count").expect(200) == {"unread": 0}
    emma.post("/notifications/never/read").refused(404, "REQUEST_NOTFOUND_001")


def test_all_are_read_up_to_the_one_that_was_seen_last(site: Site, stores: StoreSet) -> None:
    emma = site.caller("emma")
    seen = notice("emma", created_at=NOW + timedelta(microseconds=1_999))
    later = notice("emma", task_id="t2", created_at=NOW + timedelta(seconds=1))
    tell(stores.stores, seen, later, notice("manager"))
    stores.clock.advance(60)
    until = emma.get("/notifications?offset=1").expect(200)["items"][0]["createdAt"]
    assert emma.post("/notifications/read-all", {"until": until}).expect(200) == {"marked": 1}
    assert ids(emma, "?unread=true") == [later.id]
    assert emma.post("/notifications/read-all").expect(200) == {"marked": 1}
    assert site.caller("manager").get("/notifications/count").expect(200) == {"unread": 1}
    bad = emma.post("/notifications/read-all", {"until": "yesterday"}).refused(400, "WORKFLOW_VALIDATION_002")
    assert bad["errors"][0]["path"] == "until"


def test_an_answer_is_given_once_for_a_key(site: Site, stores: StoreSet) -> None:
    emma = site.caller("emma", **{"Idempotency-Key": "k1"})
    tell(stores.stores, notice("emma"))
    assert emma.post("/notifications/read-all").expect(200) == {"marked": 1}
    assert emma.post("/notifications/read-all").expect(200) == {"marked": 1}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/notifications"),
        ("GET", "/notifications/count"),
        ("POST", "/notifications/read-all"),
        ("POST", "/notifications/x/read"),
        ("GET", "/notification-preferences"),
        ("PUT", "/notification-preferences"),
        ("GET", "/notification-templates"),
        ("POST", "/notification-templates/preview"),
    ],
)
def test_nobody_calls_without_credentials(site: Site, method: str, path: str) -> None:
    site.anybody().send(method, path, headers={}).expect(401)


def test_preferences_are_read_and_written_as_they_were_read(site: Site) -> None:
    emma = site.caller("emma")
    answer = emma.get("/notification-preferences")
    found = answer.expect(200)
    assert answer.headers["ETag"] == '"0"'
    assert found == {
        "rules": {},
        "quiet": None,
        "digest": {},
        "dailyAt": "08:00",
        "timeZone": None,
        "handles": {},
        "channels": [],
        "revision": 0,
        "updatedAt": None,
    }
    wanted = {
        **found,
        "rules": {"TaskCreated": {"inbox": False, "endpoints": {}}},
        "quiet": {"start": "22:00", "end": "07:00", "timeZone": "Asia/Shanghai"},
        "timeZone": "Europe/Berlin",
    }
    saved = emma.put("/notification-preferences", wanted, If_Match='"0"')
    assert saved.headers["ETag"] == '"1"'
    shown = saved.expect(200)
    assert shown == {**wanted, "revision": 1, "updatedAt": shown["updatedAt"]}
    assert emma.get("/notification-preferences").expect(200) == shown
    assert emma.put("/notification-preferences", shown, If_Match='"1"').expect(200)["revision"] == 2
    assert emma.put("/notification-preferences", {}, If_Match='"2"').expect(200)["rules"] == {}
    assert site.caller("manager").get("/notification-preferences").expect(200)["revision"] == 0


def test_a_stale_or_missing_revision_changes_nothing(site: Site) -> None:
    emma = site.caller("emma")
    emma.put("/notification-preferences", {}).refused(428, "REQUEST_PRECONDITION_001")
    emma.put("/notification-preferences", {"dailyAt": "09:00"}, If_Match='"0"').expect(200)
    stale = emma.put("/notification-preferences", {}, If_Match='"0"').refused(412, "REQUEST_STALE_001")
    assert stale["details"]["revision"] == 1
    emma.put("/notification-preferences", {}, If_Match="*").refused(428, "REQUEST_PRECONDITION_001")
    assert emma.get("/notification-preferences").expect(200)["dailyAt"] == "09:00"


@pytest.mark.parametrize(
    ("body", "path", "key"),
    [
        ({"rules": {"Nothing": {}}}, "rules.Nothing", "api.body.choice"),
        ({"rules": {"TaskCreated": {"inbox": "no"}}}, "rules.TaskCreated.inbox", "api.body.type"),
        ({"rules": {"TaskCreated": {"mail": True}}}, "rules.TaskCreated.mail", "api.body.unknown"),
        (
            {"rules": {"TaskCreated": {"endpoints": {"x": True}}}},
            "rules.TaskCreated.endpoints.x",
            "services.notice_preferences.unknown_endpoint",
        ),
        ({"quiet": {"start": "22:00", "end": "07:00"}}, "quiet.timeZone", "api.body.missing"),
        (
            {"quiet": {"start": "9", "end": "07:00", "timeZone": "UTC"}},
            "quiet.start",
            "services.notice_preferences.time",
        ),
        ({"digest": {"x": "Weekly"}}, "digest.x", "api.body.choice"),
        ({"digest": {"x": "Daily"}}, "digest.x", "services.notice_preferences.unknown_endpoint"),
        ({"timeZone": "Mars"}, "timeZone", "services.notice_preferences.zone"),
        ({"handles": {"x": 1}}, "handles.x", "api.body.type"),
        ({"userId": "manager"}, "userId", "api.body.unknown"),
    ],
)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_what_is_wrong_in_preferences_is_named_with_its_place(
    site: Site, body: Any, path: str, key: str, lang: str
) -> None:
    emma = site.caller("emma", **{"Accept-Language": lang})
    refused = emma.put("/notification-preferences", body, If_Match='"0"').refused(400, "WORKFLOW_VALIDATION_002")
    assert [(one["path"], one["key"]) for one in refused["errors"]] == [(path, key)]
    assert refused["errors"][0]["message"] != key


def test_a_text_and_a_choice_count_from_the_next_command_on(site: Site) -> None:
    site.account("ada", "administrator")
    ada, emma, manager = (site.caller(name) for name in ("ada", "emma", "manager"))
    publish(ada, APPROVAL)
    emma.post("/instances", {"name": APPROVAL["name"], "variables": {"what": "Chair"}}).expect(201)
    site.clock.advance(1)
    text = {"eventType": "TaskCreated", "language": "en", "title": "Own: {title} {what} {title.x}", "body": "{comment}"}
    ada.post("/notification-templates", text).expect(201)
    emma.post("/instances", {"name": APPROVAL["name"], "variables": {"what": "Desk"}}).expect(201)
    site.clock.advance(1)
    rules = {"TaskCreated": {"inbox": False}}
    manager.put("/notification-preferences", {"rules": rules}, If_Match='"0"').expect(200)
    emma.post("/instances", {"name": APPROVAL["name"], "variables": {"what": "Lamp"}}).expect(201)
    found = manager.get("/notifications").expect(200)
    tasks = manager.get("/tasks?sort=createdAt").expect(200)["items"]
    assert len(tasks) == 3
    assert [one["title"] for one in reversed(found["items"])] == [
        f"New approval task: {tasks[0]['title']}",
        f"Own: {tasks[1]['title']} {{what}} {{title.x}}",
    ]
    assert [one["taskId"] for one in reversed(found["items"])] == [task["id"] for task in tasks[:2]]
    assert set(found["items"][0]["metadata"]) == {
        "instanceId", "businessKey", "eventType", "definitionKey", "officeId",
    }  # fmt: skip
