"""Which of a driver's errors mean what."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import psycopg
import pymysql
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

DRIVER_ERRORS = (sqlite3.Error, psycopg.Error, pymysql.Error)
"""What the drivers raise."""

INTEGRITY_ERRORS = (sqlite3.IntegrityError, psycopg.IntegrityError, pymysql.IntegrityError)
"""What they raise for a broken constraint."""

DriverError = sqlite3.Error | psycopg.Error | pymysql.Error

_DUPLICATE = 1062

FENCED = "waypost: fenced"
"""Begins what PostgreSQL says of a commit that met a fence (``fence_table``)."""


def is_duplicate(error: BaseException | None) -> bool:
    """Whether the driver says that a unique key is taken (and not that another constraint is broken)."""
    if getattr(error, "sqlstate", None) == "23505" or "UNIQUE constraint failed" in str(error):
        return True
    return _number(error) == _DUPLICATE


def is_fenced(error: BaseException | None) -> bool:
    """Whether PostgreSQL refuses a commit because of a fence."""
    return isinstance(error, psycopg.errors.InvalidTextRepresentation) and FENCED in str(error)


def is_nul(error: BaseException | None) -> bool:
    """Whether PostgreSQL refuses a text because of U+0000 in it."""
    return "NUL" in str(error)


_PASSING_STATES: Sequence[str] = ("08", "40", "55P03", "57P01", "57P02", "57P03", "53300")
_PASSING_SQLITE = frozenset(["SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_BUSY_SNAPSHOT", "SQLITE_BUSY_RECOVERY"])
_PASSING_MARIADB = frozenset(
    [
        1020,  # the row has changed since it was read
        1040,  # too many connections
        1053,  # the server is shutting down
        1158,  # to 1161: the network failed
        1159,
        1160,
        1161,
        1203,  # too many connections of this user
        1205,  # waited too long for a lock
        1213,  # deadlock
        1226,  # the user's resources are used up
        1305,  # a savepoint is gone because a deadlock has undone the transaction around it
        1317,  # interrupted
        1412,  # a table was altered meanwhile
        1927,  # the connection was killed
        1969,  # the statement took longer than the server allows
        2002,  # to 2013: no connection, or lost
        2003,
        2006,
        2013,
    ]
)


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
    if isinstance(original, pymysql.Error):
        # A connection that was closed under its feet is an InterfaceError with the number 0.
        return _number(original) in _PASSING_MARIADB or isinstance(original, pymysql.InterfaceError)
    state: str | None = getattr(original, "sqlstate", None)
    if state is not None:
        return state.startswith(tuple(_PASSING_STATES))
    # A driver that got no answer at all has no state to tell.
    return type(original).__module__.startswith("psycopg") and type(original).__name__ == "OperationalError"


_FULL_MARIADB = frozenset([1021, 1114, 3675])
"""The disk, the table, a log."""


def is_full(error: Exception) -> bool:
    """Whether there is no room left on the database's disk."""
    original: BaseException | None = error.orig if isinstance(error, DBAPIError) else error
    if getattr(original, "sqlite_errorname", None) == "SQLITE_FULL" or getattr(original, "sqlstate", None) == "53100":
        return True
    return _number(original) in _FULL_MARIADB


def _number(error: BaseException | None) -> int | None:
    if not isinstance(error, pymysql.Error) or not error.args:
        return None
    number = error.args[0]
    return number if isinstance(number, int) else None
