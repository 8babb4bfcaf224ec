"""Putting up fences and taking them down."""

from __future__ import annotations

from webapp.stores.memory.tables import Database


class MemoryFences:
    """The fences of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def close(self, tenant_id: str) -> None:
        """Put up a fence once the transaction under way is over."""
        with self._database.gate:
            self._database.fenced |= {tenant_id}

    def open(self, tenant_id: str) -> None:
        """Take the fence down, if there is one."""
        with self._database.gate:
            self._database.fenced -= {tenant_id}
