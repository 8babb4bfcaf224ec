"""The texts of notifications, over REST (spec 10 Templates, 11 Notifications)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.web import Caller, Site

PATH = "/notification-templates"
TEXT: dict[str, Any] = {"eventType": "TaskCreated", "language": "en", "title": "Do {title}", "body": "Due {dueAt}"}


@pytest.fixture
def admin(site: Site) -> Caller:
    return site.caller("ada")


def test_versions_are_added_listed_and_never_changed(admin: Caller) -> None:
    answer = admin.post(PATH, {**TEXT, "businessType": "leave & more"})
    first = answer.expect(201)
    assert answer.headers["ETag"] == '"1"'
    assert {name: first[name] for name in (*TEXT, "businessType", "version", "enabled", "createdBy", "warnings")} == {
        **TEXT,
        "businessType": "leave & more",
        "version": 1,
        "enabled": True,
        "createdBy": "ada",
        "warnings": [],
    }
    second = admin.post(PATH, {**TEXT, "businessType": "leave & more", "enabled": False}).expect(201)
    assert (second["version"], second["enabled"]) == (2, False)
    del first["warnings"], second["warnings"]
    assert admin.get(answer.headers["Location"]).expect(200) == {"items": [second, first], "total": 2}
    assert admin.get(PATH).expect(200) == {"items": [second], "total": 1}
    other = admin.get(f"{PATH}/versions?eventType=TaskCreated").expect(200)
    assert other == {"items": [], "total": 0}


def test_without_a_language_versions_are_those_of_the_caller_s(admin: Caller) -> None:
    admin.post(PATH, {**TEXT, "language": "zh"}).expect(201)
    path = f"{PATH}/versions?eventType=TaskCreated"
    assert admin.get(path, Accept_Language="zh").expect(200)["total"] == 1
    assert admin.get(path, Accept_Language="en").expect(200)["total"] == 0
    assert admin.get(f"{path}&language=zh").expect(200)["total"] == 1


def test_a_page_of_versions_has_its_window(admin: Caller) -> None:
    for _ in range(3):
        admin.post(PATH, TEXT).expect(201)
    found = admin.get(f"{PATH}/versions?eventType=TaskCreated&offset=1&limit=1").expect(200)
    assert ([one["version"] for one in found["items"]], found["total"]) == ([2], 3)


def test_who_read_an_older_version_is_refused(admin: Caller) -> None:
    admin.post(PATH, TEXT, If_Match='"0"').expect(201)
    stale = admin.post(PATH, TEXT, If_Match='"0"').refused(412, "REQUEST_STALE_001")
    assert stale["details"]["revision"] == 1
    assert admin.post(PATH, TEXT, If_Match='"1"').expect(201)["version"] == 2


def test_a_name_that_is_none_is_told_and_kept(admin: Caller) -> None:
    made = admin.post(PATH, {**TEXT, "title": "{titel} {title.__class__}"}).expect(201)
    assert [(one["path"], one["params"]["name"]) for one in made["warnings"]] == [
        ("title", "{titel}"),
        ("title", "{title.__class__}"),
    ]
    assert "{dueAt}" in made["warnings"][0]["message"]
    assert made["title"] == "{titel} {title.__class__}"


@pytest.mark.parametrize(
    ("change", "path", "key"),
    [
        ({"title": " "}, "title", "workflow.input.blank"),
        ({"title": "x" * 201}, "title", "workflow.input.too_long"),
        ({"body": "x" * 4001}, "body", "workflow.input.too_long"),
        ({"businessType": "x" * 501}, "businessType", "workflow.input.too_long"),
        ({"language": "fr"}, "language", "api.body.choice"),
        ({"eventType": "NodeListener"}, "eventType", "api.body.choice"),
        ({"version": 7}, "version", "api.body.unknown"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(admin: Caller, change: dict[str, Any], path: str, key: str) -> None:
    refused = admin.post(PATH, {**TEXT, **change}).refused(400, "WORKFLOW_VALIDATION_002")
    assert [(one["path"], one["key"]) for one in refused["errors"]] == [(path, key)]
    assert admin.get(PATH).expect(200)["total"] == 0


def test_a_text_is_tried_out_and_not_kept(admin: Caller) -> None:
    text = {**TEXT, "title": "<b>{title}</b> {salary}", "body": "Due: {dueAt}\nKey: {businessKey}"}
    shown = admin.post(f"{PATH}/preview", text).expect(200)
    assert shown["title"] == "<b>Approve the purchase</b> {salary}"
    assert shown["body"] == "Due: 2026-12-01 17:00\nKey: PO-2026-0117"
    assert [one["params"]["name"] for one in shown["warnings"]] == ["{salary}"]
    assert {"name": "dueAt", "sample": "2026-12-01 17:00"} in shown["names"]
    assert admin.get(PATH).expect(200)["total"] == 0


def test_the_built_in_text_is_told_with_its_names(admin: Caller) -> None:
    found = admin.get(f"{PATH}/built-in?eventType=TaskCreated&language=zh").expect(200)
    assert (found["title"], found["language"]) == ("您有新的审批任务：{title}", "zh")
    assert [one["name"] for one in found["names"]][:2] == ["title", "instanceTitle"]


@pytest.mark.parametrize("call", ["versions", "built-in"])
@pytest.mark.parametrize(
    ("query", "path"),
    [("", "eventType"), ("?eventType=NodeListener", "eventType"), ("?eventType=x", "eventType"),
     ("?eventType=Mention&language=fr", "language")],
)  # fmt: skip
def test_a_text_must_be_named(admin: Caller, call: str, query: str, path: str) -> None:
    refused = admin.get(f"{PATH}/{call}{query}").refused(400, "WORKFLOW_VALIDATION_002")
    assert [one["path"] for one in refused["errors"]] == [path]
    assert refused["errors"][0]["params"]["known"]


@pytest.mark.parametrize("name", ["dan", "emma", "operator", "wes"])
def test_only_who_may_administer_notifications_sees_templates(site: Site, name: str) -> None:
    caller = site.caller(name)
    for answer in (
        caller.get(PATH),
        caller.get(f"{PATH}/versions?eventType=Mention"),
        caller.post(PATH, TEXT),
        caller.post(f"{PATH}/preview", TEXT),
    ):
        answer.refused(403, "ACCESS_DENIED_001")
