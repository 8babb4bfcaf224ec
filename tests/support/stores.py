"""The ``stores`` fixture: one test against every set of stores, ids ``memory``, ``sqlite``, ``postgresql``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.clock import FakeClock
from webapp.accounts.ports import AccountStore
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.stores import Stores
from webapp.stores.memory import MemoryLeases, MemoryStores


@dataclass
class StoreSet:
    """A fresh, empty set of stores with its leases, accounts and a clock that stands still."""

    kind: str
    stores: Stores
    leases: Leases
    accounts: AccountStore
    clock: FakeClock


def memory_stores() -> StoreSet:
    """Return empty memory stores."""
    clock = FakeClock()
    stores = MemoryStores()
    return StoreSet("memory", stores, MemoryLeases(clock), stores.accounts, clock)


@pytest.fixture(params=["memory"])
def stores(request: pytest.FixtureRequest) -> Iterator[StoreSet]:
    """Each set of stores in turn, empty."""
    yield memory_stores()
