"""The databases that are measured, each made for the run and dropped after it."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql

POSTGRESQL_URL = os.environ.get("WAYPOST_TEST_POSTGRESQL_URL", "postgresql://postgres@127.0.0.1:5432/postgres")


@dataclass(frozen=True)
class Target:
    """One database: its name in the table, its URL as Waypost takes it, and SQLite's ``synchronous``."""

    name: str
    url: str
    synchronous: str | None = None

    def engine(self) -> sa.Engine:
        """Return an engine for the baselines, set like Waypost's own: WAL, IMMEDIATE, foreign keys."""
        engine = sa.create_engine(self.url.replace("postgresql://", "postgresql+psycopg://", 1))
        if self.synchronous is not None:
            _set_up_sqlite(engine, self.synchronous)
        return engine


def _set_up_sqlite(engine: sa.Engine, synchronous: str) -> None:
    @sa.event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _record: Any) -> None:
        connection.isolation_level = None
        for pragma in ("journal_mode=WAL", f"synchronous={synchronous}", "foreign_keys=ON", "busy_timeout=5000"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begun(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextmanager
def sqlite_target(folder: Path, synchronous: str) -> Iterator[Target]:
    """Yield a new SQLite file."""
    home = folder / synchronous.lower()
    home.mkdir()
    yield Target(f"SQLite {synchronous}", f"sqlite:///{home / 'bench.db'}", synchronous)


@contextmanager
def postgresql_target() -> Iterator[Target]:
    """Yield a new database of the PostgreSQL that the tests use; drop it in the end."""
    name = f"waypost_bench_{uuid.uuid4().hex[:12]}"
    _administer(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        base, _, _ = POSTGRESQL_URL.rpartition("/")
        yield Target("PostgreSQL", f"{base}/{name}")
    finally:
        _administer(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _administer(statement: sql.Composed) -> None:
    with psycopg.connect(POSTGRESQL_URL, autocommit=True) as connection:
        connection.execute(statement)
