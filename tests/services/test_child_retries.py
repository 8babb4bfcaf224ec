"""Retries between parents and children: nothing is done twice, nobody waits for ever (spec 3.22)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.services.subflows import ASKING, cancel, child_of, children_of, parent, rows
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.services.calendars import WorkCalendar, WorkHours


class Pay:
    """Pays, and notes whom."""

    descriptor = ActivityDescriptor(type="Pay", category=Category.CUSTOM, icon="x", custom=True)

    def __init__(self) -> None:
        self.paid: list[object] = []

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Pay."""
        self.paid.append(context.variables.get("item"))
        return Complete()


class Doomed:
    """Fails until it is mended."""

    descriptor = ActivityDescriptor(type="Doomed", category=Category.CUSTOM, icon="x", custom=True)

    def __init__(self) -> None:
        self.mended = False
        self.only: object = None

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Fail, or complete."""
        if not self.mended and self.only in (None, context.variables.get("item")):
            raise RuntimeError("the ledger is closed")
        return Complete()


PAYING = flow("paying", [START, node("pay", "Pay"), node("book", "Doomed"), END])


class World:
    """An installation with a ledger that may be closed."""

    def __init__(self, stores: StoreSet) -> None:
        self.pay, self.doomed = Pay(), Doomed()
        self.house = install(stores, activities=[self.pay, self.doomed])
        self.house.publish(PAYING)
        self.house.publish(ASKING)

    def status(self, instance_id: str) -> str:
        """Return the instance's status."""
        return self.house.instance(instance_id).status.value

    def retry(self, instance_id: str, **more: bool) -> None:
        """Retry as an operator."""
        self.house.services.instances.retry(ADMIN, instance_id, **more)


@pytest.fixture
def world(stores: StoreSet) -> World:
    return World(stores)


@pytest.fixture
def house(world: World) -> Installation:
    return world.house


def test_a_payment_is_not_made_twice_by_retrying_the_parent(world: World, house: Installation) -> None:
    house.publish(parent(DefinitionName="paying", VariableExpressions={"item": "'a'"}))
    started = house.start("parent").id
    child = child_of(house, started)
    assert (world.status(started), child.status.value) == ("Faulted", "Faulted")
    world.retry(started)
    # The ledger is closed still: the child failed again, and so did the parent.
    assert (world.status(started), world.pay.paid) == ("Faulted", ["a"])
    world.doomed.mended = True
    world.retry(started)
    assert (world.status(started), world.status(child.id)) == ("Completed", "Completed")
    assert world.pay.paid == ["a"]
    assert [one.id for one in children_of(house, started)] == [child.id]
    assert house.path(started) == ["start", "sub", "end"]
    assert rows(house) == []


def test_a_retry_reaches_the_deepest_faulted_child(world: World, house: Installation) -> None:
    house.publish(parent(name="middle", DefinitionName="paying"))
    house.publish(parent(name="upper", DefinitionName="middle"))
    house.publish(parent(DefinitionName="upper"))
    started = house.start("parent").id
    fault, keys = house.instance(started).fault, []
    while fault is not None:
        keys.append(fault.key)
        fault = fault.inner
    assert keys == ["workflow.child.faulted"] * 3 + ["workflow.activity.exception"]
    world.doomed.mended = True
    world.retry(started)
    assert world.status(started) == "Completed"
    assert world.pay.paid == [None]


def test_retrying_the_deepest_child_takes_every_parent_along(world: World, house: Installation) -> None:
    house.publish(parent(name="middle", DefinitionName="paying"))
    house.publish(parent(DefinitionName="middle"))
    started = house.start("parent").id
    leaf = child_of(house, child_of(house, started).id)
    world.doomed.mended = True
    world.retry(leaf.id)
    assert world.status(started) == "Completed"
    assert world.pay.paid == [None]
    assert rows(house) == []


def test_a_reattached_parent_waits_with_its_bookmark_and_a_new_deadline(world: World, house: Installation) -> None:
    slow = flow("slow", [START, node("book", "Doomed"), node("ask", "UserTask", {"Assignees": ["u1"]}), END])
    house.publish(slow)
    sub = node("sub", "SubWorkflow", {"DefinitionName": "slow"}, timeout_seconds=100)
    house.publish(flow("parent", [START, sub, END]))
    started = house.start("parent").id
    house.store_set.clock.advance(1_000)
    world.doomed.mended = True
    world.retry(child_of(house, started).id)
    node_instance = house.nodes(started)[1]
    assert (world.status(started), node_instance.status) == ("Running", NodeStatus.SUSPENDED)
    assert node_instance.try_count == 1
    kinds = {one.kind: one for one in house.bookmarks(started)}
    assert set(kinds) == {BookmarkKind.SUB_WORKFLOW, BookmarkKind.NODE_TIMEOUT}
    due = kinds[BookmarkKind.NODE_TIMEOUT].due_at
    assert due is not None
    assert (due - house.store_set.clock.now()).total_seconds() == 100
    house.decide("u1", "approved")
    assert world.status(started) == "Completed"


def test_restart_starts_a_new_child(world: World, house: Installation) -> None:
    house.publish(parent(DefinitionName="paying", VariableExpressions={"item": "'a'"}))
    started = house.start("parent").id
    first = child_of(house, started)
    world.doomed.mended = True
    world.retry(started, restart=True)
    assert world.status(started) == "Completed"
    assert world.pay.paid == ["a", "a"]
    assert [one.status.value for one in children_of(house, started)] == ["Faulted", "Completed"]
    assert first.id == children_of(house, started)[0].id


def test_a_stale_child_does_not_feed_the_new_run(world: World, house: Installation) -> None:
    """The child of before the restart is mended later: its end is not that of the child of now (spec 3.15)."""
    later = flow("later", [START, node("book", "Doomed"), node("ask", "UserTask", {"Assignees": ["u1"]}), END])
    house.publish(later)
    house.publish(parent(DefinitionName="later", ResultVariable="r"))
    started = house.start("parent").id
    stale = child_of(house, started)
    world.doomed.mended = True
    world.retry(started, restart=True)
    world.retry(stale.id)
    tasks = {one.instance_id: one.id for one in house.tasks("u1")}
    house.services.inbox.complete(actor("u1"), tasks[stale.id], "stale")
    assert world.status(started) == "Running"
    (other,) = set(tasks) - {stale.id}
    house.services.inbox.complete(actor("u1"), tasks[other], "fresh")
    assert house.instance(started).variables["r"]["outcome"] == "fresh"


def test_an_automatic_retry_starts_a_new_child_and_forgets_the_last(world: World, house: Installation) -> None:
    sub = node(
        "sub",
        "SubWorkflow",
        {"DefinitionName": "paying"},
        retry_policy={"maxAttempts": 2, "firstDelaySeconds": 10},
    )
    house.publish(flow("parent", [START, sub, END]))
    started = house.start("parent").id
    assert world.status(started) == "Running"
    world.doomed.mended = True
    house.elapse(11)
    assert world.status(started) == "Completed"
    assert [one.status.value for one in children_of(house, started)] == ["Faulted", "Completed"]


def test_a_child_that_was_never_started_is_started_by_a_retry(world: World, house: Installation) -> None:
    house.publish(parent(DefinitionName="missing", VariableExpressions={"item": "'a'"}))
    started = house.start("parent").id
    assert world.status(started) == "Faulted"
    house.publish({**PAYING, "name": "missing"})
    world.doomed.mended = True
    world.retry(started)
    assert (world.status(started), world.pay.paid) == ("Completed", ["a"])


def test_a_failed_list_goes_on_where_it_stopped(world: World, house: Installation) -> None:
    world.doomed.only = "b"
    house.publish(parent("ForEach", DefinitionName="paying", ItemsExpression="names", ResultVariable="results"))
    started = house.start("parent", {"names": ["a", "b", "c"]}).id
    assert (world.status(started), world.pay.paid) == ("Faulted", ["a", "b"])
    world.doomed.mended = True
    world.retry(started)
    assert (world.status(started), world.pay.paid) == ("Completed", ["a", "b", "c"])
    results = house.instance(started).variables["results"]
    assert [(one["item"], one["index"]) for one in results] == [("a", 0), ("b", 1), ("c", 2)]


def test_a_failed_parallel_list_keeps_what_is_done_and_starts_the_canceled_anew(
    world: World, house: Installation
) -> None:
    world.doomed.only = "b"
    mixed = flow(
        "mixed",
        [START, node("pay", "Pay"), node("book", "Doomed"), node("ask", "UserTask", {"Assignees": ["u1"]}), END],
    )
    house.publish(mixed)
    house.publish(
        parent(
            "ForEach",
            DefinitionName="mixed",
            ItemsExpression="names",
            Parallel=True,
            ResultVariable="results",
        )
    )
    started = house.start("parent", {"names": ["a", "b", "c"]}).id
    assert world.status(started) == "Faulted"
    world.doomed.mended = True
    world.retry(started)
    assert world.status(started) == "Running"
    for task in house.tasks("u1"):
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert world.status(started) == "Completed"
    assert [one["item"] for one in house.instance(started).variables["results"]] == ["a", "b", "c"]
    # What had failed was retried and not run again from its start.
    assert world.pay.paid.count("b") == 1


def test_a_child_closed_by_hand_is_told_to_the_parent_that_retries(world: World, house: Installation) -> None:
    house.publish(parent(DefinitionName="paying", VariableExpressions={"item": "'a'"}))
    started = house.start("parent").id
    child = child_of(house, started)
    cancel(house, child.id)
    fault = house.instance(started).fault
    assert fault is not None
    # Closing what has failed is no second end.
    assert fault.key == "workflow.child.faulted"
    world.doomed.mended = True
    world.retry(started)
    # Nothing can go on from a canceled child: a new one stands in its place.
    assert (world.status(started), world.pay.paid) == ("Completed", ["a", "a"])


def test_a_retry_of_a_child_nobody_waits_for_changes_no_parent(world: World, house: Installation) -> None:
    house.publish(parent(DefinitionName="paying", WaitForCompletion=False))
    started = house.start("parent").id
    revision = house.instance(started).revision
    world.doomed.mended = True
    world.retry(child_of(house, started).id)
    assert world.status(child_of(house, started).id) == "Completed"
    assert house.instance(started).revision == revision
    assert rows(house) == []


def test_an_end_that_came_while_the_parent_was_faulted_is_not_lost(world: World, house: Installation) -> None:
    split = flow(
        "parent",
        [
            START,
            node("split", "Parallel"),
            node("sub", "SubWorkflow", {"DefinitionName": "asking", "Variables": {"item": 1}}),
            node("book", "Doomed"),
            node("join", "Join"),
            END,
        ],
        [
            {"id": f"e{number}", "sourceNodeId": source, "targetNodeId": target}
            for number, (source, target) in enumerate(
                [
                    ("start", "split"),
                    ("split", "sub"),
                    ("split", "book"),
                    ("sub", "join"),
                    ("book", "join"),
                    ("join", "end"),
                ]
            )
        ],
    )
    house.publish(split)
    started = house.start("parent").id
    assert (world.status(started), len(house.tasks("u1"))) == ("Faulted", 1)
    house.decide("u1", "approved")
    (kept,) = rows(house)
    assert kept.action == "childEnded"
    assert house.instance(started).status is InstanceStatus.FAULTED
    world.doomed.mended = True
    world.retry(started)
    assert world.status(started) == "Completed"
    # The row that was kept finds nothing to do when its time comes.
    house.elapse(400)
    assert rows(house) == []
    assert house.path(started).count("join") == 1


def test_the_new_deadline_of_a_reattached_parent_counts_in_its_calendar(world: World, house: Installation) -> None:
    hours = {"thursday": [WorkHours(start="09:00", end="17:00")], "friday": [WorkHours(start="09:00", end="17:00")]}
    house.services.calendars.create(ADMIN, WorkCalendar(name="office", weekly_hours=hours))
    house.publish(flow("slow", [START, node("book", "Doomed"), node("ask", "UserTask", {"Assignees": ["u1"]}), END]))
    sub = node("sub", "SubWorkflow", {"DefinitionName": "slow"}, timeout_seconds=9 * 3600)
    house.publish(flow("parent", [START, sub, END], workCalendar="office"))
    started = house.start("parent").id
    world.doomed.mended = True
    world.retry(child_of(house, started).id)
    # Thursday 16 July 2026, 08:00Z: eight hours today, one tomorrow.
    (deadline,) = house.bookmarks(started, BookmarkKind.NODE_TIMEOUT)
    assert deadline.due_at == datetime(2026, 7, 17, 10, tzinfo=UTC)
