"""Scenario 13: `&&` of two true sides."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "approved && amount > 0"


def test_and(house: Installation) -> None:
    assert holds(house, CONDITION)
