"""Suspend, resume, terminate in the engine (spec 3.13, 3.22, decisions D9, D16, D17)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.harness import Run, Scripted, World, doomed
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import CONFLICT_BOOKMARK, CONFLICT_INSTANCE, Conflict, InputInvalid
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus

ASK = node("ask", "UserTask", {"Assignees": ["u1"]}, timeout_seconds=600)
APPROVAL = flow("approval", [START, ASK, END])
WAITING = flow("waiting", [START, node("wait", "Delay", {"DurationSeconds": 10}), END], timeout=3600)


def faulted() -> Run:
    return World(activities=[Scripted(doomed())]).start(flow("f", [START, node("x", "Scripted"), END]))


def test_a_suspended_instance_tells_who_when_and_why_and_keeps_its_waits() -> None:
    run = World().start(APPROVAL)
    before = run.bookmarks
    run.operate("suspend", reason="Audit")
    instance = run.instance
    assert instance.status is InstanceStatus.SUSPENDED
    assert (instance.suspended_by, instance.suspension_reason) == ("operator", "Audit")
    assert instance.suspended_at == run.world.clock.now()
    assert instance.ended_at is None
    assert run.bookmarks == before
    assert run.events[-1].topic == "workflow.instance.suspended"
    assert run.events[-1].data["reason"] == "Audit"
    assert run.audit[-1].reason == "Audit"
    assert run.last.write_set.columns_changed
    assert run.last.write_set.node_instances == []


def test_a_suspended_instance_refuses_decisions_with_the_code_of_a_bookmark() -> None:
    run = World().start(APPROVAL)
    task = run.task("u1")
    run.operate("suspend")
    for refused in (lambda: run.decide(task, "u1"), lambda: run.transfer(task, "u1", "u2"), lambda: run.resume(task)):
        with pytest.raises(Conflict) as conflict:
            refused()
        assert conflict.value.code == CONFLICT_BOOKMARK
    run.operate("resume_instance")
    assert run.instance.suspended_by is run.instance.suspended_at is run.instance.suspension_reason is None
    assert run.decide(task, "u1").instance.status is InstanceStatus.COMPLETED


def test_due_times_pushed_back_meanwhile_are_what_they_were_after_a_resume() -> None:
    run = World().start(WAITING)
    timer, deadline = run.only(BookmarkKind.TIMER), run.only(BookmarkKind.INSTANCE_TIMEOUT)
    run.operate("suspend")
    run.world.clock.advance(11)
    run.due()
    pushed = run.only(BookmarkKind.TIMER)
    assert pushed.due_at == run.world.clock.now() + timedelta(seconds=300)
    run.operate("resume_instance")
    assert run.only(BookmarkKind.TIMER).due_at == timer.due_at
    assert run.only(BookmarkKind.TIMER).original_due_at is None
    assert run.only(BookmarkKind.INSTANCE_TIMEOUT) == deadline
    assert run.path == ["start", "wait"]
    assert run.due().instance.status is InstanceStatus.COMPLETED


def test_the_deadline_of_a_suspended_instance_waits_for_its_resume() -> None:
    run = World().start(flow("timed", [START, ASK, END], timeout=60, timeout_action="Terminate"))
    run.operate("suspend")
    run.world.clock.advance(61)
    assert run.due().instance.status is InstanceStatus.SUSPENDED
    run.operate("resume_instance")
    assert run.due().instance.status is InstanceStatus.TERMINATED


def test_only_what_runs_is_suspended_and_only_what_is_suspended_is_resumed() -> None:
    run = World().start(APPROVAL)
    with pytest.raises(Conflict) as refused:
        run.operate("resume_instance")
    assert refused.value.code == CONFLICT_INSTANCE
    run.operate("suspend")
    with pytest.raises(Conflict) as refused:
        run.operate("suspend")
    assert refused.value.code == CONFLICT_INSTANCE
    run.cancel()
    for operation in ("suspend", "resume_instance"):
        with pytest.raises(Conflict) as refused:
            run.operate(operation)
        assert refused.value.code == CONFLICT_INSTANCE


def test_a_reason_has_its_length() -> None:
    run = World().start(APPROVAL)
    for operation in ("suspend", "resume_instance", "terminate"):
        with pytest.raises(InputInvalid) as refused:
            run.operate(operation, reason="x" * 10_001)
        assert [problem.path for problem in refused.value.problems] == ["reason"]


@pytest.mark.parametrize("suspended", [False, True])
def test_terminate_ends_all_branches_and_keeps_the_reason(suspended: bool) -> None:
    run = World().start(
        flow(
            "fork",
            [START, node("fork", "Parallel"), ASK, node("wait", "Delay", {"DurationSeconds": 10})],
            [edge("start", "fork"), edge("fork", "ask"), edge("fork", "wait")],
            compensate_on_cancel=True,
        )
    )
    if suspended:
        run.operate("suspend")
    run.operate("terminate", reason="Duplicate")
    assert run.instance.status is InstanceStatus.TERMINATED
    assert run.instance.cancellation_reason == "Duplicate"
    assert run.instance.ended_at == run.world.clock.now()
    assert run.bookmarks == {}
    assert [run.node(name).status for name in ("fork", "ask", "wait")] == [
        NodeStatus.COMPLETED,
        NodeStatus.CANCELED,
        NodeStatus.CANCELED,
    ]
    assert [reason for _, reason in run.rounds()] == ["terminated"]
    assert run.topics[-1] == "instance.terminated"
    run.operate("terminate")
    assert run.last.write_set.instance is None


def test_terminate_and_cancel_close_a_faulted_instance() -> None:
    for operation, status in (("terminate", InstanceStatus.TERMINATED), ("cancel", InstanceStatus.CANCELED)):
        run = faulted()
        run.operate(operation, reason="Tidy up")
        assert run.instance.status is status
        assert run.instance.fault is not None
        assert run.node("x").status is NodeStatus.FAULTED


def test_due_times_pushed_back_while_an_instance_is_faulted_are_what_they_were_after_a_retry() -> None:
    nodes = [
        START,
        node("split", "Parallel"),
        node("wait", "Delay", {"DurationSeconds": 10}),
        node("x", "Scripted"),
    ]
    edges = [edge("start", "split"), edge("split", "wait"), edge("split", "x")]
    run = World(activities=[Scripted(doomed())]).start(flow("f", nodes, edges, timeout=3600))
    timer, deadline = run.only(BookmarkKind.TIMER), run.only(BookmarkKind.INSTANCE_TIMEOUT)
    run.world.clock.advance(11)
    run.due()
    assert run.only(BookmarkKind.TIMER).due_at == run.world.clock.now() + timedelta(seconds=300)
    run.retry()
    assert run.instance.status is InstanceStatus.RUNNING
    assert run.only(BookmarkKind.TIMER).due_at == timer.due_at
    assert run.only(BookmarkKind.TIMER).original_due_at is None
    assert run.only(BookmarkKind.INSTANCE_TIMEOUT) == deadline
    assert run.due().instance.status is InstanceStatus.COMPLETED
