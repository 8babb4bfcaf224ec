"""Putting up fences and taking them down (spec 8.10)."""

from __future__ import annotations

from sqlalchemy import delete, text
from sqlalchemy.exc import SQLAlchemyError

from webapp.stores.sql.database import Database, failure
from webapp.stores.sql.dialects import MARIADB, POSTGRESQL, upsert
from webapp.stores.sql.fence_table import FENCES, OF_TENANT

WAIT_SECONDS = 5
"""How long a fence waits for transactions under way: those of all tenants in the database queue up behind it."""

_REMOVE = delete(FENCES).where(OF_TENANT)


class SqlFences:
    """The fences of one database."""

    def __init__(self, database: Database, wait_seconds: int = WAIT_SECONDS) -> None:
        self._database = database
        self._wait_seconds = int(wait_seconds)
        self._insert = upsert(database.dialect, FENCES, replace=False)

    def close(self, tenant_id: str) -> None:
        """Put up a fence once the transactions under way are over."""
        if self._database.dialect == MARIADB:
            self._close_by_tables_lock(tenant_id)
            return
        with self._database.writing() as transaction:
            if transaction.dialect == POSTGRESQL:
                connection = transaction.connection
                connection.execute(text(f"SET LOCAL lock_timeout = '{self._wait_seconds}s'"))
                # Meets the writers' share of the table, and no reader's: a dump goes on beside it.
                connection.execute(text("LOCK TABLE fences IN EXCLUSIVE MODE"))
            # SQLite's transaction began IMMEDIATE: there is no other writer.
            transaction.write(self._insert, {"tenant_id": tenant_id})

    def open(self, tenant_id: str) -> None:
        """Take the fence down, if there is one."""
        with self._database.writing() as transaction:
            transaction.write(_REMOVE, {"p_tenant": tenant_id})

    def _close_by_tables_lock(self, tenant_id: str) -> None:
        """Do so on MariaDB, where a lock of the table is the session's and its statements commit by themselves."""
        try:
            with self._database.engine.connect() as connection:
                connection.execute(text(f"LOCK TABLES fences WRITE WAIT {self._wait_seconds}"))
                try:
                    connection.execute(self._insert, {"tenant_id": tenant_id})
                    connection.commit()
                finally:
                    connection.execute(text("UNLOCK TABLES"))
        except SQLAlchemyError as error:
            raise failure(error) from error
