"""Databases of the tests' own on a PostgreSQL server (WAYPOST_TEST_POSTGRESQL_URL)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import URL

from tests.support.servers import Execute, Server


@contextmanager
def _connected(url: URL) -> Iterator[Execute]:
    address = url.render_as_string(hide_password=False)
    with psycopg.connect(address, autocommit=True, connect_timeout=3) as connection:
        yield lambda statement: connection.execute(statement.encode())


SERVER = Server(
    kind="postgresql",
    default_url="postgresql://postgres@127.0.0.1:5432/postgres",
    connected=_connected,
    failure=psycopg.OperationalError,
    create=(
        'CREATE DATABASE "{name}"',
        # What a test writes need not outlive the server's machine.
        'ALTER DATABASE "{name}" SET synchronous_commit = off',
    ),
    drop='DROP DATABASE IF EXISTS "{name}" WITH (FORCE)',
)
UNREACHABLE = SERVER.unreachable
server_url, require_server, new_database = SERVER.url, SERVER.require, SERVER.new_database


def break_connection(pid: int) -> None:
    """End a server process, as a restart of the server would."""
    SERVER.run(f"SELECT pg_terminate_backend({int(pid)}, 5000)")
