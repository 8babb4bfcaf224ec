"""Deliveries for administrators: rights, partitions, masks, and what is done where something did not arrive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.services.crashing import CrashingStores, Moment
from tests.services.outgoing import Post, State, post
from tests.services.trail import trail
from tests.support.channels import failing
from tests.support.engine import ADMIN, actor, install
from tests.support.stores import StoreSet, also_apart
from webapp.accounts.permissions import ADMINISTRATOR, DESIGNER, OPERATOR, USER
from webapp.engine.errors import Denied, InputInvalid, NotFound
from webapp.engine.notifications.model import AttemptOutcome, Endpoint
from webapp.engine.ports.notices import DeliveryQuery
from webapp.engine.ports.queries import Paging
from webapp.services import ServiceSettings
from webapp.services.deliveries import DeliveryService

ONCE = ServiceSettings(delivery_attempts=1)
OTHER = actor("eve", ADMINISTRATOR, partition="t1")


def service(house: Post) -> DeliveryService:
    return house.house.services.deliveries


def ended(house: Post, hook: Endpoint) -> None:
    """Have ``sent`` and ``dead`` in these states, each in a line of its own, and ``behind`` wait for the dead one."""
    house.line(hook, "sent", instance_id="i1")
    house.send()
    house.channel.answer = failing("HTTP 500")
    house.line(hook, "dead", "behind", instance_id="i2")
    house.send()
    house.channel.answer = lambda message: None
    assert house.states() == {"sent": "sent", "dead": "dead", "behind": "pending"}


@pytest.mark.parametrize("role", [USER, DESIGNER, OPERATOR])
def test_only_who_may_administer_notifications_sees_or_changes_deliveries(stores: StoreSet, role: str) -> None:
    house, somebody = post(stores, settings=ONCE), actor("nosy", role)
    ended(house, house.endpoint())
    calls: list[Callable[[], object]] = [
        lambda: service(house).list(somebody, DeliveryQuery()),
        lambda: service(house).get(somebody, "dead"),
        lambda: service(house).counts(somebody),
        lambda: service(house).retry(somebody, ["dead"]),
        lambda: service(house).drop(somebody, ["dead"]),
        lambda: service(house).replay(somebody, ["sent"]),
    ]
    for call in calls:
        with pytest.raises(Denied):
            call()
    assert house.states() == {"sent": "sent", "dead": "dead", "behind": "pending"}


@also_apart
def test_deliveries_are_those_of_the_own_partition(stores: StoreSet) -> None:
    """Whether two share a database or not."""
    house = post(stores, settings=ONCE)
    ended(house, house.endpoint())
    theirs = house.delivery("theirs", house.endpoint(by=OTHER))
    house.put(theirs, partition="t1")
    assert [one.id for one in service(house).list(OTHER, DeliveryQuery()).items] == ["theirs"]
    assert service(house).list(ADMIN, DeliveryQuery()).total == 3
    with pytest.raises(NotFound):
        service(house).get(OTHER, "dead")
    for change in (service(house).retry, service(house).drop, service(house).replay):
        assert change(OTHER, ["sent", "dead", "behind"]) == 0
    assert house.states() == {"sent": "sent", "dead": "dead", "behind": "pending"}
    assert service(house).counts(OTHER)["pending"] == 1
    assert {state: number for state, number in service(house).counts(ADMIN).items() if number} == {
        "sent": 1, "dead": 1, "pending": 1,
    }  # fmt: skip
    assert trail(house.house, "t1", "retryDeliveries", "dropDeliveries", "replayDeliveries") == []


def test_a_delivery_is_shown_with_its_attempts_and_a_masked_address(stores: StoreSet) -> None:
    house = post(stores)
    hook = house.endpoint()
    house.put(house.delivery("one", hook, address="anna@example.org", recipient_id="anna", notice_id="n", topic=None))
    house.channel.answer = failing("HTTP 500")
    house.send()
    house.pass_time(10)
    house.channel.answer = lambda message: "thanks"
    house.send()
    found, attempts = service(house).get(ADMIN, "one")
    assert (found.address, found.state, found.receipt) == ("a***@example.org", State.SENT, "thanks")
    assert [(one.number, one.outcome, one.error) for one in attempts] == [
        (1, AttemptOutcome.FAILED, "HTTP 500"),
        (2, AttemptOutcome.SENT, None),
    ]
    (listed,) = service(house).list(ADMIN, DeliveryQuery(recipient_id="anna")).items
    assert listed.address == "a***@example.org"
    # What is sent goes to the whole address.
    assert house.channel.taken[0].address == "anna@example.org"
    with pytest.raises(NotFound):
        service(house).get(ADMIN, "two")


def test_a_page_of_a_bad_size_is_refused(stores: StoreSet) -> None:
    for paging in (Paging(limit=0), Paging(limit=100_000), Paging(offset=-1)):
        with pytest.raises(InputInvalid):
            service(post(stores)).list(ADMIN, DeliveryQuery(paging=paging))


def test_a_dead_one_that_is_retried_goes_out_and_its_line_after_it(stores: StoreSet) -> None:
    house = post(stores, settings=ONCE)
    ended(house, house.endpoint())
    assert service(house).retry(ADMIN, ["dead", "dead", "sent", "behind", "nowhere"]) == 1
    house.send()
    assert house.taken() == ["sent", "dead", "behind"]
    assert [one.outcome for one in house.attempts("dead")] == [AttemptOutcome.FAILED, AttemptOutcome.SENT]


def test_a_failed_one_that_is_retried_does_not_wait_for_its_time(stores: StoreSet) -> None:
    house = post(stores)
    house.line(house.endpoint(), "one")
    house.channel.answer = failing()
    house.send()
    house.channel.answer = lambda message: None
    assert house.send().sent == 0
    assert service(house).retry(ADMIN, ["one"]) == 1
    assert house.send().sent == 1


def test_one_that_is_marked_as_settled_lets_its_line_go_on_and_can_come_back(stores: StoreSet) -> None:
    house = post(stores, settings=ONCE)
    ended(house, house.endpoint())
    assert service(house).drop(ADMIN, ["dead", "sent"]) == 1
    assert (house.find("dead").state, house.find("dead").ended_at) == (State.DROPPED, house.now)
    house.send()
    assert house.taken() == ["sent", "behind"]
    assert service(house).retry(ADMIN, ["dead"]) == 1
    house.send()
    assert house.taken() == ["sent", "behind", "dead"]


def test_what_was_sent_is_sent_once_more_under_its_id(stores: StoreSet) -> None:
    house = post(stores, settings=ONCE)
    ended(house, house.endpoint())
    assert service(house).replay(ADMIN, ["sent", "dead", "behind"]) == 1
    house.send()
    assert house.taken() == ["sent", "sent"]
    assert [message.attempt for message in house.channel.taken] == [1, 2]


def test_what_is_being_sent_is_nobodys_to_change(stores: StoreSet) -> None:
    """Retried or settled under the hands of its sender, it would go out twice or be lost."""
    house = post(stores)
    house.line(house.endpoint(), "one")
    changed: list[int] = []

    def meanwhile(message: object) -> str | None:
        for change in (service(house).retry, service(house).drop, service(house).replay):
            changed.append(change(ADMIN, ["one"]))
        return None

    house.channel.answer = meanwhile
    house.send()
    assert (changed, house.states(), house.taken()) == ([0, 0, 0], {"one": "sent"}, ["one"])


def test_how_many_are_changed_at_once_is_limited(stores: StoreSet) -> None:
    for ids in ([], [str(number) for number in range(1_001)]):
        for change in (service(post(stores)).retry, service(post(stores)).drop, service(post(stores)).replay):
            with pytest.raises(InputInvalid) as found:
                change(ADMIN, ids)
            assert [(one.path, one.params["max"]) for one in found.value.problems] == [("ids", 1_000)]


def test_each_change_is_in_the_trail_with_its_number_and_wakes_the_sender(stores: StoreSet) -> None:
    house = post(stores, settings=ONCE)
    ended(house, house.endpoint())
    woken: list[bool] = []
    house.house.services.sending.on_due_now(lambda: woken.append(True))
    assert service(house).drop(ADMIN, ["nowhere"]) == 0
    assert woken == []
    service(house).drop(ADMIN, ["dead", "nowhere"])
    service(house).retry(ADMIN, ["dead"])
    service(house).replay(ADMIN, ["sent"])
    assert woken == [True] * 3
    noted = trail(house.house, None, "dropDeliveries", "retryDeliveries", "replayDeliveries")
    assert [(one.action, one.actor_id, one.request_id, one.after) for one in noted] == [
        ("dropDeliveries", "admin", "request-of-admin", {"deliveries": 1, "ids": ["dead", "nowhere"]}),
        ("retryDeliveries", "admin", "request-of-admin", {"deliveries": 1, "ids": ["dead"]}),
        ("replayDeliveries", "admin", "request-of-admin", {"deliveries": 1, "ids": ["sent"]}),
    ]


def test_a_change_whose_answer_was_lost_is_made_and_told_once(stores: StoreSet) -> None:
    house = post(stores, settings=ONCE)
    ended(house, house.endpoint())
    crashing = CrashingStores(stores.stores)
    elsewhere = install(replace(stores, stores=crashing), channels=[house.channel])  # type: ignore[arg-type]
    crashing.plan(Moment.ANSWER_LOST, 1)
    assert elsewhere.services.deliveries.retry(ADMIN, ["dead"]) == 1
    assert house.states()["dead"] == "pending"
    assert len(trail(house.house, None, "retryDeliveries")) == 1
