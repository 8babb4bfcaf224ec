"""The poller's clockwork on the real clock: it fires, is woken, survives failures, and stops cleanly."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import cast

import pytest
from apscheduler.schedulers.base import STATE_STOPPED

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
from webapp.poller import Poller, WallClock
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
    made = StoreSet(
        "memory",
        stores,
        MemoryLeases(clock),
        stores.accounts,
        stores.calendars,
        stores.notice_settings,
        clock,  # type: ignore[arg-type]  # real time
    )
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


def test_a_wake_while_the_last_poll_of_another_one_ends_is_not_lost() -> None:
    failing = Failing()
    failing.polls = 3
    poller = Poller(cast("HousekeepingService", failing), poll_interval_seconds=3600)
    polled, leave, run = threading.Event(), threading.Event(), poller._guarded

    def slow(job: Callable[[], object]) -> None:
        run(job)
        if job == poller._poll:
            polled.set()
            leave.wait(SECONDS)

    poller._guarded = slow  # type: ignore[method-assign]  # its thread is slow to come back from the poll
    poller.start()
    try:
        assert polled.wait(SECONDS)
        before = failing.polls
        poller.wake()
        time.sleep(0.2)
        leave.set()
        assert _wait_until(lambda: failing.polls > before)
    finally:
        leave.set()
        poller.stop()


def test_stopping_waits_for_a_job_that_changes_the_schedule_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first housekeeping takes itself off the schedule."""
    monkeypatch.setattr("webapp.poller.FIRST_HOUSEKEEPING_SECONDS", 0.05)
    poller = Poller(cast("HousekeepingService", Failing()), poll_interval_seconds=3600)
    scheduler, entered = poller._scheduler, threading.Event()
    remove = scheduler.remove_job

    def late(*args: object) -> None:
        entered.set()
        assert _wait_until(lambda: scheduler.state == STATE_STOPPED)
        remove(*args)

    monkeypatch.setattr(scheduler, "remove_job", late)
    poller.start()
    assert entered.wait(SECONDS)
    stopper = threading.Thread(target=poller.stop, daemon=True)
    stopper.start()
    stopper.join(SECONDS)
    assert not stopper.is_alive()


def test_stopping_waits_for_a_batch_that_wakes_it_meanwhile() -> None:
    waking = Waking()
    poller = waking.poller = Poller(cast("HousekeepingService", waking), poll_interval_seconds=0.05)
    poller.start()
    assert waking.entered.wait(SECONDS)
    stopper = threading.Thread(target=poller.stop, daemon=True)
    stopper.start()
    stopper.join(SECONDS)
    assert not stopper.is_alive()
    poller.wake()


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

    def beat(self, seconds: float) -> None:
        """Live."""

    def silence(self) -> None:
        """Live no more."""

    def run_timers(self, stopping: object) -> PollReport:
        """Nothing to do."""
        return PollReport()

    def housekeep(self, stopping: object) -> int:
        """Nothing to do."""
        return 0

    def poll_once(self, run_all: object, stopping: object) -> PollReport:
        """Fail twice."""
        self.polls += 1
        if self.polls < 3:
            raise RuntimeError("no database")
        return PollReport()


class Waking(Failing):
    """A housekeeping whose batch leaves something that is due at once, just when the poller is stopped."""

    poller: Poller

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()

    def run_batches(self, stopping: object) -> int:
        """Wake the poller, which has not heard of its end yet."""
        self.entered.set()
        assert _wait_until(lambda: self.poller._scheduler.state == STATE_STOPPED)
        ended, self.poller._stopping = self.poller._stopping, threading.Event()
        self.poller.wake()
        self.poller._stopping = ended
        return 0


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


class Hanging(Failing):
    """A housekeeping whose third poll does not come back before it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.live = False
        self.hangs, self.leave = threading.Event(), threading.Event()

    def beat(self, seconds: float) -> None:
        """Live."""
        self.live = True

    def silence(self) -> None:
        """Live no more."""
        self.live = False

    def poll_once(self, run_all: object, stopping: object) -> PollReport:
        """Hang, as in a connection that nobody answers any more."""
        report = super().poll_once(run_all, stopping)
        self.hangs.set()
        self.leave.wait(SECONDS)
        return report


def test_a_poller_whose_loop_hangs_is_not_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.poller.HANG_SECONDS", 0.2)
    hanging = Hanging()
    poller = Poller(cast("HousekeepingService", hanging), poll_interval_seconds=0.02, lease_seconds=3)
    poller.start()
    try:
        assert hanging.live
        assert hanging.hangs.wait(SECONDS)
        assert _wait_until(lambda: not hanging.live)
        hanging.leave.set()
        assert _wait_until(lambda: hanging.live)
    finally:
        hanging.leave.set()
        poller.stop()
    assert not hanging.live


def test_a_poller_whose_threads_are_all_stuck_is_not_alive(
    house: Installation, activity: DueAtOnce, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.poller.STUCK_SECONDS", 0.2)
    house.publish(flow("due", [START, node("wait", "TestDue"), END]))
    house.start("due")
    poller = Poller(house.services.housekeeping, threads=2, poll_interval_seconds=0.02, lease_seconds=3)
    poller.start()
    try:
        assert activity.entered.wait(SECONDS)
        time.sleep(1.3)
        # One of two is free: whatever is due next runs.
        assert house.services.housekeeping.poller_live()
        house.start("due")
        assert _wait_until(lambda: not house.services.housekeeping.poller_live())
        activity.leave.set()
        assert _wait_until(house.services.housekeeping.poller_live)
    finally:
        activity.leave.set()
        poller.stop()
    assert not house.services.housekeeping.poller_live()


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


def test_a_poller_seals_the_trail_once_more_when_it_stops(house: Installation) -> None:
    house.publish(flow("short", [START, END]))
    poller = Poller(house.services.housekeeping, poll_interval_seconds=3600, seal=house.services.sealing.seal)
    house.start("short")
    poller.start()
    poller.stop()
    found = house.services.audit.verify(None)
    assert found.rows > 0
    assert found.unsealed.count == 0


class Wall(datetime):
    """The computer's clock, which a test changes."""

    changed_by = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]  # what is asked for is UTC
        """Return the changed time."""
        return datetime.now(tz) + cls.changed_by


@pytest.mark.parametrize("hours", [-1, 24 * 365 * 50])
def test_a_clock_that_is_put_back_or_on_does_not_stop_it(monkeypatch: pytest.MonkeyPatch, hours: int) -> None:
    monkeypatch.setattr(Wall, "changed_by", timedelta())
    monkeypatch.setattr("apscheduler.schedulers.base.datetime", Wall)
    monkeypatch.setattr("webapp.poller.CLOCK_WATCH_SECONDS", 0.05)
    failing = Failing()
    poller = Poller(cast("HousekeepingService", failing), poll_interval_seconds=0.05, now=lambda: Wall.now(UTC))
    poller.start()
    try:
        assert _wait_until(lambda: failing.polls > 3)
        Wall.changed_by = timedelta(hours=hours)
        polled = failing.polls
        assert _wait_until(lambda: failing.polls > polled + 5)
    finally:
        poller.stop()


def test_a_clock_that_is_corrected_gently_was_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Wall, "changed_by", timedelta())
    clock = WallClock(lambda: Wall.now(UTC))
    for milliseconds, jump in ((100, 0), (200, 0), (-3_600_000, -3_600), (-3_600_000, 0), (0, 3_600)):
        Wall.changed_by = timedelta(milliseconds=milliseconds)
        assert clock.jumped() == pytest.approx(jump, abs=0.4)


def test_it_keeps_house_soon_after_its_start_and_then_at_its_interval(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.poller.FIRST_HOUSEKEEPING_SECONDS", 0.05)
    calls: list[bool] = []
    monkeypatch.setattr(house.services.housekeeping, "housekeep", lambda stopping: calls.append(stopping()))
    poller = Poller(house.services.housekeeping, poll_interval_seconds=3600, housekeeping_interval_seconds=3600)
    poller.start()
    try:
        assert _wait_until(lambda: bool(calls))
        time.sleep(0.3)
        assert calls == [False]
    finally:
        poller.stop()
