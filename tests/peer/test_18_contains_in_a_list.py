"""Scenario 18: `contains` looks into a list."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "contains(tags, 'b')"


def test_contains_in_a_list(house: Installation) -> None:
    assert holds(house, CONDITION)
