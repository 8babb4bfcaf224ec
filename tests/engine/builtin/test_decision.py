"""Decision (spec 4.5)."""

from __future__ import annotations

import pytest

from tests.engine.harness import World
from tests.support.flows import START, edge, flow, node


@pytest.mark.parametrize(("amount", "way"), [(20000, "big"), (500, "small")])
def test_a_decision_goes_by_its_conditions(amount: int, way: str) -> None:
    nodes = [START, node("choose", "Decision"), node("big", "Log"), node("small", "Log")]
    edges = [
        edge("start", "choose"),
        edge("choose", "big", "amount > 10000"),
        edge("choose", "small", is_default=True),
    ]
    assert World().start(flow("choice", nodes, edges), {"amount": amount}).path[-1] == way
