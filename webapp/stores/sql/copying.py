"""A whole database into another one: table by table in chunks, resumable, compared row by row in the end.

The target says itself how far it is: each chunk and the number of rows so far are one transaction, in a table that is
dropped when all is done. Indexes that only help queries are left out until the rows are there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from warnings import catch_warnings, simplefilter

import msgspec
from sqlalchemy import (
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    Row,
    Select,
    Table,
    delete,
    func,
    insert,
    inspect,
    select,
    update,
)
from sqlalchemy.exc import OperationalError, SAWarning, SQLAlchemyError
from sqlalchemy.schema import CreateIndex, DropIndex

from webapp.engine.errors import Conflict, InputInvalid
from webapp.engine.ports.relocation import CopiedTable, Heard
from webapp.stores.sql.columns import METADATA, big, text
from webapp.stores.sql.database import failure
from webapp.stores.sql.dialects import MARIADB, POSTGRESQL, SQLITE, indexes_of, written
from webapp.stores.sql.dialects.sessions import WRITES
from webapp.stores.sql.keyword_index import take_all_over
from webapp.stores.sql.maintenance import current, head, upgrade
from webapp.stores.sql.platform_tables import BACKFILLS, LEASES

CHUNK = 5_000
"""Rows of one transaction."""

_STATE = Table(
    "waypost_copy",
    MetaData(),
    text("name", required=True),
    big("rows"),
    text("source", required=True),
    PrimaryKeyConstraint("name"),
)
"""How many rows of each table are there; gone when the copy is whole."""


def copied_tables() -> list[Table]:
    """Return the tables that are copied, those that others refer to first: all but leases, which hold for processes."""
    return [table for table in METADATA.sorted_tables if table is not LEASES]


def copy_database(source: Engine, target: Engine, heard: Heard, *, locked: bool) -> list[CopiedTable]:
    """Copy and compare, as the port says; *locked*: nobody can write to an SQLite source meanwhile."""
    if source.url == target.url:
        raise InputInvalid("copy.same")
    if current(source) != head():
        raise Conflict("copy.source_behind", params={"revision": current(source) or "-", "head": head()})
    try:
        with _held(source, locked=locked) as reading:
            amounts = {str(table.name): _count(reading, table) for table in copied_tables()}
            with target.connect() as asking:
                begun = inspect(asking).has_table(_STATE.name)
            if not begun:
                upgrade(target)
            done = _begin(target, _fingerprint(reading, amounts))
            _copy_rows(reading, target, done, amounts, heard)
            with target.execution_options(**{WRITES: True}).begin() as writing:
                _make_indexes(writing)
                if target.dialect.name == SQLITE:
                    take_all_over(writing)
            found = _compared(reading, target, amounts, heard)
            with target.execution_options(**{WRITES: True}).begin() as writing:
                _STATE.drop(writing)
            _take_stock(target)
            return found
    except SQLAlchemyError as error:
        raise failure(error) from error


@contextmanager
def _held(source: Engine, *, locked: bool) -> Iterator[Connection]:
    """Yield a connection that sees one moment."""
    if source.dialect.name != SQLITE or not locked:
        view = source if source.dialect.name == SQLITE else source.execution_options(isolation_level="REPEATABLE READ")
        with view.connect() as connection, connection.begin():
            yield connection
        return
    writers = source.execution_options(**{WRITES: True})
    with writers.connect() as connection:
        try:
            transaction = connection.begin()
        except OperationalError as error:
            raise Conflict("copy.source_busy") from error
        try:
            yield connection
        finally:
            transaction.rollback()


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar_one()


def _fingerprint(reading: Connection, amounts: dict[str, int]) -> str:
    """Return what tells this source from others, and from itself when rows have come or gone."""
    digest = hashlib.sha256(msgspec.json.encode(sorted(amounts.items())))
    for table in (METADATA.tables["accounts"], METADATA.tables["definitions"], METADATA.tables["platform_definitions"]):
        for (key,) in reading.execute(select(table.c.id).order_by(table.c.id)):
            digest.update(str(key).encode())
    return digest.hexdigest()


def _begin(target: Engine, fingerprint: str) -> dict[str, int]:
    """Return the rows that are there of each table already. :raises Conflict: the target holds something else."""
    with target.execution_options(**{WRITES: True}).begin() as writing:
        if inspect(writing).has_table(_STATE.name):
            known = writing.execute(select(_STATE)).all()
            if any(row.source != fingerprint for row in known):
                raise Conflict("copy.other_source")
            return {row.name: row.rows for row in known}
        # What the new tables say of their back-filling gives way to how far the source's rows have come.
        writing.execute(delete(BACKFILLS))
        for table in copied_tables():
            if writing.execute(select(*table.primary_key).limit(1)).first() is not None:
                raise Conflict("copy.not_empty", params={"table": table.name})
        _STATE.create(writing)
        rows = [{"name": table.name, "rows": 0, "source": fingerprint} for table in copied_tables()]
        writing.execute(insert(_STATE), rows)
        _drop_indexes(writing)
        return {}


def _drop_indexes(writing: Connection) -> None:
    if writing.dialect.name == MARIADB:
        # Foreign keys stand on some of them, and each change of them would end the transaction.
        return
    for table, there in _indexed(writing):
        for index in indexes_of(table, writing.dialect.name):
            if not index.unique and index.name in there:
                writing.execute(DropIndex(index))


def _make_indexes(writing: Connection) -> None:
    for table, there in _indexed(writing):
        for index in indexes_of(table, writing.dialect.name):
            if index.name not in there:
                writing.execute(CreateIndex(index))


def _indexed(writing: Connection) -> list[tuple[Table, set[str | None]]]:
    """Return the tables, each with the names of the indexes that it has."""
    inspector = inspect(writing)
    with catch_warnings():
        # It tells of each index over an expression that it cannot describe it; the name is all that is asked for.
        simplefilter("ignore", SAWarning)
        return [(one, {found["name"] for found in inspector.get_indexes(one.name)}) for one in copied_tables()]


def _copy_rows(
    reading: Connection, target: Engine, done: dict[str, int], amounts: dict[str, int], heard: Heard
) -> None:
    total, copied = sum(amounts.values()), sum(done.values())
    for table in copied_tables():
        there = done.get(table.name, 0)
        for rows in _chunks(reading, table, there):
            with target.execution_options(**{WRITES: True}).begin() as writing:
                _put(writing, table, rows)
                there += len(rows)
                writing.execute(update(_STATE).where(_STATE.c.name == table.name).values(rows=there))
            copied += len(rows)
            heard("copied rows", copied, total)


def _in_order(table: Table) -> Select[*tuple[Any, ...]]:
    return select(*written(table)).order_by(*table.primary_key)


def _chunks(reading: Connection, table: Table, offset: int = 0) -> Iterator[Sequence[Row[*tuple[Any, ...]]]]:
    found = reading.execution_options(yield_per=CHUNK).execute(_in_order(table).offset(offset))
    yield from found.partitions()


def _put(writing: Connection, table: Table, rows: Sequence[Row[*tuple[Any, ...]]]) -> None:
    columns = [column.name for column in written(table)]
    if writing.dialect.name != POSTGRESQL:
        writing.execute(insert(table), [dict(zip(columns, row, strict=True)) for row in rows])
        return
    names = ", ".join(f'"{name}"' for name in columns)
    cursor = writing.connection.cursor()
    with cursor.copy(f'COPY "{table.name}" ({names}) FROM STDIN') as copy:
        for row in rows:
            copy.write_row(row)


def _compared(reading: Connection, target: Engine, amounts: dict[str, int], heard: Heard) -> list[CopiedTable]:
    found = []
    total, checked = sum(amounts.values()), 0
    with target.connect() as there:
        for table in copied_tables():
            source_digest, rows = _digest(reading, table)
            digest, copied = _digest(there, table)
            if (source_digest, rows) != (digest, copied):
                raise Conflict("copy.differs", params={"table": table.name, "rows": rows, "copied": copied})
            found.append(CopiedTable(table.name, rows, digest))
            checked += rows
            heard("compared rows", checked, total)
    return found


def _digest(connection: Connection, table: Table) -> tuple[str, int]:
    """Return the SHA-256 of a table's rows as JSON, in the order of their key, and their number."""
    digest, count = hashlib.sha256(), 0
    encode = msgspec.json.Encoder().encode
    for rows in _chunks(connection, table):
        count += len(rows)
        for row in rows:
            digest.update(encode(list(row)))
    return digest.hexdigest(), count


def _take_stock(target: Engine) -> None:
    if target.dialect.name == POSTGRESQL:
        with target.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM (ANALYZE)")
