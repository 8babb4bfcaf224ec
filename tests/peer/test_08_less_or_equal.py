"""Scenario 8: `amount <= 10000` is false for 20000."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "amount <= 10000"


def test_less_or_equal(house: Installation) -> None:
    assert not holds(house, CONDITION)
