"""The tables of notices and of what goes out of them (spec 10, 8.10); what their columns mean is in ``notice_rows``."""

from __future__ import annotations

from sqlalchemy import Index, Table, and_

from webapp.stores.sql.columns import big, instant, integer, long, text, wide
from webapp.stores.sql.dialects import MARIADB, POSTGRESQL, SQLITE, limited
from webapp.stores.sql.table_factory import WORD_LENGTH, TableFactory

LINE_LENGTH = 512
"""Characters of a line in MariaDB: the ids of an endpoint, a recipient and an instance, beside the tenant in a key."""

_AGE = ("created_at", "sequence", "id")


class NoticeTables(TableFactory):
    """Makes the tables of notices, deliveries and attempts of one set."""

    def _notices(self) -> Table:
        table = self._table(
            "notices",
            ["id"],
            text("id", required=True),
            big("sequence"),
            text("inbox_of"),
            text("type", required=True, length=WORD_LENGTH),
            text("instance_id", required=True),
            text("task_id"),
            instant("created_at", required=True),
            instant("read_at"),
            instant("link_used_at"),
            long("document", required=True),
        )
        shown = table.c.inbox_of.is_not(None)
        self._covering(table, "inbox", ["inbox_of", *_AGE], ["type"], shown)
        self._unread(table)
        self._index(table, "task_id", where=table.c.read_at.is_(None), filled="task_id")
        self._index(table, "instance_id")
        self._index(table, "created_at", by_tenant=True)
        return table

    def _unread(self, table: Table) -> None:
        """Index what is not read; where there are no partial indexes, those of the inbox by whether they are."""
        name, where = f"ix_{table.name}_unread", and_(table.c.inbox_of.is_not(None), table.c.read_at.is_(None))
        by = [table.c[one] for one in self._of_tenant("inbox_of", *_AGE)]
        limited(Index(name, *by, postgresql_where=where, postgresql_include=[table.c.type]), POSTGRESQL)
        limited(Index(name, *by, table.c.type, sqlite_where=where), SQLITE)
        limited(Index(name, *(table.c[one] for one in self._of_tenant("inbox_of", "read_at", *_AGE))), MARIADB)

    def _deliveries(self) -> Table:
        table = self._table(
            "deliveries",
            ["id"],
            text("id", required=True),
            big("sequence"),
            text("line", required=True, length=LINE_LENGTH),
            text("open_line", length=LINE_LENGTH),
            text("endpoint_id", required=True),
            text("recipient_id"),
            text("topic"),
            text("instance_id"),
            wide("bundle"),
            text("state", required=True, length=WORD_LENGTH),
            integer("attempts"),
            instant("next_attempt_at", required=True),
            instant("due_at"),
            instant("attempted_at"),
            text("claim_token"),
            instant("claimed_until"),
            instant("created_at", required=True),
            instant("ended_at"),
            wide("receipt"),
            long("last_error"),
            long("document", required=True),
        )
        # The first ones that are due, of all partitions of the database, and whether a line waits for others.
        self._index(table, "due_at", "sequence", "id", filled="due_at")
        self._index(table, "open_line", "sequence", by_tenant=True, filled="open_line")
        self._index(table, "claim_token", filled="claim_token")
        # Lists of all states are merged from those of each.
        self._covering(table, "state", ["state", *_AGE], ["endpoint_id", "topic"])
        self._index(table, "instance_id", filled="instance_id")
        self._index(table, "ended_at", by_tenant=True, filled="ended_at")
        return table

    def _delivery_attempts(self) -> Table:
        return self._table(
            "delivery_attempts",
            ["delivery_id", "number"],
            text("delivery_id", required=True),
            integer("number"),
            instant("started_at", required=True),
            integer("duration_ms"),
            text("outcome", required=True, length=WORD_LENGTH),
            long("error"),
        )
