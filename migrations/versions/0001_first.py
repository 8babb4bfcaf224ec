"""The first tables: both sets, and those of the platform's database.

Revision: 0001
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

COLLATION = "utf8mb4_nopad_bin"


def _bounded(length: int) -> sa.types.TypeEngine[str]:
    by_code_point = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    return by_code_point.with_variant(mysql.VARCHAR(length, collation=COLLATION), "mariadb")


ORDINAL = _bounded(255)
TENANT = _bounded(128)
WORD = _bounded(64)
SORT_KEY = _bounded(256)
WIDE = (
    sa.Text()
    .with_variant(sa.Text(collation="C"), "postgresql")
    .with_variant(mysql.LONGTEXT(collation=COLLATION), "mariadb")
)
LONG = sa.Text().with_variant(mysql.LONGTEXT(collation=COLLATION), "mariadb")
INSTANT = (
    sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite").with_variant(mysql.DATETIME(fsp=6), "mariadb")
)
INTEGER = sa.Integer()
BIG = sa.BigInteger()
FLAG = sa.Boolean()
BYTES = sa.LargeBinary().with_variant(mysql.LONGBLOB(), "mariadb")


ROWS = {
    "definitions": 500,
    "instances": 100_000,
    "node_instances": 1_000_000,
    "bookmarks": 30_000,
    "follow_ups": 50,
    "task_records": 150_000,
    "task_copies": 20_000,
    "audit": 300_000,
    "idempotency": 5_000,
    "timer_firings": 20_000,
}
"""How many rows each table may have in a busy installation."""

VALUES = {
    "tenant_id": 4,
    "status": 4,
    "kind": 5,
    "version": 5,
    "claim_token": 20,
    "definition_name": 50,
    "definition_id": 200,
    "name": 200,
    "starter_id": 500,
    "assignee_id": 500,
    "actor_id": 500,
    "user_id": 500,
    "key": 5_000,
    "parent_instance_id": 5_000,
    "correlation_id": 50_000,
    "instance_id": 100_000,
}
"""How many different values a column has then; other columns of indexes hardly ever repeat one."""


class _Set:
    """Makes the tables of tenants, or their twins of the platform."""

    def __init__(self, *, tenant: bool) -> None:
        self.tenant = tenant
        self._prefix = "" if tenant else "platform_"

    def create(self, name: str, key: Sequence[str], *columns: sa.Column[object]) -> None:
        own = [sa.Column("tenant_id", TENANT, nullable=False)] if self.tenant else []
        table = self._prefix + name
        op.create_table(table, *own, *columns, sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"))

    def key(self, *columns: str) -> list[str]:
        return ["tenant_id", *columns] if self.tenant else [*columns]

    def index(self, name: str, *columns: str, by_tenant: bool = False, where: str | None = None) -> None:
        table = self._prefix + name
        names = self.key(*columns) if by_tenant else [*columns]
        condition = None if where is None else sa.text(where)
        op.create_index(
            f"ix_{table}_{'_'.join(names)}", table, names, sqlite_where=condition, postgresql_where=condition
        )

    def unique_index(self, name: str, *columns: str) -> None:
        table = self._prefix + name
        op.create_index(f"uq_{table}_{'_'.join(columns)}", table, [*columns], unique=True)


def upgrade() -> None:
    for tenant in (True, False):
        tables = _Set(tenant=tenant)
        for make in (
            _definitions,
            _instances,
            _node_instances,
            _bookmarks,
            _follow_ups,
            _task_records,
            _task_copies,
            _audit,
            _idempotency,
            _timer_firings,
        ):
            make(tables)
    _platform()
    if op.get_bind().dialect.name == "sqlite":
        _statistics()


def downgrade() -> None:
    raise NotImplementedError("Waypost's migrations go forward only: restore a backup")


def _definitions(tables: _Set) -> None:
    tables.create(
        "definitions",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("revision", BIG, nullable=False),
        sa.Column("name", ORDINAL, nullable=False),
        sa.Column("version", INTEGER, nullable=False),
        sa.Column("display_name", WIDE, nullable=False),
        sa.Column("title_sort_key", SORT_KEY, nullable=False),
        sa.Column("search_text", WIDE, nullable=False),
        sa.Column("description", LONG, nullable=True),
        sa.Column("category", ORDINAL, nullable=True),
        sa.Column("startable_by", WIDE, nullable=True),
        sa.Column("status", WORD, nullable=False),
        sa.Column("status_rank", INTEGER, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("created_by", ORDINAL, nullable=True),
        sa.Column("updated_at", INSTANT, nullable=True),
        sa.Column("updated_by", ORDINAL, nullable=True),
        sa.Column("published_at", INSTANT, nullable=True),
        sa.Column("published_by", ORDINAL, nullable=True),
        sa.Column("publish_note", LONG, nullable=True),
        sa.Column("start_signal", ORDINAL, nullable=True),
        sa.Column("document", LONG, nullable=False),
    )
    tables.unique_index("definitions", *(["name", "tenant_id", "version"] if tables.tenant else ["name", "version"]))


def _instances(tables: _Set) -> None:
    tables.create(
        "instances",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("revision", BIG, nullable=False),
        sa.Column("sequence", BIG, nullable=False),
        sa.Column("last_sequence", BIG, nullable=False),
        sa.Column("definition_id", ORDINAL, nullable=False),
        sa.Column("definition_name", ORDINAL, nullable=False),
        sa.Column("definition_version", INTEGER, nullable=False),
        sa.Column("title", WIDE, nullable=False),
        sa.Column("title_sort_key", SORT_KEY, nullable=False),
        sa.Column("search_text", WIDE, nullable=False),
        sa.Column("status", WORD, nullable=False),
        sa.Column("status_rank", INTEGER, nullable=False),
        sa.Column("correlation_id", ORDINAL, nullable=True),
        sa.Column("starter_id", ORDINAL, nullable=True),
        sa.Column("requested_by", ORDINAL, nullable=True),
        sa.Column("parent_instance_id", ORDINAL, nullable=True),
        sa.Column("parent_node_instance_id", ORDINAL, nullable=True),
        sa.Column("root_instance_id", ORDINAL, nullable=False),
        sa.Column("depth", INTEGER, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("started_at", INSTANT, nullable=True),
        sa.Column("ended_at", INSTANT, nullable=True),
        sa.Column("fault", LONG, nullable=True),
        sa.Column("fault_node_id", ORDINAL, nullable=True),
        sa.Column("fault_node_instance_id", ORDINAL, nullable=True),
        sa.Column("cancellation_reason", LONG, nullable=True),
        sa.Column("outcome", ORDINAL, nullable=True),
        sa.Column("scheduled_at", INSTANT, nullable=True),
        sa.Column("command_id", ORDINAL, nullable=True),
        sa.Column("document", LONG, nullable=False),
    )
    tables.index("instances", "correlation_id", by_tenant=True, where="correlation_id IS NOT NULL")
    tables.index("instances", "parent_instance_id", by_tenant=True, where="parent_instance_id IS NOT NULL")
    tables.index("instances", "created_at", by_tenant=True)
    tables.index("instances", "ended_at", by_tenant=True, where="ended_at IS NOT NULL")
    tables.index("instances", "starter_id", "created_at", by_tenant=True)
    tables.index("instances", "status", "created_at", by_tenant=True)
    tables.index("instances", "status", "definition_name", by_tenant=True)


def _node_instances(tables: _Set) -> None:
    tables.create(
        "node_instances",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("sequence", BIG, nullable=False),
        sa.Column("instance_id", ORDINAL, nullable=False),
        sa.Column("node_id", ORDINAL, nullable=False),
        sa.Column("status", WORD, nullable=False),
        sa.Column("started_at", INSTANT, nullable=False),
        sa.Column("document", LONG, nullable=False),
    )
    tables.index("node_instances", "instance_id", "sequence")
    tables.index("node_instances", "instance_id", "status")


def _bookmarks(tables: _Set) -> None:
    tables.create(
        "bookmarks",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("sequence", BIG, nullable=False),
        sa.Column("instance_id", ORDINAL, nullable=True),
        sa.Column("root_instance_id", ORDINAL, nullable=True),
        sa.Column("node_id", ORDINAL, nullable=True),
        sa.Column("node_instance_id", ORDINAL, nullable=True),
        sa.Column("kind", WORD, nullable=False),
        sa.Column("key", ORDINAL, nullable=True),
        sa.Column("correlation_id", ORDINAL, nullable=True),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("due_at", INSTANT, nullable=True),
        sa.Column("original_due_at", INSTANT, nullable=True),
        sa.Column("available_at", INSTANT, nullable=True),
        sa.Column("claim_token", ORDINAL, nullable=True),
        sa.Column("claimed_until", INSTANT, nullable=True),
        sa.Column("failures", INTEGER, nullable=False),
        sa.Column("worker_id", ORDINAL, nullable=True),
        sa.Column("lock_token", ORDINAL, nullable=True),
        sa.Column("task_due_at", INSTANT, nullable=True),
        sa.Column("priority", INTEGER, nullable=False),
        sa.Column("title", WIDE, nullable=True),
        sa.Column("title_sort_key", SORT_KEY, nullable=False),
        sa.Column("instance_title", WIDE, nullable=True),
        sa.Column("definition_name", ORDINAL, nullable=True),
        sa.Column("definition_title", WIDE, nullable=True),
        sa.Column("starter_id", ORDINAL, nullable=True),
        sa.Column("instance_status", WORD, nullable=True),
        sa.Column("search_title", WIDE, nullable=True),
        sa.Column("search_instance_text", WIDE, nullable=True),
        sa.Column("claimed_by", ORDINAL, nullable=True),
        sa.Column("claimable", FLAG, nullable=False),
        sa.Column("signers_done", INTEGER, nullable=False),
        sa.Column("signers_total", INTEGER, nullable=False),
        sa.Column("opened_at", INSTANT, nullable=True),
        sa.Column("document", LONG, nullable=False),
    )
    tables.index("bookmarks", "claim_token", where="claim_token IS NOT NULL")
    if tables.tenant:
        tables.index("bookmarks", "due_at", where="due_at IS NOT NULL")
    tables.index("bookmarks", "instance_id")
    tables.index("bookmarks", "key", "kind", "created_at")
    tables.index("bookmarks", "due_at", by_tenant=True, where="due_at IS NOT NULL")


def _follow_ups(tables: _Set) -> None:
    tables.create(
        "follow_ups",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("action", ORDINAL, nullable=False),
        sa.Column("source_instance_id", ORDINAL, nullable=True),
        sa.Column("target_instance_id", ORDINAL, nullable=True),
        sa.Column("payload", LONG, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("due_at", INSTANT, nullable=False),
        sa.Column("claim_token", ORDINAL, nullable=True),
        sa.Column("claimed_until", INSTANT, nullable=True),
        sa.Column("failures", INTEGER, nullable=False),
    )
    tables.index("follow_ups", "claim_token", where="claim_token IS NOT NULL")
    tables.index("follow_ups", "due_at")


def _task_records(tables: _Set) -> None:
    tables.create(
        "task_records",
        ["task_id", "round"],
        sa.Column("task_id", ORDINAL, nullable=False),
        sa.Column("round", INTEGER, nullable=False),
        sa.Column("sequence", BIG, nullable=False),
        sa.Column("instance_id", ORDINAL, nullable=False),
        sa.Column("root_instance_id", ORDINAL, nullable=False),
        sa.Column("node_id", ORDINAL, nullable=False),
        sa.Column("node_instance_id", ORDINAL, nullable=False),
        sa.Column("definition_name", ORDINAL, nullable=False),
        sa.Column("definition_title", WIDE, nullable=False),
        sa.Column("instance_title", WIDE, nullable=False),
        sa.Column("starter_id", ORDINAL, nullable=True),
        sa.Column("title", WIDE, nullable=False),
        sa.Column("title_sort_key", SORT_KEY, nullable=False),
        sa.Column("search_title", WIDE, nullable=False),
        sa.Column("search_instance_text", WIDE, nullable=False),
        sa.Column("assignee_id", ORDINAL, nullable=False),
        sa.Column("actor_id", ORDINAL, nullable=True),
        sa.Column("on_behalf_of", ORDINAL, nullable=True),
        sa.Column("as_operator", FLAG, nullable=False),
        sa.Column("outcome", ORDINAL, nullable=True),
        sa.Column("comment", LONG, nullable=True),
        sa.Column("priority", INTEGER, nullable=False),
        sa.Column("task_due_at", INSTANT, nullable=True),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("opened_at", INSTANT, nullable=True),
        sa.Column("ended_at", INSTANT, nullable=True),
        sa.Column("end_reason", ORDINAL, nullable=True),
    )
    tables.index("task_records", "actor_id", "ended_at", where="actor_id IS NOT NULL")
    tables.index("task_records", "assignee_id")
    tables.index("task_records", "instance_id")


def _task_copies(tables: _Set) -> None:
    tables.create(
        "task_copies",
        ["task_id", "user_id"],
        sa.Column("task_id", ORDINAL, nullable=False),
        sa.Column("user_id", ORDINAL, nullable=False),
        sa.Column("instance_id", ORDINAL, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("read_at", INSTANT, nullable=True),
    )
    tables.index("task_copies", "instance_id")
    tables.index("task_copies", "user_id", "created_at")


def _audit(tables: _Set) -> None:
    tables.create(
        "audit",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("sequence", BIG, nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("actor_id", ORDINAL, nullable=True),
        sa.Column("on_behalf_of", ORDINAL, nullable=True),
        sa.Column("action", ORDINAL, nullable=False),
        sa.Column("definition_id", ORDINAL, nullable=True),
        sa.Column("instance_id", ORDINAL, nullable=True),
        sa.Column("task_id", ORDINAL, nullable=True),
        sa.Column("node_id", ORDINAL, nullable=True),
        sa.Column("outcome", ORDINAL, nullable=True),
        sa.Column("comment", LONG, nullable=True),
        sa.Column("reason", LONG, nullable=True),
        sa.Column("request_id", ORDINAL, nullable=True),
        sa.Column("command_id", ORDINAL, nullable=True),
        sa.Column("before", LONG, nullable=True),
        sa.Column("after", LONG, nullable=True),
        sa.Column("seal_number", BIG, nullable=True),
        sa.Column("hash", ORDINAL, nullable=True),
    )
    tables.index("audit", "definition_id", where="instance_id IS NULL")
    tables.index("audit", "instance_id", where="instance_id IS NOT NULL")


def _idempotency(tables: _Set) -> None:
    tables.create(
        "idempotency",
        tables.key("scope"),
        sa.Column("scope", ORDINAL, nullable=False),
        sa.Column("body_hash", ORDINAL, nullable=False),
        sa.Column("status", INTEGER, nullable=False),
        sa.Column("headers", LONG, nullable=False),
        sa.Column("body", BYTES, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
    )
    tables.index("idempotency", "created_at")


def _timer_firings(tables: _Set) -> None:
    tables.create(
        "timer_firings",
        tables.key("definition_name", "scheduled_at"),
        sa.Column("definition_name", ORDINAL, nullable=False),
        sa.Column("scheduled_at", INSTANT, nullable=False),
        sa.Column("instance_id", ORDINAL, nullable=True),
        sa.Column("status", WORD, nullable=False),
        sa.Column("fired_at", INSTANT, nullable=False),
        sa.Column("failures", INTEGER, nullable=False),
        sa.Column("fault", LONG, nullable=True),
    )


def _platform() -> None:
    op.create_table(
        "accounts",
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("tenant_id", ORDINAL, nullable=True),
        sa.Column("name", ORDINAL, nullable=False),
        sa.Column("display_name", WIDE, nullable=False),
        sa.Column("email", ORDINAL, nullable=True),
        sa.Column("password_hash", WIDE, nullable=True),
        sa.Column("language", ORDINAL, nullable=True),
        sa.Column("theme", ORDINAL, nullable=True),
        sa.Column("department", ORDINAL, nullable=True),
        sa.Column("disabled", FLAG, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("last_seen_at", INSTANT, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_accounts"),
        sa.UniqueConstraint("name", name="uq_accounts_name"),
    )
    op.create_index("ix_accounts_tenant_id_name", "accounts", ["tenant_id", "name"])
    op.create_table(
        "roles",
        sa.Column("name", ORDINAL, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_roles"),
    )
    op.create_table(
        "account_roles",
        sa.Column(
            "account_id",
            ORDINAL,
            sa.ForeignKey("accounts.id", name="fk_account_roles_account_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column(
            "role_name",
            ORDINAL,
            sa.ForeignKey("roles.name", name="fk_account_roles_role_name", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("account_id", "role_name", name="pk_account_roles"),
    )
    op.create_index("ix_account_roles_role_name", "account_roles", ["role_name"])
    op.create_table(
        "tokens",
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column(
            "account_id",
            ORDINAL,
            sa.ForeignKey("accounts.id", name="fk_tokens_account_id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("name", ORDINAL, nullable=False),
        sa.Column("prefix", ORDINAL, nullable=False),
        sa.Column("token_hash", ORDINAL, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=True),
        sa.Column("last_used_at", INSTANT, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.UniqueConstraint("token_hash", name="uq_tokens_token_hash"),
    )
    op.create_index("ix_tokens_account_id", "tokens", ["account_id"])
    op.create_table(
        "tenants",
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("name", WIDE, nullable=False),
        sa.Column("enabled", FLAG, nullable=False),
        sa.Column("database_url", LONG, nullable=True),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_tenants"),
    )
    op.create_table(
        "leases",
        sa.Column("name", ORDINAL, nullable=False),
        sa.Column("holder", WIDE, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("stamp", ORDINAL, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_leases"),
    )


def _statistics() -> None:
    """Tell SQLite what the tables will be like. Nobody runs ANALYZE later, and without it plans are blind guesses."""
    connection = op.get_bind()
    connection.exec_driver_sql("ANALYZE")
    for table in (prefix + name for prefix in ("", "platform_") for name in ROWS):
        rows = ROWS[table.removeprefix("platform_")]
        for _, index, unique, *_ in connection.exec_driver_sql(f"PRAGMA index_list({table})").all():
            columns = [row[2] for row in connection.exec_driver_sql(f"PRAGMA index_info({index})")]
            numbers, left = [rows], float(rows)
            for column in columns:
                left = max(1.0, left / VALUES.get(column, rows))
                numbers.append(int(left))
            if unique:
                numbers[-1] = 1
            statistic = " ".join(map(str, numbers))
            connection.exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", (table, index, statistic))
    # Reads them again, or this connection would not use them.
    connection.exec_driver_sql("ANALYZE sqlite_schema")
