"""An installation over each set of stores for the tests of the use cases."""

from __future__ import annotations

import pytest

from tests.support.engine import Installation, install
from tests.support.stores import StoreSet


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    """An installation with the test activities; its poller runs only when a test calls it."""
    return install(stores)
