"""The kinds of columns that tables are made of, and the one catalogue of tables."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData

from webapp.stores.sql.dialects import Instant, long_text, ordinal_text, wide_text
from webapp.stores.sql.dialects.types import TEXT_LENGTH

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def text(name: str, *, required: bool = False, length: int = TEXT_LENGTH) -> Column[str]:
    """Return a column that compares by code point and may stand in keys and indexes; MariaDB bounds its length."""
    return Column(name, ordinal_text(length), nullable=not required)


def wide(name: str, *, required: bool = False) -> Column[str]:
    """Return a column of any length that is looked through by code point, but stands in no key or index."""
    return Column(name, wide_text(), nullable=not required)


def long(name: str, *, required: bool = False) -> Column[str]:
    """Return a column that is neither compared nor sorted."""
    return Column(name, long_text(), nullable=not required)


def instant(name: str, *, required: bool = False) -> Column[object]:
    """Return a column of instants."""
    return Column(name, Instant(), nullable=not required)


def integer(name: str) -> Column[int]:
    """Return a column of small numbers."""
    return Column(name, Integer(), nullable=False)


def big(name: str, *, required: bool = True) -> Column[int]:
    """Return a column of large numbers."""
    return Column(name, BigInteger(), nullable=not required)


def flag(name: str) -> Column[bool]:
    """Return a column of yes or no."""
    return Column(name, Boolean(), nullable=False)
