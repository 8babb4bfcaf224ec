"""Idempotency keys: one command, one answer, whatever fails in between (spec 11 Amendments, 3.22)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import msgspec
import pytest

from tests.services.stores_that_fail import FailingStores, busy, gone
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.model import Actor
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.errors import Conflict, NotFound, Unavailable
from webapp.engine.instances.model import InstanceStatus
from webapp.services.answers import Answer, KeyedRequest, KeyReused

APPROVAL = flow("approval", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])


def request(key: str = "k1", body: bytes = b"{}", path: str = "/instances") -> KeyedRequest:
    return KeyedRequest(method="POST", path=path, key=key, body=body)


def start(house: Installation, asked: KeyedRequest, by: Actor = ADMIN) -> Answer:
    def run() -> Answer:
        instance = house.start("approval", by=by)
        return Answer(status=201, headers={"Location": f"/instances/{instance.id}"}, body=instance.id.encode())

    return house.services.answers.once(by, asked, run)


def total(house: Installation) -> int:
    return house.services.instances.query(ADMIN).total


@pytest.fixture
def ready(house: Installation) -> Installation:
    """An installation with the approval published."""
    house.publish(APPROVAL)
    return house


def test_a_request_sent_again_gets_the_first_answer_and_acts_once(ready: Installation) -> None:
    first = start(ready, request())
    ready.decide("u1", "approved")
    assert start(ready, request()) == first
    assert total(ready) == 1
    assert start(ready, request("k2")) != first
    assert total(ready) == 2


def test_the_same_key_with_another_body_is_refused(ready: Installation) -> None:
    start(ready, request())
    with pytest.raises(KeyReused):
        start(ready, request(body=b"[]"))
    assert total(ready) == 1


@pytest.mark.parametrize(
    ("asked", "by"),
    [
        (request(path="/instances?dry=1"), ADMIN),
        (request(), msgspec.structs.replace(ADMIN, account_id="another")),
        (request(), msgspec.structs.replace(ADMIN, token_id="of a token")),
    ],
    ids=["address", "account", "token"],
)
def test_a_key_belongs_to_its_caller_and_address(ready: Installation, asked: KeyedRequest, by: Actor) -> None:
    first = start(ready, request())
    assert start(ready, asked, by) != first
    assert total(ready) == 2


def test_after_a_day_the_key_is_new_and_starts_another_instance(ready: Installation) -> None:
    first = start(ready, request())
    ready.store_set.clock.advance(24 * 3600)
    assert start(ready, request()) == first
    ready.store_set.clock.advance(1)
    later = start(ready, request())
    assert later != first
    assert total(ready) == 2
    assert start(ready, request()) == later


def test_twenty_threads_with_one_key_run_one_command_and_get_one_answer(ready: Installation) -> None:
    together = Barrier(20)

    def send(number: int) -> Answer:
        together.wait()
        return start(ready, request())

    with ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(send, range(20)))

    assert all(answer == answers[0] for answer in answers)
    assert total(ready) == 1
    assert ready.publisher.topics().count("workflow.instance.started") == 1


def test_a_refused_command_stores_nothing(ready: Installation) -> None:
    instance = ready.start("approval")
    task = ready.task("u1")

    def complete(outcome: str) -> Answer:
        asked = request(path=f"/tasks/{task.id}/complete")

        def run() -> Answer:
            result = ready.services.inbox.complete(actor("u1"), task.id, outcome)
            return Answer(status=200, headers={}, body=result.instance_status.value.encode())

        return ready.services.answers.once(actor("u1"), asked, run)

    ready.services.inbox.transfer(ADMIN, task.id, "u2")
    with pytest.raises(Exception, match="WORKFLOW_DENIED_001"):
        complete("approved")
    ready.services.inbox.transfer(ADMIN, task.id, "u1")
    assert complete("approved").body == b"Completed"
    assert complete("approved").body == b"Completed"
    assert ready.instance(instance.id).status is InstanceStatus.COMPLETED


def test_an_answer_that_cannot_be_made_undoes_the_command(ready: Installation) -> None:
    def run() -> Answer:
        ready.start("approval")
        raise RuntimeError("the answer cannot be written")

    with pytest.raises(RuntimeError):
        ready.services.answers.once(ADMIN, request(), run)
    assert total(ready) == 0
    assert ready.publisher.events == []
    start(ready, request())
    assert total(ready) == 1


def test_the_answer_sees_what_its_command_wrote_and_is_told_of_after_the_commit(ready: Installation) -> None:
    seen: list[object] = []

    def run() -> Answer:
        instance = ready.start("approval")
        seen.append(ready.instance(instance.id).status)
        seen.append(len(ready.publisher.events))
        return Answer(status=201, headers={}, body=b"")

    ready.services.answers.once(ADMIN, request(), run)
    assert seen == [InstanceStatus.RUNNING, 0]
    assert len(ready.publisher.events) == 6


def test_a_command_that_finds_nothing_to_do_has_its_answer_stored(ready: Installation) -> None:
    instance = ready.start("approval")
    ready.services.instances.cancel(ADMIN, instance.id)
    runs: list[int] = []

    def run() -> Answer:
        runs.append(1)
        ready.services.instances.cancel(ADMIN, instance.id)
        return Answer(status=200, headers={}, body=b"")

    for _ in range(2):
        ready.services.answers.once(ADMIN, request(), run)
    assert runs == [1]


def test_what_runs_several_commands_says_so(ready: Installation) -> None:
    """Holding a transaction while waiting for a lease could stop both sides for ever."""
    first, second = ready.start("approval"), ready.start("approval")

    def run() -> Answer:
        for instance in (first, second):
            ready.services.instances.cancel(ADMIN, instance.id)
        return Answer(status=200, headers={}, body=b"")

    with pytest.raises(RuntimeError, match="after them"):
        ready.services.answers.once(ADMIN, request(), run)
    assert ready.instance(first.id).status is InstanceStatus.RUNNING
    answers = [ready.services.answers.once(ADMIN, request(), run, several=True) for _ in range(2)]
    assert answers[0] == answers[1]
    assert ready.instance(second.id).status is InstanceStatus.CANCELED


@pytest.fixture
def failing(stores: StoreSet) -> tuple[Installation, FailingStores]:
    """An installation over stores that fail on demand."""
    broken = FailingStores(stores.stores)
    house = install(replace(stores, stores=broken))
    house.publish(APPROVAL)
    broken.writes = 0
    return house, broken


def test_a_crash_between_commit_and_answer_leaves_the_answer(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing

    class Crash(BaseException):
        """The process ends."""

    broken.after = [Crash()]  # type: ignore[list-item]  # not a failure that anybody handles
    with pytest.raises(Crash):
        start(house, request())
    instances = house.services.instances.query(ADMIN).items
    assert start(house, request()).body == instances[0].id.encode()
    assert len(instances) == total(house) == 1


def test_a_commit_whose_answer_was_lost_counts_once(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing
    broken.after = [busy()]
    answer = start(house, request())
    assert total(house) == 1
    assert answer.body == house.services.instances.query(ADMIN).items[0].id.encode()
    assert house.publisher.topics().count("workflow.instance.started") == 1


def test_a_write_that_fails_in_passing_is_applied_again(failing: tuple[Installation, FailingStores]) -> None:
    house, broken = failing
    broken.before = [busy() for _ in range(4)]
    start(house, request())
    assert (broken.writes, total(house)) == (5, 1)


@pytest.mark.parametrize("failures", [[gone()], [busy() for _ in range(5)]], ids=["lasting", "five"])
def test_what_could_not_be_written_leaves_nothing(
    failing: tuple[Installation, FailingStores], failures: list[Exception]
) -> None:
    house, broken = failing
    broken.before = list(failures)
    with pytest.raises(Unavailable):
        start(house, request())
    assert total(house) == 0
    start(house, request())
    assert total(house) == 1


class _Seen:
    """Notes the instance it runs in, and may fail the call as a crash would."""

    descriptor = ActivityDescriptor(type="TestSeen", category=Category.CUSTOM, icon="x", custom=True)

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.then: Callable[[], None] = lambda: None

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Note the id."""
        self.ids.append(context.instance_id)
        self.then()
        return Complete()


def test_a_start_sent_again_after_a_crash_in_its_wave_is_the_same_instance(stores: StoreSet) -> None:
    seen = _Seen()
    house = install(stores, activities=(seen,))
    house.publish(flow("approval", [START, node("x", "TestSeen"), END]))

    def crash() -> None:
        raise KeyboardInterrupt

    seen.then = crash
    with pytest.raises(KeyboardInterrupt):
        start(house, request())
    seen.then = lambda: None
    start(house, request())
    start(house, request("k2"))
    assert seen.ids[0] == seen.ids[1] != seen.ids[2]
    assert total(house) == 2


def test_a_task_that_is_gone_is_refused_as_without_a_key(ready: Installation) -> None:
    instance = ready.start("approval")
    task = ready.task("u1")
    ready.decide("u1", "approved")

    def run() -> Answer:
        ready.services.inbox.complete(actor("u1"), task.id, "approved")
        return Answer(status=200, headers={}, body=b"")

    with pytest.raises(Conflict):
        ready.services.answers.once(actor("u1"), request(), run)
    with pytest.raises(NotFound):
        ready.services.answers.once(ADMIN, request(), lambda: _answer(ready, instance.id + "x"))


def _answer(house: Installation, instance_id: str) -> Answer:
    house.services.instances.cancel(ADMIN, instance_id)
    return Answer(status=200, headers={}, body=b"")
