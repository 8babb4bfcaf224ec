"""Join as an activity (spec 4.7); the arrivals are counted by the engine and tested with the wave."""

from __future__ import annotations

import pytest

from tests.engine.builtin.single import fault_of, single
from webapp.engine.instances.model import InstanceStatus


@pytest.mark.parametrize("mode", [None, "WaitAll", "all", "WAITANY", "Any"])
def test_a_join_with_one_way_in_passes_it_on(mode: str | None) -> None:
    assert single("Join", {"Mode": mode}).instance.status is InstanceStatus.COMPLETED


@pytest.mark.parametrize("mode", ["", "WaitFirst", 1, True])
def test_an_unknown_mode_is_a_fault(mode: object) -> None:
    fault = fault_of(single("Join", {"Mode": mode}))
    assert (fault.key, fault.args) == ("workflow.join.unknown_mode", {"mode": mode})
