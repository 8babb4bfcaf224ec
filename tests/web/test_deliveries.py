"""Deliveries: counts, filters, one with its attempts, and what an administrator does about them (spec 10, 12)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.pages import actor_of, make_office, visit
from tests.support.told import attempted, owe
from tests.support.web import Site
from webapp.engine.notifications.model import ChannelKind, DeliveryContent, DeliveryState

PATH = "/admin/deliveries"


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_office(tmp_path)
    made.account("ada", "administrator")
    return made


def counters(html: str) -> dict[str, str]:
    """Return the numbers above the list by state."""
    return dict(re.findall(r"status=(\w+)\"[^>]*>.*?<b>([0-9,]+)</b>", html, re.DOTALL))


@pytest.mark.parametrize("name", ["employee", "designer", "operator"])
def test_deliveries_are_for_administrators(site: Site, name: str) -> None:
    owed, visitor = owe(site, "Secret"), visit(site, name)
    for path in (PATH, f"{PATH}/{owed.id}"):
        assert visitor.get(path).status == 403
    for action in ("retry", "drop", "replay"):
        assert visitor.post(f"{PATH}/{action}", id=owed.id).status == 403


def test_states_are_counted_and_choose(site: Site) -> None:
    dead = owe(site, "Broken")
    attempted(site, dead, "answered 410", state=DeliveryState.DEAD)
    owe(site, "First in line")
    owe(site, "Second in line")
    visitor = visit(site, "ada")
    page = visitor.get(PATH)
    found = counters(page.html)
    assert (found["pending"], found["dead"], found["sent"]) == ("2", "1", "0")
    assert "Broken" in page.text and "answered 410" in page.text
    only = visitor.get(f"{PATH}?status=dead").text
    assert "Broken" in only and "First in line" not in only
    assert visitor.get(f"{PATH}?status=lost").status == 400


def test_filters_narrow_the_list(site: Site) -> None:
    owe(site, "For Emma", recipient_id="employee", instance_id="i-1")
    owe(site, "For Marta", recipient_id="manager", endpoint="chat", instance_id="i-2")
    owe(site, "", topic="workflow.task.completed", recipient_id=None, content=DeliveryContent(data={"a": 1}))
    visitor = visit(site, "ada")
    assert "Emma Novak" in visitor.get(PATH).text
    for query, shown in (
        ("recipient=manager", "For Marta"),
        ("endpoint=chat", "For Marta"),
        ("instance=i-1", "For Emma"),
        ("topic=workflow.task.completed", "workflow.task.completed"),
    ):
        page = visitor.get(f"{PATH}?{query}")
        assert shown in page.text and page.html.count("<tr data-row>") == 1
    nothing = visitor.get(f"{PATH}?recipient=nobody")
    assert "Nothing matches" in nothing.text and "Clear filters" in nothing.text


def test_one_shows_its_attempts_and_what_is_sent(site: Site) -> None:
    owed = owe(site, "New approval task", kind=ChannelKind.EMAIL, endpoint="email", address="emma@example.test")
    attempted(site, owed, "the mail server did not answer", state=DeliveryState.FAILED)
    page = visit(site, "ada").get(f"{PATH}/{owed.id}")
    assert "Body of New approval task" in page.text and "Emma Novak" in page.text
    assert "the mail server did not answer" in page.text and "1,250 ms" in page.text
    assert owed.id in page.text and "It is tried again by itself" in page.text
    assert visit(site, "ada").get(f"{PATH}/nothing").status == 404


def test_an_event_shows_its_data(site: Site) -> None:
    owed = owe(site, "", topic="workflow.x", recipient_id=None, content=DeliveryContent(data={"days": 3}))
    page = visit(site, "ada").get(f"{PATH}/{owed.id}")
    assert "days 3" in page.text and "workflow.x" in page.text


def test_a_dead_one_is_retried_from_its_page(site: Site) -> None:
    owed = owe(site, "Broken")
    attempted(site, owed, "answered 410", state=DeliveryState.DEAD)
    visitor = visit(site, "ada")
    page = visitor.get(f"{PATH}/{owed.id}")
    assert "Later deliveries of the same instance" in page.text and "Send again" not in page.text
    answer = visitor.post(f"{PATH}/retry", id=owed.id, back="one")
    assert answer.location == f"{PATH}/{owed.id}"
    again = visitor.get(answer.location)
    assert "1 delivery goes out again" in again.text
    assert site.services.deliveries.get(actor_of(site, "ada"), owed.id)[0].state is DeliveryState.PENDING


def test_selected_ones_are_settled_and_the_rest_is_told(site: Site) -> None:
    dead, sent = owe(site, "Broken"), None
    attempted(site, dead, "answered 410", state=DeliveryState.DEAD)
    sent = owe(site, "Arrived")
    attempted(site, sent, None, state=DeliveryState.SENT)
    visitor = visit(site, "ada")
    answer = visitor.post(f"{PATH}/drop?status=dead", id=[dead.id, sent.id])
    assert answer.location == f"{PATH}?status=dead"
    told = visitor.get(answer.location).text
    assert "1 delivery marked as settled" in told and "1 was left as it is" in told
    ada = actor_of(site, "ada")
    assert site.services.deliveries.get(ada, dead.id)[0].state is DeliveryState.DROPPED
    assert site.services.deliveries.get(ada, sent.id)[0].state is DeliveryState.SENT


def test_what_arrived_is_sent_once_more(site: Site) -> None:
    sent = owe(site, "Arrived")
    attempted(site, sent, None, state=DeliveryState.SENT)
    visitor = visit(site, "ada")
    assert "Send again" in visitor.get(f"{PATH}/{sent.id}").text
    assert "1 delivery is sent again" in visitor.post(f"{PATH}/replay", id=sent.id, follow=True).text
    assert site.services.deliveries.get(actor_of(site, "ada"), sent.id)[0].state is DeliveryState.PENDING


def test_nothing_selected_does_nothing(site: Site) -> None:
    owe(site, "Waiting")
    assert "Nothing is selected" in visit(site, "ada").post(f"{PATH}/drop", follow=True).text
    assert visit(site, "ada").post(f"{PATH}/explode", id="x").status == 404


def test_it_is_told_in_chinese(site: Site) -> None:
    visitor = visit(site, "ada")
    visitor.post("/language", language="zh", next=PATH)
    empty = visitor.get(PATH)
    assert "尚无投递" in empty.text
    owed = owe(site, "任务")
    attempted(site, owed, "answered 410", state=DeliveryState.DEAD)
    page = visitor.get(f"{PATH}/{owed.id}")
    assert "死信" in page.text and "标为已处理" in page.text


def test_mail_is_named_once_and_in_the_readers_language(site: Site) -> None:
    owed = owe(site, "New approval task", kind=ChannelKind.EMAIL, endpoint="email", address="emma@example.test")
    visitor = visit(site, "ada")
    visitor.post("/language", language="zh", next=PATH)
    for path, part in ((PATH, "<tbody>.*?</tbody>"), (f"{PATH}/{owed.id}", '<div class="meta">.*?</div>')):
        shown = re.search(part, visitor.get(path).html, re.DOTALL)
        assert shown is not None and shown[0].count("邮件") == 1 and "mail" not in shown[0].lower(), path
