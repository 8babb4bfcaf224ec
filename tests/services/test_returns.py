"""Taking steps back over the stores: what is told, what is stored, who may (spec 3.22, 6.4, D30)."""

from __future__ import annotations

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import CONFLICT_BOOKMARK, Conflict, Denied, NotFound
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus

FORK = flow(
    "fork",
    [
        START,
        node("draft", "UserTask", {"Assignees": ["dora"]}),
        node("split", "Parallel"),
        node("a", "UserTask", {"Assignees": ["anna"]}),
        node("b", "UserTask", {"Assignees": ["bert"]}),
        node("join", "Join"),
        node("last", "UserTask", {"Assignees": ["lars"]}),
        END,
    ],
    [
        edge("start", "draft"), edge("draft", "split"), edge("split", "a"), edge("split", "b"), edge("a", "join"),
        edge("b", "join"), edge("join", "last"), edge("last", "end"),
    ],
)  # fmt: skip


def test_a_return_after_the_join_into_one_branch_ends_the_instance_once(house: Installation) -> None:
    house.publish(FORK)
    instance = house.start("fork")
    house.decide("dora", "approved")
    house.decide("anna", "approved")
    house.decide("bert", "approved")
    task = house.task("lars")
    result = house.services.returns.return_task(actor("lars"), task.id, comment="No sum", to_node_id="a")
    assert (result.task.status, result.task.end_reason) == ("ended", EndReason.RETURNED)
    assert (result.task.outcome, result.task.completed_by, result.task.comment) == ("returned", "lars", "No sum")
    assert house.tasks("lars") == house.tasks("bert") == []
    house.decide("anna", "approved")
    house.decide("lars", "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    path = house.path(instance.id)
    assert (path.count("a"), path.count("b"), path.count("join"), path.count("end")) == (2, 1, 2, 1)
    assert house.publisher.topics().count("workflow.instance.completed") == 1
    (told,) = house.publisher.of("workflow.task.returned")
    assert (told["actorId"], told["toNodeId"], told["comment"]) == ("lars", "a", "No sum")
    entry = house.services.instances.history(ADMIN, instance.id).items[4]
    assert (entry.action, entry.outcome, entry.comment, entry.node_id) == ("return", "returned", "No sum", "last")


def test_a_direct_return_comes_straight_back(house: Installation) -> None:
    house.publish(FORK)
    instance = house.start("fork")
    house.decide("dora", "approved")
    task = house.task("anna")
    house.services.returns.return_task(actor("anna"), task.id, comment="Why?", resubmit="direct")
    assert len(house.tasks("bert")) == 1
    house.decide("dora", "approved")
    assert len(house.tasks("bert")) == 1
    for who in ("anna", "bert", "lars"):
        house.decide(who, "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    assert house.path(instance.id).count("b") == 1


def test_only_its_assignee_returns_a_task_and_only_while_it_is_open(house: Installation) -> None:
    house.publish(FORK)
    house.start("fork")
    house.decide("dora", "approved")
    task = house.task("anna")
    for somebody in (actor("bert"), ADMIN):
        with pytest.raises(Denied):
            house.services.returns.return_task(somebody, task.id, comment="x")
    house.decide("anna", "approved")
    with pytest.raises(Conflict) as refused:
        house.services.returns.return_task(actor("anna"), task.id, comment="x")
    assert refused.value.code == CONFLICT_BOOKMARK
    assert refused.value.details["completedBy"] == "anna"


def test_children_of_what_is_taken_back_are_canceled(house: Installation) -> None:
    house.publish(flow("child", [START, node("work", "UserTask", {"Assignees": ["chris"]}), END]))
    house.publish(
        flow(
            "parent",
            [
                START,
                node("draft", "UserTask", {"Assignees": ["dora"]}),
                node("split", "Parallel"),
                node("sub", "SubWorkflow", {"DefinitionName": "child"}),
                node("b", "UserTask", {"Assignees": ["bert"]}),
            ],
            [edge("start", "draft"), edge("draft", "split"), edge("split", "sub"), edge("split", "b")],
        )
    )
    house.start("parent")
    house.decide("dora", "approved")
    (child,) = house.tasks("chris")
    house.services.returns.return_task(actor("bert"), house.task("bert").id, comment="Again")
    assert house.instance(child.instance_id).status is InstanceStatus.CANCELED
    house.decide("dora", "approved")
    (again,) = house.tasks("chris")
    assert again.instance_id != child.instance_id


TWO = flow(
    "two",
    [
        START,
        node("first", "UserTask", {"Assignees": ["anna"]}),
        node("second", "UserTask", {"Assignees": ["bert"]}),
        END,
    ],
)


def test_an_own_decision_is_taken_back(house: Installation) -> None:
    house.publish(TWO)
    instance = house.start("two")
    task = house.task("anna")
    house.decide("anna", "approved")
    for somebody in (actor("bert"), ADMIN):
        with pytest.raises(Denied):
            house.services.returns.recall(somebody, task.id)
    result = house.services.returns.recall(actor("anna"), task.id)
    assert (result.task.id, result.task.status, result.instance_status) == (task.id, "open", InstanceStatus.RUNNING)
    assert house.tasks("bert") == []
    with pytest.raises(Conflict):
        house.services.returns.recall(actor("anna"), task.id)
    house.decide("anna", "approved")
    house.decide("bert", "approved")
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
    with pytest.raises(Conflict):
        house.services.returns.recall(actor("bert"), house.publisher.of("workflow.task.completed")[-1]["taskId"])
    with pytest.raises(NotFound):
        house.services.returns.recall(actor("anna"), "nothing")


def test_a_starter_withdraws(house: Installation) -> None:
    house.publish(TWO)
    instance = house.start("two", by=actor("sam"))
    with pytest.raises(Denied):
        house.services.returns.withdraw(ADMIN, instance.id)
    ended = house.services.returns.withdraw(actor("sam"), instance.id, "Not needed")
    assert (ended.status, ended.cancellation_reason) == (InstanceStatus.CANCELED, "Not needed")
    assert house.tasks("anna") == []
