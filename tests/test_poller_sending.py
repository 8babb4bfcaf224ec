"""The poller's sender on the real clock: woken by commits, and stopped without losing what is on its way (spec 10)."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.nodes import wait_until
from tests.services.outgoing import APPROVAL, Post
from tests.support.channels import FakeChannel, HangingChannel
from tests.support.engine import install
from tests.support.stores import StoreSet, sqlite_stores
from webapp.engine.clock import SystemClock
from webapp.engine.notifications.model import AttemptOutcome, DeliveryState
from webapp.engine.ports.channels import OutgoingMessage
from webapp.poller import Poller
from webapp.services import delivery_times
from webapp.services.sending import SENDER_THREADS

SECONDS = 30
NEVER = 3600.0


@pytest.fixture
def stores(migrated_sqlite: Path, tmp_path: Path) -> Iterator[StoreSet]:
    """Stores for several threads, and real time."""
    with sqlite_stores(migrated_sqlite, tmp_path) as found:
        yield replace(found, clock=SystemClock())  # type: ignore[arg-type]  # real time


def house_of(stores: StoreSet, channel: FakeChannel) -> Post:
    house = Post(install(stores, channels=[channel]), channel)
    house.house.publish(APPROVAL)
    return house


def poller_of(house: Post) -> Poller:
    """Return a poller that looks for nothing by itself."""
    services = house.house.services
    return Poller(
        services.housekeeping,
        sending=services.sending,
        poll_interval_seconds=NEVER,
        delivery_interval_seconds=NEVER,
    )


def claims(stores: StoreSet) -> list[str]:
    with stores.stores.reading(None) as work:
        return list(work.deliveries.claim_tokens())


def test_each_commit_wakes_the_sender_long_before_its_interval(stores: StoreSet) -> None:
    house = house_of(stores, FakeChannel())
    house.endpoint(topics=["workflow.task.created"])
    poller = poller_of(house)
    poller.start()
    try:
        for number in range(1, 4):
            house.house.start("approval")
            assert wait_until(lambda wanted=number: len(house.channel.taken) == wanted, SECONDS)
    finally:
        poller.stop()


def test_a_retry_by_an_administrator_wakes_it_too(stores: StoreSet) -> None:
    house = house_of(stores, FakeChannel())
    hook = house.endpoint()
    house.line(hook, "one")
    with stores.stores.writing(None) as work:
        work.deliveries.drop(None, ["one"], house.now)
    poller = poller_of(house)
    poller.start()
    try:
        assert house.channel.taken == []
        house.house.services.deliveries.retry(house.house.account("ops", "administrator"), ["one"])
        assert wait_until(lambda: house.taken() == ["one"], SECONDS)
    finally:
        poller.stop()


def test_what_comes_while_all_threads_are_busy_goes_out_with_the_next_one_that_is_free(stores: StoreSet) -> None:
    leave = threading.Event()

    def answer(message: OutgoingMessage) -> str | None:
        leave.wait(SECONDS)
        return None

    house = house_of(stores, FakeChannel(answer=answer))
    hook = house.endpoint(topics=["workflow.task.created"])
    for number in range(SENDER_THREADS):
        house.line(hook, f"slow-{number}", instance_id=f"i{number}")
    poller = poller_of(house)
    poller.start()
    try:
        assert wait_until(lambda: len(house.channel.asked) == SENDER_THREADS, SECONDS)
        house.house.start("approval")
        leave.set()
        assert wait_until(lambda: len(house.channel.taken) == SENDER_THREADS + 1, SECONDS)
    finally:
        leave.set()
        poller.stop()


def test_at_sigterm_the_message_on_its_way_is_finished_and_no_other_is_begun(stores: StoreSet) -> None:
    """What it has claimed besides is free at once for another process, and counts as not tried."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    told = threading.Lock()

    def answer(message: OutgoingMessage) -> str | None:
        if told.acquire(blocking=False):
            os.kill(os.getpid(), signal.SIGTERM)
        assert poller._stopping.wait(SECONDS)
        return "taken at the last moment"

    house = house_of(stores, FakeChannel(answer=answer))
    hook = house.endpoint()
    names = [f"{number:02}" for number in range(20)]
    for name in names:
        house.line(hook, name, instance_id=name)
    poller = poller_of(house)
    try:
        poller.run_until_signal()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    sent = house.taken()
    assert 1 <= len(sent) <= SENDER_THREADS
    assert house.states() == {name: "sent" if name in sent else "pending" for name in names}
    assert {house.find(name).receipt for name in sent} == {"taken at the last moment"}
    assert {house.find(name).attempts for name in set(names) - set(sent)} == {0}
    assert claims(stores) == []
    house.channel.answer = lambda message: None
    assert house.send().sent == len(names) - len(sent)


def test_a_receiver_that_hangs_keeps_the_end_waiting_for_some_seconds_only(
    stores: StoreSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attempt could take 30 seconds; it is written down as failed, and comes again."""
    monkeypatch.setattr(delivery_times, "STOP_SECONDS", 0.1)
    house = house_of(stores, HangingChannel())
    house.line(house.endpoint(), "one", "two")
    poller = poller_of(house)
    poller.start()
    assert wait_until(lambda: len(house.channel.asked) == 1, SECONDS)
    stopper = threading.Thread(target=poller.stop)
    stopper.start()
    stopper.join(20)
    assert not stopper.is_alive(), "it waited for the attempt's 30 seconds"
    found = house.find("one")
    assert (found.state, found.attempts, found.last_error) == (DeliveryState.FAILED, 1, "nobody answered")
    assert [one.outcome for one in house.attempts("one")] == [AttemptOutcome.FAILED]
    assert (house.states()["two"], claims(stores)) == ("pending", [])


def test_the_claims_of_a_process_that_died_are_freed_when_another_starts(stores: StoreSet) -> None:
    house = house_of(stores, FakeChannel())
    house.line(house.endpoint(), "one")
    own = stores.leases.token().rpartition("/")[0].split("/")
    dead = "/".join([*own[:-2], "999999999", "0", "x"])
    with stores.stores.writing(None) as work:
        work.deliveries.claim_due(house.now, 10, dead, house.now.replace(year=9000))
    poller = poller_of(house)
    poller.start()
    try:
        assert wait_until(lambda: house.taken() == ["one"], SECONDS)
        assert wait_until(lambda: len(house.attempts("one")) == 2, SECONDS)
    finally:
        poller.stop()
    assert [one.outcome for one in house.attempts("one")] == [AttemptOutcome.LOST, AttemptOutcome.SENT]
