"""Tables and indexes as both sets have them: by tenant in the one, under another prefix in the other (spec 8.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, ColumnElement, Index, PrimaryKeyConstraint, Table, and_

from webapp.stores.sql.columns import METADATA, text
from webapp.stores.sql.dialects import MARIADB, POSTGRESQL, SQLITE, limited

TENANT_LENGTH = 128
"""Characters of a tenant's id in MariaDB, whose indexes hold 768: room for much beside it."""

WORD_LENGTH = 64
"""Short columns of MariaDB, whose indexes hold 768 characters: room for a title's sort key beside tenant and status."""


class TableFactory:
    """Makes tables of tenants, or their twins of the platform, with their indexes."""

    def __init__(self, *, tenant: bool) -> None:
        self.tenant = tenant

    def _table(self, name: str, key: Sequence[str], *columns: Column[Any]) -> Table:
        own = [text("tenant_id", required=True, length=TENANT_LENGTH)] if self.tenant else []
        prefix = "" if self.tenant else "platform_"
        return Table(prefix + name, METADATA, *own, *columns, PrimaryKeyConstraint(*key))

    def _of_tenant(self, *columns: str) -> list[str]:
        return ["tenant_id", *columns] if self.tenant else [*columns]

    def _index(
        self,
        table: Table,
        *columns: str,
        by_tenant: bool = False,
        filled: str | None = None,
        empty: str | None = None,
        where: ColumnElement[bool] | None = None,
    ) -> None:
        names = self._of_tenant(*columns) if by_tenant else [*columns]
        conditions = [] if where is None else [where]
        if filled is not None:
            conditions.append(table.c[filled].is_not(None))
        if empty is not None:
            conditions.append(table.c[empty].is_(None))
        where = and_(*conditions) if conditions else None
        Index(None, *(table.c[name] for name in names), sqlite_where=where, postgresql_where=where)

    def _unique(self, table: Table, *columns: str) -> None:
        """Let the values of the columns be there once in each partition; rows without them may be many."""
        names = self._of_tenant(*columns)
        filled = and_(*(table.c[name].is_not(None) for name in columns))
        Index(
            f"uq_{table.name}_{'_'.join(names)}",
            *(table.c[name] for name in names),
            unique=True,
            sqlite_where=filled,
            postgresql_where=filled,
        )

    def _covering(
        self,
        table: Table,
        name: str,
        columns: Sequence[str],
        shown: Sequence[str],
        where: ColumnElement[bool] | None = None,
    ) -> None:
        """Index rows, some or all, by *columns*; *shown* are read from it too, where a database can."""
        full = f"ix_{table.name}_{name}"
        by = [table.c[one] for one in self._of_tenant(*columns)]
        also = [table.c[one] for one in shown]
        # Both bear one name: no database sees both.
        limited(Index(full, *by, postgresql_where=where, postgresql_include=also), POSTGRESQL, MARIADB)
        limited(Index(full, *by, *also, sqlite_where=where), SQLITE)
