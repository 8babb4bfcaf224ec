"""Databases of the tests' own on a MariaDB server (WAYPOST_TEST_MARIADB_URL)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pytest
from sqlalchemy import URL, Engine, make_url

from webapp.stores.sql.columns import METADATA

UNREACHABLE = "MARIADB IS NOT REACHABLE"
DEFAULT_URL = "mariadb://root@127.0.0.1:3306/test"


def server_url() -> URL:
    """Return the address of the server."""
    return make_url(os.environ.get("WAYPOST_TEST_MARIADB_URL", DEFAULT_URL)).set(drivername="mariadb")


@contextmanager
def _connected(url: URL) -> Iterator[Any]:
    connection = pymysql.connect(
        host=url.host or "127.0.0.1",
        port=url.port or 3306,
        user=url.username,
        password=url.password or "",
        database=url.database,
        autocommit=True,
        connect_timeout=3,
    )
    try:
        yield connection.cursor()
    finally:
        connection.close()


def break_connection(number: int) -> None:
    """End a connection of the server, as a restart would."""
    with _connected(server_url()) as server:
        server.execute(f"KILL CONNECTION {number}")


def require_server() -> None:
    """Skip the test with one loud line when there is no server; fail when CI=true."""
    url = server_url()
    try:
        with _connected(url):
            pass
    except pymysql.OperationalError as error:
        reason = f"{UNREACHABLE} at {url!r}: {str(error).splitlines()[0]}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@contextmanager
def new_database() -> Iterator[URL]:
    """Make an empty database, of another collation than its tables get, and drop it in the end."""
    name = f"waypost_test_{secrets.token_hex(6)}"
    with _connected(server_url()) as server:
        server.execute(f"CREATE DATABASE {name} CHARACTER SET latin1 COLLATE latin1_swedish_ci")
    try:
        yield server_url().set(database=name)
    finally:
        with _connected(server_url()) as server:
            server.execute(f"DROP DATABASE IF EXISTS {name}")


def empty(engine: Engine) -> None:
    """Delete every row; a table without rows costs a look, not a commit."""
    tables = [table.name for table in reversed(METADATA.sorted_tables)]
    looks = " UNION ALL ".join(f"SELECT '{name}' FROM DUAL WHERE EXISTS (SELECT 1 FROM {name})" for name in tables)
    with engine.begin() as connection:
        for name in connection.exec_driver_sql(looks).scalars().all():
            connection.exec_driver_sql(f"DELETE FROM {name}")
