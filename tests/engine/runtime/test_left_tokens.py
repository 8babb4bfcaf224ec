"""What a fault leaves in the queue and on other branches, and how a retry takes it up again (spec 3.8, 25)."""

from __future__ import annotations

import pytest

from tests.engine.harness import Resuming, Run, Scripted, World, doomed
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.activities.api import BookmarkRequest, Complete, Suspend
from webapp.engine.errors import (
    Conflict,
    Unexpected,
)
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, PendingToken


def branches(*, after: str = "Log") -> Run:
    """Two branches: a fails, b is still in the queue, c waits for a person."""
    work = Scripted(doomed(), type_name="Work")
    nodes = [
        START,
        node("split", "Parallel"),
        node("c", "UserTask", {"Assignees": ["u"]}),
        node("a", "Work"),
        node("b", after),
        node("join", "Join"),
        END,
    ]
    edges = [edge("start", "split"), edge("join", "end")]
    for name in "cab":
        edges += [edge("split", name), edge(name, "join")]
    return World(activities=[work]).start(flow("branches", nodes, edges))


def test_tokens_left_by_a_fault_are_kept() -> None:
    run = branches()
    assert run.path == ["start", "split", "c", "a"]
    assert run.instance.pending_tokens == [
        PendingToken(node_id="b", caused_by=[run.node("split").id], via_transition_ids=["split-b"])
    ]


def test_a_retry_takes_the_left_tokens_up_again() -> None:
    run = branches().retry()
    assert run.path == ["start", "split", "c", "a", "b"]
    assert run.node("b").caused_by == [run.node("split").id]
    assert run.instance.pending_tokens == []
    run.approve("u")
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.path.count("join") == 1


def test_a_second_fault_keeps_the_tokens_again() -> None:
    work = Scripted(doomed(), doomed(), type_name="Work")
    nodes = [START, node("a", "Work"), node("b", "Log")]
    run = World(activities=[work]).start(flow("again", nodes, [edge("start", "a"), edge("start", "b")]))
    run.retry()
    assert [token.node_id for token in run.instance.pending_tokens] == ["b"]
    run.retry()
    assert run.path == ["start", "a", "b"]
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_left_token_whose_node_is_gone_is_an_error() -> None:
    run = branches()
    run.instance.pending_tokens = [PendingToken(node_id="gone")]
    with pytest.raises(Unexpected) as refusal:
        run.retry()
    assert refusal.value.params == {"id": "gone"}


def test_the_waits_of_other_branches_survive_a_fault_and_work_after_the_retry() -> None:
    run = branches()
    task = run.task("u")
    with pytest.raises(Conflict) as refusal:
        run.decide(task, "u")
    assert refusal.value.code == "WORKFLOW_CONFLICT_003"
    assert run.retry().task("u") == task


def test_a_due_item_left_behind_a_fault_keeps_its_bookmark() -> None:
    work = Resuming(
        Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.SIGNAL),)), doomed(), Complete(), type_name="Work"
    )
    nodes = [START, node("work", "Work", timeout_seconds=5), node("wait", "Delay", {"DurationSeconds": 5}), END]
    edges = [edge("start", "work"), edge("start", "wait"), edge("wait", "end")]
    run = World(activities=[work]).start(flow("left", nodes, edges))
    timer = run.only(BookmarkKind.TIMER)
    run.world.clock.advance(5)
    run.due()
    assert run.instance.status is InstanceStatus.FAULTED
    assert list(run.bookmarks.values()) == [timer]
    run.retry()
    assert run.only(BookmarkKind.TIMER) == timer
    run.due()
    assert run.instance.status is InstanceStatus.COMPLETED
