"""The hot path: one winner, lost races, failing stores, what is told and when (spec 3.11, 3.22, 13)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from threading import Barrier

import pytest

from tests.services.stores_that_fail import FailingStores, busy, gone
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    CONFLICT_INSTANCE,
    UNAVAILABLE_STORE,
    Conflict,
    LockTimeout,
    Unavailable,
    WorkflowError,
)
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.stores import StoreFailure, WriteSet
from webapp.services.commands import lease_name

APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])


def _after_task(activity: str) -> Callable[[], dict[str, object]]:
    return lambda: flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), node("x", activity), END])


class Meddler:
    """An activity that lets a test do something in the middle of a wave."""

    def __init__(self, type_name: str, *, effects: bool = False) -> None:
        self.descriptor = ActivityDescriptor(type=type_name, category=Category.CUSTOM, icon="x", custom=True)
        self.effects = effects
        self.meddle: Callable[[ActivityContext], None] = lambda context: None
        self.runs = 0

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Let the test meddle, then complete."""
        self.runs += 1
        self.meddle(context)
        return Complete(outputs={"runs": self.runs})


class LostLeases:
    """Leases that ran out under their holders: whoever asks gets one, whoever else has it."""

    def __init__(self, leases: Leases) -> None:
        self._leases = leases

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Do not wait."""
        yield

    @contextmanager
    def attempt(self, name: str) -> Iterator[None]:
        """Do not look."""
        yield

    def beat(self, name: str, seconds: float) -> None:
        """Pass on."""
        self._leases.beat(name, seconds)

    def live(self, prefix: str) -> bool:
        """Pass on."""
        return self._leases.live(prefix)

    def token(self) -> str:
        """Pass on."""
        return self._leases.token()

    def is_gone(self, token: str) -> bool:
        """Pass on."""
        return self._leases.is_gone(token)


def test_one_of_twenty_threads_wins_and_the_others_learn_who_what_and_when(house: Installation) -> None:
    house.publish(APPROVAL)
    instance = house.start("approval")
    task = house.task("u1")
    together = Barrier(20)

    def complete(number: int) -> WorkflowError | None:
        together.wait()
        try:
            house.services.inbox.complete(actor("u1"), task.id, f"label {number}")
        except WorkflowError as refused:
            return refused
        return None

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(complete, range(20)))

    refusals = [answer for answer in answers if answer is not None]
    assert len(refusals) == 19
    winner = f"label {answers.index(None)}"
    for refusal in refusals:
        assert (type(refusal), refusal.code) == (Conflict, CONFLICT_BOOKMARK)
        assert refusal.details == {
            "endReason": "completed",
            "completedBy": "u1",
            "outcome": winner,
            "at": house.store_set.clock.now(),
        }
    assert house.instance(instance.id).variables["outcome"] == winner
    assert len(house.publisher.of("workflow.task.completed")) == 1


@pytest.fixture
def meddled(stores: StoreSet) -> tuple[Installation, Meddler, Meddler]:
    """An installation whose leases do not hold, with an activity without and one with outside effects."""
    plain, effects = Meddler("TestMeddler"), Meddler("TestEffects", effects=True)
    lost = replace(stores, leases=LostLeases(stores.leases))
    return install(lost, activities=(plain, effects)), plain, effects


def _cancel_once(house: Installation, meddler: Meddler) -> None:
    def meddle(context: ActivityContext) -> None:
        if meddler.runs == 1:
            house.services.instances.cancel(ADMIN, context.instance_id, "while the other works")

    meddler.meddle = meddle


def test_a_late_writer_does_not_overwrite_and_learns_what_happened(
    meddled: tuple[Installation, Meddler, Meddler],
) -> None:
    house, meddler, _ = meddled
    house.publish(_after_task("TestMeddler")())
    instance = house.start("approval")
    _cancel_once(house, meddler)

    with pytest.raises(Conflict) as refused:
        house.services.inbox.complete(actor("u1"), house.task("u1").id, "approved")

    assert refused.value.code == CONFLICT_BOOKMARK
    assert refused.value.details["endReason"] == "canceled"
    stored = house.instance(instance.id)
    assert (stored.status, stored.cancellation_reason) == (InstanceStatus.CANCELED, "while the other works")
    assert "runs" not in stored.variables
    assert house.publisher.of("workflow.task.completed") == []


def test_a_wave_that_lost_runs_once_more_from_a_fresh_read(meddled: tuple[Installation, Meddler, Meddler]) -> None:
    house, meddler, _ = meddled
    house.publish(_after_task("TestMeddler")())
    instance = house.start("approval")

    def transfer_nothing(context: ActivityContext) -> None:
        if meddler.runs == 1:
            house.services.inbox.add(actor("u1"), house.task("u1").id, ["u2"])

    meddler.meddle = transfer_nothing
    house.services.inbox.complete(actor("u1"), house.task("u1").id, "approved")

    stored = house.instance(instance.id)
    assert (stored.status, stored.variables["runs"]) == (InstanceStatus.COMPLETED, 2)
    assert house.path(instance.id) == ["start", "ask", "x", "end"]
    assert house.tasks("u2") == []


def test_a_wave_with_outside_effects_is_not_run_again(meddled: tuple[Installation, Meddler, Meddler]) -> None:
    house, _, effects = meddled
    house.publish(_after_task("TestEffects")())
    house.start("approval")

    def meddle(context: ActivityContext) -> None:
        house.services.inbox.add(actor("u1"), house.task("u1").id, ["u2"])

    effects.meddle = meddle
    with pytest.raises(WorkflowError) as refused:
        house.services.inbox.complete(actor("u1"), house.task("u1").id, "approved")

    assert refused.value.code == CONFLICT_BOOKMARK
    assert effects.runs == 1
    assert {task.assignee_id for task in house.tasks("u1") + house.tasks("u2")} == {"u1", "u2"}


def test_an_operation_that_lost_twice_is_a_conflict_of_the_instance(
    meddled: tuple[Installation, Meddler, Meddler],
) -> None:
    house, meddler, _ = meddled
    house.publish(flow("meddled", [START, node("x", "TestMeddler"), END]))

    def fail(context: ActivityContext) -> None:
        raise RuntimeError("for the retry")

    meddler.meddle = fail
    instance = house.start("meddled")

    def write_in_between(context: ActivityContext) -> None:
        with house.store_set.stores.writing(None) as work:
            stored = work.instances.find(None, instance.id)
            assert stored is not None
            stored.revision += 1
            work.apply(WriteSet(partition=None, instance=stored, expected_revision=stored.revision - 1))

    meddler.meddle = write_in_between
    with pytest.raises(Conflict) as refused:
        house.services.instances.retry(ADMIN, instance.id)
    assert refused.value.code == CONFLICT_INSTANCE
    assert meddler.runs == 3


@pytest.fixture
def failing(stores: StoreSet) -> tuple[Installation, FailingStores]:
    """An installation over stores that fail on demand, with one approval waiting."""
    broken = FailingStores(stores.stores)
    house = install(replace(stores, stores=broken))
    house.publish(APPROVAL)
    house.start("approval")
    broken.writes = 0
    return house, broken


@pytest.mark.parametrize("failures", [1, 4])
def test_a_write_that_fails_in_passing_is_applied_again(
    failing: tuple[Installation, FailingStores], failures: int
) -> None:
    house, broken = failing
    task = house.task("u1")
    broken.before = [busy() for _ in range(failures)]

    house.services.inbox.complete(actor("u1"), task.id, "approved")

    assert broken.writes == failures + 1
    assert len(house.pauses) == failures
    assert house.instance(task.instance_id).status is InstanceStatus.COMPLETED
    assert house.path(task.instance_id) == ["start", "ask", "end"]


def test_a_refusal_keeps_to_itself_where_the_database_is(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing
    broken.reading_fails = [StoreFailure("OperationalError: connection to server at 10.1.2.3 failed")]
    with pytest.raises(Unavailable) as refused:
        house.services.inbox.query(actor("u1"))
    assert refused.value.details == {"reason": "OperationalError"}


def test_five_failures_are_enough(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing
    task = house.task("u1")
    broken.before = [busy() for _ in range(5)]

    with pytest.raises(Unavailable) as refused:
        house.services.inbox.complete(actor("u1"), task.id, "approved")

    assert (refused.value.code, refused.value.details) == (UNAVAILABLE_STORE, {"reason": "busy"})
    assert broken.writes == 5
    assert house.task("u1").id == task.id
    assert house.instance(task.instance_id).status is InstanceStatus.RUNNING


def test_a_lasting_failure_is_not_tried_again(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing
    task = house.task("u1")
    broken.before = [gone()]

    with pytest.raises(Unavailable):
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert broken.writes == 1
    assert house.publisher.of("workflow.task.completed") == []


def test_a_commit_whose_answer_was_lost_counts_once(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing
    task = house.task("u1")
    broken.after = [busy()]

    result = house.services.inbox.complete(actor("u1"), task.id, "approved")

    assert result.instance_status is InstanceStatus.COMPLETED
    history = house.services.instances.history(ADMIN, task.instance_id).items
    assert [entry.action for entry in history] == ["start", "complete"]


def test_a_start_whose_answer_was_lost_makes_one_instance(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing
    broken.after = [busy()]
    started = house.start("approval")
    assert house.services.instances.query(ADMIN).total == 2
    assert house.instance(started.id).status is InstanceStatus.RUNNING


def test_a_read_that_fails_in_passing_is_done_again(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing
    broken.reading_fails = [busy()]
    assert house.task("u1").node_id == "ask"
    broken.reading_fails = [gone()]
    with pytest.raises(Unavailable):
        house.task("u1")


def test_a_publisher_that_fails_does_not_fail_the_command(
    house: Installation, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    house.publish(APPROVAL)

    def fail(partition: str | None, events: object) -> None:
        raise RuntimeError("the broker is down")

    monkeypatch.setattr(house.publisher, "publish", fail)
    with caplog.at_level(logging.ERROR, "waypost.commands"):
        instance = house.start("approval")

    assert house.instance(instance.id).status is InstanceStatus.RUNNING
    assert "events were not published" in caplog.text


def test_what_a_log_node_says_goes_to_the_flow_log_after_the_commit(
    house: Installation, caplog: pytest.LogCaptureFixture
) -> None:
    house.publish(flow("logs", [START, node("say", "Log", {"Message": "100% of {{amount}}", "Level": "Trace"}), END]))
    with caplog.at_level(logging.DEBUG, "waypost.flow"):
        instance = house.start("logs", {"amount": 5})

    (line,) = [record for record in caplog.records if record.name == "waypost.flow"]
    assert (line.getMessage(), line.levelno) == ("100% of 5", logging.DEBUG)
    assert (line.__dict__["instanceId"], line.__dict__["nodeId"]) == (instance.id, "say")


def test_nothing_is_told_of_a_wave_that_was_not_stored(
    failing: tuple[Installation, FailingStores], caplog: pytest.LogCaptureFixture
) -> None:
    house, broken = failing
    house.publish(flow("logs", [START, node("say", "Log", {"Message": "hello"}), END]))
    before = len(house.publisher.events)
    broken.before = [gone()]
    with caplog.at_level(logging.DEBUG, "waypost.flow"), pytest.raises(Unavailable):
        house.start("logs")
    assert len(house.publisher.events) == before
    assert not [record for record in caplog.records if record.name == "waypost.flow"]


def test_who_waits_too_long_for_the_lease_is_told_so(stores: StoreSet) -> None:
    class BusyLeases(LostLeases):
        @contextmanager
        def hold(self, name: str) -> Iterator[None]:
            if name.startswith("instance:"):
                raise LockTimeout("workflow.lock.timeout", params={"name": name, "seconds": 10})
            yield

    house = install(stores)
    house.publish(APPROVAL)
    house.start("approval")
    task = house.task("u1")
    crowded = install(replace(stores, leases=BusyLeases(stores.leases)))
    with pytest.raises(LockTimeout):
        crowded.services.inbox.complete(actor("u1"), task.id, "approved")
    assert house.task("u1").id == task.id


def test_names_of_leases_cannot_be_made_to_meet() -> None:
    names = [lease_name("b:c", "a"), lease_name("c", "a:b"), lease_name("c", "a%3Ab"), lease_name("a:b:c")]
    assert len(set(names)) == 4
