"""Scenario 9: `amount + 5000 == 25000` holds."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "amount + 5000 == 25000"


def test_sum(house: Installation) -> None:
    assert holds(house, CONDITION)
