"""Types of columns: text by code point, documents of any length, bytes, instants."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, LargeBinary, String, Text, TypeDecorator
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine

from webapp.stores.sql.dialects.names import MARIADB, POSTGRESQL, SQLITE

COLLATION = "utf8mb4_nopad_bin"
"""MariaDB's comparison by code point; its plain ``_bin`` takes no notice of spaces at the end (spec 8.10)."""

TEXT_LENGTH = 255
"""Characters of an ordinal text in MariaDB unless a column says another: three of them fit one of its index keys."""


def ordinal_text(length: int = TEXT_LENGTH) -> TypeEngine[str]:
    """Return the type of a text column that is compared, sorted or unique: by code point (spec 25).

    *length*, in characters, binds only MariaDB: it indexes no text without a bound, and no key over 3,072 bytes.
    """
    # SQLite compares BINARY unless told otherwise.
    by_code_point = Text().with_variant(Text(collation="C"), POSTGRESQL)
    return by_code_point.with_variant(mysql.VARCHAR(length, collation=COLLATION), MARIADB)


def wide_text() -> TypeEngine[str]:
    """Return the type of a text of any length that is compared by code point but stands in no index."""
    return Text().with_variant(Text(collation="C"), POSTGRESQL).with_variant(_longtext(), MARIADB)


def long_text() -> TypeEngine[str]:
    """Return the type of a text that is neither compared nor sorted."""
    return Text().with_variant(_longtext(), MARIADB)


def long_bytes() -> TypeEngine[bytes]:
    """Return the type of bytes of any length."""
    return LargeBinary().with_variant(mysql.LONGBLOB(), MARIADB)


def _longtext() -> TypeEngine[str]:
    # Its own collation, whatever the database was made with: else a letter could be one that cannot be stored.
    return mysql.LONGTEXT(collation=COLLATION)


class Instant(TypeDecorator[datetime]):
    """An instant in UTC, exact to the microsecond: timestamptz, in MariaDB datetime(6), in SQLite text that sorts."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the column type of the dialect."""
        if dialect.name == SQLITE:
            return dialect.type_descriptor(String(32))
        if dialect.name == MARIADB:
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Return what is stored. A naive datetime is a programming error."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("an instant needs a time zone")
        if dialect.name == SQLITE:
            return _text(value)
        return in_utc(value).replace(tzinfo=None) if dialect.name == MARIADB else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Return the instant in UTC."""
        if value is None:
            return None
        if dialect.name == SQLITE:
            return datetime.fromisoformat(value)
        instant: datetime = value
        return instant.replace(tzinfo=UTC) if dialect.name == MARIADB else instant.astimezone(UTC)


class ReadableInstant(Instant):
    """An instant if it stands there as :class:`Instant` writes it, else None: for who looks for what was changed.

    SQLite keeps instants as texts, and takes any; one without a zone would be read as another moment.
    """

    cache_ok = True

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Return the instant in UTC, or None."""
        try:
            found = super().process_result_value(value, dialect)
        except (TypeError, ValueError):
            return None
        as_written = found is None or dialect.name != SQLITE or (found.tzinfo and _text(found) == value)
        return found if as_written else None


_written: tuple[datetime | None, str] = (None, "")


def _text(value: datetime) -> str:
    """Return an instant as SQLite keeps it; most of a command's rows have the very same one."""
    global _written  # what was written last: a pair, replaced as a whole
    known, text = _written
    if known is not value:
        text = in_utc(value).isoformat(timespec="microseconds")
        _written = (value, text)
    return text


def in_utc(value: datetime) -> datetime:
    """Return the instant in UTC."""
    try:
        return value.astimezone(UTC)
    except OverflowError:
        # The first or last day of the calendar, looked for from a zone where it has begun earlier or ends later.
        return datetime.min.replace(tzinfo=UTC) if value.year == 1 else datetime.max.replace(tzinfo=UTC)
