"""Databases of the tests' own on a PostgreSQL server (WAYPOST_TEST_POSTGRESQL_URL)."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from sqlalchemy import URL, make_url

UNREACHABLE = "POSTGRESQL IS NOT REACHABLE"
DEFAULT_URL = "postgresql://postgres@127.0.0.1:5432/postgres"


def server_url() -> URL:
    """Return the address of the server."""
    return make_url(os.environ.get("WAYPOST_TEST_POSTGRESQL_URL", DEFAULT_URL)).set(drivername="postgresql")


def _connect(url: URL) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(url.render_as_string(hide_password=False), autocommit=True, connect_timeout=3)


def break_connection(pid: int) -> None:
    """End a server process, as a restart of the server would."""
    with _connect(server_url()) as server:
        server.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])


def require_server() -> None:
    """Skip the test with one loud line when there is no server; fail when CI=true."""
    url = server_url()
    try:
        _connect(url).close()
    except psycopg.OperationalError as error:
        reason = f"{UNREACHABLE} at {url!r}: {str(error).splitlines()[0]}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)


@contextmanager
def new_database() -> Iterator[URL]:
    """Make an empty database and drop it in the end."""
    name = f"waypost_test_{secrets.token_hex(6)}"
    with _connect(server_url()) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        # What a test writes need not outlive the server's machine.
        server.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    try:
        yield server_url().set(database=name)
    finally:
        with _connect(server_url()) as server:
            server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
