"""Start (spec 4.1)."""

from __future__ import annotations

from tests.engine.harness import World
from tests.support.flows import END, START, edge, flow
from webapp.engine.instances.model import InstanceStatus


def test_a_start_completes_at_once_and_writes_nothing() -> None:
    run = World().start(flow("start", [START, END]))
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.node("start").outputs == run.instance.variables == {}


def test_a_start_takes_its_edges_like_any_other_node() -> None:
    edges = [edge("start", "end", "vip"), edge("start", "end", id="other", is_default=True)]
    run = World().start(flow("start", [START, END], edges), {"vip": False})
    assert run.node("end").via_transition_ids == ["other"]
