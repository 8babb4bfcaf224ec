"""Scenario 7: `amount > 10000` is true for 20000."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "amount > 10000"


def test_greater(house: Installation) -> None:
    assert holds(house, CONDITION)
