"""ForEach through the services: a work list, results in item order, the first failure (spec 3.15, 4.14)."""

from __future__ import annotations

import pytest

from tests.services.subflows import ASKING, DOUBLE, cancel, child_of, children_of, parent, rows
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject

PICKY = flow(
    "picky",
    [START, node("choose", "Decision"), node("bad", "Fault", {"Message": "{{item}} is bad"}), END],
    [
        edge("start", "choose"),
        edge("choose", "bad", "item == 'bad'"),
        edge("choose", "end", is_default=True),
        edge("bad", "end"),
    ],
)


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    made = install(stores)
    for document in (DOUBLE, ASKING, PICKY):
        made.publish(document)
    return made


def for_each(house: Installation, variables: JsonObject, **properties: object) -> str:
    """Publish a parent and start it."""
    house.publish(parent("ForEach", **properties))
    return house.start("parent", variables).id


def poll(house: Installation, rounds: int = 5) -> None:
    """Let the poller run what a call's bound left over."""
    for _ in range(rounds):
        house.services.housekeeping.poll_once()


@pytest.mark.parametrize("parallel", [False, True])
def test_results_come_in_the_order_of_the_items(house: Installation, parallel: bool) -> None:
    found = for_each(
        house,
        {"numbers": [3, 1, 2]},
        DefinitionName="double",
        ItemsExpression="numbers",
        Parallel=parallel,
        ResultVariable="results",
    )
    instance = house.instance(found)
    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables == {
        "numbers": [3, 1, 2],
        "results": [
            {"item": 3, "index": 0, "doubled": 6},
            {"item": 1, "index": 1, "doubled": 2},
            {"item": 2, "index": 2, "doubled": 4},
        ],
    }
    assert rows(house) == []


def test_parallel_children_end_in_any_order_and_the_results_do_not(house: Installation) -> None:
    found = for_each(
        house,
        {"names": ["a", "b", "c"]},
        DefinitionName="asking",
        ItemsExpression="names",
        Parallel=True,
        ResultVariable="results",
    )
    tasks = {one.title: one.id for one in house.tasks("u1")}
    for name in ("c", "a", "b"):
        assert house.instance(found).status is InstanceStatus.RUNNING
        house.services.inbox.complete(actor("u1"), tasks[f"About {name}"], f"said {name}")
    results = house.instance(found).variables["results"]
    assert [(one["item"], one["index"], one["outcome"]) for one in results] == [
        ("a", 0, "said a"),
        ("b", 1, "said b"),
        ("c", 2, "said c"),
    ]


def test_sequential_children_are_started_one_after_the_other(house: Installation) -> None:
    found = for_each(house, {"names": ["a", "b"]}, DefinitionName="asking", ItemsExpression="names")
    assert [one.title for one in house.tasks("u1")] == ["About a"]
    house.decide("u1", "approved")
    assert [one.title for one in house.tasks("u1")] == ["About b"]
    assert len(children_of(house, found)) == 2
    house.decide("u1", "approved")
    assert house.instance(found).status is InstanceStatus.COMPLETED


def test_144_items_one_after_the_other_do_not_recur(house: Installation) -> None:
    """Ends and starts are 288 follow-ups: over the bound of one call, so the poller runs the rest."""
    found = for_each(
        house,
        {"numbers": list(range(144))},
        DefinitionName="double",
        ItemsExpression="numbers",
        ResultVariable="results",
    )
    poll(house)
    instance = house.instance(found)
    assert instance.status is InstanceStatus.COMPLETED
    assert [one["doubled"] for one in instance.variables["results"]] == [2 * number for number in range(144)]
    assert len(children_of(house, found)) == 144


@pytest.mark.parametrize("items", [{}, {"names": None}, {"names": []}])
def test_no_items_complete_at_once_with_an_empty_list(house: Installation, items: JsonObject) -> None:
    expression = {"ItemsExpression": "names"} if items else {}
    found = for_each(house, items, DefinitionName="double", ResultVariable="results", **expression)
    assert house.instance(found).variables["results"] == []
    assert house.instance(found).has_children is False


def test_what_is_no_list_is_a_fault(house: Installation) -> None:
    fault = house.instance(for_each(house, {"names": "a"}, DefinitionName="double", ItemsExpression="names")).fault
    assert fault is not None
    assert fault.key == "workflow.foreach.not_list"


def test_a_blank_definition_is_a_fault_even_without_items(house: Installation) -> None:
    fault = house.instance(
        for_each(house, {"name": "", "none": []}, DefinitionName="{{name}}", ItemsExpression="none")
    ).fault
    assert fault is not None
    assert (fault.key, fault.args) == ("workflow.property.missing", {"name": "DefinitionName"})


def test_values_win_over_the_item_and_expressions_see_it(house: Installation) -> None:
    found = for_each(
        house,
        {"numbers": [5], "tax": 2},
        DefinitionName="double",
        ItemsExpression="numbers",
        ItemVariableName="number",
        Variables={"index": "mine", "item": 1},
        VariableExpressions={"item": "number * tax + index"},
        ResultVariable="results",
    )
    assert house.instance(found).variables["results"] == [{"number": 5, "index": "mine", "item": 10, "doubled": 20}]


def test_the_first_failure_faults_the_node_and_cancels_the_others(house: Installation) -> None:
    found = for_each(house, {"names": ["a", "b", "c"]}, DefinitionName="asking", ItemsExpression="names", Parallel=True)
    first, second, third = children_of(house, found)
    cancel(house, second.id)
    fault = house.instance(found).fault
    assert fault is not None
    assert (fault.key, fault.args["childInstanceId"]) == ("workflow.child.canceled", second.id)
    assert house.instance(first.id).status is InstanceStatus.CANCELED
    assert house.instance(third.id).status is InstanceStatus.CANCELED
    assert house.tasks("u1") == []


def test_without_fail_fast_all_items_run_and_the_failed_are_among_the_results(house: Installation) -> None:
    for parallel in (True, False):
        found = for_each(
            house,
            {"names": ["a", "bad", "c"]},
            DefinitionName="picky",
            ItemsExpression="names",
            Parallel=parallel,
            FailFast=False,
            ResultVariable="results",
        )
        instance = house.instance(found)
        assert instance.status is InstanceStatus.COMPLETED
        assert [one["item"] for one in instance.variables["results"]] == ["a", "bad", "c"]
        statuses = [one.status.value for one in children_of(house, found)]
        assert statuses == ["Completed", "Faulted", "Completed"]


def test_a_child_mended_while_others_run_counts_once_and_with_its_better_result(house: Installation) -> None:
    mended = flow(
        "mended",
        [START, node("try", "TestFlaky", {"SucceedOnAttempt": 2}), node("ask", "UserTask", {"Assignees": ["u1"]}), END],
    )
    house.publish(mended)
    found = for_each(
        house,
        {"names": ["a", "b"]},
        DefinitionName="mended",
        ItemsExpression="names",
        Parallel=True,
        FailFast=False,
        ResultVariable="results",
    )
    # Both failed before either could wait: the node is done with two failed results.
    assert house.instance(found).status is InstanceStatus.COMPLETED
    assert [one.get("flakyDone") for one in house.instance(found).variables["results"]] == [None, None]
    first, _ = children_of(house, found)
    # A later retry of a child has nobody to tell.
    house.services.instances.retry(ADMIN, first.id)
    house.decide("u1", "approved")
    assert house.instance(first.id).status is InstanceStatus.COMPLETED
    assert rows(house) == []


def test_a_second_end_of_one_child_is_not_counted_twice(house: Installation) -> None:
    tried = flow(
        "tried",
        [
            START,
            node("which", "Decision"),
            node("try", "TestFlaky", {"SucceedOnAttempt": 2}),
            node("ask", "UserTask", {"Assignees": ["u1"]}),
            END,
        ],
        [
            edge("start", "which"),
            edge("which", "try", "index == 0"),
            edge("which", "ask", is_default=True),
            edge("try", "end"),
            edge("ask", "end"),
        ],
    )
    house.publish(tried)
    found = for_each(
        house,
        {"names": ["a", "b"]},
        DefinitionName="tried",
        ItemsExpression="names",
        Parallel=True,
        FailFast=False,
        ResultVariable="results",
    )
    first, _ = children_of(house, found)
    assert house.instance(first.id).status is InstanceStatus.FAULTED
    house.services.instances.retry(ADMIN, first.id)
    assert house.instance(first.id).status is InstanceStatus.COMPLETED
    assert house.instance(found).status is InstanceStatus.RUNNING
    house.decide("u1", "approved")
    results = house.instance(found).variables["results"]
    assert [one.get("flakyDone") for one in results] == [True, None]


@pytest.mark.parametrize("activity", ["SubWorkflow", "ForEach"])
def test_a_time_that_is_over_faults_the_node_and_cancels_its_children(house: Installation, activity: str) -> None:
    properties = {"DefinitionName": "asking"}
    if activity == "ForEach":
        properties |= {"ItemsExpression": "numbers"}
    else:
        properties |= {"VariableExpressions": {"item": "1"}}  # type: ignore[dict-item]  # one bag of properties
    house.publish(flow("parent", [START, node("sub", activity, dict(properties), timeout_seconds=60), END]))
    found = house.start("parent", {"numbers": [1]}).id
    house.elapse(61)
    fault = house.instance(found).fault
    assert fault is not None
    assert fault.key == "workflow.node.timed_out"
    assert child_of(house, found).status is InstanceStatus.CANCELED
    assert house.tasks("u1") == []
