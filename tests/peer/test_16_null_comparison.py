"""Scenario 16: a variable that is null equals null."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "empty == null"


def test_null_comparison(house: Installation) -> None:
    assert holds(house, CONDITION)
