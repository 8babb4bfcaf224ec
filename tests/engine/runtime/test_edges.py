"""Which edges a completed node takes (spec 3.6)."""

from __future__ import annotations

import pytest

from tests.engine.harness import Run, Scripted, World
from tests.support.flows import START, edge, flow, node
from webapp.engine.activities.api import Complete
from webapp.engine.descriptors import OutgoingMode
from webapp.engine.errors import UNEXPECTED, VALIDATION_EXPRESSION
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject

LEAVES = [node(name, "Log", {"Message": name}) for name in ("a", "b", "c")]


def run(
    *edges: JsonObject,
    mode: OutgoingMode = OutgoingMode.MATCHED,
    label: str | None = None,
    variables: JsonObject | None = None,
) -> Run:
    fork = Scripted(Complete(label=label), Complete(label=label), type_name="Fork", mode=mode)
    nodes = [START, node("fork", "Fork"), *LEAVES]
    return World(activities=[fork]).start(flow("edges", nodes, [edge("start", "fork"), *edges]), variables)


def taken(instance: Run) -> list[str]:
    return instance.path[2:]


def to(target: str, condition: str | None = None, **more: object) -> JsonObject:
    return edge("fork", target, condition, **more)


def test_matched_takes_every_edge_that_holds() -> None:
    assert taken(run(to("a", "true"), to("b", "false"), to("c"))) == ["a", "c"]


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_condition_always_holds(blank: str) -> None:
    assert taken(run(to("a", blank))) == ["a"]


def test_matched_takes_the_default_edges_only_when_nothing_else_holds() -> None:
    assert taken(run(to("a", "true"), to("b", is_default=True))) == ["a"]
    assert taken(run(to("a", "false"), to("b", is_default=True), to("c", is_default=True))) == ["b", "c"]


def test_matched_with_an_unconditional_edge_does_not_take_the_default() -> None:
    assert taken(run(to("a"), to("b", is_default=True))) == ["a"]


def test_the_condition_of_a_default_edge_is_ignored() -> None:
    assert taken(run(to("a", "false"), to("b", "1 / 0 == 1", is_default=True))) == ["b"]


def test_edges_are_taken_by_priority_and_then_as_defined() -> None:
    assert taken(run(to("a", priority=2), to("b", priority=1), to("c", priority=1))) == ["b", "c", "a"]


def test_exclusive_takes_the_first_that_holds() -> None:
    exclusive = OutgoingMode.EXCLUSIVE
    assert taken(run(to("a", "false"), to("b", "true"), to("c", "true"), mode=exclusive)) == ["b"]
    assert taken(run(to("a", "true", priority=9), to("b", "true"), mode=exclusive)) == ["b"]
    assert taken(run(to("a", is_default=True), to("b", "false"), mode=exclusive)) == ["a"]
    assert taken(run(to("a", is_default=True), to("b", is_default=True), mode=exclusive)) == ["a"]


def test_exclusive_stops_before_a_later_broken_condition() -> None:
    assert taken(run(to("a", "true"), to("b", "unknown > 1"), mode=OutgoingMode.EXCLUSIVE)) == ["a"]


def test_all_ignores_conditions_and_defaults() -> None:
    edges = (to("a", "false"), to("b", "1 / 0 == 1"), to("c", is_default=True))
    assert taken(run(*edges, mode=OutgoingMode.ALL)) == ["a", "b", "c"]


def test_none_takes_nothing() -> None:
    instance = run(to("a"), mode=OutgoingMode.NONE)
    assert taken(instance) == []
    assert instance.instance.status is InstanceStatus.COMPLETED


@pytest.mark.parametrize("mode", [OutgoingMode.MATCHED, OutgoingMode.EXCLUSIVE])
def test_no_match_and_no_default_faults_the_instance_and_leaves_the_node_completed(mode: OutgoingMode) -> None:
    instance = run(to("a", "false"), mode=mode)
    fault = instance.instance.fault
    assert instance.instance.status is InstanceStatus.FAULTED
    assert fault is not None
    assert (fault.code, fault.key, fault.args) == (
        UNEXPECTED,
        "workflow.edge.no_match",
        {"nodeId": "fork", "node": "fork"},
    )
    assert instance.instance.fault_node_id == "fork"
    assert instance.instance.fault_node_instance_id == instance.node("fork").id
    assert instance.node("fork").status is NodeStatus.COMPLETED
    assert instance.topics[-1] == "instance.faulted"


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("missing > 1", "workflow.expression.unknown_name"),
        ("1 + 1", "workflow.expression.type.condition"),
        ("given", "workflow.expression.type.condition"),
        ("1 / 0 == 1", "workflow.expression.range.zero"),
        ("1 >", "workflow.expression.syntax.end"),
    ],
)
def test_a_condition_that_fails_faults_the_instance_at_its_node(condition: str, reason: str) -> None:
    instance = run(to("a", condition), to("b", is_default=True), variables={"given": None})
    fault = instance.instance.fault
    assert fault is not None
    assert fault.inner is not None
    assert (fault.code, fault.key) == (VALIDATION_EXPRESSION, "workflow.edge.condition_failed")
    assert fault.args == {"nodeId": "fork", "node": "fork", "transitionId": "fork-a"}
    assert fault.inner.key == reason
    assert instance.instance.fault_node_instance_id == instance.node("fork").id
    assert taken(instance) == []


def test_no_edge_is_taken_when_one_of_them_fails() -> None:
    assert taken(run(to("a", "true"), to("b", "missing"))) == []


def test_a_retry_after_a_failed_choice_runs_the_whole_node_again() -> None:
    instance = run(to("a", "false")).retry()
    assert instance.node("fork").try_count == 2
    assert instance.path == ["start", "fork"]
    assert instance.instance.status is InstanceStatus.FAULTED


def test_a_label_is_written_to_the_variable_and_seen_by_the_edges() -> None:
    instance = run(to("a", "outcome == 'go'"), to("b", "outcome == 'stop'"), label="go")
    assert taken(instance) == ["a"]
    assert instance.instance.variables["outcome"] == "go"
    assert instance.node("fork").outputs == {"outcome": "go"}


def test_without_a_label_the_edges_see_the_outcome_that_was_there_before() -> None:
    labels = Scripted(Complete(label="yes"), type_name="Label")
    nodes = [START, node("label", "Label"), node("log", "Log"), node("choose", "Decision"), *LEAVES]
    edges = [
        edge("start", "label"),
        edge("label", "log"),
        edge("log", "choose"),
        edge("choose", "a", "outcome == 'yes'"),
        edge("choose", "b", is_default=True),
    ]
    instance = World(activities=[labels]).start(flow("kept", nodes, edges))
    assert instance.path[-1] == "a"
    assert instance.instance.variables == {"outcome": "yes"}


def test_an_outcome_that_was_never_set_is_null_not_unknown() -> None:
    assert taken(run(to("a", "outcome == 'x'"), to("b", "outcome == null"))) == ["b"]


def test_an_outcome_never_set_is_no_variable() -> None:
    assert run(to("a")).instance.variables == {}


def test_a_variable_named_outcome_is_overwritten_by_a_label() -> None:
    instance = run(to("a", "outcome == 'new'"), label="new", variables={"outcome": "old"})
    assert taken(instance) == ["a"]
    assert instance.instance.variables["outcome"] == "new"


def test_each_parallel_branch_sees_its_own_label_at_its_own_edges() -> None:
    one, two = (Scripted(Complete(label=name), type_name=name.title()) for name in ("one", "two"))
    nodes = [START, node("x", "One"), node("y", "Two"), *LEAVES]
    edges = [
        edge("start", "x"),
        edge("start", "y"),
        edge("x", "a", "outcome == 'one'"),
        edge("y", "b", "outcome == 'two'"),
    ]
    instance = World(activities=[one, two]).start(flow("own", nodes, edges))
    assert instance.path == ["start", "x", "y", "a", "b"]
    assert instance.instance.variables["outcome"] == "two"


def test_a_node_with_several_incoming_edges_runs_once_for_each_token() -> None:
    edges = [edge("start", "a"), edge("start", "b"), edge("a", "c"), edge("b", "c")]
    assert World().start(flow("merge", [START, *LEAVES], edges)).path == ["start", "a", "b", "c", "c"]


def test_a_label_that_is_too_long_is_a_fault_of_the_node() -> None:
    instance = run(to("a"), label="x" * 129)
    assert instance.node("fork").fault is not None
    assert instance.node("fork").fault.key == "workflow.outcome.too_long"
    assert instance.node("fork").fault.args == {"max": 128}
    assert "outcome" not in instance.instance.variables
