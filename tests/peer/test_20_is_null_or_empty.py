"""Scenario 20: `isNullOrEmpty` of null is true."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "isNullOrEmpty(empty)"


def test_is_null_or_empty(house: Installation) -> None:
    assert holds(house, CONDITION)
