"""Terminate (spec 4.3)."""

from __future__ import annotations

from tests.engine.harness import World
from tests.support.flows import START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus, NodeStatus


def test_terminate_ends_the_instance_at_once() -> None:
    nodes = [
        START,
        node("task", "UserTask", {"Assignees": ["u"]}),
        node("stop", "Terminate", {"Reason": "{{who}} said so"}),
        node("never", "Log"),
    ]
    edges = [edge("start", "task"), edge("start", "stop"), edge("start", "never")]
    run = World().start(flow("stop", nodes, edges), {"who": "Ada"})
    assert run.instance.status is InstanceStatus.TERMINATED
    assert run.instance.cancellation_reason == "Ada said so"
    assert run.instance.ended_at == run.world.clock.now()
    assert run.path == ["start", "task", "stop"]
    assert run.bookmarks == {}
    assert run.instance.pending_tokens == []
    assert (run.node("task").status, run.node("stop").status) == (NodeStatus.CANCELED, NodeStatus.COMPLETED)
    assert run.topics[-2:] == ["node.executed(stop)", "instance.terminated"]


def test_terminate_without_a_reason_names_its_node() -> None:
    run = World().start(flow("stop", [START, node("stop", "Terminate", {"Reason": " "}, name="The brake")]))
    assert run.instance.cancellation_reason == "The brake"


def test_a_reason_that_is_too_long_is_a_fault() -> None:
    document = flow("stop", [START, node("stop", "Terminate", {"Reason": "{{why}}"})])
    longest = World().start(document, {"why": "x" * 10_000})
    assert longest.instance.cancellation_reason == "x" * 10_000
    run = World().start(document, {"why": "x" * 10_001})
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.property.too_long"
    assert run.instance.fault.args == {"name": "Reason", "max": 10_000}
