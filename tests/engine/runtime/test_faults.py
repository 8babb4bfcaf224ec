"""Faults: retries, going on after errors, the instance's fault and its repair (spec 3.4, 3.8, 3.12, 3.13)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.engine.harness import Resuming, Run, Scripted, World, doomed
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.activities.api import ActivityFault, BookmarkRequest, Complete, Fault, Suspend
from webapp.engine.errors import (
    NOTFOUND_TYPE,
    UNEXPECTED,
    VALIDATION_INPUT,
    Conflict,
    InputInvalid,
    OperationCancelled,
)
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, NodeStatus, WorkflowFault
from webapp.engine.numbers import JsonDecimal, JsonObject


def one(
    *script: Any, then: list[JsonObject] | None = None, activity: type[Scripted] = Scripted, **settings: Any
) -> Run:
    """Start → work → end, where work follows the script."""
    work = activity(*script, type_name="Work")
    nodes = [START, node("work", "Work", **settings), *(then or [END])]
    return World(activities=[work]).start(flow("work", nodes))


def policy(attempts: int, delay: object = 10, factor: object = 2) -> JsonObject:
    return {"maxAttempts": attempts, "firstDelaySeconds": delay, "backoffFactor": factor}


# --- what becomes a fault -------------------------------------------------------------------------


def test_an_exception_is_a_fault_with_its_text() -> None:
    run = one(RuntimeError("the printer\x00 burns"))
    fault = run.instance.fault
    assert fault is not None
    assert (fault.code, fault.key) == (UNEXPECTED, "workflow.activity.exception")
    assert fault.args == {"text": "the printer burns", "type": "RuntimeError"}


def test_an_exception_without_a_text_tells_its_type() -> None:
    fault = one(KeyError()).instance.fault
    assert fault is not None
    assert fault.args["text"] == "KeyError"


def test_an_exception_that_cannot_tell_its_text_is_a_fault() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    fault = one(Mute()).instance.fault
    assert fault is not None
    assert fault.args == {"text": "Mute", "type": "Mute"}


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("x" * 10_001, "x" * 10_000),
        (["x" * 10_000], '["' + "x" * 9_998),
        ({"a": [1, JsonDecimal("1.50")]}, {"a": [1, JsonDecimal("1.50")]}),
        (object(), "object"),
    ],
)
def test_a_fault_keeps_no_argument_that_is_too_large_or_no_json(value: object, kept: object) -> None:
    inner = WorkflowFault(code=UNEXPECTED, key="inner", args={"value": value})
    raised = ActivityFault("outer", code=UNEXPECTED, args={"value": value}, inner=inner)
    returned = Fault(fault=raised.fault)
    for what in (raised, returned):
        fault = one(what).instance.fault
        assert fault is not None
        assert fault.inner is not None
        assert (fault.args["value"], fault.inner.args["value"]) == (kept, kept)


def test_the_fault_that_a_flow_goes_on_after_does_not_copy_a_variable() -> None:
    nodes = [START, node("wait", "Delay", {"DurationSeconds": "big"}, continue_on_error=True)]
    run = World().start(flow("wait", nodes), {"big": "x" * 100_000})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables["lastError"]["args"] == {"value": "x" * 10_000}


def test_a_refusal_of_the_engine_keeps_its_code_and_arguments() -> None:
    fault = one(InputInvalid("workflow.input.blank", params={"a": 1})).instance.fault
    assert fault is not None
    assert (fault.code, fault.key, fault.args) == (VALIDATION_INPUT, "workflow.input.blank", {"a": 1})


def test_an_activity_fault_is_taken_as_it_is() -> None:
    fault = one(ActivityFault("workflow.fault.node", code="X_1", args={"text": "t"})).instance.fault
    assert fault is not None
    assert (fault.code, fault.key, fault.args) == ("X_1", "workflow.fault.node", {"text": "t"})


def test_a_cancellation_that_nobody_asked_for_is_a_fault() -> None:
    run = one(OperationCancelled("stop"))
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault_node_instance_id == run.node("work").id


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
def test_what_is_no_exception_passes_through(error: type[BaseException]) -> None:
    with pytest.raises(error):
        one(error())


def test_an_outcome_that_is_none_is_a_fault() -> None:
    fault = one("done").instance.fault
    assert fault is not None
    assert (fault.key, fault.args) == ("workflow.activity.bad_outcome", {"type": "str"})


def test_suspending_without_a_bookmark_is_a_fault() -> None:
    run = one(Suspend(), timeout_seconds=5)
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.activity.no_bookmark"
    assert run.bookmarks == {}


def test_a_bookmark_key_beyond_its_length_is_a_fault() -> None:
    run = one(Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.SIGNAL, key="k" * 201),)))
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == ("workflow.bookmark.key_too_long", {"max": 200})
    assert run.bookmarks == {}


def test_outputs_that_are_no_json_are_a_fault() -> None:
    fault = one(Complete(outputs={"x": object()})).instance.fault
    assert fault is not None
    assert (fault.key, fault.args) == ("workflow.activity.not_json", {"text": "outputs.x"})


@pytest.mark.parametrize("outputs", [{"x": "a\x00"}, {"x\x00": 1}, {"x": [{"y": ["\x00"]}]}])
def test_a_text_that_no_store_keeps_is_a_fault(outputs: JsonObject) -> None:
    fault = one(Complete(outputs=outputs)).instance.fault
    assert fault is not None
    assert fault.key == "workflow.variables.nul"


def test_a_text_that_only_looks_like_it_is_none() -> None:
    assert one(Complete(outputs={"x": "\\u0000", "y": 1})).instance.variables == {"x": "\\u0000", "y": 1}


def test_an_unknown_activity_faults_the_instance_whatever_the_policy() -> None:
    document = flow("gone", [START, node("gone", "Gone", retry_policy=policy(3), continue_on_error=True), END])
    run = World().start(document)
    fault = run.instance.fault
    assert fault is not None
    assert (fault.code, fault.key, fault.args) == (NOTFOUND_TYPE, "workflow.activity.unknown", {"type": "Gone"})
    assert run.instance.fault_node_instance_id == run.node("gone").id
    assert run.node("gone").status is NodeStatus.FAULTED


def test_a_task_whose_activity_is_gone_ends_with_the_fault() -> None:
    request = BookmarkRequest(kind=BookmarkKind.USER_TASK, key="ann", title="Ask")
    run = one(Suspend(bookmarks=(request,)), activity=Resuming)
    run.compiled = World().compile(flow("work", [START, node("work", "Work"), END]))
    run.resume(run.task("ann"))
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.rounds() == [("ann", EndReason.FAULTED)]


def test_an_error_of_the_engine_itself_faults_the_instance_at_the_node() -> None:
    run = one(Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.TIMER), "no request")))  # type: ignore[arg-type]
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault_node_instance_id == run.node("work").id
    assert run.node("work").status is NodeStatus.FAULTED


# --- a: automatic retry ---------------------------------------------------------------------------


def test_a_policy_arms_a_retry_and_the_instance_stays_running() -> None:
    run = one(doomed(), retry_policy=policy(3, 5))
    retry = run.only(BookmarkKind.RETRY)
    work = run.node("work")
    assert run.instance.status is InstanceStatus.RUNNING
    assert retry.due_at == run.world.clock.now() + timedelta(seconds=5)
    assert retry.node_instance_id == work.id
    assert (work.status, work.ended_at, work.try_count) == (NodeStatus.FAULTED, None, 1)
    assert work.fault is not None
    assert run.topics[-1] == "node.faulted(work)"
    assert run.events[-1].data["willRetry"] is True


def test_a_due_retry_runs_the_same_record_again() -> None:
    run = one(doomed(), Complete(outputs={"done": True}), retry_policy=policy(3, 5))
    run.world.clock.advance(5)
    run.due()
    work = run.node("work")
    assert (work.status, work.try_count, work.fault) == (NodeStatus.COMPLETED, 2, None)
    assert run.path == ["start", "work", "end"]
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.bookmarks == {}


def test_attempts_include_the_first_run_and_the_last_failure_faults() -> None:
    run = one(doomed("1"), doomed("2"), retry_policy=policy(2))
    run.world.clock.advance(10)
    run.due()
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.node("work").try_count == 2
    assert run.instance.fault is not None
    assert run.instance.fault.args == {"text": "2"}


def test_without_a_policy_nothing_is_tried_again() -> None:
    assert one(doomed()).bookmarks == {}


@pytest.mark.parametrize(
    ("delay", "factor", "waits"),
    [
        (10, 2, ["10", "20", "40", "80"]),
        (JsonDecimal("0.1"), JsonDecimal("1.5"), ["0.1", "0.15", "0.225", "0.3375"]),
        (1, 1, ["1", "1", "1", "1"]),
        (0, 2, ["0", "0", "0", "0"]),
    ],
)
def test_the_wait_grows_exactly(delay: object, factor: object, waits: list[str]) -> None:
    run = one(*[doomed()] * 4, retry_policy=policy(5, delay, factor))
    for wait in waits:
        due = run.only(BookmarkKind.RETRY).due_at
        assert due is not None
        expected = timedelta(microseconds=int(JsonDecimal(wait) * 1_000_000))
        assert due - run.world.clock.now() == expected
        run.world.clock.advance(expected.total_seconds())
        run.due()
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_wait_beyond_all_calendars_is_a_hundred_years() -> None:
    run = one(*[doomed()] * 3, retry_policy=policy(9, 1, JsonDecimal("1" + "0" * 39)))
    run.due().world.clock.advance(1)
    run.due()
    due = run.only(BookmarkKind.RETRY).due_at
    assert due is not None
    assert due - run.world.clock.now() == timedelta(days=36_600)


def test_a_retry_drops_the_children_of_the_failed_attempt_and_keeps_the_rest_of_the_state() -> None:
    def begin(context: Any) -> Any:
        context.state.update({"__childInstanceIds": ["c1"], "kept": 1})
        return doomed()

    run = one(begin, retry_policy=policy(2, 1))
    assert run.node("work").state == {"__childInstanceIds": ["c1"], "kept": 1}
    run.world.clock.advance(1)
    run.due()
    assert run.node("work").state == {"kept": 1}


def test_other_bookmarks_of_the_node_stay_until_the_retry_runs() -> None:
    waits = Suspend(bookmarks=tuple(BookmarkRequest(kind=BookmarkKind.SIGNAL, key=key) for key in ("a", "b")))
    run = one(waits, doomed(), activity=Resuming, retry_policy=policy(3, 5), timeout_seconds=60)
    first, second = [mark for mark in run.bookmarks.values() if mark.kind is BookmarkKind.SIGNAL]
    run.resume(first)
    assert {mark.kind for mark in run.bookmarks.values()} == {BookmarkKind.SIGNAL, BookmarkKind.RETRY}
    assert second.id in run.bookmarks
    run.world.clock.advance(5)
    run.due()
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.bookmarks == {}


def test_a_second_failure_of_one_attempt_replaces_the_armed_retry() -> None:
    waits = Suspend(bookmarks=tuple(BookmarkRequest(kind=BookmarkKind.SIGNAL, key=key) for key in ("a", "b")))
    run = one(waits, doomed(), doomed(), activity=Resuming, retry_policy=policy(3, 5))
    first, second = list(run.bookmarks.values())
    run.resume(first)
    run.world.clock.advance(1)
    run.resume(second)
    assert run.only(BookmarkKind.RETRY).due_at == run.world.clock.now() + timedelta(seconds=5)


def test_a_raw_resume_of_a_retry_bookmark_is_a_retry() -> None:
    run = one(doomed(), retry_policy=policy(2))
    run.resume(run.only(BookmarkKind.RETRY))
    assert run.node("work").try_count == 2
    assert run.instance.status is InstanceStatus.COMPLETED


# --- b: continue on error -------------------------------------------------------------------------


def caught(*script: Any, **settings: Any) -> Run:
    work = Scripted(*script, type_name="Work")
    nodes = [
        START,
        node("work", "Work", continue_on_error=True, **settings),
        node("handler", "SetVariable", {"Expressions": {"why": "lastError.args.text", "code": "lastError.code"}}),
        node("fine", "Log"),
    ]
    edges = [
        edge("start", "work"),
        edge("work", "handler", "outcome == 'error'"),
        edge("work", "fine", is_default=True),
    ]
    return World(activities=[work]).start(flow("caught", nodes, edges))


def test_continue_on_error_goes_on_with_the_label_error() -> None:
    run = caught(doomed("no paper"))
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.path == ["start", "work", "handler"]
    assert run.instance.variables["outcome"] == "error"
    assert run.instance.variables["lastError"] == {
        "code": UNEXPECTED,
        "key": "workflow.activity.exception",
        "args": {"text": "no paper"},
        "inner": None,
    }
    assert run.instance.variables["why"] == "no paper"
    assert run.instance.variables["code"] == UNEXPECTED
    assert (run.node("work").status, run.node("work").ended_at) == (NodeStatus.FAULTED, run.world.clock.now())
    assert run.node("work").outputs == {"outcome": "error"}


def test_retries_come_before_going_on() -> None:
    run = caught(doomed("1"), doomed("2"), retry_policy=policy(2, 1))
    assert run.instance.variables == {}
    run.world.clock.advance(1)
    run.due()
    assert run.path[-1] == "handler"
    assert run.instance.variables["why"] == "2"


def test_a_node_that_succeeds_takes_the_other_way() -> None:
    run = caught()
    assert run.path[-1] == "fine"
    assert "lastError" not in run.instance.variables


def test_going_on_deletes_what_the_node_waited_for() -> None:
    waits = Suspend(bookmarks=tuple(BookmarkRequest(kind=BookmarkKind.SIGNAL, key=key) for key in ("a", "b")))
    run = one(waits, doomed(), activity=Resuming, continue_on_error=True, timeout_seconds=9)
    run.resume(next(iter(run.bookmarks.values())))
    assert run.bookmarks == {}
    assert run.instance.status is InstanceStatus.COMPLETED


def test_going_on_where_no_edge_matches_faults_the_instance() -> None:
    work = Scripted(doomed(), type_name="Work")
    nodes = [START, node("work", "Work", continue_on_error=True), END]
    run = World(activities=[work]).start(
        flow("stuck", nodes, [edge("start", "work"), edge("work", "end", "outcome == 'fine'")])
    )
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.edge.no_match"


# --- c: the fault of the instance, and its retry --------------------------------------------------


def test_a_fault_ends_the_node_and_the_instance() -> None:
    run = one(doomed("x"))
    instance, work = run.instance, run.node("work")
    assert instance.status is InstanceStatus.FAULTED
    assert instance.ended_at == work.ended_at == run.world.clock.now()
    assert instance.fault == work.fault
    assert (instance.fault_node_id, instance.fault_node_instance_id) == ("work", work.id)
    assert run.topics[-2:] == ["node.faulted(work)", "instance.faulted"]
    assert run.events[-2].data["willRetry"] is False
    assert run.events[-1].data["instance"]["fault"]["args"] == {"text": "x"}


def test_a_manual_retry_clears_the_fault_and_goes_on() -> None:
    run = one(doomed())
    run.world.clock.advance(60)
    run.retry("the printer is mended")
    instance = run.instance
    assert instance.status is InstanceStatus.COMPLETED
    assert (instance.fault, instance.fault_node_id, instance.fault_node_instance_id) == (None, None, None)
    assert run.node("work").try_count == 2
    assert run.topics[run.topics.index("instance.faulted") + 1] == "instance.resumed"
    assert run.audit[-1].reason == "the printer is mended"


def test_a_manual_retry_does_not_refill_a_policy_that_is_used_up() -> None:
    run = one(doomed(), doomed(), retry_policy=policy(1)).retry()
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.node("work").try_count == 2


@pytest.mark.parametrize("end", ["Running", "Completed"])
def test_only_a_faulted_instance_is_retried(end: str) -> None:
    run = one() if end == "Completed" else one(Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.SIGNAL),)))
    with pytest.raises(Conflict) as refusal:
        run.retry()
    assert (refusal.value.code, refusal.value.key) == ("WORKFLOW_CONFLICT_001", "workflow.instance.not_faulted")


def test_a_fault_without_a_node_is_not_retried() -> None:
    nodes = [START, node("a", "Log"), node("join", "Join")]
    edges = [edge("start", "join"), edge("start", "a", "false"), edge("a", "join")]
    run = World().start(flow("dead", nodes, edges))
    with pytest.raises(Conflict) as refusal:
        run.retry()
    assert refusal.value.key == "workflow.instance.not_retryable"


def test_a_reason_beyond_its_length_is_refused() -> None:
    run = one(doomed())
    for act in (run.retry, run.cancel):
        with pytest.raises(InputInvalid) as refusal:
            act("r" * 10_001)
        assert refusal.value.problems[0].path == "reason"
    assert run.instance.status is InstanceStatus.FAULTED
