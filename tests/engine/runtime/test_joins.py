"""Joins: arrivals by transition, firing, dead branches (spec 3.9)."""

from __future__ import annotations

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus, JoinState
from webapp.engine.numbers import JsonObject


def task(name: str) -> JsonObject:
    return node(name, "UserTask", {"Assignees": [name]})


def fork(mode: str | None, *, branches: int = 2, after: list[JsonObject] | None = None) -> Run:
    """Start → Parallel → one task a branch → Join → after."""
    names = [f"u{number}" for number in range(1, branches + 1)]
    join = node("join", "Join", {} if mode is None else {"Mode": mode})
    nodes = [START, node("split", "Parallel"), *(task(name) for name in names), join, node("after", "Log"), END]
    edges = [edge("start", "split"), edge("join", "after"), edge("after", "end")]
    for name in names:
        edges += [edge("split", name), edge(name, "join")]
    return World().start(flow("join", nodes, edges + (after or [])))


@pytest.mark.parametrize("mode", [None, "WaitAll", "All", "waitall", "ALL"])
def test_wait_all_fires_once_when_every_transition_has_arrived(mode: str | None) -> None:
    run = fork(mode).approve("u1")
    assert "join" not in run.path
    assert run.instance.join_states == {"join": JoinState(arrived={"u1-join": [run.node("u1").id]})}
    run.approve("u2")
    assert run.path.count("join") == run.path.count("after") == 1
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.join_states == {}


def test_the_join_names_every_arrival_as_its_cause() -> None:
    run = fork("WaitAll").approve("u2").approve("u1")
    assert run.node("join").caused_by == [run.node("u2").id, run.node("u1").id]
    assert run.node("join").via_transition_ids == ["u2-join", "u1-join"]


@pytest.mark.parametrize("mode", ["WaitAny", "any"])
def test_wait_any_fires_at_the_first_arrival_and_swallows_the_others(mode: str) -> None:
    run = fork(mode, branches=3).approve("u2")
    assert run.path[-3:] == ["join", "after", "end"]
    assert run.node("join").caused_by == [run.node("u2").id]
    assert run.node("join").via_transition_ids == ["u2-join"]
    assert run.instance.join_states["join"].fired
    run.approve("u1")
    assert run.instance.status is InstanceStatus.RUNNING
    run.approve("u3")
    assert run.path.count("join") == 1
    assert run.instance.status is InstanceStatus.COMPLETED


def test_wait_any_opens_a_new_round_when_all_have_arrived() -> None:
    nodes = [START, node("split", "Parallel"), task("u1"), task("u2"), node("join", "Join", {"Mode": "Any"})]
    edges = [
        edge("start", "split"),
        edge("split", "u1"),
        edge("split", "u2"),
        edge("u1", "join"),
        edge("u2", "join"),
        edge("u1", "u1", "outcome == 'again'"),
    ]
    run = World().start(flow("rounds", nodes, edges))
    run.approve("u1", "again").approve("u2")
    assert run.instance.join_states == {}
    run.approve("u1")
    assert run.path.count("join") == 2


def test_a_wait_any_that_fired_without_all_arrivals_does_not_fault_at_the_end() -> None:
    nodes = [
        START,
        node("choose", "Decision"),
        node("a", "Log"),
        node("b", "Log"),
        node("join", "Join", {"Mode": "Any"}),
    ]
    edges = [
        edge("start", "choose"),
        edge("choose", "a", "true"),
        edge("choose", "b", is_default=True),
        edge("a", "join"),
        edge("b", "join"),
    ]
    run = World().start(flow("any", nodes, edges))
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.path == ["start", "choose", "a", "join"]
    assert run.instance.join_states == {}


def test_a_wait_all_fed_by_exclusive_branches_is_a_dead_branch() -> None:
    nodes = [START, node("choose", "Decision"), node("a", "Log"), node("b", "Log"), node("join", "Join")]
    edges = [
        edge("start", "choose"),
        edge("choose", "a", "true"),
        edge("choose", "b", is_default=True),
        edge("a", "join"),
        edge("b", "join"),
    ]
    run = World().start(flow("dead", nodes, edges))
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == ("workflow.join.dead", {"nodeIds": ["join"]})
    assert run.instance.fault_node_id is None
    assert run.instance.fault_node_instance_id is None


def test_a_branch_is_not_dead_while_something_waits() -> None:
    run = fork("WaitAll").approve("u1")
    assert run.instance.status is InstanceStatus.RUNNING


def test_the_same_transition_arriving_twice_counts_once_and_is_named_twice() -> None:
    nodes = [START, node("split", "Parallel"), task("u1"), task("u2"), node("join", "Join"), END]
    edges = [
        edge("start", "split"),
        edge("split", "u1"),
        edge("split", "u2"),
        edge("u1", "join"),
        edge("u1", "u1", "outcome == 'again'"),
        edge("u2", "join"),
        edge("join", "end"),
    ]
    run = World().start(flow("twice", nodes, edges)).approve("u1", "again").approve("u1")
    firsts = [one.id for one in run.nodes.values() if one.node_id == "u1"]
    assert run.instance.join_states["join"].arrived == {"u1-join": firsts}
    run.approve("u2")
    assert run.node("join").caused_by == [*firsts, run.node("u2").id]
    assert run.node("join").via_transition_ids == ["u1-join", "u2-join"]
    assert run.instance.status is InstanceStatus.COMPLETED


def test_two_transitions_from_one_node_are_two_arrivals() -> None:
    nodes = [START, node("join", "Join"), END]
    edges = [edge("start", "join", id="one"), edge("start", "join", id="two"), edge("join", "end")]
    run = World().start(flow("double", nodes, edges))
    assert run.path == ["start", "join", "end"]
    assert run.node("join").caused_by == [run.node("start").id]
    assert run.node("join").via_transition_ids == ["one", "two"]


def test_a_join_inside_a_loop_fires_once_a_round() -> None:
    nodes = [
        START,
        node("count", "SetVariable", {"Expressions": {"n": "n + 1"}}),
        node("split", "Parallel"),
        node("a", "Log"),
        node("b", "Log"),
        node("join", "Join"),
        node("again", "Decision"),
        END,
    ]
    edges = [
        edge("start", "count"),
        edge("count", "split"),
        edge("split", "a"),
        edge("split", "b"),
        edge("a", "join"),
        edge("b", "join"),
        edge("join", "again"),
        edge("again", "count", "n < 3"),
        edge("again", "end", is_default=True),
    ]
    run = World().start(flow("loop", nodes, edges), {"n": 0})
    assert run.path.count("join") == 3
    assert run.instance.status is InstanceStatus.COMPLETED


def test_an_unknown_mode_is_a_fault_of_the_join_and_never_a_silent_wait_all() -> None:
    run = fork("WaitFirst").approve("u1")
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault_node_id == "join"
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == ("workflow.join.unknown_mode", {"mode": "WaitFirst"})


def test_a_join_keeps_its_arrivals_over_an_instance_fault() -> None:
    nodes = [START, node("split", "Parallel"), task("u1"), task("u2"), node("join", "Join"), node("bad", "Fault")]
    edges = [
        edge("start", "split"),
        edge("split", "u1"),
        edge("split", "u2"),
        edge("u1", "join"),
        edge("u2", "bad", "outcome == 'bad'"),
        edge("u2", "join", is_default=True),
    ]
    run = World().start(flow("kept", nodes, edges)).approve("u1").approve("u2", "bad")
    assert run.instance.status is InstanceStatus.FAULTED
    assert list(run.instance.join_states["join"].arrived) == ["u1-join"]
