"""Scenario 21: members by dot and by name in brackets, items of a list by index."""

from __future__ import annotations

from tests.peer.scenario import VARIABLES, holds
from tests.support.engine import Installation


def test_navigation_and_index(house: Installation) -> None:
    assert holds(house, "order.total < 100 && tags[1] == 'b' && order['customer'] == '李四'")
    assert house.services.catalog.evaluate_expression("tags[1]", "expression", VARIABLES) == "b"
    assert house.services.catalog.evaluate_expression("order['customer']", "expression", VARIABLES) == "李四"
