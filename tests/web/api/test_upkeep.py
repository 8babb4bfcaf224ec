"""How housekeeping and the audit trail stand, over REST."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.flows import END, START, flow
from tests.support.web import Caller, Site, make_site

DAY = 24 * 3600


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_site(tmp_path, WAYPOST_RETENTION_DAYS="30")
    made.account("olga", "operator")
    made.account("emil", "user")
    made.account("dora", "designer")
    return made


@pytest.fixture
def olga(site: Site) -> Caller:
    return site.caller("olga")


def test_what_waits_what_ran_and_what_is_sealed(site: Site, olga: Caller) -> None:
    designer = site.caller("dora")
    made = designer.post("/definitions", flow("short", [START, END])).expect(201)
    designer.post(f"/definitions/{made['id']}/publish").expect(200)
    ended = [olga.post("/instances", {"name": "short", "variables": {}}).expect(201)["endedAt"] for _ in range(2)]
    before = olga.get("/upkeep").expect(200)
    assert before["purge"] == {
        "retentionDays": 30, "waiting": 0, "oldestEndedAt": None, "marked": 0, "lastRun": None,
    }  # fmt: skip
    assert (before["audit"]["sealNumber"], before["audit"]["hash"], before["audit"]["sealedAt"]) == (0, None, None)
    assert before["audit"]["unsealed"] >= 3
    site.clock.advance(30 * DAY)
    assert olga.get("/upkeep").expect(200)["purge"]["waiting"] == 2
    assert olga.get("/upkeep").expect(200)["purge"]["oldestEndedAt"] == min(ended)
    assert site.services.housekeeping.housekeep() == 2
    sealed = site.services.sealing.seal()
    after = olga.get("/upkeep").expect(200)
    run = after["purge"].pop("lastRun")
    assert after["purge"] == {"retentionDays": 30, "waiting": 0, "oldestEndedAt": None, "marked": 0}
    assert (run["instances"], run["startedAt"], run["endedAt"]) == (2, run["movedAt"], run["movedAt"])
    assert after["audit"]["sealNumber"] == sealed
    assert len(after["audit"]["hash"]) == 64
    assert (after["audit"]["unsealed"], after["audit"]["oldestUnsealedAt"]) == (0, None)


def test_it_is_for_operators(site: Site) -> None:
    site.caller("emil").get("/upkeep").refused(403, "ACCESS_DENIED_001")
