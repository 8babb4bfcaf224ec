"""End (spec 4.2)."""

from __future__ import annotations

from tests.engine.harness import World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus


def test_an_end_consumes_its_own_token_only() -> None:
    nodes = [START, END, node("wait", "Delay", {"DurationSeconds": 5})]
    run = World().start(flow("open", nodes, [edge("start", "end"), edge("start", "wait")]))
    assert run.instance.status is InstanceStatus.RUNNING


def test_an_end_with_an_outcome_gives_the_instance_its_result() -> None:
    run = World().start(flow("out", [START, node("end", "End", {"Outcome": "{{kind}} done"})]), {"kind": "well"})
    assert run.instance.outcome == "well done"
    assert run.instance.variables["outcome"] == "well done"
    assert run.events[-1].data["instance"]["outcome"] == "well done"


def test_the_last_end_with_an_outcome_wins() -> None:
    nodes = [START, *(node(name, "End", {"Outcome": text}) for name, text in (("a", "one"), ("b", "two"), ("c", " ")))]
    run = World().start(flow("ends", nodes, [edge("start", name) for name in "abc"]))
    assert run.instance.outcome == "two"
