"""A rich flow whose process dies in each of its writes in turn: another ends it as it would have ended (3.11, 3.22).

The flow has a fork of seven branches: a task, a delay with a retry, a child that waits for a person, a list of
children, an external task, a signal, a background node; then an event and a compensation. Each write of the run,
the poller's claims and the children's included, is struck once before its commit, once after it, and once so that only
the answer is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.services.crashing import CrashingStores, Killed, Moment
from tests.services.subflows import rows
from tests.support.engine import ADMIN, Installation, TestCompensable, actor, install
from tests.support.flows import START, edge, flow, node
from tests.support.purging import purge_ended
from tests.support.stores import StoreSet
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.ports.messaging import TopicPatterns
from webapp.engine.ports.queries import InstanceSummary
from webapp.services.external_tasks import TopicRequest

DOUBLE = flow(
    "double", [START, node("twice", "SetVariable", {"Expressions": {"doubled": "item * 2"}}), node("e", "End")]
)
ASKING = flow("asking", [START, node("ask", "UserTask", {"Assignees": ["u2"]}), node("e", "End")])
BRANCHES = ["ask", "rest", "sub", "each", "ship", "hear", "slow"]
ORDER = flow(
    "order",
    [
        START,
        node("pay", "TestCompensable"),
        node("fork", "Parallel"),
        node("ask", "UserTask", {"Assignees": ["u1"], "Title": "Order {{number}}"}, timeout_seconds=90_000),
        node("rest", "Delay", {"DurationSeconds": 3_600}),
        node("shaky", "TestFlaky", {"SucceedOnAttempt": 2}, retry_policy={"maxAttempts": 3, "firstDelaySeconds": 600}),
        node("sub", "SubWorkflow", {"DefinitionName": "asking", "ResultVariable": "asked"}),
        node("each", "ForEach", {"DefinitionName": "double", "ItemsExpression": "items", "Parallel": True,
                                 "ResultVariable": "results"}),
        node("ship", "ExternalTask", {"Topic": "shipping", "VariableExpressions": {"what": "number"}}),
        node("hear", "WaitSignal", {"SignalName": "paid"}),
        node("slow", "SetVariable", {"Values": {"slow": True}}, background=True),
        node("all", "Join"),
        node("tell", "PublishEvent", {"EventName": "ordered", "Payload": {"number": "{{number}}"}}),
        node("undo", "Compensate"),
        node("end", "End", {"Outcome": "done"}),
    ],
    [
        edge("start", "pay"), edge("pay", "fork"),
        *(edge("fork", branch) for branch in BRANCHES),
        edge("rest", "shaky"), edge("shaky", "all"),
        *(edge(branch, "all") for branch in BRANCHES if branch != "rest"),
        edge("all", "tell"), edge("tell", "undo"), edge("undo", "end"),
    ],
    compensate_on_cancel=True,
)  # fmt: skip

COUNTS = {"order": 1, "asking": 1, "double": 2}

Step = Callable[[Installation], object]


def _start(house: Installation) -> None:
    # As a client does that sends an idempotency key: what has been started is not started again.
    if not _all(house):
        house.start("order", {"number": 7, "items": [1, 2]}, correlation_id="o-7")


def _decide(name: str) -> Step:
    def step(house: Installation) -> None:
        for task in house.tasks(name):
            house.services.inbox.complete(actor(name), task.id, "approved", comment=f"by {name}")

    return step


def _work(house: Installation) -> None:
    external, wanted = house.services.external_tasks, [TopicRequest(topic="shipping", lock_seconds=30)]
    for task in external.fetch_and_lock(ADMIN, "w1", wanted, 5).items:
        external.complete(ADMIN, task.id, "w1", {"parcel": f"P-{task.variables['what']}"})


def _pay(house: Installation) -> None:
    house.services.signals.publish(ADMIN, "paid", {"paidAmount": 88}, correlation_id="o-7")


def _elapse(seconds: float) -> Step:
    return lambda house: house.elapse(seconds)


def _poll(house: Installation) -> None:
    house.services.housekeeping.poll_once()


def _cancel(house: Installation) -> None:
    house.services.instances.cancel(ADMIN, _root(house).id, "enough")


COMPLETED: list[Step] = [_start, _poll, _decide("u1"), _decide("u2"), _work, _pay, _elapse(3_700), _elapse(700)]
# A claim whose answer was lost binds for a minute; only then all has begun that the cancel finds.
CANCELED: list[Step] = [_start, _elapse(61), _decide("u1"), _elapse(61), _cancel]
LIVES = 4
"""Writes of a process that looks for due work, claims it twice, and does one piece."""


class Story:
    """The same life over one set of stores, told again and again; each time from a clean slate."""

    def __init__(self, stores: StoreSet) -> None:
        self.stores = stores
        self.crashing = CrashingStores(stores.stores)
        self.undoing = TestCompensable()
        house = self.process(stores)
        for document in (DOUBLE, ASKING, ORDER):
            house.publish(document)

    def process(self, stores: StoreSet) -> Installation:
        """Start a process over the stores."""
        return install(stores, activities=[self.undoing], subscriptions=TopicPatterns(["*"]))

    def tell(
        self, steps: Sequence[Step], moment: Moment = Moment.AFTER_THE_COMMIT, number: int = 0, since: int = 0
    ) -> tuple[Any, bool]:
        """Run it with a strike in one write, counted from the step *since*.

        Return what the stores then hold, and whether the strike came.
        """
        self.clear()
        house = self._mortal()
        for place, step in enumerate(steps):
            if place == since:
                self.crashing.plan(moment, number)
            try:
                step(house)
            except Killed:
                house = self._successor()
                step(house)
        struck = 0 < number <= self.crashing.writes
        return self.end(steps), struck

    def tell_of_short_lives(self, steps: Sequence[Step], writes: int) -> Any:
        """Run it by processes that die in their n-th write, one after the other; return what the stores then hold."""
        self.clear()
        house, deaths = self._mortal(writes), 0
        for step in steps:
            while True:
                try:
                    step(house)
                    break
                except Killed:
                    deaths += 1
                    assert deaths < 100, "nothing gets done any more"
                    self.stores.clock.advance(61)
                    house = self._mortal(writes)
        assert deaths > len(steps) // 2
        return self.end(steps)

    def end(self, steps: Sequence[Step]) -> Any:
        """Let a process that lives do what is left, and return what the stores hold."""
        house = self.process(self.stores)
        for _ in range(5):
            if not rows(house) and _root(house).status.ended:
                break
            # What a crash delayed: claims run out, then people and programs do what they find.
            house.elapse(700)
            for step in steps[1:]:
                step(house)
        return picture(house)

    def _mortal(self, writes: int = 0) -> Installation:
        self.crashing = CrashingStores(self.stores.stores)
        self.crashing.plan(Moment.AFTER_THE_COMMIT, writes)
        return self.process(replace(self.stores, stores=self.crashing))

    def _successor(self) -> Installation:
        """Start another process, which waits until the claims of the dead one have run out."""
        house = self.process(self.stores)
        house.elapse(61)
        return house

    def clear(self) -> None:
        """Forget all but the definitions."""
        purge_ended(self.stores, self.stores.clock.now() + timedelta(days=1))
        with self.stores.stores.writing(None) as work:
            work.outbox.delete(None, [entry.id for entry in work.outbox.read(10_000)])


def _all(house: Installation) -> list[InstanceSummary]:
    return house.services.instances.query(ADMIN).items


def _root(house: Installation) -> WorkflowInstance:
    (found,) = [one for one in _all(house) if one.parent_instance_id is None]
    return house.instance(found.id)


def picture(house: Installation) -> dict[str, Any]:
    """Return all that the stores hold, without ids and times, in an order that does not depend on who was first."""
    instances = [house.instance(one.id) for one in _all(house)]
    names = {one.id: one.definition_name for one in instances}
    with house.store_set.stores.reading(None) as work:
        told = work.outbox.read(10_000)
        records = [
            (
                record.node_id,
                record.assignee_id,
                record.actor_id,
                record.outcome,
                record.comment,
                str(record.end_reason),
            )
            for one in instances
            for record in work.task_records.by_instance(None, one.id)
        ]
    assert len({(one.instance_id, one.sequence) for one in told}) == len(told)
    return {
        "instances": sorted(_instance(house, one) for one in instances),
        "records": sorted(records),
        "events": Counter(
            (one.topic, names[one.instance_id or ""], one.data.get("nodeId"), one.data.get("outcome")) for one in told
        ),
        "owed": rows(house),
        "waiting": [mark for one in instances for mark in house.bookmarks(one.id)],
        "tokens": [(one.join_states, one.pending_tokens) for one in instances if one.join_states or one.pending_tokens],
    }


def _instance(house: Installation, instance: WorkflowInstance) -> tuple[Any, ...]:
    path = sorted((one.node_id, one.status.value, one.try_count) for one in house.nodes(instance.id))
    variables = sorted((name, str(value)) for name, value in instance.variables.items())
    return (instance.definition_name, str(variables), instance.status.value, instance.outcome or "", path)


def test_the_flow_runs_as_drawn(stores: StoreSet) -> None:
    """What the others are compared with is itself what the specification says."""
    told, _ = Story(stores).tell(COMPLETED)
    (*children, (name, variables, status, outcome, path)) = told["instances"]
    assert [(child[0], child[2]) for child in children] == [("asking", "Completed"), *[("double", "Completed")] * 2]
    assert (name, status, outcome) == ("order", "Completed", "done")
    assert [(node_id, count) for node_id, status, count in path] == [
        ("all", 1), ("ask", 1), ("each", 1), ("end", 1), ("fork", 1), ("hear", 1), ("pay", 1), ("rest", 1),
        ("shaky", 2), ("ship", 1), ("slow", 1), ("start", 1), ("sub", 1), ("tell", 1), ("undo", 1),
    ]  # fmt: skip
    assert {status for _, status, _ in path} == {"Completed", "Compensated"}
    assert "('parcel', 'P-7')" in variables
    assert "('paidAmount', '88')" in variables
    assert "'doubled': 2" in variables
    assert "'doubled': 4" in variables
    assert (told["owed"], told["waiting"], told["tokens"]) == ([], [], [])
    ended = {key[:2]: count for key, count in told["events"].items() if key[0].endswith("instance.completed")}
    assert ended == {("workflow.instance.completed", name): count for name, count in COUNTS.items()}


def test_the_canceled_flow_leaves_nothing_open(stores: StoreSet) -> None:
    told, _ = Story(stores).tell(CANCELED)
    assert [(one[0], one[2]) for one in told["instances"]] == [
        ("asking", "Canceled"), ("double", "Completed"), ("double", "Completed"), ("order", "Canceled"),
    ]  # fmt: skip
    (*_, (*_, path)) = told["instances"]
    assert ("pay", "Compensated", 1) in path
    assert (told["owed"], told["waiting"], told["tokens"]) == ([], [], [])


@pytest.mark.parametrize("moment", list(Moment), ids=lambda moment: moment.name.lower())
@pytest.mark.parametrize(
    ("steps", "since", "writes"), [(COMPLETED, 0, 27), (CANCELED, len(CANCELED) - 1, 3)], ids=["completed", "canceled"]
)
def test_struck_in_each_write_in_turn_it_ends_the_same(
    stores: StoreSet, moment: Moment, steps: list[Step], since: int, writes: int
) -> None:
    """The cancel's own writes are the parent's, the claim of what it owes, and the child's."""
    story = Story(stores)
    expected, _ = story.tell(steps)
    number, struck = 0, True
    while struck:
        number += 1
        told, struck = story.tell(steps, moment, number, since)
        assert told == expected, f"write {number}"
    assert number - 1 >= writes


@pytest.mark.parametrize("steps", [COMPLETED, CANCELED], ids=["completed", "canceled"])
def test_by_processes_that_live_for_a_few_writes_only_it_ends_the_same(stores: StoreSet, steps: list[Step]) -> None:
    story = Story(stores)
    expected, _ = story.tell(steps)
    assert story.tell_of_short_lives(steps, LIVES) == expected
