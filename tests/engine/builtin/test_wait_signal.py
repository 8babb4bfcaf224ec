"""WaitSignal: whom it waits for, and what comes of the signal (spec 4.11, 3.17)."""

from __future__ import annotations

import pytest

from tests.engine.builtin.single import fault_of, single
from tests.engine.harness import World
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus


def test_it_waits_for_the_rendered_name_under_the_instance_s_correlation_id() -> None:
    it = node("node", "WaitSignal", {"SignalName": "paid-{{ kind }}"})
    run = World().start(flow("single", [START, it, END]), {"kind": "order"}, correlation_id="ORDER-1")
    wait = run.only(BookmarkKind.SIGNAL)
    assert (wait.key, wait.correlation_id, wait.due_at) == ("paid-order", "ORDER-1", None)
    run.resume(wait, {"amount": 88})
    assert run.instance.status is InstanceStatus.COMPLETED
    # The payload becomes variables; there is no label (spec 4.11).
    assert run.instance.variables == {"kind": "order", "amount": 88}
    assert run.node("node").outputs == {"amount": 88}


def test_any_correlation_id_must_be_asked_for() -> None:
    fault = fault_of(single("WaitSignal", {"SignalName": "paid"}))
    assert (fault.key, fault.args) == ("workflow.signal.no_correlation", {"node": "The node", "signal": "paid"})
    run = single("WaitSignal", {"SignalName": "paid", "AcceptAnyCorrelation": True})
    assert run.only(BookmarkKind.SIGNAL).correlation_id is None


def test_a_wait_for_any_keeps_no_correlation_id_of_its_own() -> None:
    it = node("node", "WaitSignal", {"SignalName": "paid", "AcceptAnyCorrelation": True})
    run = World().start(flow("single", [START, it, END]), correlation_id="ORDER-1")
    assert run.only(BookmarkKind.SIGNAL).correlation_id is None


@pytest.mark.parametrize("flag", ["true", 1, [], {}])
def test_what_is_no_switch_never_counts_as_any(flag: object) -> None:
    fault = fault_of(single("WaitSignal", {"SignalName": "paid", "AcceptAnyCorrelation": flag}))
    assert fault.key == "workflow.property.type"


@pytest.mark.parametrize("name", [None, "", "  "])
def test_a_blank_name_is_a_fault(name: object) -> None:
    assert fault_of(single("WaitSignal", {"SignalName": name})).key == "workflow.property.missing"


def test_a_node_timeout_is_a_fault() -> None:
    properties = {"SignalName": "paid", "AcceptAnyCorrelation": True}
    run = single("WaitSignal", properties, timeout_seconds=60)
    run.world.clock.advance(60)
    run.due()
    assert fault_of(run).key == "workflow.node.timed_out"
