"""Scenario 15: texts in double quotes compare."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = 'name != "李四"'


def test_not_equal_text(house: Installation) -> None:
    assert holds(house, CONDITION)
