"""Work calendars in SQL; each method is a transaction of its own, in the platform's database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Executable, bindparam, delete, insert, select, update

from webapp.engine.numbers import decode
from webapp.engine.ports.calendars import StoredCalendar
from webapp.engine.ports.stores import Partition, RevisionConflict
from webapp.engine.schedules import WorkCalendar
from webapp.stores.rows import Columns, Row, document
from webapp.stores.sql.database import Database
from webapp.stores.sql.platform_tables import CALENDARS

_KEY = (CALENDARS.c.scope == bindparam("p_scope"), CALENDARS.c.name == bindparam("p_name"))
_AT_REVISION = (*_KEY, CALENDARS.c.revision == bindparam("p_revision"))
_ORDER = (CALENDARS.c.scope, CALENDARS.c.name)

_ALL = select(*CALENDARS.c).order_by(*_ORDER)
_LIST = select(*CALENDARS.c).where(CALENDARS.c.scope == bindparam("p_scope")).order_by(*_ORDER)
_FIND = select(*CALENDARS.c).where(*_KEY)
_INSERT = insert(CALENDARS)
_UPDATE = update(CALENDARS).where(*_AT_REVISION)
_DELETE = delete(CALENDARS).where(*_AT_REVISION)


class SqlCalendars:
    """The store of calendars."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> Sequence[StoredCalendar]:
        """Return the calendars of all partitions, by partition and name."""
        return self._many(_ALL, {})

    def list(self, partition: Partition) -> Sequence[StoredCalendar]:
        """Return the partition's calendars by name."""
        return self._many(_LIST, {"p_scope": partition or ""})

    def find(self, partition: Partition, name: str) -> StoredCalendar | None:
        """Return the calendar, or None."""
        found = self._many(_FIND, {"p_scope": partition or "", "p_name": name})
        return found[0] if found else None

    def insert(self, stored: StoredCalendar) -> None:
        """Insert a calendar. :raises DuplicateRecord: the partition has one of that name."""
        with self._database.writing() as transaction:
            transaction.write(_INSERT, _row(stored))

    def replace(self, stored: StoredCalendar, expected_revision: int) -> None:
        """Replace a calendar. :raises RevisionConflict: it is gone or at another revision."""
        self._expecting(_UPDATE, stored.tenant_id, stored.calendar.name, expected_revision, _row(stored))

    def delete(self, partition: Partition, name: str, expected_revision: int) -> None:
        """Delete a calendar. :raises RevisionConflict: it is gone or at another revision."""
        self._expecting(_DELETE, partition, name, expected_revision, {})

    def _many(self, statement: Executable, parameters: Row) -> Sequence[StoredCalendar]:
        with self._database.reading() as transaction:
            return [_stored(row) for row in transaction.read(statement, parameters).mappings()]

    def _expecting(self, statement: Executable, partition: Partition, name: str, revision: int, values: Row) -> None:
        parameters = {"p_scope": partition or "", "p_name": name, "p_revision": revision}
        with self._database.writing() as transaction:
            if transaction.write_counted(statement, {**values, **parameters}) == 0:
                raise RevisionConflict(f"calendar {name} is not at revision {revision}")


def _row(stored: StoredCalendar) -> Row:
    return {
        "scope": stored.tenant_id or "",
        "name": stored.calendar.name,
        "revision": stored.revision,
        "updated_at": stored.updated_at,
        "updated_by": stored.updated_by,
        "document": document(stored.calendar),
    }


def _stored(row: Columns) -> StoredCalendar:
    return StoredCalendar(
        tenant_id=row["scope"] or None,
        revision=row["revision"],
        updated_at=row["updated_at"],
        updated_by=row["updated_by"],
        calendar=decode(row["document"], WorkCalendar),
    )
