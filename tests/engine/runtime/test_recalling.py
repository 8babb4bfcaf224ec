"""Recalling an own decision, withdrawing an own request (spec 3.22, 6.7, D31)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.engine.harness import Run, Scripted, World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import CONFLICT_BOOKMARK, CONFLICT_INSTANCE, DENIED_ACTOR, Conflict, Denied
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject


def task(name: str, **more: Any) -> JsonObject:
    return node(name, "UserTask", {"Assignees": [f"of-{name}"]}, **more)


LINE = flow("line", [START, task("first"), node("set", "SetVariable"), task("second"), task("third"), END])


def refused(run: Run, actor: str) -> None:
    before = run.snapshot(history=True)
    with pytest.raises(Conflict) as conflict:
        run.recall(actor)
    assert conflict.value.code == CONFLICT_BOOKMARK
    assert run.snapshot(history=True) == before


def test_a_decision_is_taken_back_while_nobody_has_acted_on_the_next() -> None:
    run = World().start(LINE)
    asked = run.task("of-first")
    run.approve("of-first", variables={"note": "x"})
    run.recall("of-first")
    assert run.holders() == ["of-first"]
    assert (run.task("of-first").id, run.task("of-first").round) == (asked.id, 2)
    first = run.node("first")
    assert (first.status, first.ended_at, first.outputs) == (NodeStatus.SUSPENDED, None, {})
    assert run.node("second").status is NodeStatus.CANCELED
    assert ("of-second", EndReason.RECALLED) in run.rounds()
    assert run.instance.variables == {"note": "x"}
    assert run.topics.count("task.recalled") == 1
    run.approve("of-first").approve("of-second").approve("of-third")
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.topics.count("instance.completed") == 1
    assert [run.path.count(name) for name in ("first", "set", "second", "third", "end")] == [1, 2, 2, 1, 1]


def test_the_outcome_gets_its_earlier_value() -> None:
    run = World().start(LINE).approve("of-first", "checked").approve("of-second", "sent")
    assert run.instance.variables["outcome"] == "sent"
    assert run.recall("of-second").instance.variables["outcome"] == "checked"


def test_a_decision_may_be_recalled_twice_but_not_twice_at_once() -> None:
    run = World().start(LINE).approve("of-first").recall("of-first")
    refused(run, "of-first")
    run.approve("of-first").recall("of-first").approve("of-first")
    assert run.holders() == ["of-second"]


def test_what_somebody_has_acted_on_is_not_taken_back() -> None:
    run = World().start(LINE).approve("of-first").approve("of-second")
    refused(run, "of-first")
    run = World().start(LINE).approve("of-first")
    run.transfer(run.task("of-second"), "of-second", "somebody")
    refused(run, "of-first")
    run = World().start(LINE).approve("of-first").send_back("of-second")
    refused(run, "of-first")


def test_what_has_reached_outside_is_not_taken_back() -> None:
    class Paying(Scripted):
        effects = True

    document = flow("pay", [START, task("first"), node("pay", "Scripted"), task("second"), END])
    refused(World(activities=[Paying()]).start(document).approve("of-first"), "of-first")
    run = World(activities=[Scripted()]).start(document).approve("of-first")
    assert run.recall("of-first").holders() == ["of-first"]


@pytest.mark.parametrize("operation", ["suspend", "cancel"])
def test_only_a_running_instance_gives_back(operation: str) -> None:
    run = World().start(LINE).approve("of-first").operate(operation)
    refused(run, "of-first")


def test_the_last_decision_of_an_ended_instance_stands() -> None:
    run = World().start(flow("one", [START, task("first"), END])).approve("of-first")
    refused(run, "of-first")


def test_a_wait_that_is_no_task_stands() -> None:
    document = flow("t", [START, task("first"), node("wait", "Delay", {"DurationSeconds": 60}), END])
    refused(World().start(document).approve("of-first"), "of-first")


def test_the_other_branchs_arrival_at_a_join_is_kept() -> None:
    document = flow(
        "fork",
        [START, node("split", "Parallel"), task("a"), task("b"), node("join", "Join"), task("last"), END],
        [
            edge("start", "split"), edge("split", "a"), edge("split", "b"), edge("a", "join"), edge("b", "join"),
            edge("join", "last"), edge("last", "end"),
        ],
    )  # fmt: skip
    run = World().start(document).approve("of-a").approve("of-b").recall("of-b")
    assert run.holders() == ["of-b"]
    assert list(run.instance.join_states["join"].arrived) == ["a-join"]
    run.approve("of-b").approve("of-last")
    assert run.instance.status is InstanceStatus.COMPLETED
    assert (run.path.count("a"), run.path.count("join"), run.path.count("last")) == (1, 2, 2)
    run = World().start(document).approve("of-a").recall("of-a")
    assert run.instance.join_states == {}
    assert sorted(map(str, run.holders())) == ["of-a", "of-b"]


def signed(policy: str) -> JsonObject:
    properties = {"Assignees": ["u1", "u2", "u3"], "CompletionPolicy": policy}
    return flow("signed", [START, node("sign", "UserTask", properties), task("next"), END])


def states(run: Run) -> list[str]:
    return [signer["state"] for signer in run.node("sign").state["signers"]]


def test_one_vote_is_taken_back_while_the_node_is_open() -> None:
    run = World().start(signed("All")).approve("u1").approve("u2")
    run.recall("u1")
    assert sorted(map(str, run.holders())) == ["u1", "u3"]
    assert states(run) == ["pending", "approved", "pending"]
    assert {task.signers_done for task in run.tasks()} == {1}
    run.approve("u3").approve("u1")
    assert run.holders() == ["of-next"]


def test_the_vote_that_completed_the_node_leaves_the_others_votes() -> None:
    run = World().start(signed("All")).approve("u1").approve("u2").approve("u3").recall("u3")
    assert states(run) == ["approved", "approved", "pending"]
    assert run.holders() == ["u3"]
    assert run.approve("u3").holders() == ["of-next"]


def test_who_lost_the_task_to_the_decision_has_it_again() -> None:
    run = World().start(signed("Any")).approve("u2").recall("u2")
    assert sorted(map(str, run.holders())) == ["u1", "u2", "u3"]
    assert states(run) == ["pending"] * 3


def test_a_veto_is_taken_back() -> None:
    run = World().start(signed("All")).approve("u1").approve("u2", "rejected").recall("u2")
    assert states(run) == ["approved", "pending", "pending"]


def test_in_a_sequence_the_next_must_not_have_signed() -> None:
    run = World().start(signed("Sequential")).approve("u1")
    assert run.holders() == ["u2"]
    run.recall("u1")
    assert run.holders() == ["u1"]
    assert states(run) == ["pending", "waiting", "waiting"]
    run.approve("u1").approve("u2")
    refused(run, "u1")
    assert run.approve("u3").holders() == ["of-next"]


def test_the_deadline_runs_anew() -> None:
    document = flow("timed", [START, task("first", timeout_seconds=100), task("second"), END])
    run = World().start(document).approve("of-first")
    run.world.clock.advance(10)
    run.recall("of-first")
    assert run.only(BookmarkKind.NODE_TIMEOUT).due_at == run.world.clock.now() + timedelta(seconds=100)


def withdraw(run: Run, actor: str = "starter") -> Run:
    return run.operate("withdraw", actor=actor, history=True, reason="Not needed")


def test_the_starter_withdraws_until_somebody_else_has_approved() -> None:
    run = withdraw(World().start(LINE))
    assert (run.instance.status, run.instance.cancellation_reason) == (InstanceStatus.CANCELED, "Not needed")
    assert run.bookmarks == {}
    with pytest.raises(Conflict) as refused:
        withdraw(run)
    assert refused.value.code == CONFLICT_INSTANCE
    run = World().start(LINE).approve("of-first")
    with pytest.raises(Conflict) as refused:
        withdraw(run)
    assert (refused.value.code, refused.value.key) == (CONFLICT_INSTANCE, "workflow.withdraw.approved")


def test_an_own_step_is_no_approval_of_another() -> None:
    own = node("own", "UserTask", {"Assignees": ["starter"]})
    run = World().start(flow("own", [START, own, task("first"), END])).approve("starter")
    assert withdraw(run).instance.status is InstanceStatus.CANCELED


def test_a_suspended_request_is_withdrawn_too() -> None:
    assert withdraw(World().start(LINE).operate("suspend")).instance.status is InstanceStatus.CANCELED


def test_only_the_starter_and_only_where_it_is_allowed() -> None:
    with pytest.raises(Denied) as denied:
        withdraw(World().start(LINE), "somebody")
    assert denied.value.code == DENIED_ACTOR
    with pytest.raises(Conflict) as refused:
        withdraw(World().start({**LINE, "allowWithdraw": False}))
    assert refused.value.key == "workflow.withdraw.not_allowed"
