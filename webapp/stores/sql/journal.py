"""The outbox and the firings of timers in SQL: written with the command that causes them."""

from __future__ import annotations

from functools import lru_cache

from sqlalchemy import insert

from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet


class Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        self.save_outbox = insert(tables.outbox)
        self.save_firings = insert(tables.timer_firings)


@lru_cache(maxsize=2)
def statements(tenant: bool) -> Statements:
    """Return the statements for a set of tables."""
    return Statements(TENANT_SET if tenant else PLATFORM_SET)
