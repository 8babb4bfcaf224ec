"""Scenario 11: `amount % 3 == 2` holds for 20000."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "amount % 3 == 2"


def test_remainder(house: Installation) -> None:
    assert holds(house, CONDITION)
