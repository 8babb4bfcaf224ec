"""Scenario 12: `-amount < 0` holds."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "-amount < 0"


def test_negation_of_a_number(house: Installation) -> None:
    assert holds(house, CONDITION)
