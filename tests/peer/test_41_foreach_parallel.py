"""Scenario 41: ForEach, parallel, over 1, 2, 3 completes with three results, 2, 4 and 6."""

from __future__ import annotations

from tests.peer.doubling import double_each
from tests.support.engine import Installation
from webapp.engine.instances.model import InstanceStatus


def test_foreach_parallel(house: Installation) -> None:
    instance = double_each(house, parallel=True)
    assert instance.status is InstanceStatus.COMPLETED
    assert sorted(one["doubled"] for one in instance.variables["results"]) == [2, 4, 6]
