"""Scenario 22: values that came out of JSON take part in arithmetic."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation
from webapp.engine.json_input import read_json

ORDER = read_json('{"order": {"total": 500, "items": [{"sku": "A"}, {"sku": "B"}]}}')


def test_values_from_json(house: Installation) -> None:
    assert holds(house, "order.total == 500 && len(order.items) == 2", ORDER)
