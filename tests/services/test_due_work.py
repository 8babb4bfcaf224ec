"""The poller keeps its threads filled: a slow wave delays nobody else, partitions share, nothing runs twice (8.10)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from threading import Event

import pytest

from tests.services.test_statements import watched
from tests.support.engine import Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet, on_databases
from webapp.accounts.model import Tenant
from webapp.accounts.permissions import ADMINISTRATOR
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
from webapp.engine.instances.bookmarks import BACKGROUND_KEY, Bookmark, BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.locks import LeaseHeld
from webapp.engine.ports.queries import DueBookmark
from webapp.engine.ports.stores import WriteSet
from webapp.poller import Threads
from webapp.services import ServiceSettings
from webapp.services.due_groups import groups_of
from webapp.stores.sql import SqlStores

DELAYED = flow("delayed", [START, node("delay", "Delay", {"DurationSeconds": 10}), END])
SLOW = flow("slow", [START, node("slow", "TestSlow"), END])
SECONDS = 10


class Slow:
    """Waits on a timer that is due at once, and at its resumption for as long as the test wants."""

    descriptor = ActivityDescriptor(type="TestSlow", category=Category.CUSTOM, icon="x", custom=True, waits=True)

    def __init__(self) -> None:
        self.entered, self.leave = Event(), Event()

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Ask for a timer."""
        return Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.TIMER, due_at=context.now),))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Wait for the test."""
        self.entered.set()
        self.leave.wait(SECONDS)
        return Complete()


@pytest.fixture
def slow() -> Iterator[Slow]:
    made = Slow()
    yield made
    made.leave.set()


@pytest.fixture
def crew() -> Iterator[Threads]:
    made = Threads(4)
    yield made
    made.close()


def _until(house: Installation, instance_id: str, status: InstanceStatus) -> bool:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        if house.instance(instance_id).status is status:
            return True
        time.sleep(0.01)
    return False


def test_a_slow_wave_delays_no_other_instance(stores: StoreSet, slow: Slow, crew: Threads) -> None:
    """On the real clock: what comes due while a wave takes long runs at its time, not behind it."""
    stores.clock = SystemClock()  # type: ignore[assignment]  # real time
    house = install(stores, activities=(slow,), settings=ServiceSettings(poll_interval_seconds=0.05))
    house.publish(SLOW)
    house.publish(flow("soon", [START, node("delay", "Delay", {"DurationSeconds": "0.2"}), END]))
    busy = house.start("slow")
    poll = threading.Thread(target=house.services.housekeeping.poll_once, args=(crew,))
    poll.start()
    assert slow.entered.wait(SECONDS)

    soon = house.start("soon")
    assert _until(house, soon.id, InstanceStatus.COMPLETED)
    assert house.instance(busy.id).status is InstanceStatus.RUNNING

    slow.leave.set()
    poll.join(SECONDS)
    assert not poll.is_alive()
    assert house.instance(busy.id).status is InstanceStatus.COMPLETED


def test_what_cannot_begin_is_given_back_to_other_processes(stores: StoreSet, slow: Slow) -> None:
    stores.clock = SystemClock()  # type: ignore[assignment]  # real time
    settings = ServiceSettings(poll_interval_seconds=0.05)
    house = install(stores, activities=(slow,), settings=settings)
    other = install(stores, activities=(slow,), settings=settings)
    house.publish(SLOW)
    house.publish(flow("soon", [START, node("delay", "Delay", {"DurationSeconds": "0.001"}), END]))
    house.start("slow")
    soon = house.start("soon")
    time.sleep(0.01)
    one = Threads(1)
    poll = threading.Thread(target=house.services.housekeeping.poll_once, args=(one,))
    poll.start()
    assert slow.entered.wait(SECONDS)
    deadline = time.monotonic() + SECONDS
    while other.instance(soon.id).status is InstanceStatus.RUNNING and time.monotonic() < deadline:
        # The first process holds the claim of both, but can run but one.
        other.services.housekeeping.poll_once()
        time.sleep(0.02)
    assert house.instance(soon.id).status is InstanceStatus.COMPLETED
    assert poll.is_alive()
    slow.leave.set()
    poll.join(SECONDS)
    one.close()


def test_groups_are_made_by_instance_and_lane_in_due_order(stores: StoreSet) -> None:
    now = stores.clock.now()

    def due(name: str, instance_id: str | None, kind: BookmarkKind, key: str | None = None) -> DueBookmark:
        return DueBookmark(id=name, tenant_id=None, instance_id=instance_id, kind=kind, key=key, due_at=now)

    found = groups_of(
        [
            due("b1", "b", BookmarkKind.TIMER),
            due("a1", "a", BookmarkKind.TIMER),
            due("d1", None, BookmarkKind.DEFINITION_TIMER, "bill"),
            due("b2", "b", BookmarkKind.RETRY, BACKGROUND_KEY),
            due("b3", "b", BookmarkKind.RETRY),
            due("d2", None, BookmarkKind.DEFINITION_TIMER, "bill"),
        ]
    )
    assert [(group.bookmark_ids, group.background) for group in found] == [
        (["b1", "b3"], False),
        (["a1"], False),
        (["d1"], False),
        (["b2"], True),
        (["d2"], False),
    ]


def test_a_flood_of_one_partition_does_not_hide_the_others(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(poll_batch_size=4))
    stores.accounts.insert_tenant(Tenant(id="t1", name="One", created_at=stores.clock.now()))
    tenant = actor("boss", ADMINISTRATOR, partition="t1")
    house.publish(DELAYED)
    house.publish(DELAYED, tenant)
    for _ in range(20):
        house.start("delayed")
    stores.clock.advance(1)
    other = house.start("delayed", by=tenant)
    stores.clock.advance(10)
    order: list[str | None] = []
    run = house.services.housekeeping._runner.run_together

    def noting(groups):  # type: ignore[no-untyped-def]
        order.extend(group.partition for group in groups)
        return run(groups)

    house.services.housekeeping._runner.run_together = noting  # type: ignore[method-assign]
    assert house.services.housekeeping.poll_once().resumed == 21
    # The first claim takes four of the flood, the second looks at the others first.
    assert order.index("t1") == 4
    assert house.instance(other.id, tenant).status is InstanceStatus.COMPLETED


def test_the_due_rows_of_a_disabled_tenant_are_left_alone(stores: StoreSet) -> None:
    house = install(stores)
    stores.accounts.insert_tenant(Tenant(id="t1", name="One", created_at=stores.clock.now()))
    stores.accounts.insert_tenant(Tenant(id="t2", name="Two", enabled=False, created_at=stores.clock.now()))
    bosses = {name: actor("boss", ADMINISTRATOR, partition=name) for name in ("t1", "t2")}
    started = {}
    for name, boss in bosses.items():
        house.publish(DELAYED, boss)
        started[name] = house.start("delayed", by=boss)
    stores.clock.advance(10)
    report = house.services.housekeeping.poll_once()
    assert (report.claimed, report.resumed) == (1, 1)
    assert house.instance(started["t1"].id, bosses["t1"]).status is InstanceStatus.COMPLETED
    assert house.instance(started["t2"].id, bosses["t2"]).status is InstanceStatus.RUNNING
    with stores.stores.reading("t2") as work:
        assert len(work.bookmarks.due("t2", stores.clock.now(), 9)) == 1


# --- bookmarks without an instance ------------------------------------------------------------


def _timer_of_nothing(house: Installation) -> str:
    now = house.store_set.clock.now()
    made = Bookmark(id="timer", kind=BookmarkKind.TIMER, key="bill", created_at=now, due_at=now)
    with house.store_set.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, new_bookmarks=[made]))
    return made.id


def test_a_bookmark_without_an_instance_goes_to_the_handler_of_its_kind(house: Installation) -> None:
    timer, seen = _timer_of_nothing(house), list[DueBookmark]()

    def handle(due: DueBookmark) -> None:
        seen.append(due)
        with house.store_set.stores.writing(None) as work:
            work.bookmarks.delete(None, [due.id])

    house.services.housekeeping.handle_due(BookmarkKind.TIMER, handle)
    report = house.services.housekeeping.poll_once()
    assert (report.claimed, report.resumed) == (1, 1)
    assert [(one.id, one.tenant_id, one.instance_id, one.key) for one in seen] == [(timer, None, None, "bill")]
    assert house.services.housekeeping.poll_once().claimed == 0
    with pytest.raises(ValueError, match="have a handler already"):
        house.services.housekeeping.handle_due(BookmarkKind.TIMER, handle)


def test_a_handler_that_fails_is_called_again_later(house: Installation) -> None:
    _timer_of_nothing(house)
    answers: list[Exception] = [RuntimeError("not yet"), LeaseHeld("busy")]

    def handle(due: DueBookmark) -> None:
        raise answers.pop(0)

    house.services.housekeeping.handle_due(BookmarkKind.TIMER, handle)
    poll = house.services.housekeeping.poll_once
    assert [one.reason for one in poll().failed] == ["not yet"]
    assert poll().claimed == 0
    house.store_set.clock.advance(1)
    report = poll()
    assert (report.claimed, report.left, report.failed) == (1, 1, [])
    with house.store_set.stores.reading(None) as work:
        timer = work.bookmarks.find(None, "timer")
    assert timer is not None
    assert (timer.failures, timer.due_at) == (1, house.store_set.clock.now())


# --- what a poll costs ------------------------------------------------------------------------


@on_databases
def test_an_idle_poll_is_two_reads(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(DELAYED)
    house.start("delayed")
    house.services.housekeeping.poll_once()
    with watched(stores) as seen:
        assert house.services.housekeeping.poll_once().claimed == 0
    assert (len(seen.reads), len(seen.writes), seen.commits) == (2, 0, 0), seen.texts


@on_databases
def test_a_due_timer_costs_six_reads_and_two_transactions(stores: StoreSet) -> None:
    """Three looks and two selections for update of the claim (two sets of tables), one snapshot; claim and wave."""
    house = install(stores)
    house.publish(DELAYED)
    house.start("delayed")
    house.elapse(10)
    house.start("delayed")
    # Accounts and tenants are read at most every five seconds; this is a poll in between.
    stores.clock.advance(9)
    house.start("delayed")
    house.services.housekeeping.poll_once()
    stores.clock.advance(1)
    with watched(stores) as seen:
        report = house.services.housekeeping.poll_once()
    assert (report.claimed, report.resumed) == (1, 1)
    assert len(seen.reads) <= 6, seen.reads
    # The claim, then instance, node instances, bookmarks, audit.
    assert len(seen.writes) == 5, seen.writes
    assert seen.commits == 2


@pytest.mark.parametrize("in_turns", [True, False])
def test_pollers_claim_in_turns_where_the_database_does_not_keep_them_apart(stores: StoreSet, in_turns: bool) -> None:
    house = install(stores, settings=ServiceSettings(polls_in_turns=in_turns))
    house.publish(flow("delayed", [START, node("delay", "Delay", {"DurationSeconds": 10}), END]))
    instance = house.start("delayed")
    stores.clock.advance(10)
    polled = threading.Thread(target=house.services.housekeeping.poll_once)
    with stores.leases.hold("polling:"):
        polled.start()
        polled.join(0.5 if in_turns else 30)
        ended = house.instance(instance.id).status is InstanceStatus.COMPLETED
    polled.join(30)
    assert not polled.is_alive()
    assert ended is not in_turns
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    # Whose turn it is says nothing of who lives.
    assert not house.services.housekeeping.poller_live()


@on_databases
def test_only_where_locked_rows_cannot_be_passed_over_pollers_claim_in_turns(stores: StoreSet) -> None:
    platform = stores.stores
    assert isinstance(platform, SqlStores)
    assert platform.passes_over_locked is (stores.kind != "sqlite")
