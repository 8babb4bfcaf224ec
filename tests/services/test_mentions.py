"""Who is mentioned in a comment is told, and may read what it is about (spec 6.7, 10)."""

from __future__ import annotations

import pytest

from tests.support.engine import Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet, also_apart
from webapp.accounts.model import Actor
from webapp.accounts.permissions import USER
from webapp.engine.errors import Denied, Unexpected
from webapp.engine.notifications.model import EventType, Notice
from webapp.engine.notifications.recipients import Telling
from webapp.services.notice_writing import Occasion, Told
from webapp.services.queries import InstanceQuery

TWO = flow(
    "two",
    [
        START,
        node("ask", "UserTask", {"Assignees": ["ann"], "Title": "Sign"}),
        node("then", "UserTask", {"Assignees": ["bob"]}),
        END,
    ],
)


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    for name in ("emma", "ann", "bob", "eve", "gone"):
        made.account(name, USER)
    made.publish(TWO)
    return made


def who(house: Installation, name: str) -> Actor:
    account = house.services.accounts.find_by_name(name)
    assert account is not None
    return house.services.accounts.actor(account)


def reads(house: Installation, name: str, instance_id: str) -> bool:
    actor = who(house, name)
    listed = [one.id for one in house.services.instances.query(actor, InstanceQuery()).items]
    try:
        house.services.monitor.overview(actor, instance_id)
    except Denied:
        assert instance_id not in listed
        return False
    assert instance_id in listed
    return True


def mentions(house: Installation, name: str) -> list[Notice]:
    found = house.services.notices.list(who(house, name)).items
    return [one for one in found if one.event_type is EventType.MENTION]


def begin(house: Installation) -> tuple[str, str]:
    instance = house.start("two", by=who(house, "emma"))
    return instance.id, house.services.inbox.query(who(house, "ann")).items[0].id


@also_apart
def test_the_mentioned_may_read_the_request_and_nobody_else(house: Installation) -> None:
    instance_id, task = begin(house)
    assert not reads(house, "eve", instance_id)
    house.services.inbox.complete(who(house, "ann"), task, "approved", "@eve, is this yours? @nobody knows")
    assert reads(house, "eve", instance_id)
    assert not reads(house, "gone", instance_id)
    (told,) = mentions(house, "eve")
    assert (told.instance_id, "is this yours?" in told.body) == (instance_id, True)


def test_every_commented_action_lets_in_those_that_it_mentions_once(house: Installation) -> None:
    instance_id, task = begin(house)
    for _ in range(2):
        house.services.inbox.urge(who(house, "emma"), task, "Anybody? @eve @emma")
    assert reads(house, "eve", instance_id)
    assert len(mentions(house, "eve")) == 2
    house.services.inbox.transfer(who(house, "ann"), task, "bob", "for @gone")
    assert reads(house, "gone", instance_id)


def test_a_disabled_account_is_neither_told_nor_let_in(house: Installation) -> None:
    instance_id, task = begin(house)
    gone = house.services.accounts.find_by_name("gone")
    assert gone is not None
    house.services.accounts.set_disabled(gone, True)
    house.services.inbox.complete(who(house, "ann"), task, "approved", "@gone and @eve")
    house.services.accounts.set_disabled(gone, False)
    assert reads(house, "eve", instance_id)
    assert not reads(house, "gone", instance_id) and mentions(house, "gone") == []


class Refusing:
    """A way into the inbox that fails."""

    def compose(self, telling: Telling, occasion: Occasion) -> Told | None:
        """Fail for a mention."""
        if telling.event_type is EventType.MENTION:
            raise RuntimeError("no paper left")
        return None


def test_nobody_is_let_in_by_a_command_that_failed(stores: StoreSet) -> None:
    house = install(stores, notice_channel=Refusing())
    for name in ("emma", "ann", "bob", "eve"):
        house.account(name, USER)
    house.publish(TWO)
    instance_id, task = begin(house)
    with pytest.raises(Unexpected):
        house.services.inbox.complete(who(house, "ann"), task, "approved", "@eve")
    assert not reads(house, "eve", instance_id)
