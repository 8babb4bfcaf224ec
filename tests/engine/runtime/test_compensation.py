"""Compensation (spec 3.14, 1.17, 4.17): who is undone, in which order, when, and what a failure means."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.harness import Run, Scripted, World, doomed
from tests.support.engine import TestCompensable
from tests.support.flows import END, START, edge, flow, node
from tests.support.http_client import FakeHttp
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, BookmarkRequest, Suspend
from webapp.engine.builtin.http import HttpActivity
from webapp.engine.cancellation import Cancellation
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.errors import Conflict, OperationCancelled
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.http import HttpFailure
from webapp.engine.runtime.commands import Command

ASK = node("ask", "UserTask", {"Assignees": ["u1"]})


def step(node_id: str, output: str | None = None, **more: Any) -> JsonObject:
    return node(node_id, "TestCompensable", {} if output is None else {"Output": output}, **more)


class Case:
    """A world with a compensable activity, and what it was told to undo."""

    def __init__(self, *activities: Any) -> None:
        self.recorder = TestCompensable()
        self.world = World(activities=[self.recorder, *activities])

    def start(self, nodes: list[JsonObject], edges: list[JsonObject] | None = None, **settings: Any) -> Run:
        settings = settings or {"compensate_on_cancel": True}
        variables = settings.pop("variables", None)
        return self.world.start(flow("case", nodes, edges, **settings), variables)

    @property
    def undone(self) -> list[str]:
        return self.recorder.undone


def statuses(run: Run, *node_ids: str) -> list[NodeStatus]:
    return [run.node(node_id).status for node_id in node_ids]


# --- order ------------------------------------------------------------------------------------------


def test_cancel_undoes_the_latest_first() -> None:
    case = Case()
    run = case.start([START, step("one"), step("two"), ASK, END]).cancel("no more")
    assert case.undone == ["two", "one"]
    assert run.instance.status is InstanceStatus.CANCELED
    assert statuses(run, "start", "one", "two", "ask") == [
        NodeStatus.COMPLETED, NodeStatus.COMPENSATED, NodeStatus.COMPENSATED, NodeStatus.CANCELED,
    ]  # fmt: skip
    assert run.node("one").compensated_at == run.world.clock.now()
    assert run.node("start").compensated_at is None
    assert run.audit[-1].after == {
        "revision": 2,
        "nodeInstanceIds": run.audit[-1].after["nodeInstanceIds"],
        "status": "Canceled",
        "compensatedNodeInstanceIds": [run.node("two").id, run.node("one").id],
    }


def test_without_the_setting_nothing_is_undone() -> None:
    case = Case()
    run = case.start([START, step("one"), ASK, END], compensate_on_fault=True).cancel()
    assert (case.undone, run.instance.status) == ([], InstanceStatus.CANCELED)


def test_terminate_undoes_nothing() -> None:
    case = Case()
    case.start([START, step("one"), node("stop", "Terminate")], compensate_on_cancel=True, compensate_on_fault=True)
    assert case.undone == []


def test_each_turn_of_a_loop_is_undone_by_itself() -> None:
    case = Case()
    nodes = [START, step("pay", "n"), node("count", "SetVariable", {"Expressions": {"n": "n + 1"}}),
             node("more", "Decision"), ASK, END]  # fmt: skip
    edges = [edge("start", "pay"), edge("pay", "count"), edge("count", "more"), edge("more", "pay", "n < 3"),
             edge("more", "ask", is_default=True), edge("ask", "end")]  # fmt: skip
    case.start(nodes, edges, variables={"n": 0}, compensate_on_cancel=True).cancel()
    assert case.undone == ["pay 2", "pay 1", "pay 0"]


def test_parallel_branches_are_undone_by_their_starts_not_their_ends() -> None:
    case = Case()
    wait = node("wait", "UserTask", {"Assignees": ["u2"]})
    nodes = [START, node("split", "Parallel"), wait, step("slow"), step("quick"), ASK, END]
    edges = [edge("start", "split"), edge("split", "wait"), edge("split", "quick"), edge("split", "ask"),
             edge("wait", "slow"), edge("ask", "end")]  # fmt: skip
    run = case.start(nodes, edges)
    case.world.clock.advance(60)
    run.approve("u2")
    run.cancel()
    assert case.undone == ["slow", "quick"]


def test_a_wait_that_was_started_first_is_undone_last() -> None:
    """Start order, not completion order (decision D19)."""

    class Waiting(TestCompensable):
        descriptor = ActivityDescriptor(type="Waiting", category=Category.CUSTOM, icon="timer", custom=True, waits=True)

        def execute(self, context: ActivityContext) -> ActivityOutcome:
            context.state["done"] = None
            return Suspend(bookmarks=(BookmarkRequest(kind=BookmarkKind.SIGNAL, key="go"),))

    waiting = Waiting()
    case = Case(waiting)
    waiting.undone = case.recorder.undone
    rest = node("rest", "Delay", {"DurationSeconds": 9})
    nodes = [START, node("split", "Parallel"), node("early", "Waiting"), ASK, step("late"), rest]
    edges = [edge("start", "split"), edge("split", "early"), edge("split", "ask"), edge("ask", "late"),
             edge("late", "rest")]  # fmt: skip
    run = case.start(nodes, edges)
    case.world.clock.advance(1)
    run.approve("u1")
    case.world.clock.advance(1)
    run.resume(run.only(BookmarkKind.SIGNAL))
    run.cancel()
    assert case.undone == ["late", "early"]


# --- failures -----------------------------------------------------------------------------------------


def test_a_failing_compensation_is_noted_and_the_others_go_on() -> None:
    case = Case()
    case.recorder.refuses = {"two"}
    run = case.start([START, step("one"), step("two"), step("three"), ASK, END]).cancel()
    assert case.undone == ["three", "one"]
    failed = run.node("two")
    assert (failed.status, failed.compensated_at, failed.state) == (NodeStatus.COMPLETED, None, {"done": None})
    assert failed.fault is not None
    assert failed.fault.args == {"text": "two cannot be undone", "type": "RuntimeError"}
    (noted,) = run.audit[-1].after["compensationsFailed"]
    assert (noted["nodeInstanceId"], noted["fault"]["key"]) == (failed.id, "workflow.activity.exception")
    (line,) = run.log_lines
    assert (line.level, line.node_id) == ("Error", "two")
    assert "two cannot be undone" in line.message


def test_what_was_undone_is_never_undone_again() -> None:
    case = Case()
    case.recorder.refuses = {"one"}
    nodes = [START, step("one"), step("two"), node("boom", "Fault")]
    run = case.start(nodes, compensate_on_fault=True, compensate_on_cancel=True)
    assert (case.undone, run.instance.status) == (["two"], InstanceStatus.FAULTED)
    case.recorder.refuses = set()
    run.cancel()
    assert (case.undone, run.instance.status) == (["two", "one"], InstanceStatus.CANCELED)
    assert run.node("one").fault is None
    run.cancel()
    assert case.undone == ["two", "one"]


def test_the_callers_cancellation_rolls_a_compensation_back() -> None:
    caller = Cancellation()

    class Leaving(TestCompensable):
        descriptor = ActivityDescriptor(type="Leaving", category=Category.CUSTOM, icon="timer", custom=True)

        def compensate(self, context: ActivityContext) -> None:
            caller.set()
            context.cancellation.check()

    case = Case(Leaving())
    run = case.start([START, node("leave", "Leaving"), ASK, END])
    command = Command(id="c", action="cancel", actor_id="a", cancellation=caller)
    with pytest.raises(OperationCancelled):
        case.world.engine.cancel(run.snapshot(), run.compiled, command)


def test_a_cancellation_that_nobody_asked_for_is_a_failure_like_others() -> None:
    class Raising(TestCompensable):
        descriptor = ActivityDescriptor(type="Raising", category=Category.CUSTOM, icon="timer", custom=True)

        def compensate(self, context: ActivityContext) -> None:
            raise OperationCancelled("for no reason")

    case = Case(Raising())
    run = case.start([START, step("one"), node("raise", "Raising"), ASK, END]).cancel()
    assert (case.undone, statuses(run, "raise")) == (["one"], [NodeStatus.COMPLETED])


# --- on fault -----------------------------------------------------------------------------------------


def test_a_fault_undoes_after_it_is_told() -> None:
    case = Case()
    run = case.start([START, step("one"), node("boom", "Fault")], compensate_on_fault=True)
    assert (case.undone, run.instance.status, run.instance.fault_node_id) == (["one"], InstanceStatus.FAULTED, "boom")


def test_a_retry_that_the_policy_has_left_comes_first() -> None:
    case = Case(Scripted(doomed(), doomed()))
    retrying = node("boom", "Scripted", retry_policy={"maxAttempts": 2, "firstDelaySeconds": 1})
    run = case.start([START, step("one"), retrying, END], compensate_on_fault=True)
    assert (case.undone, run.instance.status) == ([], InstanceStatus.RUNNING)
    case.world.clock.advance(1)
    run.due()
    assert (case.undone, run.instance.status) == (["one"], InstanceStatus.FAULTED)


def test_a_retry_after_it_is_refused_unless_forced() -> None:
    case = Case(Scripted(doomed()))
    run = case.start([START, step("one"), node("boom", "Scripted"), END], compensate_on_fault=True)
    with pytest.raises(Conflict) as refused:
        run.retry()
    assert (refused.value.code, refused.value.key) == ("WORKFLOW_CONFLICT_001", "workflow.instance.compensated")
    run.retry(force=True)
    assert run.instance.status is InstanceStatus.COMPLETED
    assert (run.path, case.undone) == (["start", "one", "boom", "end"], ["one"])


def test_a_retry_is_free_when_the_fault_undid_nothing() -> None:
    case = Case(Scripted(doomed()))
    nodes = [START, step("one"), node("undo", "Compensate"), ASK, node("boom", "Scripted"), END]
    run = case.start(nodes, compensate_on_fault=True)
    case.world.clock.advance(1)
    run.approve("u1")
    assert (run.instance.status, case.undone) == (InstanceStatus.FAULTED, ["one"])
    assert run.retry().instance.status is InstanceStatus.COMPLETED


def test_a_dead_branch_undoes_too() -> None:
    case = Case()
    nodes = [
        START,
        step("one"),
        node("choose", "Decision"),
        node("a", "Log"),
        node("b", "Log"),
        node("join", "Join"),
        END,
    ]
    edges = [edge("start", "one"), edge("one", "choose"), edge("choose", "a", "true"),
             edge("choose", "b", is_default=True), edge("a", "join"),
             edge("b", "join"), edge("join", "end")]  # fmt: skip
    run = case.start(nodes, edges, compensate_on_fault=True)
    assert (case.undone, run.instance.fault and run.instance.fault.key) == (["one"], "workflow.join.dead")


@pytest.mark.parametrize(
    ("action", "settings", "status", "undone"),
    [
        ("Cancel", {"compensate_on_cancel": True}, InstanceStatus.CANCELED, ["one"]),
        ("Cancel", {"compensate_on_fault": True}, InstanceStatus.CANCELED, []),
        ("Fault", {"compensate_on_fault": True}, InstanceStatus.FAULTED, ["one"]),
        ("Terminate", {"compensate_on_cancel": True}, InstanceStatus.TERMINATED, []),
    ],
)
def test_the_instances_time_is_over(
    action: str, settings: dict[str, Any], status: InstanceStatus, undone: list[str]
) -> None:
    case = Case()
    run = case.start([START, step("one"), ASK, END], timeout=60, timeout_action=action, **settings)
    case.world.clock.advance(60)
    run.due()
    assert (run.instance.status, case.undone) == (status, undone)


# --- in mid-flow --------------------------------------------------------------------------------------


def test_compensate_undoes_and_the_flow_goes_on() -> None:
    case = Case()
    run = case.start([START, step("one"), step("two"), node("undo", "Compensate"), END], compensate_on_cancel=True)
    assert (run.instance.status, case.undone) == (InstanceStatus.COMPLETED, ["two", "one"])


def test_compensate_may_name_its_nodes() -> None:
    case = Case()
    undo = node("undo", "Compensate", {"NodeIds": ["one", "three"]})
    run = case.start([START, step("one"), step("two"), step("three"), undo, ASK, END], compensate_on_cancel=True)
    assert case.undone == ["three", "one"]
    run.cancel()
    assert case.undone == ["three", "one", "two"]


def test_compensate_in_a_later_wave_knows_what_was_done_before() -> None:
    case = Case()
    run = case.start([START, step("one"), ASK, node("undo", "Compensate"), END])
    assert run.compiled.needs_history
    run.approve("u1")
    assert (run.instance.status, case.undone) == (InstanceStatus.COMPLETED, ["one"])


def test_a_failing_compensation_does_not_stop_the_flow() -> None:
    case = Case()
    case.recorder.refuses = {"one"}
    run = case.start([START, step("one"), node("undo", "Compensate"), END])
    assert (run.instance.status, statuses(run, "one")) == (InstanceStatus.COMPLETED, [NodeStatus.COMPLETED])


# --- compensateWith -----------------------------------------------------------------------------------


def test_another_node_undoes_with_the_original_outputs() -> None:
    pay = node("pay", "SetVariable", {"Expressions": {"receipt": "id + 1"}}, compensate_with="refund")
    refund = node("refund", "SetVariable", {"Expressions": {"refunded": "compensated.receipt", "was": "receipt"}})
    spoil = node("spoil", "SetVariable", {"Values": {"receipt": 0}})
    edges = [edge("start", "pay"), edge("pay", "spoil"), edge("spoil", "ask"), edge("ask", "end")]
    case = Case()
    run = case.start([START, pay, refund, spoil, ASK, END], edges, variables={"id": 6}, compensate_on_cancel=True)
    assert "refund" not in run.path
    run.cancel()
    made = run.node("refund")
    assert (made.status, made.caused_by, made.ended_at) == (
        NodeStatus.COMPLETED,
        [run.node("pay").id],
        run.world.clock.now(),
    )
    assert run.node("pay").status is NodeStatus.COMPENSATED
    assert run.instance.variables == {"id": 6, "receipt": 0, "refunded": 7, "was": 0}
    assert run.topics[-2:] == ["node.executing(refund)", "node.executed(refund)"]
    assert run.path.count("refund") == 1


def test_a_call_that_undoes_has_a_key_of_its_own_each_time() -> None:
    client = FakeHttp()
    case = Case(HttpActivity(client))
    pay = node("pay", "SetVariable", {"Expressions": {"n": "n + 1"}}, compensate_with="refund")
    refund = node("refund", "Http", {"Url": "https://bank.example/{{ compensated.n }}"})
    nodes = [START, pay, node("more", "Decision"), refund, ASK, END]
    edges = [edge("start", "pay"), edge("pay", "more"), edge("more", "pay", "n < 2"),
             edge("more", "ask", is_default=True), edge("ask", "end")]  # fmt: skip
    run = case.start(nodes, edges, variables={"n": 0}, compensate_on_cancel=True)
    snapshot = run.snapshot()
    run.cancel()
    assert [request.url[-1] for request in client.requests] == ["2", "1"]
    keys = [request.headers["Idempotency-Key"] for request in client.requests]
    assert len(set(keys)) == 2
    assert run.last.outside_effects
    # The wave was lost in a crash and is run again: the same keys.
    case.world.engine.cancel(snapshot, run.compiled, run.command("cancel"))
    assert [request.headers["Idempotency-Key"] for request in client.requests[2:]] == keys


def test_a_node_that_fails_to_undo_is_shown_as_faulted() -> None:
    case = Case(HttpActivity(FakeHttp(HttpFailure("bank closed"))))
    pay = node("pay", "Log", {"Message": "paid"}, compensate_with="refund")
    refund = node("refund", "Http", {"Url": "https://bank.example/"})
    edges = [edge("start", "one"), edge("one", "pay"), edge("pay", "ask"), edge("ask", "end")]
    run = case.start([START, step("one"), pay, refund, ASK, END], edges).cancel()
    assert statuses(run, "pay", "refund", "one") == [
        NodeStatus.COMPLETED, NodeStatus.FAULTED, NodeStatus.COMPENSATED,
    ]  # fmt: skip
    assert run.instance.status is InstanceStatus.CANCELED
    assert run.node("pay").fault == run.node("refund").fault


def test_what_undoes_is_not_undone_itself() -> None:
    case = Case()
    pay = node("pay", "Log", {"Message": "paid"}, compensate_with="refund")
    edges = [edge("start", "pay"), edge("pay", "undo"), edge("undo", "ask"), edge("ask", "end")]
    nodes = [START, pay, step("refund"), node("undo", "Compensate"), ASK, END]
    run = case.start(nodes, edges)
    assert run.path.count("refund") == 1
    run.cancel()
    assert (run.path.count("refund"), case.undone) == (1, [])


def test_a_child_that_undoes_is_started_although_the_instance_has_ended() -> None:
    case = Case()
    pay = node("pay", "Log", {"Message": "paid"}, compensate_with="refund")
    refund = node("refund", "SubWorkflow", {"DefinitionName": "refunds", "WaitForCompletion": False})
    edges = [edge("start", "pay"), edge("pay", "ask"), edge("ask", "end")]
    run = case.start([START, pay, refund, ASK, END], edges).cancel()
    (owed,) = [one for one in run.last.write_set.new_follow_ups if one.action == "startChild"]
    assert owed.payload["lasting"] is True
    assert owed.payload["nodeInstanceId"] == run.node("refund").id


def test_the_history_is_asked_for_only_where_something_can_be_undone() -> None:
    case = Case()
    plain = [START, ASK, END]
    undoable = [START, step("one"), ASK, END]
    midway = [START, step("one"), ASK, node("undo", "Compensate"), END]
    with_other = [START, node("pay", "Log", compensate_with="refund"), END, node("refund", "Log")]
    edges = [edge("start", "pay"), edge("pay", "end")]

    def asks(nodes: list[JsonObject], edges: list[JsonObject] | None = None, **settings: Any) -> bool:
        return case.world.compile(flow("case", nodes, edges, **settings)).needs_history

    assert not asks(plain, compensate_on_cancel=True, compensate_on_fault=True)
    assert not asks(undoable)
    assert not asks(with_other, edges)
    assert asks(undoable, compensate_on_cancel=True)
    assert asks(undoable, compensate_on_fault=True)
    assert asks(midway)
    assert asks(with_other, edges, compensate_on_cancel=True)
