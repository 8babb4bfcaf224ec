"""Rows that nobody can read any more, in one of several databases (spec 8.10)."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from tests.support.engine import actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.partitions import PolledDatabase
from webapp.engine.ports.stores import Partition

OWN, SHARED = "t1", "t2"
BOSSES = {name: actor("boss", ADMINISTRATOR, partition=name) for name in (None, OWN, SHARED)}
DELAYED = flow("delayed", [START, node("wait", "Delay", {"DurationSeconds": 5}), END])


@pytest.mark.parametrize("stores", ["sqlite-apart"], indirect=True)
@pytest.mark.parametrize(("broken", "served"), [(None, [OWN]), (OWN, [None, SHARED])])
def test_a_row_that_cannot_be_read_stops_nothing_in_another_database(
    stores: StoreSet,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    broken: Partition,
    served: list[Partition],
) -> None:
    house = install(stores)
    for boss in BOSSES.values():
        house.publish(DELAYED, boss)
    started = {name: house.start("delayed", by=boss).id for name, boss in BOSSES.items()}
    for boss in BOSSES.values():
        house.services.batches.create(boss, "cancel", instance_ids=[house.start("delayed", by=boss).id])
    engine = stores.engine if broken is None else stores.own_engine
    assert engine is not None
    with engine.begin() as connection:
        for prefix in ("", "platform_"):
            connection.execute(text(f"UPDATE {prefix}bookmarks SET due_at = '2026 is none'"))
            connection.execute(text(f"UPDATE {prefix}batches SET document = 'none'"))
    sealing = house.services.sealing
    read = sealing._waiting

    def waiting(database: PolledDatabase) -> list[Partition]:
        if database.entry == broken:
            raise ValueError("none")
        return read(database)

    monkeypatch.setattr(sealing, "_waiting", waiting)
    assert house.services.housekeeping.run_batches(lambda: False) == len(served)
    sealing.seal()
    stores.clock.advance(5)
    house.services.housekeeping.poll_once()
    assert {name: house.instance(started[name], BOSSES[name]).status for name in served} == dict.fromkeys(
        served, InstanceStatus.COMPLETED
    )
    assert all(sealing.state(name).head for name in served)
    told = [record.message for record in caplog.records if record.levelname == "ERROR"]
    name = broken or "the platform"
    assert f"the batches of {name} were left for a later step" in told
    assert f"the trails of {name} were not sealed" in told
    assert any(name in one and ("claimed" in one or "nothing was done" in one) for one in told)
