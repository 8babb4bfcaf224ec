"""The tables: two sets, for tenants and for the platform, from one factory (spec 8.1, 8.8, 8.10, 25).

No foreign key crosses a database: what may lie in a tenant's own database has none. Columns are those that
lists filter, sort and show by; the document holds the whole model. Null columns that most rows leave empty have
partial indexes, so that a user task costs nothing in the index of due times.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

from webapp.engine.ports.stores import Partition
from webapp.stores.sql.dialects import Instant, ordinal_text

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _text(name: str, *, required: bool = False) -> Column[str]:
    return Column(name, ordinal_text(), nullable=not required)


def _long(name: str, *, required: bool = False) -> Column[str]:
    return Column(name, Text(), nullable=not required)


def _instant(name: str, *, required: bool = False) -> Column[object]:
    return Column(name, Instant(), nullable=not required)


def _integer(name: str) -> Column[int]:
    return Column(name, Integer(), nullable=False)


def _big(name: str, *, required: bool = True) -> Column[int]:
    return Column(name, BigInteger(), nullable=not required)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean(), nullable=False)


@dataclass(frozen=True)
class TableSet:
    """The tables of partitions that share a database: all tenants' (with ``tenant_id``) or the platform's."""

    tenant: bool
    definitions: Table
    instances: Table
    node_instances: Table
    bookmarks: Table
    follow_ups: Table
    task_records: Table
    task_copies: Table
    audit: Table
    idempotency: Table
    timer_firings: Table


class _Factory:
    """Makes one set of tables."""

    def __init__(self, *, tenant: bool) -> None:
        self.tenant = tenant

    def make(self) -> TableSet:
        return TableSet(
            tenant=self.tenant,
            definitions=self._definitions(),
            instances=self._instances(),
            node_instances=self._node_instances(),
            bookmarks=self._bookmarks(),
            follow_ups=self._follow_ups(),
            task_records=self._task_records(),
            task_copies=self._task_copies(),
            audit=self._audit(),
            idempotency=self._idempotency(),
            timer_firings=self._timer_firings(),
        )

    def _table(self, name: str, key: Sequence[str], *columns: Column[Any]) -> Table:
        own = [_text("tenant_id", required=True)] if self.tenant else []
        prefix = "" if self.tenant else "platform_"
        return Table(prefix + name, METADATA, *own, *columns, PrimaryKeyConstraint(*key))

    def _of_tenant(self, *columns: str) -> list[str]:
        return ["tenant_id", *columns] if self.tenant else [*columns]

    def _index(
        self, table: Table, *columns: str, by_tenant: bool = False, filled: str | None = None, empty: str | None = None
    ) -> None:
        names = self._of_tenant(*columns) if by_tenant else [*columns]
        where = None
        if filled is not None:
            where = table.c[filled].is_not(None)
        if empty is not None:
            where = table.c[empty].is_(None)
        Index(None, *(table.c[name] for name in names), sqlite_where=where, postgresql_where=where)

    def _definitions(self) -> Table:
        table = self._table(
            "definitions",
            ["id"],
            _text("id", required=True),
            _big("revision"),
            _text("name", required=True),
            _integer("version"),
            _text("display_name", required=True),
            _text("title_sort_key", required=True),
            _text("search_text", required=True),
            _long("description"),
            _text("category"),
            _text("startable_by"),
            _text("status", required=True),
            _integer("status_rank"),
            _instant("created_at", required=True),
            _text("created_by"),
            _instant("updated_at"),
            _text("updated_by"),
            _instant("published_at"),
            _text("published_by"),
            _long("publish_note"),
            _text("start_signal"),
            _long("document", required=True),
        )
        unique = ["name", "tenant_id", "version"] if self.tenant else ["name", "version"]
        Index(f"uq_{table.name}_{'_'.join(unique)}", *(table.c[name] for name in unique), unique=True)
        return table

    def _instances(self) -> Table:
        table = self._table(
            "instances",
            ["id"],
            _text("id", required=True),
            _big("revision"),
            _big("sequence"),
            _big("last_sequence"),
            _text("definition_id", required=True),
            _text("definition_name", required=True),
            _integer("definition_version"),
            _text("title", required=True),
            _text("title_sort_key", required=True),
            _text("search_text", required=True),
            _text("status", required=True),
            _integer("status_rank"),
            _text("correlation_id"),
            _text("starter_id"),
            _text("requested_by"),
            _text("parent_instance_id"),
            _text("parent_node_instance_id"),
            _text("root_instance_id", required=True),
            _integer("depth"),
            _instant("created_at", required=True),
            _instant("started_at"),
            _instant("ended_at"),
            _long("fault"),
            _text("fault_node_id"),
            _text("fault_node_instance_id"),
            _long("cancellation_reason"),
            _text("outcome"),
            _instant("scheduled_at"),
            _text("command_id"),
            _long("document", required=True),
        )
        self._index(table, "parent_instance_id", by_tenant=True, filled="parent_instance_id")
        self._index(table, "correlation_id", by_tenant=True, filled="correlation_id")
        self._index(table, "ended_at", by_tenant=True, filled="ended_at")
        self._index(table, "created_at", by_tenant=True)
        self._index(table, "starter_id", "created_at", by_tenant=True)
        self._index(table, "status", "created_at", by_tenant=True)
        self._index(table, "status", "definition_name", by_tenant=True)
        return table

    def _node_instances(self) -> Table:
        table = self._table(
            "node_instances",
            ["id"],
            _text("id", required=True),
            _big("sequence"),
            _text("instance_id", required=True),
            _text("node_id", required=True),
            _text("status", required=True),
            _instant("started_at", required=True),
            _long("document", required=True),
        )
        self._index(table, "instance_id", "status")
        self._index(table, "instance_id", "sequence")
        return table

    def _bookmarks(self) -> Table:
        table = self._table(
            "bookmarks",
            ["id"],
            _text("id", required=True),
            _big("sequence"),
            _text("instance_id"),
            _text("root_instance_id"),
            _text("node_id"),
            _text("node_instance_id"),
            _text("kind", required=True),
            _text("key"),
            _text("correlation_id"),
            _instant("created_at", required=True),
            _instant("due_at"),
            _instant("original_due_at"),
            _instant("available_at"),
            _text("claim_token"),
            _instant("claimed_until"),
            _integer("failures"),
            _text("worker_id"),
            _text("lock_token"),
            _instant("task_due_at"),
            _integer("priority"),
            _text("title"),
            _text("title_sort_key", required=True),
            _text("instance_title"),
            _text("definition_name"),
            _text("definition_title"),
            _text("starter_id"),
            _text("instance_status"),
            _text("search_title"),
            _text("search_instance_text"),
            _text("claimed_by"),
            _flag("claimable"),
            _integer("signers_done"),
            _integer("signers_total"),
            _instant("opened_at"),
            _long("document", required=True),
        )
        self._index(table, "instance_id")
        # The key first: a poller asks for kinds alone, and must go by due time.
        self._index(table, "key", "kind", "created_at")
        self._index(table, "due_at", by_tenant=True, filled="due_at")
        if self.tenant:
            # One query claims what is due of all partitions of the database.
            self._index(table, "due_at", filled="due_at")
        self._index(table, "claim_token", filled="claim_token")
        return table

    def _follow_ups(self) -> Table:
        table = self._table(
            "follow_ups",
            ["id"],
            _text("id", required=True),
            _text("action", required=True),
            _text("source_instance_id"),
            _text("target_instance_id"),
            _long("payload", required=True),
            _instant("created_at", required=True),
            _instant("due_at", required=True),
            _text("claim_token"),
            _instant("claimed_until"),
            _integer("failures"),
        )
        self._index(table, "due_at")
        self._index(table, "claim_token", filled="claim_token")
        return table

    def _task_records(self) -> Table:
        table = self._table(
            "task_records",
            ["task_id", "round"],
            _text("task_id", required=True),
            _integer("round"),
            _big("sequence"),
            _text("instance_id", required=True),
            _text("root_instance_id", required=True),
            _text("node_id", required=True),
            _text("node_instance_id", required=True),
            _text("definition_name", required=True),
            _text("definition_title", required=True),
            _text("instance_title", required=True),
            _text("starter_id"),
            _text("title", required=True),
            _text("title_sort_key", required=True),
            _text("search_title", required=True),
            _text("search_instance_text", required=True),
            _text("assignee_id", required=True),
            _text("actor_id"),
            _text("on_behalf_of"),
            _flag("as_operator"),
            _text("outcome"),
            _long("comment"),
            _integer("priority"),
            _instant("task_due_at"),
            _instant("created_at", required=True),
            _instant("opened_at"),
            _instant("ended_at"),
            _text("end_reason"),
        )
        self._index(table, "instance_id")
        self._index(table, "assignee_id")
        self._index(table, "actor_id", "ended_at", filled="actor_id")
        return table

    def _task_copies(self) -> Table:
        table = self._table(
            "task_copies",
            ["task_id", "user_id"],
            _text("task_id", required=True),
            _text("user_id", required=True),
            _text("instance_id", required=True),
            _instant("created_at", required=True),
            _instant("read_at"),
        )
        self._index(table, "user_id", "created_at")
        self._index(table, "instance_id")
        return table

    def _audit(self) -> Table:
        table = self._table(
            "audit",
            ["id"],
            _text("id", required=True),
            _big("sequence"),
            _instant("at", required=True),
            _text("actor_id"),
            _text("on_behalf_of"),
            _text("action", required=True),
            _text("definition_id"),
            _text("instance_id"),
            _text("task_id"),
            _text("node_id"),
            _text("outcome"),
            _long("comment"),
            _long("reason"),
            _text("request_id"),
            _text("command_id"),
            _long("before"),
            _long("after"),
            _big("seal_number", required=False),
            _text("hash"),
        )
        self._index(table, "instance_id", filled="instance_id")
        self._index(table, "definition_id", empty="instance_id")
        return table

    def _idempotency(self) -> Table:
        table = self._table(
            "idempotency",
            self._of_tenant("scope"),
            _text("scope", required=True),
            _text("body_hash", required=True),
            _integer("status"),
            _long("headers", required=True),
            Column("body", LargeBinary(), nullable=False),
            _instant("created_at", required=True),
        )
        self._index(table, "created_at")
        return table

    def _timer_firings(self) -> Table:
        return self._table(
            "timer_firings",
            self._of_tenant("definition_name", "scheduled_at"),
            _text("definition_name", required=True),
            _instant("scheduled_at", required=True),
            _text("instance_id"),
            _text("status", required=True),
            _instant("fired_at", required=True),
            _integer("failures"),
            _long("fault"),
        )


TENANT_SET = _Factory(tenant=True).make()
PLATFORM_SET = _Factory(tenant=False).make()
SETS = (TENANT_SET, PLATFORM_SET)


def table_set(partition: Partition) -> TableSet:
    """Return the tables that hold a partition's rows."""
    return PLATFORM_SET if partition is None else TENANT_SET


# --- the platform's database --------------------------------------------------------------------------

ACCOUNTS = Table(
    "accounts",
    METADATA,
    _text("id", required=True),
    _text("tenant_id"),
    _text("name", required=True),
    _text("display_name", required=True),
    _text("email"),
    _text("password_hash"),
    _text("language"),
    _text("theme"),
    _text("department"),
    _flag("disabled"),
    _instant("created_at", required=True),
    _instant("last_seen_at"),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("name"),
)
Index(None, ACCOUNTS.c.tenant_id, ACCOUNTS.c.name)

ROLES = Table("roles", METADATA, _text("name", required=True), PrimaryKeyConstraint("name"))

ACCOUNT_ROLES = Table(
    "account_roles",
    METADATA,
    Column("account_id", ordinal_text(), ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("role_name", ordinal_text(), ForeignKey("roles.name", ondelete="CASCADE"), nullable=False),
    PrimaryKeyConstraint("account_id", "role_name"),
)
Index(None, ACCOUNT_ROLES.c.role_name)

TOKENS = Table(
    "tokens",
    METADATA,
    _text("id", required=True),
    Column("account_id", ordinal_text(), ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    _text("name", required=True),
    _text("prefix", required=True),
    _text("token_hash", required=True),
    _instant("created_at", required=True),
    _instant("expires_at"),
    _instant("last_used_at"),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("token_hash"),
)
Index(None, TOKENS.c.account_id)

TENANTS = Table(
    "tenants",
    METADATA,
    _text("id", required=True),
    _text("name", required=True),
    _flag("enabled"),
    _long("database_url"),
    _instant("created_at", required=True),
    PrimaryKeyConstraint("id"),
)

LEASES = Table(
    "leases",
    METADATA,
    _text("name", required=True),
    _text("holder", required=True),
    _instant("expires_at", required=True),
    _text("stamp", required=True),
    PrimaryKeyConstraint("name"),
)
