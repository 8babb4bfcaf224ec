"""Jumps: what they take away, and that no Join hangs, fires early or twice after one (spec 3.20, 3.22)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.harness import Run, Scripted, World, doomed
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import CONFLICT_INSTANCE, Conflict, InputInvalid
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.commands import EngineOptions


def task(name: str, **more: Any) -> JsonObject:
    return node(name, "UserTask", {"Assignees": [f"of-{name}"]}, **more)


def fork(mode: str = "WaitAll") -> JsonObject:
    return flow(
        "fork",
        [
            START,
            task("draft"),
            node("split", "Parallel"),
            task("a1"),
            task("a2"),
            task("b"),
            node("join", "Join", {"Mode": mode}),
            task("last"),
            END,
        ],
        [
            edge("start", "draft"), edge("draft", "split"), edge("split", "a1"), edge("split", "b"),
            edge("a1", "a2"), edge("a2", "join"), edge("b", "join"), edge("join", "last"), edge("last", "end"),
        ],
    )  # fmt: skip


LOOP = flow(
    "loop",
    [
        START, node("split", "Parallel"), task("a"), task("b"), node("join", "Join"), task("check"),
        node("again", "Decision"), END,
    ],
    [
        edge("start", "split"), edge("split", "a"), edge("split", "b"), edge("a", "join"), edge("b", "join"),
        edge("join", "check"), edge("check", "again"), edge("again", "split", "outcome == 'again'"),
        edge("again", "end", is_default=True),
    ],
)  # fmt: skip


def at_fork(mode: str = "WaitAll") -> Run:
    return World().start(fork(mode)).approve("of-draft")


def finish(run: Run) -> Run:
    for _ in range(50):
        if not run.tasks():
            break
        run.approve(run.tasks()[0].key or "")
    assert run.instance.status is InstanceStatus.COMPLETED, run.instance.fault
    assert run.topics.count("instance.completed") == 1
    assert not run.bookmarks
    return run


def holders(run: Run) -> list[str]:
    return sorted(str(name) for name in run.holders())


def counts(run: Run, *names: str) -> list[int]:
    return [run.path.count(name) for name in names]


def test_a_jump_cancels_all_that_waits_and_runs_the_target() -> None:
    run = at_fork()
    run.jump("last", reason="Enough", variables={"skipped": True})
    assert holders(run) == ["of-last"]
    assert [run.node(name).status for name in ("a1", "b")] == [NodeStatus.CANCELED] * 2
    assert [reason for _, reason in run.rounds()][1:3] == [EndReason.JUMPED] * 2
    assert run.instance.variables["skipped"] is True
    assert run.node("last").caused_by == [run.node("split").id]
    assert run.node("last").via_transition_ids == []
    jumped = next(event for event in run.events if event.topic == "workflow.instance.jumped")
    assert (jumped.data["toNodeId"], jumped.data["fromNodeId"], jumped.data["reason"]) == ("last", None, "Enough")
    assert counts(finish(run), "join", "last", "end") == [0, 1, 1]


def test_a_full_jump_drops_the_waves_of_joins_and_the_plan_names_them() -> None:
    run = at_fork().approve("of-b")
    planned = run.plan_jump("last")
    assert [one.node_id for one in planned.canceled] == ["a1"]
    assert [one.key for one in planned.bookmarks] == ["of-a1"]
    assert planned.dropped_joins == ["join"]
    assert holders(run) == ["of-a1"]
    run.jump("last")
    assert run.instance.join_states == {}
    finish(run)


@pytest.mark.parametrize("b_first", [False, True])
def test_a_full_jump_into_one_branch_does_not_leave_the_join_waiting_for_the_other(b_first: bool) -> None:
    run = at_fork()
    if b_first:
        run.approve("of-b")
    run.jump("a2")
    assert holders(run) == ["of-a2"]
    assert counts(finish(run), "b", "join", "last", "end") == [1, 1, 1, 1]


def test_a_jump_back_into_a_branch_from_behind_the_join() -> None:
    run = at_fork().approve("of-b").approve("of-a1").approve("of-a2")
    run.jump("a1")
    assert counts(finish(run), "a1", "b", "join", "last") == [2, 1, 2, 2]


def test_a_jump_from_one_branch_keeps_the_other_and_its_arrival() -> None:
    run = at_fork().approve("of-b")
    run.jump("a2", "a1")
    assert holders(run) == ["of-a2"]
    assert list(run.instance.join_states["join"].arrived) == ["b-join"]
    assert run.node("a2").caused_by == [run.node("split").id]
    assert counts(finish(run), "b", "join", "last", "end") == [1, 1, 1, 1]


def test_a_join_that_nobody_can_reach_any_more_is_dropped_and_named() -> None:
    run = at_fork().approve("of-b")
    assert run.plan_jump("last", "a1").dropped_joins == ["join"]
    run.jump("last", "a1")
    assert run.instance.join_states == {}
    assert counts(finish(run), "join", "last", "end") == [0, 1, 1]


def test_a_join_that_was_gone_round_swallows_what_comes_late() -> None:
    run = at_fork()
    assert run.plan_jump("last", "a1").dropped_joins == ["join"]
    run.jump("last", "a1")
    assert holders(run) == ["of-b", "of-last"]
    assert counts(finish(run), "join", "last", "end") == [0, 1, 1]


def test_a_join_as_target_fires_at_once_and_the_late_branch_is_swallowed() -> None:
    run = at_fork()
    run.jump("join", "a1")
    assert holders(run) == ["of-b", "of-last"]
    run.approve("of-b")
    assert run.instance.join_states == {}
    assert counts(finish(run), "join", "last", "end") == [1, 1, 1]


def test_a_join_as_target_takes_who_has_arrived_along() -> None:
    run = at_fork().approve("of-b")
    run.jump("join", "a1")
    assert run.node("join").caused_by == [run.node("split").id, run.node("b").id]
    assert run.node("join").via_transition_ids == ["b-join"]
    assert run.instance.join_states == {}
    assert counts(finish(run), "join", "last") == [1, 1]


@pytest.mark.parametrize("mode", ["WaitAll", "WaitAny"])
def test_a_join_as_target_of_everything(mode: str) -> None:
    run = at_fork(mode)
    run.jump("join")
    assert holders(run) == ["of-last"]
    assert run.instance.join_states == {}
    assert counts(finish(run), "join", "last") == [1, 1]


def test_the_next_round_of_a_loop_waits_for_both_branches_again() -> None:
    for to, source in (("join", "a"), ("check", "a"), ("a", None), ("check", None), ("join", None)):
        run = World().start(LOOP)
        run.jump(to, source)
        while run.tasks() and "of-check" not in run.holders():
            run.approve(run.tasks()[0].key or "")
        for name in [name for name in holders(run) if name != "of-check"]:
            run.approve(name)
        run.approve("of-check", "again")
        assert holders(run) == ["of-a", "of-b"], (to, source)
        fired = run.path.count("join")
        run.approve("of-a")
        assert run.path.count("join") == fired, (to, source)
        run.approve("of-b")
        assert holders(run) == ["of-check"]
        assert counts(finish(run), "join", "end") == [fired + 1, 1]


def test_a_wait_any_join_fires_once_after_a_jump_from_one_branch() -> None:
    run = at_fork("WaitAny")
    run.jump("a2", "a1")
    assert counts(finish(run), "join", "last") == [1, 1]


def test_a_branch_that_jumps_into_the_other_leaves_no_dead_branch() -> None:
    run = at_fork()
    run.jump("b", "a1")
    assert holders(run) == ["of-b", "of-b"]
    for bookmark in run.tasks():
        run.decide(bookmark, "of-b")
    finish(run)


def test_a_return_after_a_jump_still_finds_its_join() -> None:
    run = at_fork()
    run.jump("a2")
    run.approve("of-a2")
    assert holders(run) == ["of-last"]
    run.send_back("of-last", "a2")
    assert holders(run) == ["of-a2"]
    assert counts(finish(run), "join", "last", "end") == [2, 2, 1]


def faulted() -> Run:
    document = flow(
        "f",
        [START, node("split", "Parallel"), node("x", "Scripted"), task("b"), node("y", "SetVariable"), task("z"), END],
        [
            edge("start", "split"), edge("split", "x"), edge("split", "b"), edge("split", "y"),
            edge("x", "z"), edge("z", "end"),
        ],
    )  # fmt: skip
    run = World(activities=[Scripted(doomed(), doomed())]).start(document)
    assert run.instance.status is InstanceStatus.FAULTED
    assert [token.node_id for token in run.instance.pending_tokens] == ["b", "y"]
    return run


def test_a_jump_takes_a_faulted_instance_up_again_with_the_tokens_it_kept() -> None:
    run = faulted().jump("z", "x")
    instance = run.instance
    assert (instance.status, instance.fault, instance.fault_node_id, instance.ended_at) == (
        InstanceStatus.RUNNING,
        None,
        None,
        None,
    )
    assert instance.pending_tokens == []
    assert holders(run) == ["of-b", "of-z"]
    assert run.node("x").status is NodeStatus.FAULTED
    assert "instance.resumed" in run.topics
    assert counts(finish(run), "b", "y", "z") == [1, 1, 1]


def test_a_full_jump_from_a_fault_drops_the_tokens_it_kept() -> None:
    run = faulted()
    assert [token.node_id for token in run.plan_jump("z").tokens] == ["b", "y"]
    assert holders(run.jump("z")) == ["of-z"]
    assert counts(finish(run), "b", "y", "z") == [0, 0, 1]


def test_the_token_of_the_fault_is_not_left_behind() -> None:
    with pytest.raises(InputInvalid) as refused:
        faulted().jump("z", "b")
    assert refused.value.problems[0].key == "workflow.jump.source_faulted"


def test_after_a_burst_overflow_the_kept_token_can_be_moved() -> None:
    document = flow(
        "endless",
        [START, node("x", "SetVariable"), node("y", "SetVariable"), task("out"), END],
        [edge("start", "x"), edge("x", "y"), edge("y", "x"), edge("out", "end")],
    )
    run = World(options=EngineOptions(max_node_executions_per_burst=10)).start(document)
    assert (run.instance.status, run.instance.fault_node_id) == (InstanceStatus.FAULTED, None)
    (token,) = run.instance.pending_tokens
    with pytest.raises(Conflict):
        run.retry()
    run.jump("out", token.node_id)
    assert holders(run) == ["of-out"]
    assert run.node("out").caused_by == token.caused_by
    finish(run)


def test_a_dead_branch_can_be_moved_on_from_its_join() -> None:
    document = flow(
        "dead",
        [START, node("choose", "Decision"), task("a"), task("b"), node("join", "Join"), task("last"), END],
        [
            edge("start", "choose"), edge("choose", "a", "true"), edge("choose", "b", is_default=True),
            edge("a", "join"), edge("b", "join"), edge("join", "last"), edge("last", "end"),
        ],
    )  # fmt: skip
    for to, source in (("join", None), ("join", "join"), ("last", "join")):
        run = World().start(document).approve("of-a")
        assert run.instance.fault is not None
        assert run.instance.fault.key == "workflow.join.dead"
        run.jump(to, source)
        assert holders(run) == ["of-last"], (to, source)
        assert run.node(to).caused_by == [run.node("a").id]
        finish(run)


@pytest.mark.parametrize(
    ("to", "source", "path"),
    [
        ("nothing", None, "toNodeId"),
        ("start", None, "toNodeId"),
        ("last", "nothing", "fromNodeId"),
        ("last", "a2", "fromNodeId"),
        ("last", "join", "fromNodeId"),
    ],
)
def test_what_is_no_target_or_source_is_refused(to: str, source: str | None, path: str) -> None:
    run = at_fork()
    with pytest.raises(InputInvalid) as refused:
        run.jump(to, source)
    assert [problem.path for problem in refused.value.problems] == [path]
    assert holders(run) == ["of-a1", "of-b"]


def test_declared_variables_keep_their_type() -> None:
    document = {**fork(), "variables": [{"name": "sum", "type": "number"}]}
    run = World().start(document)
    with pytest.raises(InputInvalid) as refused:
        run.jump("last", variables={"sum": "much", "__x": 1})
    assert [problem.path for problem in refused.value.problems] == ["variables.sum", "variables.__x"]


@pytest.mark.parametrize("operation", ["suspend", "cancel"])
def test_only_what_runs_or_is_faulted_jumps(operation: str) -> None:
    run = at_fork().operate(operation)
    with pytest.raises(Conflict) as refused:
        run.jump("last")
    assert refused.value.code == CONFLICT_INSTANCE


def test_a_wait_for_a_retry_is_moved_like_any_other() -> None:
    document = flow("r", [START, node("x", "Scripted", retry_policy={"maxAttempts": 3}), task("z"), END])
    run = World(activities=[Scripted(doomed())]).start(document)
    assert run.only(BookmarkKind.RETRY).node_id == "x"
    run.jump("z", "x")
    assert run.node("x").status is NodeStatus.CANCELED
    finish(run)
