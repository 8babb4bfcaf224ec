"""Scenario 17: `startsWith` on Chinese text."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "startsWith(name, '张')"


def test_starts_with(house: Installation) -> None:
    assert holds(house, CONDITION)
