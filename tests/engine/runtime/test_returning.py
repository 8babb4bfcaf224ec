"""Returning a task: where to, what is taken back, what comes of the Joins (spec 3.22, 6.4, D30)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import DENIED_PERMISSION, Denied, InputInvalid
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject


def task(name: str, **more: Any) -> JsonObject:
    properties = more.pop("properties", {})
    return node(name, "UserTask", {"Assignees": [f"of-{name}"], **properties}, **more)


LINE = flow("line", [START, task("first"), task("second"), task("third"), END])
FORK = flow(
    "fork",
    [
        START,
        task("draft"),
        node("split", "Parallel"),
        task("a1"),
        task("a2"),
        task("b"),
        node("join", "Join"),
        task("last"),
        END,
    ],
    [
        edge("start", "draft"),
        edge("draft", "split"),
        edge("split", "a1"),
        edge("split", "b"),
        edge("a1", "a2"),
        edge("a2", "join"),
        edge("b", "join"),
        edge("join", "last"),
        edge("last", "end"),
    ],
)


def finish(run: Run) -> Run:
    """Approve whatever is open until nothing is, and see that the instance ends once."""
    for _ in range(50):
        if not run.tasks():
            break
        run.approve(run.tasks()[0].key or "")
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.topics.count("instance.completed") == 1
    assert run.instance.join_states == {}
    return run


def counts(run: Run) -> dict[str, int]:
    return {name: run.path.count(name) for name in run.path}


def at_third() -> Run:
    return World().start(LINE).approve("of-first").approve("of-second")


def test_the_default_is_the_task_completed_last_before_this_one() -> None:
    run = at_third().send_back("of-third")
    assert run.holders() == ["of-second"]
    assert run.instance.variables["outcome"] == "returned"
    returned = run.node("third")
    assert (returned.status, returned.ended_at) == (NodeStatus.CANCELED, run.world.clock.now())
    assert returned.state["history"][-1]["action"] == "return"
    assert returned.state["history"][-1]["target"] == "second"
    assert run.rounds()[2:] == [("of-third", EndReason.RETURNED), ("of-second", None)]
    record = next(record for record in run.records.values() if record.end_reason is EndReason.RETURNED)
    assert (record.actor_id, record.outcome, record.comment) == ("of-third", "returned", "Please look again")
    again = run.node("second")
    assert again.caused_by == run.nodes[again.id].caused_by == [run.node("first").id]
    assert again.via_transition_ids == ["first-second"]
    assert counts(finish(run)) == {"start": 1, "first": 1, "second": 2, "third": 2, "end": 1}


def test_a_step_may_be_named_and_the_flow_runs_on_from_there() -> None:
    run = at_third().send_back("of-third", "first")
    assert run.holders() == ["of-first"]
    assert counts(finish(run)) == {"start": 1, "first": 2, "second": 2, "third": 2, "end": 1}


def test_direct_comes_straight_back_to_who_returned_it() -> None:
    run = at_third().send_back("of-third", "first", resubmit="direct")
    assert run.holders() == ["of-first"]
    run.approve("of-first", "changed")
    assert run.holders() == ["of-third"]
    assert run.instance.variables["outcome"] == "changed"
    assert run.node("third").caused_by == [run.node("first").id]
    assert counts(finish(run)) == {"start": 1, "first": 2, "second": 1, "third": 2, "end": 1}


def test_who_got_it_back_directly_may_return_it_once_more() -> None:
    run = at_third().send_back("of-third", "first", resubmit="direct").approve("of-first")
    run.send_back("of-third")
    assert run.holders() == ["of-first"]
    assert counts(finish(run)) == {"start": 1, "first": 3, "second": 2, "third": 3, "end": 1}


def test_the_node_says_what_is_used_when_the_call_does_not() -> None:
    third = task("third", properties={"Resubmit": "direct", "ReturnTargets": ["first"]})
    line = flow("line", [START, task("first"), task("second"), third, END])
    run = World().start(line).approve("of-first").approve("of-second")
    with pytest.raises(InputInvalid) as refused:
        run.send_back("of-third", "second")
    assert refused.value.problems[0].params["known"] == ["first"]
    run.send_back("of-third").approve("of-first")
    assert run.holders() == ["of-third"]


def test_a_node_may_allow_no_return() -> None:
    third = task("third", properties={"AllowReturn": False})
    run = World().start(flow("line", [START, task("first"), third, END])).approve("of-first")
    with pytest.raises(Denied) as refused:
        run.send_back("of-third")
    assert refused.value.code == DENIED_PERMISSION
    assert refused.value.params == {"flag": "AllowReturn"}
    run.give_back(run.task("of-third"), "operator", as_operator=True, on_behalf_of="of-third")
    assert run.holders() == ["of-first"]


@pytest.mark.parametrize("target", ["nothing", "start", "third", "end"])
def test_only_earlier_tasks_are_targets(target: str) -> None:
    run = at_third()
    with pytest.raises(InputInvalid) as refused:
        run.send_back("of-third", target)
    assert [problem.path for problem in refused.value.problems] == ["toNodeId"]
    assert run.holders() == ["of-third"]


def test_the_first_task_has_nowhere_to_go_back_to() -> None:
    with pytest.raises(InputInvalid) as refused:
        World().start(LINE).send_back("of-first")
    assert refused.value.problems[0].key == "workflow.return.nowhere"


def test_who_returns_says_why_and_must_hold_the_task() -> None:
    run = at_third()
    for comment, resubmit, path in ((" ", None, "comment"), ("x" * 10_001, None, "comment"), ("x", "soon", "resubmit")):
        with pytest.raises(InputInvalid) as refused:
            run.send_back("of-third", comment=comment, resubmit=resubmit)
        assert [problem.path for problem in refused.value.problems] == [path]
    with pytest.raises(Denied):
        run.world.engine.return_task(
            run.snapshot(history=True),
            run.compiled,
            run.task("of-third").id,
            to_node_id=None,
            comment="x",
            resubmit=None,
            command=run.command("return", "somebody"),
        )


def at_fork() -> Run:
    return World().start(FORK).approve("of-draft")


def test_a_return_inside_a_branch_does_not_start_the_other_branch_twice() -> None:
    run = at_fork().approve("of-a1").send_back("of-a2")
    assert run.holders() == ["of-b", "of-a1"]
    assert counts(finish(run)) == {
        "start": 1, "draft": 1, "split": 1, "a1": 2, "a2": 2, "b": 1, "join": 1, "last": 1, "end": 1,
    }  # fmt: skip


def test_a_target_before_the_split_restarts_all_that_came_from_it() -> None:
    run = at_fork().approve("of-a1").send_back("of-a2", "draft")
    assert run.holders() == ["of-draft"]
    assert ("of-b", EndReason.RETURNED) in run.rounds()
    assert run.node("b").status is NodeStatus.CANCELED
    assert counts(finish(run)) == {
        "start": 1, "draft": 2, "split": 2, "a1": 2, "a2": 2, "b": 2, "join": 1, "last": 1, "end": 1,
    }  # fmt: skip


def test_an_arrival_of_what_is_taken_back_is_dropped() -> None:
    run = at_fork().approve("of-b").approve("of-a1")
    assert list(run.instance.join_states["join"].arrived) == ["b-join"]
    run.send_back("of-a2", "draft")
    assert run.instance.join_states == {}
    assert counts(finish(run))["join"] == 1


def test_an_arrival_of_the_other_branch_is_kept() -> None:
    run = at_fork().approve("of-b").approve("of-a1").send_back("of-a2")
    assert list(run.instance.join_states["join"].arrived) == ["b-join"]
    assert counts(finish(run))["b"] == 1


def test_a_return_into_a_branch_after_the_join_fires_it_again_with_the_other_branchs_arrival() -> None:
    run = at_fork().approve("of-b").approve("of-a1").approve("of-a2")
    first = run.node("join")
    run.send_back("of-last", "a1")
    assert run.holders() == ["of-a1"]
    assert run.instance.join_states["join"].arrived == {"b-join": [run.node("b").id]}
    run.approve("of-a1").approve("of-a2")
    second = run.node("join")
    assert second.id != first.id
    assert sorted(second.via_transition_ids) == ["a2-join", "b-join"]
    assert counts(finish(run)) == {
        "start": 1, "draft": 1, "split": 1, "a1": 2, "a2": 2, "b": 1, "join": 2, "last": 2, "end": 1,
    }  # fmt: skip


def test_returns_into_both_branches_one_after_the_other() -> None:
    run = at_fork().approve("of-b").approve("of-a1").approve("of-a2")
    run.send_back("of-last", "a1").approve("of-a1").approve("of-a2")
    run.send_back("of-last", "b").approve("of-b")
    assert sorted(run.node("join").caused_by) == sorted([run.node("a2").id, run.node("b").id])
    run.send_back("of-last", "a1")
    assert run.instance.join_states["join"].arrived == {"b-join": [run.node("b").id]}
    assert counts(finish(run))["join"] == 4


def test_direct_over_a_join_leaves_the_join_alone() -> None:
    run = at_fork().approve("of-b").approve("of-a1").approve("of-a2")
    run.send_back("of-last", "a1", resubmit="direct")
    assert run.instance.join_states == {}
    run.approve("of-a1")
    assert run.holders() == ["of-last"]
    assert counts(finish(run))["join"] == 1


def test_who_was_asked_directly_may_ask_somebody_else_and_the_answer_comes_back_the_same_way() -> None:
    """Else the second question would let the flow begin anew beside the other branch, and leave a dead branch."""
    run = at_fork().approve("of-a1").send_back("of-a2", "a1", resubmit="direct")
    run.send_back("of-a1", "draft", resubmit="direct")
    assert sorted(run.holders()) == ["of-b", "of-draft"]
    for asked, next_one in (("draft", "a1"), ("a1", "a2")):
        run.approve(f"of-{asked}")
        assert sorted(run.holders()) == sorted([f"of-{next_one}", "of-b"])
    run.approve("of-a2").approve("of-b")
    assert run.path.count("join") == 1


def test_the_flow_that_runs_on_from_a_step_that_was_asked_directly_takes_all_branches_along() -> None:
    """Else it would go into the split once more beside the other branch, and leave a dead branch."""
    run = at_fork().approve("of-a1").send_back("of-a2", "draft", resubmit="direct").approve("of-draft")
    run.send_back("of-a2", "draft", resubmit="flow")
    assert run.holders() == ["of-draft"]
    run.approve("of-draft")
    assert sorted(run.holders()) == ["of-a1", "of-b"]
    assert counts(finish(run))["join"] == 1


def test_direct_before_a_split_leaves_the_other_branch_alone() -> None:
    run = at_fork().approve("of-a1").send_back("of-a2", "draft", resubmit="direct")
    assert sorted(run.holders(), key=str) == ["of-b", "of-draft"]
    run.approve("of-draft")
    assert counts(finish(run)) == {
        "start": 1, "draft": 2, "split": 1, "a1": 1, "a2": 2, "b": 1, "join": 1, "last": 1, "end": 1,
    }  # fmt: skip


def test_a_direct_return_is_taken_back_with_what_caused_it() -> None:
    late = flow(
        "late",
        [START, task("draft"), node("split", "Parallel"), task("x"), task("z"), node("join", "Join"), END],
        [
            edge("start", "draft"), edge("draft", "split"), edge("split", "x"), edge("split", "z"),
            edge("x", "join"), edge("z", "join"), edge("join", "end"),
        ],
    )  # fmt: skip
    run = World().start(late).approve("of-draft").send_back("of-x", resubmit="direct")
    assert sorted(run.holders(), key=str) == ["of-draft", "of-z"]
    run.send_back("of-z")
    assert run.holders() == ["of-draft"]
    assert counts(finish(run)) == {"start": 1, "draft": 3, "split": 2, "x": 2, "z": 2, "join": 1, "end": 1}


def test_a_wait_any_join_fires_once_more_after_the_branch_that_fired_it_was_taken_back() -> None:
    document = {**FORK, "nodes": [{**one, "properties": {"Mode": "WaitAny"}} if one["id"] == "join" else one
                                  for one in FORK["nodes"]]}  # fmt: skip
    run = World().start(document).approve("of-draft").approve("of-a1").approve("of-a2")
    assert sorted(run.holders(), key=str) == ["of-b", "of-last"]
    run.send_back("of-last", "a1")
    assert sorted(run.holders(), key=str) == ["of-a1", "of-b"]
    assert run.instance.join_states == {}
    run.approve("of-a1").approve("of-a2")
    assert counts(finish(run))["join"] == 2


def test_each_round_of_a_loop_goes_back_within_its_own() -> None:
    loop = flow(
        "loop",
        [START, task("edit"), task("check"), node("again", "Decision"), END],
        [
            edge("start", "edit"),
            edge("edit", "check"),
            edge("check", "again"),
            edge("again", "edit", "outcome == 'again'"),
            edge("again", "end", is_default=True),
        ],
    )
    run = World().start(loop).approve("of-edit").approve("of-check", "again").approve("of-edit")
    run.send_back("of-check")
    assert run.holders() == ["of-edit"]
    assert counts(finish(run)) == {"start": 1, "edit": 3, "check": 3, "again": 2, "end": 1}


def test_deadlines_of_the_task_it_goes_back_to_run_anew() -> None:
    line = flow("line", [START, task("first", timeout_seconds=100), task("second", timeout_seconds=50), END])
    run = World().start(line).approve("of-first")
    run.world.clock.advance(40)
    run.send_back("of-second")
    deadline = run.only(BookmarkKind.NODE_TIMEOUT)
    assert deadline.node_id == "first"
    assert deadline.due_at == run.world.clock.now() + timedelta(seconds=100)


def test_the_other_signers_of_a_returned_task_lose_theirs() -> None:
    second = node("second", "UserTask", {"Assignees": ["u1", "u2"], "CompletionPolicy": "All"})
    run = World().start(flow("line", [START, task("first"), second, END])).approve("of-first")
    run.approve("u1").send_back("u2")
    assert run.holders() == ["of-first"]
    run.approve("of-first")
    assert run.holders() == ["u1", "u2"]
