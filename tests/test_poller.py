"""The poller's clockwork on the real clock: it fires, is woken, survives failures, and stops cleanly."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.activities.api import (
    ActivityContext,
    ActivityOutcome,
    BookmarkRequest,
    Complete,
    ResumeInput,
    Suspend,
)
from webapp.engine.clock import SystemClock
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.poller import Poller
from webapp.services.housekeeping import HousekeepingService
from webapp.services.views import PollReport
from webapp.stores.memory import MemoryLeases, MemoryStores

SECONDS = 10


class DueAtOnce:
    """Waits on a timer that is due when it is made, and at its resumption for as long as the test wants."""

    descriptor = ActivityDescriptor(type="TestDue", category=Category.CUSTOM, icon="x", custom=True, waits=True)

    def __init__(self) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Ask for a timer that is due."""
        return Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.TIMER, due_at=context.now),))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Wait for the test."""
        self.entered.set()
        self.leave.wait(SECONDS)
        return Complete()


def _wait_until(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def activity() -> DueAtOnce:
    return DueAtOnce()


@pytest.fixture
def house(activity: DueAtOnce) -> Installation:
    clock, stores = SystemClock(), MemoryStores()
    made = StoreSet("memory", stores, MemoryLeases(clock), stores.accounts, clock)  # type: ignore[arg-type]  # real time
    return install(made, activities=(activity,))


@pytest.fixture
def poller(house: Installation) -> Iterator[Poller]:
    made = Poller(house.services.housekeeping, threads=2, poll_interval_seconds=0.05)
    yield made
    made.stop()


def _completed(house: Installation, instance_id: str) -> Callable[[], bool]:
    return lambda: house.instance(instance_id).status is InstanceStatus.COMPLETED


def test_it_fires_what_becomes_due_and_says_that_it_lives(house: Installation, poller: Poller) -> None:
    house.publish(flow("delayed", [START, node("delay", "Delay", {"DurationSeconds": "0.2"}), END]))
    instance = house.start("delayed")
    assert not house.services.housekeeping.poller_live()
    poller.start()
    assert house.services.housekeeping.poller_live()
    assert _wait_until(_completed(house, instance.id))


def test_a_commit_wakes_it_long_before_its_interval(house: Installation, activity: DueAtOnce) -> None:
    activity.leave.set()
    house.publish(flow("due", [START, node("wait", "TestDue"), END]))
    poller = Poller(house.services.housekeeping, poll_interval_seconds=3600)
    poller.start()
    try:
        for _ in range(3):
            assert _wait_until(_completed(house, house.start("due").id))
    finally:
        poller.stop()


def test_a_wake_at_the_very_end_of_a_poll_is_not_lost() -> None:
    failing = Failing()
    failing.polls = 3
    poller = Poller(cast("HousekeepingService", failing), poll_interval_seconds=3600)
    lock = poller._polling

    class Late:
        """The poller's lock, under which somebody wakes it once when the poll is over."""

        def __enter__(self) -> None:
            lock.acquire()

        def __exit__(self, *reason: object) -> None:
            if failing.polls == 4:
                poller.wake()
            lock.release()

        def locked(self) -> bool:
            return lock.locked()

    poller._polling = cast("threading.Lock", Late())  # type: ignore[assignment]  # a stand-in
    poller._poll()
    assert failing.polls == 5


def test_stopping_finishes_the_wave_at_hand_and_gives_back_the_rest(house: Installation, activity: DueAtOnce) -> None:
    house.publish(flow("due", [START, node("wait", "TestDue"), END]))
    instances = [house.start("due").id for _ in range(3)]
    poller = Poller(house.services.housekeeping, threads=1, poll_interval_seconds=0.05)
    poller.start()
    assert activity.entered.wait(SECONDS)
    stopper = threading.Thread(target=poller.stop)
    stopper.start()
    assert _wait_until(poller._stopping.is_set)
    activity.leave.set()
    stopper.join(SECONDS)
    assert not stopper.is_alive()

    statuses = sorted(house.instance(one).status.value for one in instances)
    assert statuses == ["Completed", "Running", "Running"]
    # The claims are free: another poller need not wait for them to run out.
    assert house.services.housekeeping.poll_once().resumed == 2
    assert house.services.instances.counts(ADMIN)["Completed"] == 3
    poller.stop()


class Failing:
    """A housekeeping whose first polls fail."""

    def __init__(self) -> None:
        self.polls = 0
        self.recovered = 0

    def on_due_now(self, wake: Callable[[], None]) -> None:
        """Nothing wakes this one."""

    def recover(self) -> int:
        """Fail as well."""
        self.recovered += 1
        raise RuntimeError("no database")

    def beat(self) -> None:
        """Live."""

    def housekeep(self, stopping: object) -> int:
        """Nothing to do."""
        return 0

    def poll_once(self, run_all: object, stopping: object) -> PollReport:
        """Fail twice."""
        self.polls += 1
        if self.polls < 3:
            raise RuntimeError("no database")
        return PollReport()


def test_a_failure_does_not_end_it(caplog: pytest.LogCaptureFixture) -> None:
    failing = Failing()
    poller = Poller(cast("HousekeepingService", failing), poll_interval_seconds=0.02)
    poller.start()
    try:
        assert _wait_until(lambda: failing.polls > 4)
    finally:
        poller.stop()
    assert failing.recovered == 1
    assert "will run again" in caplog.text


def test_in_the_foreground_it_ends_at_sigterm(house: Installation) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    poller = Poller(house.services.housekeeping, poll_interval_seconds=0.05)
    killer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    killer.start()
    try:
        poller.run_until_signal()
    finally:
        killer.join()
        for number, handler in before.items():
            signal.signal(number, handler)
    assert poller._stopping.is_set()
