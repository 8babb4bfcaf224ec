"""What only the tests of the stores use."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support import postgresql
from tests.support.stores import StoreSet


@pytest.fixture
def break_connection(stores: StoreSet) -> Iterator[Callable[[int], None]]:
    """End server processes; the pool, which other tests use after this one, keeps no dead connection of them."""
    yield postgresql.break_connection
    stores.engine.dispose()
