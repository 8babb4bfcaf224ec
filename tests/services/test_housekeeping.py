"""The poller's use cases: what is due runs, failures stay alone, claims of the dead are freed (3.12, 8.7, 8.10)."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from threading import Event, Thread

import pytest

from tests.services.stores_that_fail import FailingStores, gone
from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, edge, flow, node, variable
from tests.support.stores import StoreSet
from webapp.engine.activities.api import (
    ActivityContext,
    ActivityOutcome,
    BookmarkRequest,
    Complete,
    ResumeInput,
    Suspend,
)
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Lane
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.stores import WriteSet
from webapp.engine.runtime.engine import Engine
from webapp.poller import Threads
from webapp.services import ServiceSettings
from webapp.services.commands import lease_name
from webapp.services.due_groups import DueRunner
from webapp.services.due_work import Alone
from webapp.services.views import PollReport

DELAYED = flow("delayed", [START, node("delay", "Delay", {"DurationSeconds": 10}), END])


class Slow:
    """Waits a second, and at its resumption for as long as the test wants."""

    descriptor = ActivityDescriptor(type="TestSlow", category=Category.CUSTOM, icon="x", custom=True, waits=True)

    def __init__(self) -> None:
        self.entered, self.leave = Event(), Event()

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Ask for a timer."""
        return Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.TIMER, due_at=context.now),))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Wait for the test."""
        self.entered.set()
        self.leave.wait(10)
        return Complete()


def test_due_timers_fire_and_others_do_not(house: Installation) -> None:
    house.publish(DELAYED)
    early, late = house.start("delayed"), house.start("delayed")
    house.store_set.clock.advance(5)
    third = house.start("delayed")

    house.elapse(5)

    statuses = [house.instance(one.id).status for one in (early, late, third)]
    assert statuses == [InstanceStatus.COMPLETED, InstanceStatus.COMPLETED, InstanceStatus.RUNNING]
    report = house.services.housekeeping.poll_once()
    assert (report.claimed, report.resumed) == (0, 0)


def test_more_than_a_batch_runs_in_one_poll(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(poll_batch_size=3))
    house.publish(DELAYED)
    for _ in range(8):
        house.start("delayed")
    stores.clock.advance(10)
    report = house.services.housekeeping.poll_once()
    assert (report.claimed, report.resumed, report.failed) == (8, 8, [])
    assert house.services.instances.counts(ADMIN)["Completed"] == 8


def test_a_pool_of_threads_runs_them(house: Installation) -> None:
    house.publish(DELAYED)
    for _ in range(12):
        house.start("delayed")
    house.store_set.clock.advance(10)
    crew = Threads(4)
    report = house.services.housekeeping.poll_once(crew)
    crew.close()
    assert (report.claimed, report.resumed) == (12, 12)
    assert house.services.instances.counts(ADMIN)["Completed"] == 12


def test_two_pollers_run_everything_once(house: Installation) -> None:
    other = install(house.store_set)
    house.publish(DELAYED)
    for _ in range(10):
        house.start("delayed")
    house.store_set.clock.advance(10)
    with ThreadPoolExecutor(2) as threads:
        reports = list(threads.map(lambda one: one.services.housekeeping.poll_once(), (house, other)))
    assert sum(report.resumed for report in reports) == 10
    assert house.services.instances.counts(ADMIN)["Completed"] == 10
    for instance in house.services.instances.query(ADMIN).items:
        assert house.path(instance.id) == ["start", "delay", "end"]


def test_two_due_timers_of_one_instance_run_together(house: Installation) -> None:
    house.publish(
        flow(
            "both",
            [
                START,
                node("split", "Parallel"),
                node("one", "Delay", {"DurationSeconds": 10}),
                node("two", "Delay", {"DurationSeconds": 5}),
                node("join", "Join"),
                END,
            ],
            [
                edge("start", "split"),
                edge("split", "one"),
                edge("split", "two"),
                edge("one", "join"),
                edge("two", "join"),
                edge("join", "end"),
            ],
        )
    )
    instance = house.start("both")
    house.elapse(10)
    after = house.instance(instance.id)
    assert (after.status, after.revision) == (InstanceStatus.COMPLETED, 2)


@pytest.fixture
def poisoned(house: Installation, monkeypatch: pytest.MonkeyPatch) -> tuple[Installation, str, str]:
    """Two delayed instances, the first of which the engine cannot run."""
    house.publish(DELAYED)
    bad, good = house.start("delayed").id, house.start("delayed").id
    due = Engine.due

    def fail(self, snapshot, compiled, bookmark_ids, command):  # type: ignore[no-untyped-def]
        if snapshot.instance.id == bad:
            raise RuntimeError("poison")
        return due(self, snapshot, compiled, bookmark_ids, command)

    monkeypatch.setattr(Engine, "due", fail)
    return house, bad, good


def test_a_poison_bookmark_does_not_stop_the_others_and_backs_off(poisoned: tuple[Installation, str, str]) -> None:
    house, bad, good = poisoned
    clock = house.store_set.clock
    clock.advance(10)
    report = house.services.housekeeping.poll_once()

    assert house.instance(good).status is InstanceStatus.COMPLETED
    (timer,) = house.bookmarks(bad)
    assert [(one.id, one.reason) for one in report.failed] == [(timer.id, "poison")]
    assert (timer.failures, timer.due_at) == (1, clock.now() + timedelta(seconds=1))
    # The monitor shows it: nothing else says why the time has passed.
    (shown,) = house.services.monitor.overview(ADMIN, bad).waits
    assert (shown.failures, shown.due_at) == (1, timer.due_at)
    for failures, seconds in ((2, 5), (3, 25), (4, 300), (5, 300)):
        clock.advance((timer.due_at - clock.now()).total_seconds())  # type: ignore[operator]
        house.services.housekeeping.poll_once()
        (timer,) = house.bookmarks(bad)
        assert (timer.failures, timer.due_at) == (failures, clock.now() + timedelta(seconds=seconds))


def test_the_bookmarks_of_an_instance_that_is_gone_are_deleted(house: Installation) -> None:
    now = house.store_set.clock.now()
    orphan = Bookmark(id="orphan", instance_id="gone", kind=BookmarkKind.TIMER, created_at=now, due_at=now)
    with house.store_set.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, new_bookmarks=[orphan]))
    assert house.services.housekeeping.poll_once().claimed == 1
    assert house.bookmarks("gone") == []


def test_a_definition_that_is_missing_loses_no_timer(house: Installation) -> None:
    house.publish(DELAYED)
    instance = house.start("delayed")
    elsewhere = install(house.store_set)
    with house.store_set.stores.writing(None) as work:
        stored = work.instances.find(None, instance.id)
        assert stored is not None
        stored.definition_id, stored.revision = "missing", stored.revision + 1
        work.apply(WriteSet(partition=None, instance=stored, expected_revision=stored.revision - 1))
    elsewhere.store_set.clock.advance(10)
    (failed,) = elsewhere.services.housekeeping.poll_once().failed
    (timer,) = house.bookmarks(instance.id)
    assert (timer.id, timer.failures) == (failed.id, 1)


def test_a_failure_that_cannot_be_noted_does_not_stop_the_others(
    poisoned: tuple[Installation, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    house, bad, good = poisoned

    def fail(self: DueRunner, partition: object, bookmark_id: str) -> None:
        raise RuntimeError("no database")

    monkeypatch.setattr(DueRunner, "_put_off", fail)
    house.store_set.clock.advance(10)
    report = house.services.housekeeping.poll_once()
    assert (report.resumed, report.left) == (1, 1)
    assert house.instance(good).status is InstanceStatus.COMPLETED
    assert house.instance(bad).status is InstanceStatus.RUNNING


def test_a_bookmark_that_recovers_fires(
    poisoned: tuple[Installation, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    house, bad, _ = poisoned
    house.elapse(10)
    monkeypatch.undo()
    house.elapse(1)
    assert house.instance(bad).status is InstanceStatus.COMPLETED


def test_the_timer_of_a_faulted_instance_is_pushed_back_and_fires_after_a_retry(house: Installation) -> None:
    house.publish(
        flow(
            "both",
            [
                START,
                node("split", "Parallel"),
                node("delay", "Delay", {"DurationSeconds": 10}),
                node("x", "TestFlaky", {"SucceedOnAttempt": 2}),
            ],
            [edge("start", "split"), edge("split", "delay"), edge("split", "x")],
        )
    )
    instance = house.start("both")
    assert instance.status is InstanceStatus.FAULTED
    house.elapse(11)

    (timer,) = house.bookmarks(instance.id)
    now = house.store_set.clock.now()
    assert timer.due_at == now + timedelta(seconds=300)
    with house.store_set.stores.reading(None) as work:
        assert work.bookmarks.due(None, now, 10) == []

    house.services.instances.retry(ADMIN, instance.id)
    house.elapse(300)
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED


def test_a_timer_that_a_fault_left_behind_is_not_claimed_any_more(house: Installation) -> None:
    nodes = [
        START,
        node("split", "Parallel"),
        node("first", "Delay", {"DurationSeconds": 10}),
        node("second", "Delay", {"DurationSeconds": 10}),
        END,
    ]
    edges = [
        edge("start", "split"),
        edge("split", "first"),
        edge("split", "second"),
        edge("first", "end", "count > 1"),
        edge("second", "end"),
    ]
    house.publish(flow("both", nodes, edges, variables=[variable("count")]))
    instance = house.start("both")
    house.elapse(10)
    assert house.instance(instance.id).status is InstanceStatus.FAULTED
    assert [one.node_id for one in house.bookmarks(instance.id)] == ["second"]

    house.services.instances.retry(ADMIN, instance.id)
    assert house.services.housekeeping.poll_once().resumed == 1
    assert house.path(instance.id) == ["start", "split", "first", "second", "end"]


def test_a_busy_instance_is_left_to_the_next_cycle(stores: StoreSet) -> None:
    slow = Slow()
    house = install(stores, activities=(slow,))
    house.publish(
        flow(
            "slow",
            [
                START,
                node("split", "Parallel"),
                node("slow", "TestSlow"),
                node("delay", "Delay", {"DurationSeconds": 1}),
            ],
            [edge("start", "split"), edge("split", "slow"), edge("split", "delay")],
        )
    )
    instance = house.start("slow")
    (wait,) = [one for one in house.bookmarks(instance.id) if one.node_id == "slow"]
    resume = Thread(target=house.services.instances.resume_bookmark, args=(ADMIN, wait.id, {}))
    resume.start()
    try:
        assert slow.entered.wait(10)
        stores.clock.advance(1)
        report = house.services.housekeeping.poll_once()
        assert (report.claimed, report.resumed, report.left) == (2, 0, 2)
    finally:
        slow.leave.set()
        resume.join()
    house.services.housekeeping.poll_once()
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED


def test_busy_instances_do_not_hide_the_others(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(poll_batch_size=2))
    house.publish(DELAYED)
    busy = [house.start("delayed").id for _ in range(2)]
    stores.clock.advance(1)
    other = house.start("delayed").id
    stores.clock.advance(10)
    due = {one.id: one.due_at for each in busy for one in house.bookmarks(each)}

    with ExitStack() as held, ThreadPoolExecutor(1) as elsewhere:
        for each in busy:
            held.enter_context(stores.leases.hold(lease_name(each)))
        report = elsewhere.submit(house.services.housekeeping.poll_once).result()

    assert (report.claimed, report.resumed, report.left) == (3, 1, 2)
    assert house.instance(other).status is InstanceStatus.COMPLETED
    left = {one.id: (one.due_at, one.original_due_at) for each in busy for one in house.bookmarks(each)}
    assert left == {one: (at, None) for one, at in due.items()}
    assert house.services.housekeeping.poll_once().resumed == 2


def test_an_idle_poll_writes_nothing(stores: StoreSet) -> None:
    failing = FailingStores(stores.stores)
    house = install(replace(stores, stores=failing))
    house.publish(DELAYED)
    house.start("delayed")
    before = failing.writes
    assert house.services.housekeeping.poll_once() == PollReport()
    assert failing.writes == before
    stores.clock.advance(10)
    assert house.services.housekeeping.poll_once().resumed == 1


def test_claims_that_cannot_be_given_back_run_out(stores: StoreSet) -> None:
    failing = FailingStores(stores.stores)
    house = install(replace(stores, stores=failing))
    house.publish(DELAYED)
    instance = house.start("delayed")
    stores.clock.advance(10)

    class Cut(Alone):
        """Loses the database when the claim has been written."""

        def start(self, job: Callable[[], None]) -> None:
            failing.before.append(gone())
            job()

    with stores.leases.hold(lease_name(instance.id)), ThreadPoolExecutor(1) as elsewhere:
        report = elsewhere.submit(house.services.housekeeping.poll_once, Cut()).result()
    assert (report.left, failing.before) == (1, [])
    assert house.services.housekeeping.poll_once().claimed == 0
    stores.clock.advance(60)
    assert house.services.housekeeping.poll_once().resumed == 1


def test_claims_of_a_process_that_is_gone_are_freed(house: Installation) -> None:
    house.publish(DELAYED)
    instance = house.start("delayed")
    house.store_set.clock.advance(10)
    now = house.store_set.clock.now()
    live = house.store_set.leases.token()
    dead = _of_a_dead_process(live)
    with house.store_set.stores.writing(None) as work:
        claimed = work.bookmarks.claim_due(now, 10, dead, now + timedelta(seconds=60), [Lane.POLLER])
    assert len(claimed) == 1
    assert house.services.housekeeping.poll_once().claimed == 0

    assert house.services.housekeeping.recover() == 1

    assert house.services.housekeeping.poll_once().resumed == 1
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED


def test_claims_of_a_live_process_are_respected_until_they_run_out(house: Installation) -> None:
    house.publish(DELAYED)
    house.start("delayed")
    house.store_set.clock.advance(10)
    now = house.store_set.clock.now()
    with house.store_set.stores.writing(None) as work:
        token = house.store_set.leases.token()
        work.bookmarks.claim_due(now, 10, token, now + timedelta(seconds=60), [Lane.POLLER])
    assert house.services.housekeeping.recover() == 0
    assert house.services.housekeeping.poll_once().claimed == 0
    house.store_set.clock.advance(61)
    assert house.services.housekeeping.poll_once().resumed == 1


def _of_a_dead_process(token: str) -> str:
    """Return a token of this host whose process id nobody has."""
    holder, *rest = token.split("/")
    *host, _pid, start, unique = rest
    return "/".join((holder, *host, "4194305", start, unique))


def test_a_commit_that_leaves_something_due_wakes_the_poller(stores: StoreSet) -> None:
    house = install(stores, activities=(Slow(),))
    woken: list[bool] = []
    house.services.housekeeping.on_due_now(lambda: woken.append(True))
    house.publish(DELAYED)
    house.start("delayed")
    assert woken == []
    house.publish(flow("slow", [START, node("slow", "TestSlow"), END]))
    house.start("slow")
    assert woken == [True]


def test_a_poller_that_beats_is_live_until_two_beats_are_missed(house: Installation) -> None:
    housekeeping = house.services.housekeeping
    assert not housekeeping.poller_live()
    housekeeping.beat(0.2)
    assert housekeeping.poller_live()
    _let_pass(house, 0.4)
    if not house.store_set.has_clock:
        # There time goes on by itself, on a busy machine more of it.
        assert housekeeping.poller_live()
    _let_pass(house, 0.2)
    assert not housekeeping.poller_live()
    housekeeping.beat()
    assert housekeeping.poller_live()
    housekeeping.silence()
    assert not housekeeping.poller_live()


def _let_pass(house: Installation, seconds: float) -> None:
    """Let time pass on the clock of the leases: in PostgreSQL it is the database's own."""
    if house.store_set.has_clock:
        time.sleep(seconds)
    else:
        house.store_set.clock.advance(seconds)


def test_rows_of_pollers_and_leases_that_are_over_are_swept(house: Installation) -> None:
    leases = house.store_set.leases
    leases.beat("poller:old", -7200)
    leases.beat("poller:late", -1800)
    house.services.housekeeping.beat()
    house.services.housekeeping.housekeep()
    # What was over for half an hour is still there; what was over for an hour is not.
    assert leases.sweep(1700) == 1
    assert leases.sweep(0) == 0
    assert house.services.housekeeping.poller_live()


def _owe(house: Installation, action: str) -> FollowUp:
    """Leave a follow-up behind as a process that crashed would."""
    now = house.store_set.clock.now()
    owed = FollowUp(id=f"owed-{action}", action=action, created_at=now, due_at=now)
    with house.store_set.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, new_follow_ups=[owed]))
    return owed


def test_the_poller_runs_follow_ups_that_a_crash_left(house: Installation) -> None:
    ran: list[str] = []
    house.services.follow_ups.register("note", lambda owed: ran.append(owed.id))
    _owe(house, "note")
    assert house.services.housekeeping.poll_once().follow_ups == 1
    assert ran == ["owed-note"]
    assert house.services.housekeeping.poll_once().follow_ups == 0


def test_a_follow_up_that_fails_comes_again_later(house: Installation) -> None:
    ran: list[int] = []

    def fail(owed: FollowUp) -> None:
        ran.append(owed.failures)
        if len(ran) < 3:
            raise RuntimeError("not yet")

    house.services.follow_ups.register("late", fail)
    _owe(house, "late")
    for seconds in (0, 1, 5, 300):
        house.elapse(seconds)
    assert ran == [0, 1, 2]


def test_a_follow_up_that_nobody_knows_is_kept(house: Installation) -> None:
    owed = _owe(house, "unknown")
    house.services.housekeeping.poll_once()
    house.store_set.clock.advance(1)
    now = house.store_set.clock.now()
    with house.store_set.stores.writing(None) as work:
        kept = work.follow_ups.claim(None, owed.id, now, "token", now + timedelta(seconds=1))
    assert kept is not None
    assert kept.failures == 1
