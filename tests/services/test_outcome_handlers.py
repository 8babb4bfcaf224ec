"""Outcome handlers over each set of stores: what they refuse is retried from what was stored."""

from __future__ import annotations

from tests.support.engine import ADMIN, install
from tests.support.flows import START, edge, flow, node
from tests.support.outcome_handlers import RecordingHandler
from tests.support.stores import StoreSet
from webapp.engine.instances.model import InstanceStatus


def test_a_result_that_was_refused_is_told_again_to_all(stores: StoreSet) -> None:
    told: list[tuple[str, str, str, str]] = []
    a, b = RecordingHandler("a", told), RecordingHandler("b", told)
    b.fails = 1
    house = install(stores, outcome_handlers=[a, b])
    nodes = [START, node("early", "End", {"Outcome": "early"}), node("ask", "UserTask", {"Assignees": ["u1"]})]
    house.publish(flow("told", nodes, [edge("start", "early"), edge("start", "ask")]))
    house.start("told")

    faulted = house.decide("u1", "approved")
    assert (faulted.status, faulted.fault_node_id, faulted.outcome) == (InstanceStatus.FAULTED, "early", None)
    completed = house.services.instances.retry(ADMIN, faulted.id)

    assert (completed.status, completed.outcome) == (InstanceStatus.COMPLETED, "early")
    assert [(name, outcome) for name, _, _, outcome in told] == [("a", "early"), ("b", "early")] * 2
