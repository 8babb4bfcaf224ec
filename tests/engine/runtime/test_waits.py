"""Waiting nodes: bookmarks, deadlines, due work, the raw resume (spec 3.7, 3.12, 3.16)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.engine.harness import Resuming, Run, Scripted, World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.activities.api import BookmarkRequest, Complete, Suspend
from webapp.engine.errors import Conflict, Denied, NotFound, Unexpected
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.engine import EngineOptions

SIGNAL = BookmarkRequest(kind=BookmarkKind.SIGNAL, key="go", correlation_id="C-1", payload={"a": [1]})


def waiting(*script: Any, activity: type[Scripted] = Scripted, world: World | None = None, **settings: Any) -> Run:
    work = activity(*(script or (Suspend(bookmarks=(SIGNAL,)),)), type_name="Work")
    chosen = world or World()
    chosen.engine.registry.register(work)
    return chosen.start(flow("waiting", [START, node("work", "Work", **settings), END]))


def with_status(run: Run, status: InstanceStatus) -> Run:
    run.instance.status = status
    return run


# --- the first suspension -------------------------------------------------------------------------


def test_a_suspension_leaves_a_bookmark_and_a_running_instance() -> None:
    run = waiting()
    mark, work = run.only(BookmarkKind.SIGNAL), run.node("work")
    assert run.instance.status is InstanceStatus.RUNNING
    assert (work.status, work.ended_at) == (NodeStatus.SUSPENDED, None)
    assert (mark.key, mark.correlation_id, mark.payload, mark.node_id) == ("go", "C-1", {"a": [1]}, "work")
    assert (mark.instance_id, mark.root_instance_id, mark.node_instance_id) == (
        run.instance.id,
        run.instance.id,
        work.id,
    )
    assert mark.created_at == run.world.clock.now()
    assert mark.sequence == run.instance.last_sequence - 1
    assert run.topics[-2:] == ["node.executing(work)", "node.executed(work)"]


def test_outputs_of_a_suspension_are_merged_at_once() -> None:
    assert waiting(Suspend(bookmarks=(SIGNAL,), outputs={"x": 1})).instance.variables == {"x": 1}


def test_a_deadline_is_armed_at_the_first_suspension_only() -> None:
    again = Suspend()
    run = waiting(
        Suspend(bookmarks=(SIGNAL, BookmarkRequest(kind=BookmarkKind.SIGNAL, key="other"))),
        again,
        activity=Resuming,
        timeout_seconds=60,
    )
    deadline = run.only(BookmarkKind.NODE_TIMEOUT)
    assert deadline.due_at == run.world.clock.now() + timedelta(seconds=60)
    run.world.clock.advance(10)
    run.resume(next(iter(run.bookmarks.values())))
    assert run.only(BookmarkKind.NODE_TIMEOUT) == deadline
    assert run.node("work").status is NodeStatus.SUSPENDED


@pytest.mark.parametrize("seconds", [None, 0])
def test_without_a_timeout_there_is_no_deadline(seconds: int | None) -> None:
    run = waiting(timeout_seconds=seconds)
    assert [mark.kind for mark in run.bookmarks.values()] == [BookmarkKind.SIGNAL]


def test_a_retry_that_suspends_again_gets_a_new_deadline() -> None:
    waits = Suspend(bookmarks=(SIGNAL,))
    run = waiting(waits, waits, timeout_seconds=60, retry_policy={"maxAttempts": 2, "firstDelaySeconds": 1})
    run.world.clock.advance(60)
    run.due()
    assert {mark.kind for mark in run.bookmarks.values()} == {BookmarkKind.SIGNAL, BookmarkKind.RETRY}
    run.world.clock.advance(1)
    run.due()
    assert run.only(BookmarkKind.NODE_TIMEOUT).due_at == run.world.clock.now() + timedelta(seconds=60)
    assert run.only(BookmarkKind.SIGNAL).created_at == run.world.clock.now()


def test_removed_bookmarks_are_deleted() -> None:
    first = Suspend(bookmarks=(SIGNAL, BookmarkRequest(kind=BookmarkKind.SIGNAL, key="other")))

    def drop(context: Any) -> Suspend:
        (left,) = context.bookmarks
        assert left.key == "other"
        return Suspend(bookmarks=(SIGNAL,), removed_bookmark_ids=(left.id, "no such id"))

    run = waiting(first, drop, activity=Resuming)
    run.resume(next(iter(run.bookmarks.values())))
    assert [mark.key for mark in run.bookmarks.values()] == ["go"]


def test_suspending_again_with_nothing_left_is_a_fault() -> None:
    run = waiting(Suspend(bookmarks=(SIGNAL,)), Suspend(), activity=Resuming)
    run.resume(run.only(BookmarkKind.SIGNAL))
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.activity.no_bookmark"


# --- resume ---------------------------------------------------------------------------------------


def test_an_activity_that_is_not_resumable_completes_with_the_inputs() -> None:
    run = waiting().resume(next(iter(waiting().bookmarks)), {"paid": 88})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables == {"paid": 88}
    assert run.node("work").inputs == run.node("work").outputs == {"paid": 88}
    assert run.bookmarks == {}


def test_completion_deletes_every_bookmark_of_the_node() -> None:
    others = tuple(BookmarkRequest(kind=BookmarkKind.SIGNAL, key=key) for key in "abc")
    run = waiting(Suspend(bookmarks=others), timeout_seconds=5)
    run.resume(next(iter(run.bookmarks.values())))
    assert run.bookmarks == {}


def test_state_is_kept_over_waits() -> None:
    def begin(context: Any) -> Suspend:
        context.state["began"] = {"at": 1}
        return Suspend(bookmarks=(SIGNAL,))

    run = waiting(begin, activity=Resuming)
    assert run.node("work").state == {"began": {"at": 1}}
    run.resume(run.only(BookmarkKind.SIGNAL))
    assert run.node("work").state == {"began": {"at": 1}, "resumed": ["Signal"]}


def test_a_wave_does_not_change_the_snapshot_it_was_given() -> None:
    run = waiting(Suspend(bookmarks=(SIGNAL,)), Suspend(bookmarks=(SIGNAL,), outputs={"x": 1}), activity=Resuming)
    before, given = run.snapshot(), run.snapshot()
    run.world.engine.resume(given, run.compiled, run.only(BookmarkKind.SIGNAL).id, {"new": 1}, run.command("resume"))
    assert given == before


def test_an_unknown_bookmark_is_not_found() -> None:
    with pytest.raises(NotFound) as refusal:
        waiting().resume("no such id")
    assert refusal.value.code == "WORKFLOW_NOTFOUND_003"


def test_a_bookmark_that_changed_hands_is_denied() -> None:
    run = waiting()
    with pytest.raises(Denied) as refusal:
        run.resume(run.only(BookmarkKind.SIGNAL), key="old")
    assert refusal.value.code == "WORKFLOW_DENIED_001"
    run.resume(run.only(BookmarkKind.SIGNAL), key="go")
    assert run.instance.status is InstanceStatus.COMPLETED


@pytest.mark.parametrize("status", [InstanceStatus.SUSPENDED, InstanceStatus.FAULTED])
def test_an_instance_that_does_not_run_refuses_and_keeps_the_bookmark(status: InstanceStatus) -> None:
    run = with_status(waiting(), status)
    with pytest.raises(Conflict) as refusal:
        run.resume(run.only(BookmarkKind.SIGNAL))
    assert (refusal.value.code, refusal.value.details) == ("WORKFLOW_CONFLICT_003", {"status": status})
    assert len(run.bookmarks) == 1


def test_a_bookmark_without_its_node_instance_is_refused() -> None:
    run = waiting()
    run.nodes.pop(run.node("work").id)
    with pytest.raises(Conflict) as refusal:
        run.resume(run.only(BookmarkKind.SIGNAL))
    assert (refusal.value.code, refusal.value.key) == ("WORKFLOW_CONFLICT_003", "workflow.bookmark.not_resumable")


def test_a_due_bookmark_without_its_node_instance_is_an_error() -> None:
    run = World().start(flow("delay", [START, node("wait", "Delay", {"DurationSeconds": 5}), END]))
    run.nodes.pop(run.node("wait").id)
    run.world.clock.advance(5)
    with pytest.raises(Unexpected):
        run.due()


def test_a_node_that_the_definition_has_no_more_is_an_error() -> None:
    run = waiting()
    run.compiled = run.world.compile(flow("other", [START, END]))
    with pytest.raises(Unexpected) as refusal:
        run.resume(run.only(BookmarkKind.SIGNAL))
    assert refusal.value.params == {"id": "work"}


# --- node timeouts --------------------------------------------------------------------------------


def test_a_timeout_of_an_activity_that_is_not_resumable_is_a_fault() -> None:
    run = waiting(timeout_seconds=60)
    run.world.clock.advance(60)
    run.due()
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == ("workflow.node.timed_out", {"node": "work"})
    assert run.node("work").inputs == {"__timeout": True}


def test_the_fault_of_a_timeout_goes_on_like_any_other() -> None:
    run = waiting(timeout_seconds=60, continue_on_error=True)
    run.world.clock.advance(60)
    run.due()
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables["lastError"]["key"] == "workflow.node.timed_out"
    assert run.bookmarks == {}


# --- due ------------------------------------------------------------------------------------------


def two_delays(world: World | None = None) -> Run:
    nodes = [
        START,
        *(node(name, "Delay", {"DurationSeconds": seconds}) for name, seconds in (("slow", 9), ("fast", 3))),
    ]
    return (world or World()).start(flow("two", nodes, [edge("start", "slow"), edge("start", "fast")]))


def test_due_bookmarks_of_one_instance_run_together_in_due_order() -> None:
    run = two_delays()
    run.world.clock.advance(9)
    run.due()
    executing = [topic for topic in run.topics if topic.startswith("node.executing")]
    assert executing[-2:] == ["node.executing(fast)", "node.executing(slow)"]
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.audit[-1].action == "due"
    assert run.instance.revision == 2


def test_what_is_gone_or_not_due_is_skipped() -> None:
    run = two_delays()
    slow, fast = list(run.bookmarks.values())
    run.world.clock.advance(3)
    run.due(slow, fast, "no such id", fast)
    assert list(run.bookmarks) == [slow.id]


def test_when_nothing_is_due_nothing_is_written() -> None:
    run = two_delays()
    before = run.instance.revision
    run.due(*run.bookmarks.values())
    assert run.last.write_set.instance is None
    assert (run.last.write_set.audit, run.last.events) == ([], [])
    assert run.instance.revision == before


def test_a_bookmark_without_a_due_time_is_never_due() -> None:
    run = waiting()
    run.due(run.only(BookmarkKind.SIGNAL))
    assert run.last.write_set.instance is None


def test_a_bookmark_that_an_earlier_one_took_away_is_skipped() -> None:
    run = World().start(flow("both", [START, node("wait", "Delay", {"DurationSeconds": 5}, timeout_seconds=5), END]))
    run.world.clock.advance(5)
    run.due()
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.path == ["start", "wait", "end"]


@pytest.mark.parametrize("status", [InstanceStatus.SUSPENDED, InstanceStatus.FAULTED])
def test_due_work_of_an_instance_that_does_not_run_is_pushed_back(status: InstanceStatus) -> None:
    run = with_status(two_delays(), status)
    slow, fast = list(run.bookmarks.values())
    run.world.clock.advance(4)
    run.due()
    now = run.world.clock.now()
    assert run.bookmarks[fast.id].due_at == now + timedelta(seconds=300)
    assert run.bookmarks[fast.id].original_due_at == fast.due_at
    assert run.bookmarks[slow.id] == slow
    assert run.instance.status is status
    assert len(run.audit) == 1
    run.world.clock.advance(300)
    run.due()
    assert run.bookmarks[fast.id].due_at == now + timedelta(seconds=600)
    assert run.bookmarks[fast.id].original_due_at == fast.due_at


def test_the_push_back_is_an_option() -> None:
    run = with_status(
        two_delays(World(options=EngineOptions(not_resumable_backoff_seconds=0.5))), InstanceStatus.SUSPENDED
    )
    run.world.clock.advance(3)
    run.due()
    pushed = [mark.due_at for mark in run.bookmarks.values()]
    assert run.world.clock.now() + timedelta(seconds=0.5) in pushed


# --- the instance's deadline ----------------------------------------------------------------------


def timed(action: str | None, wait: JsonObject | None = None) -> Run:
    settings: dict[str, Any] = {"timeout": 60} if action is None else {"timeout": 60, "timeout_action": action}
    nodes = [START, wait or node("wait", "UserTask", {"Assignees": ["u"]}), END]
    run = World().start(flow("timed", nodes, **settings))
    run.world.clock.advance(60)
    return run.due()


@pytest.mark.parametrize("action", [None, "Fault"])
def test_a_passed_deadline_faults_the_instance_for_good(action: str | None) -> None:
    run = timed(action)
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.instance.timed_out"
    assert run.holders() == ["u"]
    with pytest.raises(Conflict):
        run.retry()


@pytest.mark.parametrize(
    ("action", "status"), [("Cancel", InstanceStatus.CANCELED), ("Terminate", InstanceStatus.TERMINATED)]
)
def test_a_passed_deadline_may_end_the_instance(action: str, status: InstanceStatus) -> None:
    run = timed(action)
    assert run.instance.status is status
    assert run.bookmarks == {}
    assert run.node("wait").status is NodeStatus.CANCELED


def test_work_that_is_due_with_the_deadline_comes_first() -> None:
    run = timed("Fault", node("wait", "Delay", {"DurationSeconds": 60}))
    assert run.instance.status is InstanceStatus.COMPLETED


# --- cancel and terminate -------------------------------------------------------------------------


def test_cancel_ends_everything_that_is_open() -> None:
    run = two_delays()
    run.world.clock.advance(1)
    run.cancel("not needed")
    instance = run.instance
    assert instance.status is InstanceStatus.CANCELED
    assert (instance.cancellation_reason, instance.ended_at) == ("not needed", run.world.clock.now())
    assert run.bookmarks == {}
    assert [run.node(name).status for name in ("start", "slow", "fast")] == [
        NodeStatus.COMPLETED,
        NodeStatus.CANCELED,
        NodeStatus.CANCELED,
    ]
    assert run.node("slow").ended_at == run.world.clock.now()
    assert run.topics[-1] == "instance.canceled"
    assert run.audit[-1].reason == "not needed"
    assert run.last.write_set.columns_changed


def test_cancelling_again_changes_nothing() -> None:
    run = two_delays().cancel("first")
    revision = run.instance.revision
    run.cancel("second")
    assert (run.instance.revision, run.instance.cancellation_reason) == (revision, "first")
    assert run.last.write_set.instance is None


def test_a_completed_instance_stays_completed() -> None:
    run = World().start(flow("done", [START, END])).cancel()
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_faulted_instance_can_be_closed_and_keeps_its_fault() -> None:
    run = World().start(flow("bad", [START, node("bad", "Fault"), node("end", "End")])).cancel("tidy up")
    assert run.instance.status is InstanceStatus.CANCELED
    assert run.instance.fault is not None
    assert run.node("bad").status is NodeStatus.FAULTED
    with pytest.raises(Conflict):
        run.retry()


def test_a_suspended_instance_can_be_cancelled() -> None:
    assert with_status(two_delays(), InstanceStatus.SUSPENDED).cancel().instance.status is InstanceStatus.CANCELED


def test_a_node_that_waits_for_its_retry_stays_faulted_when_cancelled() -> None:
    work = Scripted(*[RuntimeError("x")] * 3, type_name="Work")
    nodes = [START, node("work", "Work", retry_policy={"maxAttempts": 3}), END]
    run = World(activities=[work]).start(flow("retrying", nodes)).cancel()
    assert run.node("work").status is NodeStatus.FAULTED
    assert run.bookmarks == {}


def test_a_completion_without_bookmarks_leaves_those_of_other_nodes() -> None:
    work = Scripted(Suspend(bookmarks=(SIGNAL,)), Complete(), type_name="Work")
    nodes = [START, node("a", "Work"), node("b", "Work")]
    run = World(activities=[work]).start(flow("others", nodes, [edge("start", "a"), edge("start", "b")]))
    (mark,) = run.bookmarks.values()
    assert isinstance(mark, Bookmark)
    assert mark.node_id == "a"
