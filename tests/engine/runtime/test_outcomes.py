"""Outcome handlers (spec 3.10, decision D11): once an instance, the last End wins, together or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.harness import Run, Scripted, World
from tests.support.flows import END, START, edge, flow, node
from tests.support.outcome_handlers import RecordingHandler
from webapp.engine.cancellation import Cancellation
from webapp.engine.errors import OperationCancelled
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.instances.requests import StartRequest
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.outcomes import OutcomeContext
from webapp.engine.runtime.commands import Command

ASK = node("ask", "UserTask", {"Assignees": ["u1"]})


def done(outcome: str = "paid", node_id: str = "done", **more: Any) -> JsonObject:
    return node(node_id, "End", {"Outcome": outcome}, **more)


class Told:
    """Two handlers, a and b, and what they were told."""

    def __init__(self) -> None:
        self.list: list[tuple[str, str, str, str]] = []
        self.a, self.b = RecordingHandler("a", self.list), RecordingHandler("b", self.list)
        self.world = World(outcome_handlers=[self.a, self.b])

    def start(self, nodes: list[JsonObject], edges: list[JsonObject] | None = None, **settings: Any) -> Run:
        return self.world.start(flow("told", nodes, edges, **settings))

    @property
    def short(self) -> str:
        return " ".join(f"{name}:{outcome}" for name, _, _, outcome in self.list)


def test_handlers_are_told_in_order_before_the_instance_ends() -> None:
    told = Told()
    run = told.start([START, done()])
    assert told.list == [("a", "Running", "done", "paid"), ("b", "Running", "done", "paid")]
    assert (run.instance.status, run.instance.outcome) == (InstanceStatus.COMPLETED, "paid")


def test_without_an_outcome_nobody_is_told() -> None:
    told = Told()
    assert told.start([START, END]).instance.status is InstanceStatus.COMPLETED
    assert told.list == []


def test_a_cancel_a_termination_and_a_fault_are_no_result() -> None:
    told = Told()
    split = [edge("start", "split"), edge("split", "done"), edge("split", "other")]
    run = told.start([START, node("split", "Parallel"), done(), node("other", "UserTask", {"Assignees": ["u"]})], split)
    run.cancel()
    told.start([START, node("split", "Parallel"), done(), node("other", "Terminate")], split)
    told.start([START, node("split", "Parallel"), done(), node("other", "Fault")], split)
    assert told.list == []


def test_the_last_end_wins_and_is_told_once() -> None:
    told = Told()
    nodes = [START, node("split", "Parallel"), done("first", "one"), ASK, done("second", "two")]
    edges = [edge("start", "split"), edge("split", "one"), edge("split", "ask"), edge("ask", "two")]
    run = told.start(nodes, edges)
    assert (told.list, run.instance.outcome) == ([], "first")
    run.approve("u1")
    assert told.list == [("a", "Running", "two", "second"), ("b", "Running", "two", "second")]


def test_an_outcome_of_an_earlier_wave_is_told_at_the_end() -> None:
    told = Told()
    nodes = [START, node("split", "Parallel"), done("early", "one"), ASK, END]
    edges = [edge("start", "split"), edge("split", "one"), edge("split", "ask"), edge("ask", "end")]
    run = told.start(nodes, edges)
    assert run.compiled.needs_history
    told.b.fails = 1
    run.approve("u1")
    assert (run.instance.status, run.instance.fault_node_id) == (InstanceStatus.FAULTED, "one")
    assert run.node("one").status is NodeStatus.FAULTED
    run.retry()
    assert (run.instance.status, told.short) == (InstanceStatus.COMPLETED, "a:early b:early a:early b:early")


def test_a_flow_of_one_path_needs_no_history_for_it() -> None:
    told = Told()
    choice = [START, node("choose", "Decision"), done(), END]
    edges = [edge("start", "choose"), edge("choose", "done", "true"), edge("choose", "end", is_default=True)]
    assert not told.world.compile(flow("told", choice, edges)).needs_history
    forked = flow("told", [START, done(), ASK], [edge("start", "done"), edge("start", "ask")])
    assert told.world.compile(forked).needs_history
    assert not World().compile(forked).needs_history


def test_a_failing_handler_faults_the_end_and_all_run_again() -> None:
    told = Told()
    told.b.fails = 1
    run = told.start([START, done()])
    assert run.instance.status is InstanceStatus.FAULTED
    assert (run.instance.outcome, run.instance.fault_node_instance_id) == (None, run.node("done").id)
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.activity.exception"
    assert run.instance.fault.args == {"text": "b does not take paid", "type": "RuntimeError"}
    assert run.topics[-2:] == ["node.faulted(done)", "instance.faulted"]

    run.retry()
    assert (run.instance.status, run.instance.outcome) == (InstanceStatus.COMPLETED, "paid")
    assert (told.short, run.path) == ("a:paid b:paid a:paid b:paid", ["start", "done"])


def test_the_first_failure_stops_the_others() -> None:
    told = Told()
    told.a.fails = 1
    told.start([START, done()])
    assert told.short == "a:paid"


def test_the_end_may_be_tried_again_by_itself() -> None:
    told = Told()
    told.a.fails = 1
    run = told.start([START, done(retry_policy={"maxAttempts": 2, "firstDelaySeconds": 5})])
    assert (run.instance.status, run.instance.outcome) == (InstanceStatus.RUNNING, None)
    assert run.only(BookmarkKind.RETRY).node_id == "done"
    told.world.clock.advance(5)
    run.due()
    assert (run.instance.status, told.short) == (InstanceStatus.COMPLETED, "a:paid a:paid b:paid")


def test_the_end_may_go_on_after_the_error() -> None:
    told = Told()
    told.b.fails = 1
    run = told.start([START, done(continue_on_error=True)])
    assert (run.instance.status, run.instance.outcome) == (InstanceStatus.COMPLETED, "paid")
    assert run.instance.variables["lastError"]["args"]["text"] == "b does not take paid"
    assert told.short == "a:paid b:paid"


def test_a_refused_result_is_compensated_like_any_fault() -> None:
    told = Told()
    told.a.fails = 1
    pay = node("pay", "Log", compensate_with="refund")
    edges = [edge("start", "pay"), edge("pay", "done")]
    run = told.start([START, pay, node("refund", "Log"), done()], edges, compensate_on_fault=True)
    assert run.node("pay").status is NodeStatus.COMPENSATED


def test_a_handler_may_not_change_what_it_sees() -> None:
    class Meddling:
        def handle(self, context: OutcomeContext) -> None:
            context.instance.variables["list"].append("more")
            context.instance.title = "changed"

    world = World(outcome_handlers=[Meddling()])
    run = world.start(flow("told", [START, done()]), {"list": []})
    assert (run.instance.variables["list"], run.instance.title) == ([], "Told")


def test_the_callers_cancellation_rolls_back() -> None:
    caller = Cancellation()

    class Leaving:
        def handle(self, context: OutcomeContext) -> None:
            caller.set()
            context.cancellation.check()

    world = World(outcome_handlers=[Leaving()])
    command = Command(id="c", action="start", actor_id="a", cancellation=caller)
    with pytest.raises(OperationCancelled):
        world.engine.start(world.compile(flow("told", [START, done()])), StartRequest(), command, None)


def test_a_handler_with_effects_has_a_key() -> None:
    keys: list[str] = []

    class Sending:
        effects = True

        def handle(self, context: OutcomeContext) -> None:
            keys.append(context.effect_key)

    class Plain:
        def handle(self, context: OutcomeContext) -> None:
            _ = context.effect_key

    def start(*handlers: Any) -> Run:
        return World(outcome_handlers=handlers).start(flow("told", [START, done()]), instance_id="i-1")

    run = start(Sending(), Sending())
    assert run.last.outside_effects
    start(Sending(), Sending())
    assert keys[:2] == keys[2:]
    assert len(set(keys)) == 2
    assert start(Plain()).instance.status is InstanceStatus.FAULTED


def test_an_activity_of_ones_own_is_no_end() -> None:
    """Only the End node of an instance tells its result."""
    told = Told()
    world = World(activities=[Scripted()], outcome_handlers=[told.a])
    world.start(flow("told", [START, node("own", "Scripted"), done()]))
    assert [one[2] for one in told.list] == ["done"]
