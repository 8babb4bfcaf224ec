"""Signals: waits first, then starts; broadcasts; rights; signals kept for later (spec 3.17, 3.22)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node, variable
from tests.support.stores import StoreSet
from webapp.accounts.permissions import OPERATOR
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    DENIED_PERMISSION,
    NOTFOUND_INSTANCE,
    Conflict,
    Denied,
    InputInvalid,
    NotFound,
)
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.numbers import JsonObject
from webapp.services.answers import Answer, KeyedRequest
from webapp.services.commands import lease_name
from webapp.services.views import SignalResult

OLGA = actor("olga", OPERATOR)
WAIT = flow("wait", [START, node("wait", "WaitSignal", {"SignalName": "paid"}), END])
ANYBODY = flow(
    "anybody", [START, node("wait", "WaitSignal", {"SignalName": "paid", "AcceptAnyCorrelation": True}), END]
)
COMPLETED, RUNNING = InstanceStatus.COMPLETED, InstanceStatus.RUNNING


def started(name: str, **settings: Any) -> JsonObject:
    """Return a flow that a signal ``order`` starts."""
    first = node("start", "Start", {"SignalName": "order"})
    return flow(name, [first, node("ask", "UserTask", {"Assignees": ["u1"]}), END], **settings)


def publish(house: Installation, name: str = "paid", payload: JsonObject | None = None, **more: Any) -> SignalResult:
    return house.services.signals.publish(OLGA, name, payload, **more)


def result(resumed: int = 0, started: int = 0, queued: int = 0, kept: bool = False) -> SignalResult:
    return SignalResult(resumed=resumed, started=started, queued=queued, kept=kept)


def status(house: Installation, instance: WorkflowInstance) -> InstanceStatus:
    return house.instance(instance.id).status


# --- who is resumed --------------------------------------------------------------------------


def test_a_signal_resumes_those_of_its_correlation_id_and_those_that_accept_any(house: Installation) -> None:
    house.publish(WAIT)
    house.publish(ANYBODY)
    one, two = house.start("wait", correlation_id="ORDER-1"), house.start("wait", correlation_id="ORDER-2")
    anybody = house.start("anybody")
    assert publish(house, payload={"amount": 88}, correlation_id="ORDER-1") == result(resumed=2)
    assert [status(house, each) for each in (one, two, anybody)] == [COMPLETED, RUNNING, COMPLETED]
    assert house.instance(one.id).variables == {"amount": 88}
    (entry,) = [each for each in house.services.instances.history(ADMIN, one.id).items if each.action == "signal"]
    assert (entry.actor_id, entry.node_id) == ("olga", "wait")


def test_names_are_compared_exactly(house: Installation) -> None:
    house.publish(WAIT)
    instance = house.start("wait", correlation_id="C")
    assert publish(house, "Paid") == publish(house, "pai") == result()
    assert status(house, instance) is RUNNING


def test_a_suspended_instance_is_passed_over_silently(house: Installation) -> None:
    house.publish(WAIT)
    first, second = house.start("wait", correlation_id="C"), house.start("wait", correlation_id="C")
    house.services.operations.suspend(ADMIN, first.id, "stop")
    assert publish(house) == result(resumed=1)
    assert [status(house, one) for one in (first, second)] == [InstanceStatus.SUSPENDED, COMPLETED]


def test_a_signal_that_nobody_waits_for_is_lost(house: Installation) -> None:
    house.publish(WAIT)
    assert publish(house, correlation_id="C") == result()
    assert status(house, house.start("wait", correlation_id="C")) is RUNNING


def test_another_partition_is_not_reached(house: Installation) -> None:
    house.publish(ANYBODY)
    instance = house.start("anybody")
    stranger = actor("stranger", OPERATOR, partition="t1")
    assert house.services.signals.publish(stranger, "paid") == result()
    assert status(house, instance) is RUNNING


def test_two_waits_of_one_instance_are_both_resumed(house: Installation) -> None:
    waits = [node(name, "WaitSignal", {"SignalName": "paid"}) for name in ("a", "b")]
    nodes = [START, node("fork", "Parallel"), *waits, node("join", "Join"), END]
    edges = [edge("start", "fork"), edge("fork", "a"), edge("fork", "b"), edge("a", "join"), edge("b", "join")]
    house.publish(flow("both", nodes, [*edges, edge("join", "end")]))
    instance = house.start("both", correlation_id="C")
    assert publish(house, correlation_id="C") == result(resumed=2)
    assert house.path(instance.id) == ["start", "fork", "a", "b", "join", "end"]


def test_a_gateway_takes_the_signal_as_its_outcome(house: Installation) -> None:
    gate = node("gate", "EventGateway", {"Events": [{"signalName": "paid"}, {"timerSeconds": 60}]})
    edges = [
        edge("start", "gate"),
        edge("gate", "end", "outcome == 'paid'"),
        edge("gate", "late", is_default=True),
    ]
    house.publish(flow("gate", [START, gate, END, node("late", "End")], edges))
    first, second = house.start("gate", correlation_id="1"), house.start("gate", correlation_id="2")
    assert publish(house, payload={"by": "card"}, correlation_id="1") == result(resumed=1)
    house.elapse(60)
    assert (house.path(first.id)[-1], house.path(second.id)[-1]) == ("end", "late")
    assert house.instance(first.id).variables == {"by": "card", "outcome": "paid"}
    assert house.bookmarks(first.id) == []


# --- broadcasts ------------------------------------------------------------------------------


def test_what_is_beyond_a_hundred_follows_later_and_in_order(house: Installation) -> None:
    house.publish(ANYBODY)
    instances = [house.start("anybody") for _ in range(205)]
    assert publish(house, payload={"n": 1}) == result(resumed=100, queued=105)
    done = [status(house, one) is COMPLETED for one in instances]
    assert sum(done) == 100
    # A wait that begins after the signal is not meant.
    later = house.start("anybody")
    house.store_set.clock.advance(1)
    late = house.start("anybody")
    while house.services.housekeeping.poll_once().follow_ups:
        pass
    assert {status(house, one) for one in instances} == {COMPLETED}
    assert status(house, late) is RUNNING
    # Begun at the very instant of the signal: behind all others, and still meant.
    assert status(house, later) is COMPLETED


def test_a_busy_instance_gets_the_signal_later(stores: StoreSet, monkeypatch: pytest.MonkeyPatch) -> None:
    house = install(stores)
    house.publish(ANYBODY)
    busy, free = house.start("anybody"), house.start("anybody")
    monkeypatch.setattr(stores.leases, "_lock_timeout", 0.2)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with stores.leases.hold(lease_name(busy.id)):
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    answer = publish(house)
    # A poll finds it busy still, and leaves it for later.
    house.services.housekeeping.poll_once()
    done.set()
    holder.join(20)
    assert answer == result(resumed=1, queued=1)
    assert [status(house, one) for one in (busy, free)] == [RUNNING, COMPLETED]
    house.elapse(10)
    assert status(house, busy) is COMPLETED


def test_inside_another_transaction_all_of_it_follows_the_commit(house: Installation) -> None:
    house.publish(ANYBODY)
    first = node("start", "Start", {"SignalName": "paid"})
    house.publish(flow("begun", [first, node("ask", "UserTask", {"Assignees": ["u1"]}), END]))
    instance = house.start("anybody")
    answers: list[SignalResult] = []

    def run() -> Answer:
        answers.append(publish(house, payload={"n": 1}))
        assert status(house, instance) is RUNNING
        return Answer(status=200, headers={}, body=b"")

    request = KeyedRequest(method="POST", path="/", key="k", body=b"")
    house.services.answers.once(OLGA, request, run)
    assert answers == [result(queued=2)]
    house.services.housekeeping.poll_once()
    assert house.instance(instance.id).variables == {"n": 1}
    assert len(house.tasks("u1")) == 1
    house.elapse(60)
    assert len(house.tasks("u1")) == 1


# --- what is started -------------------------------------------------------------------------


def test_waits_come_first_so_that_a_new_instance_does_not_swallow_its_own_signal(house: Installation) -> None:
    first = node("start", "Start", {"SignalName": "paid"})
    house.publish(flow("both", [first, node("wait", "WaitSignal", {"SignalName": "paid"}), END]))
    assert publish(house, payload={"n": 1}, correlation_id="C") == result(started=1)
    (begun,) = house.services.instances.query(ADMIN).items
    instance = house.instance(begun.id)
    assert (instance.status, instance.variables, instance.correlation_id) == (RUNNING, {"n": 1}, "C")
    assert instance.starter_id == "olga"
    assert publish(house, payload={"n": 2}, correlation_id="C") == result(resumed=1, started=1)


def test_the_latest_published_version_of_each_name_is_started(house: Installation) -> None:
    one = house.publish(started("one"))
    house.publish(started("two"))
    house.services.catalog.publish(ADMIN, house.services.catalog.new_version(ADMIN, name=one.name).id)
    assert publish(house, "order", {"n": 5}) == result(started=2)
    found = house.services.instances.query(ADMIN).items
    assert sorted((each.definition_name, each.definition_version) for each in found) == [("one", 2), ("two", 1)]


def test_what_cannot_be_started_does_not_stop_the_others(house: Installation) -> None:
    house.publish(started("needs", variables=[variable("amount", required=True)]))
    with pytest.raises(InputInvalid) as refused:
        publish(house, "order")
    assert [problem.path for problem in refused.value.problems] == ["variables.amount"]
    house.publish(started("simple"))
    assert publish(house, "order") == result(started=1)
    assert publish(house, "order", {"amount": 1}) == result(started=2)


# --- rights ----------------------------------------------------------------------------------


def test_an_owner_reaches_what_it_owns(house: Installation) -> None:
    owner, other = actor("owner"), actor("other")
    house.publish({**ANYBODY, "owners": ["owner"]})
    house.publish({**ANYBODY, "name": "foreign", "owners": ["somebody"]})
    house.publish(started("mine", owners=["role:user"]))
    own, foreign = house.start("anybody"), house.start("foreign")
    with pytest.raises(Denied) as refused:
        house.services.signals.publish(other, "paid")
    assert refused.value.code == DENIED_PERMISSION
    assert house.services.signals.publish(owner, "paid") == result(resumed=1)
    assert [status(house, one) for one in (own, foreign)] == [COMPLETED, RUNNING]
    assert house.services.signals.publish(owner, "order") == result(started=1)
    with pytest.raises(Denied):
        house.services.signals.publish(owner, "nobody-waits")
    # Whoever keeps a signal reaches waits of others.
    with pytest.raises(Denied):
        house.services.signals.publish(owner, "paid", ttl_seconds=5)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"correlation_id": "x" * 201}, "correlationId"),
        ({"ttl_seconds": -1}, "ttlSeconds"),
        ({"ttl_seconds": 366 * 24 * 3600}, "ttlSeconds"),
    ],
)
def test_what_a_signal_may_be(house: Installation, given: dict[str, Any], path: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        publish(house, **given)
    assert [problem.path for problem in refused.value.problems] == [path]


def test_a_payload_has_a_bound(house: Installation) -> None:
    with pytest.raises(InputInvalid):
        publish(house, payload={"text": "x" * (1024 * 1024)})


# --- one instance ----------------------------------------------------------------------------


def test_an_operator_gives_a_signal_to_one_instance(house: Installation) -> None:
    house.publish(WAIT)
    one, two = house.start("wait", correlation_id="A"), house.start("wait", correlation_id="A")
    done = house.services.signals.send_to(OLGA, one.id, "paid", {"by": "hand"})
    assert (done.status, done.variables) == (COMPLETED, {"by": "hand"})
    assert status(house, two) is RUNNING
    for instance_id, name in ((one.id, "paid"), (two.id, "other")):
        with pytest.raises(Conflict) as refused:
            house.services.signals.send_to(OLGA, instance_id, name)
        assert refused.value.code == CONFLICT_BOOKMARK
    with pytest.raises(Denied):
        house.services.signals.send_to(actor("emma"), two.id, "paid")
    with pytest.raises(NotFound) as missing:
        house.services.signals.send_to(OLGA, "none", "paid")
    assert missing.value.code == NOTFOUND_INSTANCE


# --- many at once ----------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [2, 50])
def test_each_wait_is_resumed_once_however_many_publish(house: Installation, threads: int) -> None:
    house.publish(WAIT)
    instances = [house.start("wait", correlation_id="C") for _ in range(3)]
    answers = _all_at_once(threads, lambda number: publish(house, payload={"by": number}, correlation_id="C"))
    assert all(isinstance(answer, SignalResult) for answer in answers), answers
    assert sum(answer.resumed for answer in answers) == 3
    for instance in instances:
        assert house.path(instance.id) == ["start", "wait", "end"]


def test_of_a_signal_and_a_cancel_one_wins(house: Installation) -> None:
    house.publish(WAIT)
    for _ in range(8):
        instance = house.start("wait", correlation_id="C")
        calls = (
            lambda instance=instance: publish(house, correlation_id="C").resumed,
            lambda instance=instance: house.services.instances.cancel(ADMIN, instance.id),
        )
        answers = _all_at_once(2, lambda number, calls=calls: calls[number]())
        ended = status(house, instance)
        assert ended is (COMPLETED if answers[0] == 1 else InstanceStatus.CANCELED)
        assert house.bookmarks(instance.id) == []


# --- kept signals ----------------------------------------------------------------------------


def test_a_kept_signal_goes_to_the_first_wait_that_begins_in_time(house: Installation) -> None:
    house.publish(WAIT)
    assert publish(house, payload={"n": 1}, correlation_id="C", ttl_seconds=60) == result(kept=True)
    other = house.start("wait", correlation_id="D")
    house.store_set.clock.advance(59)
    first, second = house.start("wait", correlation_id="C"), house.start("wait", correlation_id="C")
    assert [status(house, one) for one in (other, first, second)] == [RUNNING, COMPLETED, RUNNING]
    assert house.instance(first.id).variables == {"n": 1}


def test_a_kept_signal_runs_out(house: Installation) -> None:
    house.publish(WAIT)
    publish(house, correlation_id="C", ttl_seconds=60)
    house.store_set.clock.advance(60)
    assert status(house, house.start("wait", correlation_id="C")) is RUNNING
    house.services.housekeeping.housekeep()
    assert _kept(house) == []


def test_a_signal_that_somebody_got_is_not_kept(house: Installation) -> None:
    house.publish(WAIT)
    house.start("wait", correlation_id="C")
    assert publish(house, correlation_id="C", ttl_seconds=60) == result(resumed=1)
    assert _kept(house) == []
    house.publish(started("one"))
    assert publish(house, "order", ttl_seconds=60) == result(started=1)
    assert _kept(house) == []


def test_kept_signals_are_taken_one_by_one_in_their_order(house: Installation) -> None:
    waits = [node(f"w{number}", "WaitSignal", {"SignalName": "paid"}) for number in range(3)]
    house.publish(flow("three", [START, *waits, END]))
    for number in range(3):
        house.store_set.clock.advance(1)
        publish(house, payload={f"n{number}": number}, correlation_id="C", ttl_seconds=60)
    # Each wait takes one, and going on begins the next wait.
    instance = house.start("three", correlation_id="C")
    assert status(house, instance) is COMPLETED
    nodes = [one for one in house.nodes(instance.id) if one.node_id.startswith("w")]
    assert [one.outputs for one in nodes] == [{"n0": 0}, {"n1": 1}, {"n2": 2}]


def test_a_long_line_of_kept_signals_is_no_recursion(house: Installation) -> None:
    loop = [
        START,
        node("wait", "WaitSignal", {"SignalName": "paid"}),
        node("count", "SetVariable", {"Expressions": {"n": "n + 1"}}),
        END,
    ]
    edges = [
        edge("start", "wait"),
        edge("wait", "count"),
        edge("count", "wait", "n < 60"),
        edge("count", "end", is_default=True),
    ]
    house.publish(flow("loop", loop, edges))
    for _ in range(60):
        publish(house, correlation_id="C", ttl_seconds=60)
    assert status(house, house.start("loop", {"n": 0}, correlation_id="C")) is COMPLETED
    assert _kept(house) == []


def test_a_wait_that_a_crash_left_beside_its_signal_is_found_later(house: Installation) -> None:
    house.publish(WAIT)
    publish(house, payload={"n": 1}, correlation_id="C", ttl_seconds=600)
    listeners = house.services.signals._commands.listeners
    left, listeners[:] = list(listeners), []
    # The process ends between the commit and its look at the kept signals.
    instance = house.start("wait", correlation_id="C")
    listeners[:] = left
    assert status(house, instance) is RUNNING
    house.elapse(5)
    assert (status(house, instance), house.instance(instance.id).variables) == (COMPLETED, {"n": 1})
    house.elapse(600)
    assert _follow_ups(house) == 0


@pytest.mark.parametrize("threads", [2, 16])
def test_a_kept_signal_is_taken_once_however_many_begin_to_wait(house: Installation, threads: int) -> None:
    house.publish(WAIT)
    publish(house, correlation_id="C", ttl_seconds=60)
    instances = _all_at_once(threads, lambda number: house.start("wait", correlation_id="C"))
    assert [status(house, one) for one in instances].count(COMPLETED) == 1


def test_publishing_and_beginning_to_wait_at_once_never_miss_each_other(house: Installation) -> None:
    house.publish(WAIT)
    for round_ in range(10):
        key = f"C{round_}"
        calls = (
            lambda key=key: publish(house, correlation_id=key, ttl_seconds=60),
            lambda key=key: house.start("wait", correlation_id=key),
        )
        _, instance = _all_at_once(2, lambda number, calls=calls: calls[number]())
        assert status(house, instance) is COMPLETED
    assert _kept(house) == []


def _kept(house: Installation) -> list[str]:
    with house.store_set.stores.reading(None) as work:
        return [one.id for one in work.signals.kept(None, ["paid", "order"], house.store_set.clock.now())]


def _follow_ups(house: Installation) -> int:
    return house.services.housekeeping.poll_once().follow_ups


def test_waits_cost_one_read_and_only_a_wait_does(stores: StoreSet, monkeypatch: pytest.MonkeyPatch) -> None:
    house = install(stores)
    house.publish(WAIT)
    house.publish(flow("ask", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END]))
    asked: list[Any] = []
    with stores.stores.reading(None) as work:
        kind = type(work.signals)
    real = kind.kept
    monkeypatch.setattr(kind, "kept", lambda self, *args: asked.append(args[1]) or real(self, *args))
    house.start("ask")
    assert asked == []
    instance = house.start("wait", correlation_id="C")
    assert asked == [["paid"]]
    assert len(house.bookmarks(instance.id, BookmarkKind.SIGNAL)) == 1


def _all_at_once(count: int, call: Any) -> list[Any]:
    answers: list[Any] = [None] * count
    ready = threading.Barrier(count)

    def run(number: int) -> None:
        ready.wait(20)
        try:
            answers[number] = call(number)
        except Exception as error:
            answers[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return answers
