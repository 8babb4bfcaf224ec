"""Flows of real organisations run through import, services and REST alike and end as worked out by hand."""

from __future__ import annotations

import pytest

from tests.flows.bureau import Bureau
from tests.flows.scenarios import ALL, Driver, play


@pytest.mark.parametrize(("flow", "scenario"), ALL, ids=[f"{flow}: {scenario}" for flow, scenario in ALL])
def test_flow(driver: Driver, others: Bureau, flow: str, scenario: str) -> None:
    play(driver, others, flow, scenario)
