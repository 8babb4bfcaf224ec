"""What only the tests of the stores use."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import URL

from tests.support import mariadb, postgresql
from tests.support.stores import MARIADB, POSTGRESQL, StoreSet, opened_stores


@pytest.fixture(params=["memory", "sqlite", POSTGRESQL, MARIADB])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreSet]:
    """Each set of stores in turn, empty."""
    with opened_stores(request, tmp_path) as found:
        yield found


@pytest.fixture
def break_connection(stores: StoreSet) -> Iterator[Callable[[int], None]]:
    """End a server's connections; the pool, which other tests use after this one, keeps no dead one of them."""
    yield mariadb.break_connection if stores.kind == "mariadb" else postgresql.break_connection
    stores.engine.dispose()


SERVERS = {"postgresql": postgresql, "mariadb": mariadb}


@pytest.fixture(params=["sqlite", *(pytest.param(name, marks=getattr(pytest.mark, name)) for name in SERVERS)])
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], str | URL]]:
    """Makes addresses of empty databases."""
    if request.param == "sqlite":
        numbers = itertools.count()
        yield lambda: f"sqlite:///{tmp_path / f'db{next(numbers)}.db'}"
        return
    server = SERVERS[request.param]
    server.require_server()
    with ExitStack() as made:
        yield lambda: made.enter_context(server.new_database())
