"""Parallel (spec 4.6)."""

from __future__ import annotations

from tests.engine.harness import World
from tests.support.flows import START, edge, flow, node


def test_a_parallel_takes_every_edge() -> None:
    nodes = [START, node("split", "Parallel"), node("a", "Log"), node("b", "Log")]
    edges = [edge("start", "split"), edge("split", "a", "false"), edge("split", "b", is_default=True)]
    assert World().start(flow("split", nodes, edges)).path == ["start", "split", "a", "b"]
