"""Scenario 19: `len` counts a list."""

from __future__ import annotations

from tests.peer.scenario import holds
from tests.support.engine import Installation

CONDITION = "len(tags) == 3"


def test_length_of_a_list(house: Installation) -> None:
    assert holds(house, CONDITION)
