"""What leaves the house: attempts, waits and order; a channel double stands for the other side (spec 10)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs

from tests.services.outgoing import FAST, Post, State, post
from tests.support.channels import FakeChannel, HangingChannel, failing
from tests.support.engine import ADMIN, actor
from tests.support.stores import StoreSet, on_databases
from webapp.engine.errors import OperationCancelled
from webapp.engine.notifications.model import AttemptOutcome, ChannelKind, DeliveryContent
from webapp.engine.ports.channels import OutgoingMessage, SendingFailed
from webapp.poller import Threads
from webapp.services import ServiceSettings
from webapp.services.delivery_times import wait_after
from webapp.services.endpoints import EndpointSettings
from webapp.stores.memory import MemoryStores
from webapp.stores.sql import delivery_claims


def test_what_is_due_goes_out_once_and_is_accounted_for(stores: StoreSet) -> None:
    house = post(stores)
    hook = house.endpoint()
    house.put(
        house.delivery("now", hook),
        house.delivery("later", hook, instance_id="i2", next_attempt_at=house.now + timedelta(seconds=1)),
    )
    report = house.send()
    assert (report.sent, report.failed) == (1, 0)
    (message,) = house.channel.taken
    assert (message.delivery_id, message.topic, message.data) == ("now", "workflow.custom", {"name": "now"})
    assert (message.endpoint.id, message.instance_id, message.attempt) == (hook.id, "i1", 1)
    found = house.find("now")
    assert (found.state, found.receipt, found.ended_at) == (State.SENT, "receipt of now", house.now)
    (attempt,) = house.attempts("now")
    assert (attempt.number, attempt.outcome, attempt.error) == (1, AttemptOutcome.SENT, None)
    assert attempt.started_at == house.now

    assert house.send().sent == 0
    house.pass_time(1)
    assert house.send().sent == 1
    assert house.taken() == ["now", "later"]


def test_a_failure_waits_twice_as_long_each_time_and_dies_with_the_last_try(stores: StoreSet) -> None:
    house = post(stores, FakeChannel(answer=failing("HTTP 503")), settings=ServiceSettings(delivery_attempts=3))
    house.line(house.endpoint(), "one")
    for tries, least in ((1, 5.0), (2, 10.0)):
        assert house.send().failed == 1
        found = house.find("one")
        wait = (found.next_attempt_at - house.now).total_seconds()
        assert (found.state, found.attempts, found.last_error) == (State.FAILED, tries, "HTTP 503")
        assert least <= wait <= 1.25 * least
        house.pass_time(least - 0.001)
        assert house.send().failed == 0
        house.pass_time(0.25 * least + 0.002)
    assert house.send().dead == 1
    found = house.find("one")
    assert (found.state, found.attempts, found.ended_at) == (State.DEAD, 3, house.now)
    assert [(one.number, one.outcome, one.error) for one in house.attempts("one")] == [
        (number, AttemptOutcome.FAILED, "HTTP 503") for number in (1, 2, 3)
    ]
    house.pass_time(100_000)
    assert house.send().dead == 0


@pytest.mark.parametrize(
    ("tries", "chance", "asked", "seconds"),
    [
        (1, 0.0, None, 5.0),
        (1, 1.0, None, 6.25),
        (4, 0.0, None, 40.0),
        (10, 0.0, None, 2560.0),
        (11, 0.0, None, 2880.0),
        (12, 1.0, None, 3600.0),
        (400, 1.0, None, 3600.0),
        (1, 0.0, 120.0, 120.0),
        (5, 0.0, 10.0, 80.0),
        (1, 0.0, 10_000_000.0, 86_400.0),
    ],
)
def test_waits_double_from_five_seconds_to_an_hour(
    tries: int, chance: float, asked: float | None, seconds: float
) -> None:
    assert wait_after(tries, chance, asked) == seconds


def test_what_the_other_side_asks_for_is_waited(stores: StoreSet) -> None:
    house = post(stores, FakeChannel(answer=failing("HTTP 429", retry_after=120)))
    house.line(house.endpoint(), "one")
    house.send()
    assert house.find("one").next_attempt_at == house.now + timedelta(seconds=120)


def test_a_permanent_failure_is_dead_at_once(stores: StoreSet) -> None:
    house = post(stores, FakeChannel(answer=failing("HTTP 410", permanent=True)))
    house.line(house.endpoint(), "one")
    assert house.send().dead == 1
    assert (house.find("one").state, house.find("one").last_error) == (State.DEAD, "HTTP 410")


def test_an_attempt_without_an_answer_ends_with_its_time(stores: StoreSet) -> None:
    house = post(stores, HangingChannel(), settings=FAST)
    house.line(house.endpoint(), "one")
    assert house.send().failed == 1
    (attempt,) = house.attempts("one")
    assert (attempt.error, attempt.outcome) == ("nobody answered", AttemptOutcome.FAILED)
    assert attempt.duration_ms >= 50


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OperationCancelled("late"), "deliveries.reason.no_answer"), (KeyError("x"), "deliveries.reason.failed_inside")],
)
def test_a_channel_that_breaks_is_a_failed_attempt_without_its_words(
    stores: StoreSet, error: Exception, reason: str
) -> None:
    def broken(message: OutgoingMessage) -> str | None:
        raise error

    house = post(stores, FakeChannel(answer=broken))
    house.line(house.endpoint(), "one")
    assert house.send().failed == 1
    assert house.find("one").last_error == reason


# --- order ------------------------------------------------------------------------------------


def broken_for(*names: str) -> Callable[[OutgoingMessage], str | None]:
    def answer(message: OutgoingMessage) -> str | None:
        if message.delivery_id in names:
            raise SendingFailed("HTTP 500")
        return None

    return answer


def test_a_line_waits_for_the_one_that_failed_and_others_go_on(stores: StoreSet) -> None:
    house = post(stores, FakeChannel(answer=broken_for("a2")))
    hook = house.endpoint()
    house.line(hook, "a1", "a2", "a3")
    house.line(hook, "b1", "b2", instance_id="i2")
    house.send()
    assert [one for one in house.taken() if one[0] == "a"] == ["a1"]
    assert [one for one in house.taken() if one[0] == "b"] == ["b1", "b2"]
    assert house.find("a3").attempts == 0
    house.channel.answer = broken_for()
    house.pass_time(10)
    house.send()
    assert [one for one in house.taken() if one[0] == "a"] == ["a1", "a2", "a3"]


def test_a_dead_one_stops_its_own_instances_line_until_somebody_decides(stores: StoreSet) -> None:
    house = post(stores, settings=ServiceSettings(delivery_attempts=1))
    house.channel.answer = broken_for("a1", "c1")
    hook, other = house.endpoint(), house.endpoint("other")
    house.line(hook, "a1", "a2")
    house.line(hook, "b1", "b2", instance_id="i2")
    house.line(other, "c1", "c2")
    house.line(other, "d1", instance_id="i2")
    house.send()
    assert house.states() == {
        "a1": "dead", "a2": "pending", "b1": "sent", "b2": "sent", "c1": "dead", "c2": "pending", "d1": "sent",
    }  # fmt: skip
    house.channel.answer = broken_for()
    assert house.house.services.deliveries.drop(ADMIN, ["a1"]) == 1
    assert house.house.services.deliveries.retry(ADMIN, ["c1"]) == 1
    house.send()
    assert [one for one in house.taken() if one[0] == "a"] == ["a2"]
    assert [one for one in house.taken() if one[0] == "c"] == ["c1", "c2"]


@on_databases
def test_what_may_go_is_found_behind_thousands_that_wait(stores: StoreSet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_claims, "MOST_PUT_ASIDE", 500)
    house = post(stores)
    hook = house.endpoint()
    house.channel.answer = failing("HTTP 410", permanent=True)
    house.line(hook, "dead")
    assert house.send().dead == 1
    house.channel.answer = broken_for()
    house.put(*(house.delivery(f"w{number:04}", hook, sequence=number + 1) for number in range(2_000)))
    house.pass_time(1)
    house.line(hook, "other", instance_id="i2")
    assert house.send().sent == 1
    assert house.taken() == ["other"]


def test_several_threads_keep_the_order_of_every_line(stores: StoreSet) -> None:
    if isinstance(stores.stores, MemoryStores):
        pytest.skip("the stores in memory have one thread at a time")
    house = post(stores)
    hook = house.endpoint()
    for line in range(6):
        house.line(hook, *(f"{line}-{place}" for place in range(5)), instance_id=f"i{line}")
    crew = Threads(4)
    try:
        assert house.send(crew).sent == 30
    finally:
        crew.close()
    for line in range(6):
        own = [one for one in house.taken() if one.startswith(f"{line}-")]
        assert own == [f"{line}-{place}" for place in range(5)]


def test_one_that_hangs_keeps_no_other_line_waiting(stores: StoreSet) -> None:
    leave, others = threading.Event(), threading.Event()

    def answer(message: OutgoingMessage) -> str | None:
        if message.delivery_id == "slow":
            assert others.wait(10), "the others waited for it"
            leave.wait(10)
        return None

    house = post(stores, FakeChannel(answer=answer))
    hook = house.endpoint()
    house.line(hook, "slow")
    house.line(hook, "b1", "b2", "b3", instance_id="i2")
    crew = Threads(2)

    def watch() -> None:
        while len(house.channel.taken) < 3:
            leave.wait(0.005)
        others.set()
        leave.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert house.send(crew).sent == 4
    finally:
        leave.set()
        watcher.join()
        crew.close()
    assert house.taken() == ["b1", "b2", "b3", "slow"]


# --- digests ----------------------------------------------------------------------------------


def notices_of(house: Post, *names: str, who: str = "ann", **more: Any) -> None:
    """Store deliveries of notices to somebody by e-mail, of one bundle."""
    mail = more.pop("endpoint_id", "email")
    for place, name in enumerate(names):
        instance = f"i{place}"
        values: dict[str, Any] = {
            "id": name,
            "sequence": place,
            "line": f"{mail}/{who}/{instance}",
            "kind": house.channel.kind,
            "endpoint_id": mail,
            "notice_id": f"notice of {name}",
            "recipient_id": who,
            "instance_id": instance,
            "address": f"{who}@example.org",
            "bundle": f"{who} at 8",
            "next_attempt_at": house.now,
            "created_at": house.now,
            "content": DeliveryContent(title=f"title of {name}", body="body", language="en"),
            **more,
        }
        house.put(house.delivery(name, house.house.services.endpoints.get(ADMIN, mail), **{**values, "topic": None}))


def mailing(stores: StoreSet, **more: Any) -> Post:
    return post(stores, FakeChannel(kind=ChannelKind.EMAIL), **more)


def test_what_is_due_of_a_bundle_goes_out_as_one_message_each_with_its_attempt(stores: StoreSet) -> None:
    house = mailing(stores)
    notices_of(house, "n1", "n2", "n3")
    notices_of(house, "m1", who="bob")
    notices_of(house, "later", line="email/ann/i9", next_attempt_at=house.now + timedelta(seconds=60))
    assert house.send().sent == 4
    first, second = sorted(house.channel.taken, key=lambda message: message.address or "")
    assert (first.address, first.subject, first.delivery_id) == ("ann@example.org", "3 notices", "n1")
    assert [part.title for part in first.parts] == ["title of n1", "title of n2", "title of n3"]
    assert (second.address, second.subject) == ("bob@example.org", "title of m1")
    assert [len(house.attempts(one)) for one in ("n1", "n2", "n3", "m1", "later")] == [1, 1, 1, 1, 0]
    assert {house.find(one).receipt for one in ("n1", "n2", "n3")} == {"receipt of n1"}


def test_a_digest_of_more_than_one_claim_is_one_message(stores: StoreSet) -> None:
    house = mailing(stores)
    notices_of(house, *(f"n{number:02}" for number in range(30)))
    assert house.send().sent == 30
    (message,) = house.channel.taken
    assert len(message.parts) == 30


def test_a_long_digest_is_one_message_that_counts_what_it_does_not_tell(stores: StoreSet) -> None:
    house = mailing(stores, settings=ServiceSettings(base_url="https://flow.example.org/"))
    house.channel.answer = failing("the server is away")
    names = [f"n{number:03}" for number in range(237)]
    notices_of(house, *names)
    assert house.send().failed == 237
    house.channel.answer = broken_for()
    house.pass_time(10)
    assert house.send().sent == 237
    (message,) = house.channel.taken
    assert (message.subject, message.left_out, len(message.parts)) == ("237 notices", 37, 201)
    assert message.parts[199].title == "title of n199"
    more = message.parts[200]
    assert (more.title, more.body, more.link) == ("and 37 more", "", "https://flow.example.org/notifications")
    assert set(house.states().values()) == {"sent"}
    assert [one.outcome for one in house.attempts("n236")] == [AttemptOutcome.FAILED, AttemptOutcome.SENT]


def test_a_digest_that_failed_comes_again_as_one(stores: StoreSet) -> None:
    house = mailing(stores)
    house.channel.answer = failing("the server is away")
    notices_of(house, "n1", "n2")
    assert house.send().failed == 2
    assert house.find("n1").next_attempt_at == house.find("n2").next_attempt_at
    house.channel.answer = broken_for()
    house.pass_time(10)
    assert house.send().sent == 2
    (message,) = house.channel.taken
    assert (message.delivery_id, message.attempt, len(message.parts)) == ("n1", 2, 2)


# --- endpoints and accounts that are gone -------------------------------------------------------


def test_a_deleted_endpoints_deliveries_are_dead_with_the_reason(stores: StoreSet) -> None:
    house = post(stores)
    hook = house.endpoint()
    house.line(hook, "one")
    house.house.services.endpoints.delete(ADMIN, hook.id, 1)
    assert house.send().dead == 1
    assert house.find("one").last_error == "deliveries.reason.endpoint_deleted"
    assert house.channel.asked == []


def test_a_disabled_endpoints_deliveries_wait_until_it_is_on_again(stores: StoreSet) -> None:
    house = post(stores)
    hook = house.endpoint()
    house.line(hook, "one", "two")
    services = house.house.services.endpoints
    on = EndpointSettings(name="hook", address=hook.address, topics=["workflow.*"])
    services.update(ADMIN, hook.id, structs.replace(on, enabled=False), expected_revision=1)
    for _ in range(3):
        house.send()
        house.pass_time(31)
    found = house.find("one")
    assert (found.state, found.attempts, found.last_error) == (State.PENDING, 0, "deliveries.reason.endpoint_disabled")
    assert (house.attempts("one"), house.channel.asked) == ([], [])
    services.update(ADMIN, hook.id, on, expected_revision=2)
    house.send()
    assert house.taken() == ["one", "two"]


def test_a_channel_that_is_not_set_up_keeps_what_waits_for_it(stores: StoreSet) -> None:
    house = mailing(stores)
    notices_of(house, "n1")
    house.channel.ready = False
    assert house.send().put_off == 1
    assert house.find("n1").last_error == "deliveries.reason.channel_not_ready"
    house.channel.ready = True
    house.pass_time(31)
    assert house.send().sent == 1


def test_nothing_goes_to_an_account_that_was_disabled(stores: StoreSet) -> None:
    house = mailing(stores)
    accounts = house.house.services.accounts
    house.house.account("ann", email="ann@example.org")
    house.house.account("bob", email="bob@example.org")
    notices_of(house, "n1")
    notices_of(house, "m1", who="bob")
    ann = accounts.find_by_name("ann")
    assert ann is not None
    accounts.set_disabled(ann, True)
    report = house.send()
    assert (report.dropped, report.sent) == (1, 1)
    assert (house.find("n1").state, house.find("n1").last_error) == (
        State.DROPPED,
        "deliveries.reason.account_disabled",
    )
    assert [message.address for message in house.channel.taken] == ["bob@example.org"]


# --- several processes, crashes ------------------------------------------------------------------


def test_a_claim_of_a_process_that_died_is_freed_and_counts_as_lost(stores: StoreSet) -> None:
    house = post(stores)
    hook = house.endpoint()
    house.line(hook, "one", "two")
    gone = house.house.store_set.leases.token().rpartition("/")[0]
    host = gone.split("/")
    dead = "/".join([*host[:-2], "999999999", "0", "x"])
    with stores.stores.writing(None) as work:
        assert [one.id for one in work.deliveries.claim_due(house.now, 10, dead, house.now + timedelta(hours=1))] == [
            "one"
        ]
    assert house.send().sent == 0
    assert house.house.services.sending.release_dead() == 1
    assert house.send().sent == 2
    assert [(one.number, one.outcome) for one in house.attempts("one")] == [
        (1, AttemptOutcome.LOST),
        (2, AttemptOutcome.SENT),
    ]
    assert house.taken() == ["one", "two"]


def test_a_delivery_that_ends_its_process_each_time_is_dead_after_as_many_tries(stores: StoreSet) -> None:
    house = post(stores, settings=ServiceSettings(delivery_attempts=3))
    house.line(house.endpoint(), "deadly", "behind")
    host = house.house.store_set.leases.token().rpartition("/")[0].split("/")
    gone = "/".join([*host[:-2], "999999999", "0", "x"])
    for _ in range(3):
        with stores.stores.writing(None) as work:
            found = work.deliveries.claim_due(house.now, 10, gone, house.now + timedelta(hours=1))
        assert [one.id for one in found] == ["deadly"]
        assert house.house.services.sending.release_dead() == 1
    report = house.send()
    assert (report.dead, report.sent) == (1, 0)
    one = house.find("deadly")
    assert (one.state, one.last_error) == (State.DEAD, "deliveries.reason.process_lost")
    assert [each.outcome.value for each in house.attempts("deadly")] == ["lost", "lost", "lost", "failed"]
    # Somebody who has found the cause gets a new round, and its line goes on.
    assert house.house.services.deliveries.retry(ADMIN, ["deadly"]) == 1
    assert house.send().sent == 2
    assert house.taken() == ["deadly", "behind"]


def test_a_lost_try_in_the_middle_of_a_round_is_one_of_it(stores: StoreSet) -> None:
    house = post(stores, settings=ServiceSettings(delivery_attempts=2))
    house.line(house.endpoint(), "one")
    with stores.stores.writing(None) as work:
        work.deliveries.claim_due(house.now, 10, "elsewhere/h/1/2/x", house.now + timedelta(seconds=60))
    house.pass_time(61)
    house.channel.answer = failing("HTTP 503")
    assert house.send().dead == 1
    assert house.find("one").attempts == 2


def test_a_claim_of_another_host_runs_out(stores: StoreSet) -> None:
    house = post(stores)
    house.line(house.endpoint(), "one")
    with stores.stores.writing(None) as work:
        work.deliveries.claim_due(house.now, 10, "elsewhere/h/1/2/x", house.now + timedelta(seconds=60))
    house.house.services.sending.release_dead()
    assert house.send().sent == 0
    house.pass_time(61)
    assert house.send().sent == 1


def test_at_the_end_of_the_process_nothing_is_claimed_and_nothing_stays_claimed(stores: StoreSet) -> None:
    house = post(stores)
    house.line(house.endpoint(), "one", "two", "three")
    stopping = threading.Event()
    house.channel.answer = lambda message: stopping.set()  # type: ignore[func-returns-value]  # takes it, and ends
    house.house.services.sending.send_due(None, stopping.is_set)
    assert house.taken() == ["one"]
    assert house.states() == {"one": "sent", "two": "pending", "three": "pending"}
    with stores.stores.reading(None) as work:
        assert work.deliveries.claim_tokens() == []


def test_an_administrators_retry_gives_a_whole_round_again(stores: StoreSet) -> None:
    house = post(stores, FakeChannel(answer=failing()), settings=ServiceSettings(delivery_attempts=2))
    house.line(house.endpoint(), "one")
    for state in ("failed", "dead"):
        house.send()
        assert house.states() == {"one": state}
        house.pass_time(20)
    house.house.services.deliveries.retry(actor("ops", "administrator"), ["one"])
    for state in ("failed", "dead"):
        house.send()
        assert house.states() == {"one": state}
        house.pass_time(20)
    assert len(house.attempts("one")) == 4
