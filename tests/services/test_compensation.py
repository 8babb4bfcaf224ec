"""Compensation over stored history (spec 3.14, 3.22): crashes, lost races, children, on each set of stores."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.services.stores_that_fail import FailingStores, busy, gone
from tests.support.engine import ADMIN, Installation, TestCompensable, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.http_client import FakeHttp, json_response
from tests.support.stores import StoreSet
from webapp.engine.builtin.http import HttpActivity
from webapp.engine.errors import Conflict, Unavailable
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.migration import Migration

ASK = node("ask", "UserTask", {"Assignees": ["u1"]})


def payment() -> JsonObject:
    """A payment that a call takes back, then a task."""
    pay = node("pay", "Http", {"Url": "https://bank.example/pay", "ResultVariable": "paid"}, compensate_with="refund")
    refund = node("refund", "Http", {"Url": "https://bank.example/back/{{ compensated.paid.id }}", "Method": "POST"})
    edges = [edge("start", "pay"), edge("pay", "ask"), edge("ask", "end")]
    return flow("payment", [START, pay, refund, ASK, END], edges, compensate_on_cancel=True, compensate_on_fault=True)


def test_a_payment_is_taken_back_once(stores: StoreSet) -> None:
    client = FakeHttp(json_response('{"id": 7}'))
    house = install(stores, activities=[HttpActivity(client)])
    house.publish(payment())
    instance = house.start("payment")

    house.services.instances.cancel(ADMIN, instance.id, "changed my mind")
    house.services.instances.cancel(ADMIN, instance.id, "again")

    assert [request.url for request in client.requests] == ["https://bank.example/pay", "https://bank.example/back/7"]
    pay = next(one for one in house.nodes(instance.id) if one.node_id == "pay")
    assert (pay.status, pay.compensated_at) == (NodeStatus.COMPENSATED, stores.clock.now())
    entry = house.services.instances.history(ADMIN, instance.id).items[-1]
    assert entry.after is not None
    assert entry.after["compensatedNodeInstanceIds"] == [pay.id]


def test_a_cancel_that_was_lost_asks_again_under_the_same_key(stores: StoreSet) -> None:
    client = FakeHttp(json_response('{"id": 7}'))
    broken = FailingStores(stores.stores)
    house = install(replace(stores, stores=broken), activities=[HttpActivity(client)])
    house.publish(payment())
    instance = house.start("payment")

    broken.before = [gone()]
    with pytest.raises(Unavailable):
        house.services.instances.cancel(ADMIN, instance.id)
    assert house.instance(instance.id).status is InstanceStatus.RUNNING
    house.services.instances.cancel(ADMIN, instance.id)

    _, first, second = client.requests
    assert (first.url, second.url) == ("https://bank.example/back/7",) * 2
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert client.requests[0].headers["Idempotency-Key"] != first.headers["Idempotency-Key"]
    statuses = [(one.node_id, one.status) for one in house.nodes(instance.id)]
    assert statuses.count(("refund", NodeStatus.COMPLETED)) == 1


@pytest.mark.parametrize("lose", ["before", "after"])
def test_a_busy_database_repeats_the_write_and_not_the_call(stores: StoreSet, lose: str) -> None:
    client = FakeHttp(json_response('{"id": 7}'))
    broken = FailingStores(stores.stores)
    house = install(replace(stores, stores=broken), activities=[HttpActivity(client)])
    house.publish(payment())
    instance = house.start("payment")
    setattr(broken, lose, [busy()])

    house.services.instances.cancel(ADMIN, instance.id)

    assert [request.method for request in client.requests] == ["GET", "POST"]
    assert house.instance(instance.id).status is InstanceStatus.CANCELED


def test_a_fault_in_a_later_wave_knows_what_was_done_before(stores: StoreSet) -> None:
    recorder = TestCompensable()
    house = install(stores, activities=[recorder])
    nodes = [START, node("one", "TestCompensable"), ASK, node("two", "TestCompensable"), node("boom", "Fault"), END]
    house.publish(flow("later", nodes, compensate_on_fault=True))
    house.start("later")
    assert house.decide("u1", "approved").status is InstanceStatus.FAULTED
    assert recorder.undone == ["two", "one"]


def test_a_retry_after_a_compensated_fault_needs_force(stores: StoreSet) -> None:
    recorder = TestCompensable()
    house = install(stores, activities=[recorder])
    flaky = node("flaky", "TestFlaky", {"SucceedOnAttempt": 2})
    house.publish(flow("forced", [START, node("one", "TestCompensable"), flaky, END], compensate_on_fault=True))
    instance = house.start("forced")
    with pytest.raises(Conflict) as refused:
        house.services.instances.retry(ADMIN, instance.id)
    assert refused.value.code == "WORKFLOW_CONFLICT_001"

    retried = house.services.instances.retry(ADMIN, instance.id, force=True)

    assert (retried.status, recorder.undone) == (InstanceStatus.COMPLETED, ["one"])


def test_parent_and_child_each_undo_their_own(stores: StoreSet) -> None:
    recorder = TestCompensable()
    house: Installation = install(stores, activities=[recorder])
    child = [START, node("inner", "TestCompensable"), node("wait", "UserTask", {"Assignees": ["u2"]}), END]
    house.publish(flow("child", child, compensate_on_cancel=True))
    sub = node("sub", "SubWorkflow", {"DefinitionName": "child"})
    house.publish(flow("parent", [START, node("outer", "TestCompensable"), sub, END], compensate_on_cancel=True))
    parent = house.start("parent")
    assert len(house.tasks("u2")) == 1

    house.services.instances.cancel(ADMIN, parent.id)

    assert recorder.undone == ["outer", "inner"]
    statuses = {one.definition_name: one.status for one in house.services.instances.query(ADMIN).items}
    assert statuses == {"parent": InstanceStatus.CANCELED, "child": InstanceStatus.CANCELED}


def test_a_child_that_was_done_is_undone_by_a_child(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(flow("book", [START, END]))
    unbook = node("told", "UserTask", {"Assignees": ["u9"], "Title": "Free the room"})
    house.publish(flow("unbook", [START, unbook, END]))
    book = node("book", "SubWorkflow", {"DefinitionName": "book", "ResultVariable": "room"}, compensate_with="free")
    free = node("free", "SubWorkflow", {"DefinitionName": "unbook", "WaitForCompletion": False})
    edges = [edge("start", "book"), edge("book", "ask"), edge("ask", "end")]
    house.publish(flow("trip", [START, book, free, ASK, END], edges, compensate_on_cancel=True))
    trip = house.start("trip")

    house.services.instances.cancel(ADMIN, trip.id)

    assert house.task("u9").title == "Free the room"
    assert house.instance(trip.id).status is InstanceStatus.CANCELED
    assert house.decide("u9", "approved").status is InstanceStatus.COMPLETED


def test_closing_what_has_failed_leaves_the_child_alone_that_undoes_it(stores: StoreSet) -> None:
    house = install(stores)
    house.publish(flow("book", [START, END]))
    told = node("told", "UserTask", {"Assignees": ["u9"], "Title": "Free the room"})
    house.publish(flow("unbook", [START, told, END]))
    house.publish(flow("waits", [START, node("ask", "UserTask", {"Assignees": ["u3"]}), END]))
    nodes = [
        START,
        node("aside", "SubWorkflow", {"DefinitionName": "waits", "WaitForCompletion": False}),
        node("book", "SubWorkflow", {"DefinitionName": "book"}, compensate_with="free"),
        node("free", "SubWorkflow", {"DefinitionName": "unbook", "WaitForCompletion": False}),
        node("fail", "Fault", {"Message": "no"}),
    ]
    edges = [edge("start", "aside"), edge("aside", "book"), edge("book", "fail")]
    house.publish(flow("trip", nodes, edges, compensate_on_fault=True))
    trip = house.start("trip")
    assert trip.status is InstanceStatus.FAULTED
    assert (len(house.tasks("u9")), len(house.tasks("u3"))) == (1, 1)

    assert house.services.instances.cancel(ADMIN, trip.id).status is InstanceStatus.CANCELED

    assert (len(house.tasks("u9")), len(house.tasks("u3"))) == (1, 0)
    assert house.decide("u9", "approved").status is InstanceStatus.COMPLETED


@pytest.mark.parametrize("by_batch", [False, True])
def test_what_was_done_before_a_migration_renamed_it_is_undone(stores: StoreSet, by_batch: bool) -> None:
    def trip(book: str) -> JsonObject:
        done = node(book, "Log", {"Message": "x"}, compensate_with="free")
        free = node("free", "SetVariable", {"Expressions": {"freed": "true"}})
        edges = [edge("start", book), edge(book, "ask"), edge("ask", "end")]
        return flow("trip", [START, done, ASK, END, free], edges, compensate_on_cancel=True)

    house = install(stores)
    house.publish(trip("book"))
    instance = house.start("trip")
    house.publish(trip("reserve"))
    if by_batch:
        parameters = {"version": 2, "nodeMapping": {"book": "reserve"}}
        house.services.batches.create(ADMIN, "migrate", instance_ids=[instance.id], parameters=parameters)
        house.services.batches.run_due()
    else:
        house.services.operations.migrate(ADMIN, instance.id, 2, Migration(node_mapping={"book": "reserve"}))
    assert house.path(instance.id) == ["start", "reserve", "ask"]
    assert house.services.instances.cancel(ADMIN, instance.id).variables["freed"] is True


def test_what_was_done_last_is_undone_first_although_the_clock_was_put_back(stores: StoreSet) -> None:
    recorder = TestCompensable()
    house = install(stores, activities=[recorder])
    steps = [node("step1", "TestCompensable"), node("ask1", "UserTask", {"Assignees": ["u1"]})]
    steps += [node("step2", "TestCompensable"), node("ask2", "UserTask", {"Assignees": ["u1"]})]
    house.publish(flow("undone", [START, *steps, END], compensate_on_cancel=True))
    instance = house.start("undone")
    stores.clock.advance(-3600)
    house.services.inbox.complete(actor("u1"), house.task("u1").id, "approved")

    house.services.instances.cancel(ADMIN, instance.id, "no more")

    assert recorder.undone == ["step2", "step1"]
