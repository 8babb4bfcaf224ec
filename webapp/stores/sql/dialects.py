"""All that differs between SQLite and PostgreSQL: types, functions, upserts, clocks, which errors pass."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Boolean, DateTime, Float, String, Table, Text, TypeDecorator, bindparam, func
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.dml import Insert
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

SQLITE = "sqlite"
POSTGRESQL = "postgresql"


def ordinal_text() -> TypeEngine[str]:
    """Return the type of a text column that is compared, sorted or unique: by code point (spec 25)."""
    # SQLite compares BINARY unless told otherwise.
    return Text().with_variant(Text(collation="C"), POSTGRESQL)


class Instant(TypeDecorator[datetime]):
    """An instant in UTC, exact to the microsecond: timestamptz, or in SQLite text of one width that sorts."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the column type of the dialect."""
        if dialect.name == SQLITE:
            return dialect.type_descriptor(String(32))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Return what is stored. A naive datetime is a programming error."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs a time zone")
        if dialect.name == SQLITE:
            return _in_utc(value).isoformat(timespec="microseconds")
        return value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Return the instant in UTC."""
        if value is None:
            return None
        if dialect.name == SQLITE:
            return datetime.fromisoformat(value)
        instant: datetime = value
        return instant.astimezone(UTC)


def _in_utc(value: datetime) -> datetime:
    try:
        return value.astimezone(UTC)
    except OverflowError:
        # The first or last day of the calendar, looked for from a zone where it has begun earlier or ends later.
        return datetime.min.replace(tzinfo=UTC) if value.year == 1 else datetime.max.replace(tzinfo=UTC)


class contains(FunctionElement[bool]):
    """Whether a folded column holds a folded keyword: ordinal, nothing is a wildcard (spec 8.5)."""

    type = Boolean()
    inherit_cache = True
    name = "contains"


@compiles(contains, SQLITE)
def _contains_sqlite(element: contains, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)}) > 0"


@compiles(contains, POSTGRESQL)
def _contains_postgresql(element: contains, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)}) > 0"


def begins_with(column: ColumnElement[Any], prefix: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a column begins with a literal prefix."""
    return func.substr(column, 1, func.length(prefix)) == prefix


def insert_into(dialect: str, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return the dialect's own INSERT, which knows ON CONFLICT."""
    return sqlite.insert(table) if dialect == SQLITE else postgresql.insert(table)


def upsert(dialect: str, table: Table, *, replace: bool = True) -> Insert:
    """Return an insert that replaces the row with the same primary key, or leaves it alone.

    A row of another partition that has the key is never touched. ``rowcount`` tells how many rows were written.
    """
    keys = [column.name for column in table.primary_key]
    # Without the option the count of an INSERT is not kept.
    statement = insert_into(dialect, table).execution_options(preserve_rowcount=True)
    if not replace:
        return statement.on_conflict_do_nothing(index_elements=keys)
    values = {column.name: statement.excluded[column.name] for column in table.columns if column.name not in keys}
    same_partition = table.c.tenant_id == statement.excluded.tenant_id if "tenant_id" in table.c else None
    return statement.on_conflict_do_update(index_elements=keys, set_=values, where=same_partition)


def lease_clock(dialect: str) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return "now" and "now + :p_seconds": by the database's clock where it has one, else by parameters (8.10)."""
    if dialect == POSTGRESQL:
        now = func.clock_timestamp(type_=Instant())
        seconds = bindparam("p_seconds", type_=Float())
        return now, func.clock_timestamp(type_=Instant()) + func.make_interval(0, 0, 0, 0, 0, 0, seconds)
    return bindparam("p_now", type_=Instant()), bindparam("p_until", type_=Instant())


def is_duplicate(error: BaseException | None) -> bool:
    """Whether the driver says that a unique key is taken (and not that another constraint is broken)."""
    return getattr(error, "sqlstate", None) == "23505" or "UNIQUE constraint failed" in str(error)


_PASSING_STATES: Sequence[str] = ("08", "40", "55P03", "57P01", "57P02", "57P03", "53300")
_PASSING_SQLITE = frozenset(["SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY_RECOVERY"])


def is_transient(error: Exception) -> bool:
    """Whether the same transaction may succeed when it is tried again: busy, deadlock, lost connection."""
    if isinstance(error, PoolTimeout):
        return True
    original: BaseException | None = error
    if isinstance(error, DBAPIError):
        if error.connection_invalidated:
            return True
        original = error.orig
    if getattr(original, "sqlite_errorname", None) in _PASSING_SQLITE:
        return True
    state: str | None = getattr(original, "sqlstate", None)
    if state is not None:
        return state.startswith(tuple(_PASSING_STATES))
    # A driver that got no answer at all has no state to tell.
    return type(original).__module__.startswith("psycopg") and type(original).__name__ == "OperationalError"
