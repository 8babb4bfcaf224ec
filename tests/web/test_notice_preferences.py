"""What somebody wants to be told: the table of choices, quiet hours, and saves that collide (spec 10, Preferences)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.support.notices import NOW
from tests.support.pages import Shown, Visitor, actor_of, visit
from tests.support.stores import StoreSet, memory_stores
from tests.support.web import CATALOG, Site, make_site
from webapp.engine.notifications.model import ChannelKind, Digest, Endpoint, EventRule, EventType, QuietHours
from webapp.messages.catalog import Language

PATH = "/account/notifications"


CHAT = Endpoint(
    id="chat",
    kind=ChannelKind.SLACK,
    name="Our Slack",
    address="https://hooks.slack.example/services/T0/B0/x",
    for_notices=True,
    created_at=NOW,
    updated_at=NOW,
)


@pytest.fixture
def stores() -> StoreSet:
    return memory_stores()


@pytest.fixture
def site(stores: StoreSet, tmp_path: Path) -> Site:
    made = make_site(tmp_path, stores)
    made.account("employee", "user", display_name="Emma Novak")
    return made


@pytest.fixture
def chat(stores: StoreSet) -> str:
    """A robot that people may switch on."""
    stores.notice_settings.insert_endpoint(CHAT)
    return CHAT.id


def form_of(page: Shown) -> dict[str, Any]:
    """Return what the page's form would send: what is ticked, chosen and written."""
    html = page.html.split(f'action="{PATH}"')[1].split("</form>")[0]
    fields: dict[str, Any] = {}
    for element in re.findall(r"<input[^>]*>", html):
        name, value = re.search(r'name="([^"]*)"', element), re.search(r'value="([^"]*)"', element)
        if name is None or ('type="checkbox"' in element and " checked" not in element):
            continue
        fields[name.group(1)] = value.group(1) if value else ""
    for name, options in re.findall(r'<select[^>]*name="([^"]*)"[^>]*>(.*?)</select>', html, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        fields[name] = chosen.group(1) if chosen else ""
    fields.pop("csrf_token")
    return fields


def send(visitor: Visitor, fields: dict[str, Any]) -> Shown:
    return visitor.post(PATH, **fields)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_event_has_its_row(site: Site, chat: str, language: Language) -> None:
    visitor = visit(site, "employee")
    visitor.post("/language", language=language, next=PATH)
    page = visitor.get(PATH)
    for event in EventType:
        title = CATALOG.text(f"notifications.event.{event}", {}, language)
        assert title in page.text
        assert f'name="inbox.{event}" value="1" checked' in page.html
        assert f'name="out.{event}.{chat}" value="1" aria-label=' in page.html
    assert "Our Slack" in page.text


def test_what_is_chosen_is_kept(site: Site, chat: str) -> None:
    visitor = visit(site, "employee")
    fields = form_of(visitor.get(PATH))
    del fields["inbox.CarbonCopy"]
    fields |= {f"out.TaskCreated.{chat}": "1", f"digest.{chat}": "Daily", f"handles.{chat}": "U012345"}
    fields |= {"quiet": "1", "start": "19:30", "end": "06:45", "zone": "Asia/Shanghai", "daily_at": "09:15"}
    assert send(visitor, fields).location == PATH
    kept = site.services.notice_preferences.get(actor_of(site, "employee"))
    assert kept.rules[EventType.CARBON_COPY].inbox is False
    assert kept.rules[EventType.TASK_CREATED].endpoints[chat] is True
    assert kept.rules.get(EventType.MENTION, EventRule()).inbox is True
    assert kept.quiet == QuietHours(start="19:30", end="06:45", time_zone="Asia/Shanghai")
    assert (kept.digest[chat], kept.handles[chat], kept.daily_at) == (Digest.DAILY, "U012345", "09:15")
    assert kept.time_zone == "Asia/Shanghai"
    page = visitor.get(PATH)
    assert form_of(page) == {**fields, "revision": "1"}
    assert "Saved" in page.text


def test_what_is_wrong_stands_at_its_field_and_the_rest_stays(site: Site, chat: str) -> None:
    visitor = visit(site, "employee")
    fields = form_of(visitor.get(PATH))
    del fields["inbox.Mention"]
    refused = send(visitor, {**fields, "quiet": "1", "start": "", "end": "06:00", "zone": "Mars/Olympus"})
    assert refused.status == 422 and "Not saved" in refused.text
    assert refused.html.count('aria-invalid="true"') == 2
    assert 'value="Mars/Olympus"' in refused.html and 'value="06:00"' in refused.html
    assert "inbox.Mention" not in form_of(refused)
    assert site.services.notice_preferences.get(actor_of(site, "employee")).revision == 0


def test_a_stale_save_is_told_and_loses_nothing(site: Site, chat: str) -> None:
    visitor = visit(site, "employee")
    mine, theirs = form_of(visitor.get(PATH)), form_of(visitor.get(PATH))
    del theirs["inbox.Mention"]
    assert send(visitor, theirs).status == 303
    del mine["inbox.TaskUrged"]
    stale = send(visitor, mine)
    assert stale.status == 412 and "Saved elsewhere since you opened this page" in stale.text
    again = form_of(stale)
    assert again == {**mine, "revision": "1"}
    assert send(visitor, again).status == 303
    kept = site.services.notice_preferences.get(actor_of(site, "employee"))
    assert kept.rules[EventType.TASK_URGED].inbox is False
    assert kept.rules.get(EventType.MENTION, EventRule()).inbox is True


def test_without_a_way_out_nothing_is_asked_about_it(site: Site) -> None:
    visitor = visit(site, "employee")
    page = visitor.get(PATH)
    assert "This installation sends nothing outside" in page.text and "Quiet hours" not in page.text
    fields = form_of(page)
    del fields["inbox.Mention"]
    assert send(visitor, fields).status == 303
    kept = site.services.notice_preferences.get(actor_of(site, "employee"))
    assert kept.rules[EventType.MENTION].inbox is False and kept.quiet is None and kept.daily_at == "08:00"


def test_a_channel_that_is_off_for_a_while_keeps_what_was_chosen(site: Site, stores: StoreSet, chat: str) -> None:
    visitor, off = visit(site, "employee"), structs.replace(CHAT, revision=2, enabled=False)
    fields = form_of(visitor.get(PATH)) | {f"out.TaskCreated.{chat}": "1", f"handles.{chat}": "U012345"}
    assert send(visitor, fields).status == 303
    stores.notice_settings.replace_endpoint(off, 1)
    fields = form_of(visitor.get(PATH))
    assert not [name for name in fields if chat in name]
    assert send(visitor, fields).status == 303
    stores.notice_settings.replace_endpoint(structs.replace(CHAT, revision=3), 2)
    after = form_of(visitor.get(PATH))
    assert after[f"out.TaskCreated.{chat}"] == "1" and after[f"handles.{chat}"] == "U012345"


def test_the_account_leads_there(site: Site) -> None:
    assert f'href="{PATH}"' in visit(site, "employee").get("/account").html
