"""The work of a start grows with the nodes that it runs and not faster: counted in lines of Python, not in seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tests.support.engine import Installation, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject

LEAST, MOST = 100, 1_000


def lines_of(work: Callable[[], object]) -> int:
    """Return how many lines of Python *work* runs, loops and all."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def in_a_row(name: str, nodes: int) -> JsonObject:
    """Return a flow of nodes one after the other."""
    steps = [node(f"s{number}", "SetVariable", {"Expressions": {"n": "n + 1"}}) for number in range(nodes - 2)]
    return flow(name, [START, *steps, END])


def side_by_side(name: str, nodes: int) -> JsonObject:
    """Return a flow of parallel branches between a fork and a join."""
    ids = [f"b{number}" for number in range(nodes - 4)]
    steps = [node(one, "SetVariable", {"Expressions": {f"r{one}": "n + 1"}}) for one in ids]
    edges = [edge("start", "fork"), edge("join", "end")]
    edges += [pair for one in ids for pair in (edge("fork", one), edge(one, "join"))]
    return flow(name, [START, node("fork", "Parallel"), *steps, node("join", "Join"), END], edges)


def start_of(house: Installation, document: JsonObject) -> Callable[[], object]:
    """Publish a flow, run it once, so that its expression is compiled, and return its start."""
    definition = house.publish(document)

    def run() -> None:
        instance = house.start(definition.name, {"n": 0})
        assert instance.status is InstanceStatus.COMPLETED

    run()
    return run


@pytest.mark.parametrize("shape", [in_a_row, side_by_side], ids=["row", "branches"])
def test_a_thousand_nodes_cost_at_most_ten_times_a_hundred(
    stores: StoreSet, shape: Callable[[str, int], JsonObject]
) -> None:
    house = install(stores)
    few, many = (lines_of(start_of(house, shape(f"nodes{nodes}", nodes))) for nodes in (LEAST, MOST))
    assert few > LEAST * 10  # it did count the wave
    assert many < few * MOST / LEAST


def test_a_square_is_seen() -> None:
    def square(size: int) -> None:
        for _ in range(size):
            for _ in range(size):
                pass

    assert lines_of(lambda: square(100)) > lines_of(lambda: square(10)) * 50
