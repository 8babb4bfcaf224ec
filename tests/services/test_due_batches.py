"""Due work in batches: many waves in one transaction, each as if it were alone (spec 8.10)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.services.crashing import CrashingStores, Killed, Moment
from tests.services.test_statements import watched
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.outcome_handlers import RecordingHandler
from tests.support.stores import StoreSet, on_databases
from webapp.accounts.model import Tenant
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.instances.bookmarks import BACKGROUND_KEY
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.ports.messaging import Subscriptions
from webapp.engine.ports.stores import StoreFailure, WriteSet
from webapp.services import ServiceSettings, joint_commands
from webapp.services.commands import lease_name

SECONDS = 10
DELAYED = flow("delayed", [START, node("delay", "Delay", {"DurationSeconds": SECONDS}), END])
DONE, RUNNING = InstanceStatus.COMPLETED, InstanceStatus.RUNNING


def begin(house: Installation, number: int, name: str = "delayed") -> list[WorkflowInstance]:
    """Start so many instances that wait for the same moment."""
    return [house.start(name, {"number": each}) for each in range(number)]


def statuses(house: Installation, started: list[WorkflowInstance]) -> list[InstanceStatus]:
    return [house.instance(one.id).status for one in started]


def actions(house: Installation, instance: WorkflowInstance) -> list[str]:
    return [entry.action for entry in house.services.instances.history(ADMIN, instance.id).items]


class WritesCounted:
    """Stores that note the write sets of each transaction, and refuse those that hold a certain instance."""

    def __init__(self, stores: Any) -> None:
        self._stores = stores
        self.sizes: list[int] = []
        self.refused: str | None = None
        self.failure = StoreFailure("value out of range")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stores, name)

    @contextmanager
    def writing(self, partition: str | None) -> Iterator[Any]:
        with self._stores.writing(partition) as work:
            yield _Counted(work, self)

    def note(self, sets: list[WriteSet]) -> None:
        self.sizes.append(len(sets))
        if any(one.instance is not None and one.instance.id == self.refused for one in sets):
            raise self.failure


class _Counted:
    def __init__(self, work: Any, counted: WritesCounted) -> None:
        self._work, self._counted = work, counted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._work, name)

    def apply(self, write_set: WriteSet) -> None:
        self._work.apply(write_set)
        self._counted.note([write_set])

    def apply_all(self, sets: list[WriteSet]) -> None:
        self._work.apply_all(sets)
        self._counted.note(sets)


@pytest.fixture
def counted(stores: StoreSet) -> WritesCounted:
    found = WritesCounted(stores.stores)
    stores.stores = found  # type: ignore[assignment]  # passes all else on
    return found


def test_what_is_due_together_is_written_together(stores: StoreSet, counted: WritesCounted) -> None:
    house = install(stores)
    house.publish(DELAYED)
    started = begin(house, 60)
    counted.sizes.clear()
    house.publisher.events.clear()
    stores.clock.advance(SECONDS)
    report = house.services.housekeeping.poll_once()
    assert (report.claimed, report.resumed, report.left, report.failed) == (60, 60, 0, [])
    assert counted.sizes == [50, 10]
    assert statuses(house, started) == [DONE] * 60
    for one in started:
        assert house.path(one.id) == ["start", "delay", "end"]
        assert actions(house, one) == ["start", "due"]
        assert house.bookmarks(one.id) == []
    # Each is told of as if it were alone, and in its order.
    told = [event.data["instance"]["id"] for event in house.publisher.events if event.topic.endswith("completed")]
    assert sorted(told) == sorted(one.id for one in started)
    commands = [entry.command_id for one in started for entry in house.services.instances.history(ADMIN, one.id).items]
    assert len(set(commands)) == 120


@on_databases
def test_the_statements_do_not_grow_with_the_batch(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(DELAYED)
    texts = []
    for number in (2, 40):
        begin(house, number)
        stores.clock.advance(SECONDS)
        with watched(stores) as seen:
            assert house.services.housekeeping.poll_once().resumed == number
        texts.append(seen.texts)
        assert seen.commits == 2
    # But for the updates of the instances, which MariaDB's driver sends one by one.
    more = 40 - 2 if stores.kind == "mariadb" else 0
    assert len(texts[1]) <= len(texts[0]) + more


def test_a_wave_that_fails_backs_off_alone(stores: StoreSet, monkeypatch: pytest.MonkeyPatch) -> None:
    house = install(stores)
    house.publish(DELAYED)
    started = begin(house, 5)
    poisoned = started[2]
    due = house.engine.due

    def failing(snapshot: Any, *rest: Any) -> Any:
        if snapshot.instance.id == poisoned.id:
            raise RuntimeError("poisoned")
        return due(snapshot, *rest)

    monkeypatch.setattr(house.engine, "due", failing)
    stores.clock.advance(SECONDS)
    report = house.services.housekeeping.poll_once()
    assert (report.resumed, [one.reason for one in report.failed]) == (4, ["poisoned"])
    assert statuses(house, started) == [DONE, DONE, RUNNING, DONE, DONE]
    (wait,) = house.bookmarks(poisoned.id)
    assert wait.failures == 1
    monkeypatch.undo()
    house.elapse(1)
    assert house.instance(poisoned.id).status is DONE


def test_a_batch_whose_write_fails_is_done_singly_and_nothing_twice(stores: StoreSet, counted: WritesCounted) -> None:
    house = install(stores)
    house.publish(DELAYED)
    started = begin(house, 5)
    counted.refused = started[2].id
    counted.sizes.clear()
    house.publisher.events.clear()
    stores.clock.advance(SECONDS)
    report = house.services.housekeeping.poll_once()
    assert report.resumed == 4
    assert [one.reason for one in report.failed] == ["WORKFLOW_UNAVAILABLE_001 workflow.store.unavailable"]
    assert counted.sizes == [5, 1, 1, 1, 1, 1]
    assert statuses(house, started) == [DONE, DONE, RUNNING, DONE, DONE]
    assert [actions(house, one) for one in started] == [["start", "due"]] * 2 + [["start"]] + [["start", "due"]] * 2
    told = [event.data["instance"]["id"] for event in house.publisher.events if event.topic.endswith("completed")]
    assert sorted(told) == sorted(one.id for one in started if one is not started[2])
    assert house.bookmarks(started[2].id)[0].failures == 1
    counted.refused = None
    house.elapse(1)
    assert house.instance(started[2].id).status is DONE


def test_a_store_that_is_busy_leaves_the_batch_for_later(stores: StoreSet, counted: WritesCounted) -> None:
    house = install(stores)
    house.publish(DELAYED)
    started = begin(house, 3)
    counted.refused, counted.failure = started[0].id, StoreFailure("busy", transient=True)
    counted.sizes.clear()
    stores.clock.advance(SECONDS)
    report = house.services.housekeeping.poll_once()
    assert (report.resumed, report.left, report.failed) == (0, 3, [])
    assert counted.sizes == [3] * 5
    counted.refused = None
    assert house.services.housekeeping.poll_once().resumed == 3
    assert statuses(house, started) == [DONE] * 3


def test_a_busy_instance_is_left_out(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(DELAYED)
    started = begin(house, 4)
    stores.clock.advance(SECONDS)
    with _held_elsewhere(stores, started[1]):
        report = house.services.housekeeping.poll_once()
    assert (report.resumed, report.left) == (3, 1)
    assert statuses(house, started) == [DONE, RUNNING, DONE, DONE]
    assert house.services.housekeeping.poll_once().resumed == 1


@contextmanager
def _held_elsewhere(stores: StoreSet, instance: WorkflowInstance) -> Iterator[None]:
    """Have another process hold the lease of an instance."""
    rows = stores.leases._rows  # type: ignore[attr-defined]  # the table that the processes share
    other = type(stores.leases).__mro__[1](  # the protocol over it
        rows,
        ids=stores.leases._ids,
        identity=stores.leases._identity,
        holder_id="other",  # type: ignore[attr-defined]
    )
    try:
        with other.hold(lease_name(instance.id, None)):
            yield
    finally:
        other.close()


@pytest.mark.parametrize("moment", list(Moment))
def test_a_crash_leaves_all_of_a_batch_or_nothing(stores: StoreSet, moment: Moment) -> None:
    crashing = CrashingStores(stores.stores)
    plain = stores.stores
    stores.stores = crashing  # type: ignore[assignment]  # passes all else on
    house = install(stores)
    house.publish(DELAYED)
    started = begin(house, 5)
    stores.clock.advance(SECONDS)
    # The first write is the claim, the second the batch.
    crashing.plan(moment, 2)
    try:
        house.services.housekeeping.poll_once()
    except Killed:
        assert moment is not Moment.ANSWER_LOST
    stores.stores = plain
    again = install(stores)
    found = {again.instance(one.id).status for one in started}
    assert found == {RUNNING if moment is Moment.BEFORE_THE_COMMIT else DONE}
    # The claims of the dead run out; then another process does what is left.
    stores.clock.advance(ServiceSettings().lock_lease_seconds)
    again.services.housekeeping.poll_once()
    assert statuses(again, started) == [DONE] * 5
    for one in started:
        assert again.path(one.id) == ["start", "delay", "end"]
        assert actions(again, one) == ["start", "due"]


# --- what cannot be one of a batch --------------------------------------------------------------


class Custom:
    """An activity of the application, which notes in which runs of waves it ran."""

    def __init__(self, name: str, *, effects: bool = False) -> None:
        self.descriptor = ActivityDescriptor(type=name, category=Category.CUSTOM, icon="x", custom=True)
        self.effects = effects
        self.ran: list[str] = []

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Note the instance."""
        self.ran.append(context.instance_id)
        return Complete()


def test_code_of_the_application_runs_by_itself_and_once(stores: StoreSet, counted: WritesCounted) -> None:
    custom = Custom("TestCustom")
    house = install(stores, activities=(custom,))
    house.publish(DELAYED)
    delay = node("delay", "Delay", {"DurationSeconds": SECONDS})
    house.publish(flow("custom", [START, delay, node("own", "TestCustom"), END]))
    plain, own = begin(house, 3), begin(house, 2, "custom")
    counted.sizes.clear()
    stores.clock.advance(SECONDS)
    assert house.services.housekeeping.poll_once().resumed == 5
    assert sorted(custom.ran) == sorted(one.id for one in own)
    assert counted.sizes == [3, 1, 1]
    assert statuses(house, plain + own) == [DONE] * 5


def test_a_node_with_outside_effects_is_left_to_the_background(stores: StoreSet) -> None:
    effects = Custom("TestEffects", effects=True)
    house = install(stores, activities=(effects,))
    delay = node("delay", "Delay", {"DurationSeconds": SECONDS})
    house.publish(flow("effects", [START, delay, node("own", "TestEffects"), END]))
    started = begin(house, 3, "effects")
    woken: list[bool] = []
    house.services.housekeeping.on_due_now(lambda: woken.append(True))
    stores.clock.advance(SECONDS)
    house.services.housekeeping.poll_once()
    assert (effects.ran, woken) == ([], [True] * 3)
    assert {wait.key for one in started for wait in house.bookmarks(one.id)} == {BACKGROUND_KEY}
    house.services.housekeeping.poll_once()
    assert sorted(effects.ran) == sorted(one.id for one in started)
    assert statuses(house, started) == [DONE] * 3
    assert house.path(started[0].id) == ["start", "delay", "own", "end"]


def test_outcome_handlers_are_told_once_and_not_in_a_batch(stores: StoreSet, counted: WritesCounted) -> None:
    handler = RecordingHandler("own", [])
    house = install(stores, outcome_handlers=(handler,))
    delay = node("delay", "Delay", {"DurationSeconds": SECONDS})
    house.publish(flow("told", [START, delay, node("end", "End", {"Outcome": "good"})]))
    started = begin(house, 3, "told")
    counted.sizes.clear()
    stores.clock.advance(SECONDS)
    assert house.services.housekeeping.poll_once().resumed == 3
    assert counted.sizes == [1, 1, 1]
    assert len(handler.told) == 3
    assert statuses(house, started) == [DONE] * 3


def test_what_takes_long_is_not_waited_for(
    stores: StoreSet, counted: WritesCounted, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = install(stores)
    house.publish(DELAYED)
    begin(house, 5)
    counted.sizes.clear()
    due = house.engine.due

    def slow(*arguments: Any) -> Any:
        stores.clock.advance(joint_commands.LONGEST_SECONDS)
        return due(*arguments)

    monkeypatch.setattr(house.engine, "due", slow)
    stores.clock.advance(SECONDS)
    assert house.services.housekeeping.poll_once().resumed == 5
    # Two were run in the time that a batch may take, the others then each by itself.
    assert counted.sizes == [2, 1, 1, 1]


def test_each_partition_has_its_own_batch(stores: StoreSet, counted: WritesCounted) -> None:
    house = install(stores)
    bosses = []
    for name in ("t1", "t2"):
        stores.accounts.insert_tenant(Tenant(id=name, name=name, created_at=stores.clock.now()))
        bosses.append(actor("boss", ADMINISTRATOR, partition=name))
    started = []
    for boss in (ADMIN, *bosses):
        house.publish(DELAYED, boss)
        started += [(boss, house.start("delayed", by=boss)) for _ in range(3)]
    counted.sizes.clear()
    stores.clock.advance(SECONDS)
    assert house.services.housekeeping.poll_once().resumed == 9
    assert counted.sizes == [3, 3, 3]
    assert {house.instance(one.id, boss).status for boss, one in started} == {DONE}


def test_events_of_a_batch_reach_the_outbox_in_each_instance_s_order(stores: StoreSet) -> None:
    house = install(stores, subscriptions=_All())
    house.publish(DELAYED)
    started = begin(house, 3)
    with stores.stores.reading(None) as work:
        before = {entry.id for entry in work.outbox.read(999)}
    stores.clock.advance(SECONDS)
    house.services.housekeeping.poll_once()
    with stores.stores.reading(None) as work:
        entries = [entry for entry in work.outbox.read(999) if entry.id not in before]
    for one in started:
        own = [entry for entry in entries if entry.instance_id == one.id]
        assert own[-1].topic == "workflow.instance.completed"
        assert [entry.sequence for entry in own] == sorted(entry.sequence for entry in own)
    assert len({len([entry for entry in entries if entry.instance_id == one.id]) for one in started}) == 1


class _All(Subscriptions):
    """Wants every event."""

    def wants(self, partition: str | None, topic: str) -> bool:
        """Whether somebody wants it."""
        return True
