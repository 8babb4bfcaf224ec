"""Scenario 10: `days * 2 == 7` holds for 3.5 days."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "days * 2 == 7"


def test_product_of_a_fraction(house: Installation) -> None:
    assert holds(house, CONDITION)
