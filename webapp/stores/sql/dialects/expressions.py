"""Functions and conditions that each database spells its own way."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Float, bindparam, func, literal_column
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import ColumnElement
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from webapp.stores.sql.dialects.names import MARIADB, POSTGRESQL, SQLITE
from webapp.stores.sql.dialects.types import Instant


class contains(FunctionElement[bool]):
    """Whether a folded column holds a folded keyword: ordinal, nothing is a wildcard (spec 8.5)."""

    type = Boolean()
    inherit_cache = True
    name = "contains"


@compiles(contains, SQLITE)
@compiles(contains, MARIADB)
def _contains_instr(element: contains, compiler: SQLCompiler, **options: Any) -> str:
    return f"instr({compiler.process(element.clauses, **options)}) > 0"


@compiles(contains, POSTGRESQL)
def _contains_postgresql(element: contains, compiler: SQLCompiler, **options: Any) -> str:
    return f"strpos({compiler.process(element.clauses, **options)}) > 0"


class _length(FunctionElement[int]):
    """The number of characters of a text."""

    inherit_cache = True
    name = "length"


@compiles(_length, SQLITE)
@compiles(_length, POSTGRESQL)
def _length_characters(element: _length, compiler: SQLCompiler, **options: Any) -> str:
    return f"length({compiler.process(element.clauses, **options)})"


@compiles(_length, MARIADB)
def _length_mariadb(element: _length, compiler: SQLCompiler, **options: Any) -> str:
    # Its length() counts bytes.
    return f"char_length({compiler.process(element.clauses, **options)})"


def begins_with(column: ColumnElement[Any], prefix: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a column begins with a literal prefix."""
    return func.substr(column, 1, _length(prefix)) == prefix


class _placed(FunctionElement[Any]):
    """A column of an ORDER BY, its direction and where its nulls stand."""

    inherit_cache = True
    name = "placed"


def placed(column: ColumnElement[Any], *, descending: bool, nulls_first: bool) -> ColumnElement[Any]:
    """Return a nullable column for an ORDER BY, its nulls before or after everything else."""
    direction: ColumnElement[Any] = literal_column("DESC" if descending else "ASC")
    return _placed(column, direction, literal_column("FIRST" if nulls_first else "LAST"))


def _parts(element: _placed, compiler: SQLCompiler, **options: Any) -> tuple[str, str, str]:
    column, direction, nulls = (compiler.process(part, **options) for part in element.clauses)
    return column, direction, nulls


@compiles(_placed, SQLITE)
@compiles(_placed, POSTGRESQL)
def _placed_by_words(element: _placed, compiler: SQLCompiler, **options: Any) -> str:
    column, direction, nulls = _parts(element, compiler, **options)
    return f"{column} {direction} NULLS {nulls}"


@compiles(_placed, MARIADB)
def _placed_mariadb(element: _placed, compiler: SQLCompiler, **options: Any) -> str:
    # It has no words for it, and takes null for the smallest value.
    column, direction, nulls = _parts(element, compiler, **options)
    if (direction == "ASC") == (nulls == "FIRST"):
        return f"{column} {direction}"
    return f"{column} IS NULL {'DESC' if nulls == 'FIRST' else 'ASC'}, {column} {direction}"


class _now(FunctionElement[Any]):
    """The database's clock; in MariaDB the moment the statement began, so that no lease is taken too early."""

    type = Instant()
    inherit_cache = True
    name = "now"


class _later(FunctionElement[Any]):
    """The database's clock and a number of seconds more."""

    type = Instant()
    inherit_cache = True
    name = "later"


@compiles(_now, POSTGRESQL)
def _now_postgresql(element: _now, compiler: SQLCompiler, **options: Any) -> str:
    return "clock_timestamp()"


@compiles(_now, MARIADB)
def _now_mariadb(element: _now, compiler: SQLCompiler, **options: Any) -> str:
    return "utc_timestamp(6)"


@compiles(_later, POSTGRESQL)
def _later_postgresql(element: _later, compiler: SQLCompiler, **options: Any) -> str:
    return f"clock_timestamp() + make_interval(0, 0, 0, 0, 0, 0, {compiler.process(element.clauses, **options)})"


@compiles(_later, MARIADB)
def _later_mariadb(element: _later, compiler: SQLCompiler, **options: Any) -> str:
    return f"utc_timestamp(6) + INTERVAL ({compiler.process(element.clauses, **options)}) SECOND"


def lease_clock(dialect: str) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Return "now" and "now + :p_seconds": by the database's clock where it has one, else by parameters (8.10)."""
    if has_clock(dialect):
        return _now(), _later(bindparam("p_seconds", type_=Float()))
    return bindparam("p_now", type_=Instant()), bindparam("p_until", type_=Instant())


def passes_over_locked(dialect: str) -> bool:
    """Whether rows that another transaction has locked can be passed over (SKIP LOCKED)."""
    return dialect != SQLITE


def has_clock(dialect: str) -> bool:
    """Whether several machines may share the database and it has a clock that rules for all of them."""
    return dialect != SQLITE
