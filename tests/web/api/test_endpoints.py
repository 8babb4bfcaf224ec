"""Endpoints over REST: made, read, replaced, tried out and deleted by administrators (spec 10, 11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.channels import FakeChannel, failing
from tests.support.web import Caller, Site, make_site

PATH = "/endpoints"
SECRET = "a secret nobody may see"
HOOK: dict[str, Any] = {
    "kind": "webhook",
    "name": "ERP",
    "address": "https://erp.example.org/in?key=t0ken",
    "secret": SECRET,
    "topics": ["workflow.task.*"],
    "forNotices": True,
}
CONTENT = {name: value for name, value in HOOK.items() if name not in ("kind", "secret")}


@pytest.fixture
def channel() -> FakeChannel:
    return FakeChannel()


@pytest.fixture
def site(channel: FakeChannel, tmp_path: Path) -> Site:
    made = make_site(tmp_path, channels=(channel,))
    for name, role in (("ada", "administrator"), ("dan", "designer"), ("emma", "user"), ("olga", "operator")):
        made.account(name, role)
    made.account("eve", "administrator", tenant_id="acme")
    return made


@pytest.fixture
def admin(site: Site) -> Caller:
    return site.caller("ada")


def test_one_is_made_with_its_place_and_revision_and_without_its_secret(site: Site, admin: Caller) -> None:
    answer = admin.post(PATH, HOOK)
    made = answer.expect(201)
    assert (answer.headers["Location"], answer.headers["ETag"]) == (f"/api/v1/endpoints/{made['id']}", '"1"')
    assert made == {
        "id": made["id"],
        "kind": "webhook",
        "name": "ERP",
        "address": "https://erp.example.org/in?key=***",
        "hasSecret": True,
        "topics": ["workflow.task.*"],
        "forNotices": True,
        "options": {},
        "enabled": True,
        "unreadable": [],
        "revision": 1,
        "updatedAt": made["updatedAt"],
        "updatedBy": "ada",
    }
    found = admin.get(answer.headers["Location"])
    assert (found.expect(200), found.headers["ETag"]) == (made, '"1"')
    assert admin.get(PATH).expect(200) == {"items": [made], "total": 1}
    for text in (answer.response.text, found.response.text):
        assert SECRET not in text and "t0ken" not in text


def test_a_list_has_its_window(admin: Caller) -> None:
    for name in ("c", "a", "b"):
        admin.post(PATH, {**HOOK, "name": name}).expect(201)
    page = admin.get(f"{PATH}?offset=1&limit=1").expect(200)
    assert ([one["name"] for one in page["items"]], page["total"]) == (["b"], 3)


def test_a_key_makes_one_only(site: Site, channel: FakeChannel) -> None:
    admin = site.caller("ada", **{"Idempotency-Key": "k1"})
    assert admin.post(PATH, HOOK).expect(201)["id"] == admin.post(PATH, HOOK).expect(201)["id"]
    assert site.caller("ada").get(PATH).expect(200)["total"] == 1


def test_what_was_read_is_sent_back_and_the_secret_stays(admin: Caller, channel: FakeChannel) -> None:
    answer = admin.post(PATH, HOOK)
    made, place = answer.expect(201), answer.headers["Location"]
    changed = admin.put(place, {**CONTENT, "address": made["address"], "name": "New"}, If_Match='"1"')
    assert (changed.expect(200)["name"], changed.headers["ETag"]) == ("New", '"2"')
    admin.post(f"{place}/try").expect(200)
    assert (channel.taken[-1].endpoint.secret, channel.taken[-1].endpoint.address) == (SECRET, HOOK["address"])
    bare = admin.put(place, {**CONTENT, "secret": None}, If_Match='"2"').expect(200)
    assert bare["hasSecret"] is False
    assert admin.put(place, {**CONTENT, "secret": "another secret"}, If_Match='"3"').expect(200)["hasSecret"] is True
    admin.post(f"{place}/try").expect(200)
    assert channel.taken[-1].endpoint.secret == "another secret"


def test_a_stale_or_missing_revision_changes_nothing(admin: Caller) -> None:
    place = admin.post(PATH, HOOK).headers["Location"]
    admin.put(place, {**CONTENT, "name": "New"}, If_Match='"1"').expect(200)
    stale = admin.put(place, CONTENT, If_Match='"1"').refused(412, "REQUEST_STALE_001")
    assert stale["details"]["revision"] == 2
    admin.put(place, CONTENT).refused(428, "REQUEST_PRECONDITION_001")
    admin.delete(place, If_Match='"1"').refused(412, "REQUEST_STALE_001")
    assert admin.get(place).expect(200)["name"] == "New"
    assert admin.delete(place, If_Match='"2"').status == 204
    admin.get(place).refused(404, "REQUEST_NOTFOUND_001")
    admin.delete(place).refused(404, "REQUEST_NOTFOUND_001")


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"address": "https://h.test/" + "x" * 2_000}, "address"),
        ({"topics": ["workflow.no.such"]}, "topics[0]"),
        ({"topics": "workflow.*"}, "topics"),
        ({"kind": "email"}, "kind"),
        ({"kind": "fax"}, "kind"),
        ({"enabled": "yes"}, "enabled"),
        ({"secret": 7}, "secret"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(admin: Caller, change: dict[str, Any], path: str) -> None:
    refused = admin.post(PATH, {**HOOK, **change}).expect(400)
    assert path in [one["path"] for one in refused["errors"]], refused
    assert admin.get(PATH).expect(200)["total"] == 0


def test_a_name_that_is_taken_is_a_conflict(admin: Caller) -> None:
    admin.post(PATH, HOOK).expect(201)
    assert "ERP" in admin.post(PATH, HOOK).refused(409, "WORKFLOW_CONFLICT_002")["detail"]


def test_a_trial_tells_what_the_other_side_said(admin: Caller, channel: FakeChannel) -> None:
    place = admin.post(PATH, HOOK).headers["Location"]
    tried = admin.post(f"{place}/try").expect(200)
    assert tried["receipt"] == f"receipt of {channel.taken[0].delivery_id}" and tried["durationMs"] >= 0
    channel.answer = failing("HTTP 418 for ***")
    refused = admin.post(f"{place}/try").expect(503)
    assert refused["details"] == {"reason": "HTTP 418 for ***"} and "HTTP 418" in refused["detail"]
    channel.ready = False
    admin.post(f"{place}/try").refused(409, "WORKFLOW_CONFLICT_002")


@pytest.mark.parametrize("name", ["dan", "emma", "olga"])
def test_only_administrators_see_or_change_them(site: Site, admin: Caller, channel: FakeChannel, name: str) -> None:
    place, caller = admin.post(PATH, HOOK).headers["Location"], site.caller(name)
    for answer in (
        caller.get(PATH), caller.get(place), caller.post(PATH, {**HOOK, "name": "mine"}),
        caller.put(place, CONTENT, If_Match='"1"'), caller.delete(place), caller.post(f"{place}/try"),
    ):  # fmt: skip
        answer.refused(403, "ACCESS_DENIED_001")
    assert channel.asked == []
    assert admin.get(PATH).expect(200)["total"] == 1


def test_another_tenants_endpoint_is_not_there(site: Site, admin: Caller, channel: FakeChannel) -> None:
    place, eve = admin.post(PATH, HOOK).headers["Location"], site.caller("eve")
    for answer in (
        eve.get(place), eve.put(place, CONTENT, If_Match='"1"'), eve.delete(place), eve.post(f"{place}/try"),
    ):  # fmt: skip
        answer.refused(404, "REQUEST_NOTFOUND_001")
    assert eve.get(PATH).expect(200)["total"] == 0
    eve.post(PATH, HOOK).expect(201)
    assert admin.get(place).expect(200)["revision"] == 1
    assert channel.asked == []


@pytest.mark.parametrize(
    ("method", "path"), [("GET", ""), ("POST", ""), ("GET", "/x"), ("PUT", "/x"), ("DELETE", "/x"), ("POST", "/x/try")]
)
def test_nobody_calls_without_credentials(site: Site, method: str, path: str) -> None:
    assert site.anybody().send(method, PATH + path, headers={}).status == 401
