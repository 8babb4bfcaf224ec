"""Scenario 14: `||` with its second side true."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "!approved || name == '张三'"


def test_or_with_not(house: Installation) -> None:
    assert holds(house, CONDITION)
