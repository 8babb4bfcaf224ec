"""Endpoints: made, changed, tried out and deleted by administrators; secrets go in and never out (spec 10)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.channels import FakeChannel, failing
from tests.support.pages import actor_of, visit
from tests.support.stores import memory_stores
from tests.support.web import CATALOG, Site, make_site
from webapp.engine.errors import Problem
from webapp.engine.notifications.model import ChannelKind, Endpoint

PATH = "/admin/endpoints"
SECRET = "a secret nobody may see"
HOOK: dict[str, Any] = {
    "name": "ERP",
    "address": "https://erp.example.test/events",
    "secret": SECRET,
    "topics": "workflow.task.*\r\n\r\nworkflow.instance.completed",
    "for_notices": "true",
    "enabled": "true",
}


@pytest.fixture
def channel() -> FakeChannel:
    """The way out of webhooks."""
    return FakeChannel()


@pytest.fixture
def site(channel: FakeChannel, tmp_path: Path) -> Site:
    return ready(make_site(tmp_path, channels=(channel,)))


def ready(made: Site) -> Site:
    """Make the accounts of a site."""
    for name, role in (("ada", "administrator"), ("employee", "user"), ("designer", "designer")):
        made.account(name, role)
    made.account("operator", "operator")
    return made


def made(site: Site, **changes: str) -> Endpoint:
    """Make a webhook through its form and return it."""
    answer = visit(site, "ada").post(f"{PATH}/new?kind=webhook", **{**HOOK, **changes})
    assert answer.status == 303, answer.text
    return site.services.endpoints.get(actor_of(site, "ada"), answer.location.rpartition("/")[2])


@pytest.mark.parametrize("name", ["employee", "designer", "operator"])
def test_endpoints_are_for_administrators(site: Site, name: str) -> None:
    hook, visitor = made(site), visit(site, name)
    for path in ("", "/new", "/new?kind=slack", f"/{hook.id}"):
        assert visitor.get(PATH + path).status == 403
    for path in ("/new?kind=webhook", f"/{hook.id}", f"/{hook.id}/delete", f"/{hook.id}/try"):
        assert visitor.post(PATH + path, **HOOK, revision="1").status == 403


def test_a_webhook_is_made(site: Site) -> None:
    hook = made(site)
    assert (hook.kind, hook.name, hook.address) == (ChannelKind.WEBHOOK, "ERP", "https://erp.example.test/events")
    assert hook.topics == ["workflow.task.*", "workflow.instance.completed"]
    assert hook.for_notices and hook.enabled
    listed = visit(site, "ada").get(PATH)
    assert "ERP" in listed.text and "erp.example.test" in listed.text and "workflow.task.*" in listed.text


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", [kind for kind in ChannelKind if kind is not ChannelKind.EMAIL])
def test_each_kind_asks_for_what_it_needs(site: Site, kind: ChannelKind, language: Any) -> None:
    visitor = visit(site, "ada")
    visitor.post("/language", language=language, next=PATH)
    chooser, page = visitor.get(f"{PATH}/new"), visitor.get(f"{PATH}/new?kind={kind}")
    assert f'href="{PATH}/new?kind={kind}"' in chooser.html
    assert CATALOG.text(f"notifications.kind.{kind}.help", {}, language) in page.text
    asked = set(re.findall(r'<(?:input|textarea)[^>]*name="(\w+)"', page.html))
    wanted = {
        ChannelKind.WEBHOOK: {"secret"},
        ChannelKind.DINGTALK: {"secret"},
        ChannelKind.FEISHU: {"secret"},
        ChannelKind.AMQP: {"exchange", "routingKey"},
        ChannelKind.REDIS: {"stream", "queue"},
    }.get(kind, set())
    known = {"secret", "exchange", "routingKey", "stream", "queue"}
    assert asked & known == wanted
    assert ("for_notices" in asked) is (kind not in (ChannelKind.AMQP, ChannelKind.REDIS))


def test_a_secret_is_never_shown_and_stays_when_nothing_is_typed(site: Site) -> None:
    hook, visitor = made(site), visit(site, "ada")
    page = visitor.get(f"{PATH}/{hook.id}")
    assert SECRET not in page.html and "One is kept" in page.text
    saved = visitor.post(f"{PATH}/{hook.id}", **{**HOOK, "secret": "", "name": "ERP two"}, revision=str(hook.revision))
    assert saved.status == 303
    stored = site.installation.services.endpoints.get(actor_of(site, "ada"), hook.id)
    assert stored.name == "ERP two"
    again = visitor.get(f"{PATH}/{hook.id}")
    assert "One is kept" in again.text and SECRET not in again.html


def test_what_is_wrong_stands_at_its_field_and_the_rest_stays(site: Site, channel: FakeChannel) -> None:
    channel.problems = [Problem(path="address", key="ui.field.required")]
    refused = visit(site, "ada").post(f"{PATH}/new?kind=webhook", **{**HOOK, "address": "not an address"})
    assert refused.status == 422 and "Not saved" in refused.text
    assert 'aria-invalid="true"' in refused.html and 'value="not an address"' in refused.html
    assert "workflow.instance.completed</textarea>" in refused.html and SECRET not in refused.html


def test_a_stale_save_is_told_and_loses_nothing(site: Site) -> None:
    hook, visitor = made(site), visit(site, "ada")
    send = {**HOOK, "secret": ""}
    assert visitor.post(f"{PATH}/{hook.id}", **send, revision="1").status == 303
    stale = visitor.post(f"{PATH}/{hook.id}", **{**send, "name": "My words"}, revision="1")
    assert stale.status == 412 and "Somebody changed this endpoint meanwhile" in stale.text
    assert 'value="My words"' in stale.html and 'name="revision" value="2"' in stale.html


def test_one_is_switched_off(site: Site) -> None:
    hook, visitor = made(site), visit(site, "ada")
    fields = {name: value for name, value in HOOK.items() if name != "enabled"} | {"secret": ""}
    assert visitor.post(f"{PATH}/{hook.id}", **fields, revision=str(hook.revision)).status == 303
    assert site.services.endpoints.get(actor_of(site, "ada"), hook.id).enabled is False
    assert "Off" in visitor.get(PATH).text


def test_one_is_deleted_as_it_was_shown(site: Site) -> None:
    hook, visitor = made(site), visit(site, "ada")
    assert visitor.post(f"{PATH}/{hook.id}/delete", revision="7").status == 412
    gone = visitor.post(f"{PATH}/{hook.id}/delete", revision=str(hook.revision), follow=True)
    assert "Endpoint deleted" in gone.text
    assert visitor.get(f"{PATH}/{hook.id}").status == 404


def test_a_trial_tells_what_came_of_it(site: Site, channel: FakeChannel) -> None:
    hook, visitor = made(site), visit(site, "ada")
    assert "The other side took the test message" in visitor.post(f"{PATH}/{hook.id}/try", follow=True).text
    assert [message.endpoint.id for message in channel.taken] == [hook.id]
    channel.answer = failing("HTTP 503")
    tried = visitor.post(f"{PATH}/{hook.id}/try", follow=True)
    assert "The test message was not taken" in tried.text and "HTTP 503" in tried.text and SECRET not in tried.html


def test_a_lost_key_is_told_and_address_and_secret_are_entered_anew(tmp_path: Path, channel: FakeChannel) -> None:
    stores = memory_stores()
    hook = made(ready(make_site(tmp_path, stores, channels=(channel,), WAYPOST_ENCRYPTION_KEYS="o" * 16)))
    (row,) = stores.notice_settings.endpoints()
    assert row.address.startswith("sealed:") and row.secret is not None and row.secret.startswith("sealed:")

    changed = make_site(tmp_path, stores, channels=(channel,), WAYPOST_ENCRYPTION_KEYS="n" * 16)
    visitor = visit(changed, "ada")
    page = visitor.get(f"{PATH}/{hook.id}")
    assert "The stored address or secret cannot be read." in page.text
    assert "The stored one cannot be read. Enter the secret anew." in page.text
    assert "cannot be read with the present key" in visitor.post(f"{PATH}/{hook.id}/try", follow=True).text
    answer = changed.caller("ada").get(f"/endpoints/{hook.id}").json
    assert (answer["unreadable"], answer["hasSecret"], answer["address"]) == (["address", "secret"], True, "")
    revision = str(hook.revision)
    refused = visitor.post(f"{PATH}/{hook.id}", **{**HOOK, "secret": ""}, revision=revision)
    assert refused.status == 422 and "Enter the secret anew, or remove it." in refused.text
    assert visitor.post(f"{PATH}/{hook.id}", **HOOK, revision=revision).status == 303
    assert "cannot be read" not in visitor.get(f"{PATH}/{hook.id}").text


def test_its_deliveries_are_one_step_away(site: Site) -> None:
    hook = made(site)
    assert f'href="/admin/deliveries?endpoint={hook.id}"' in visit(site, "ada").get(f"{PATH}/{hook.id}").html
