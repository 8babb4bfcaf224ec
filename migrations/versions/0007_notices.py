"""Notices, what goes out of them with its attempts, and what was settled about them: templates, preferences, endpoints.

Revision: 0007
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COLLATION = "utf8mb4_nopad_bin"


def _bounded(length: int) -> sa.types.TypeEngine[str]:
    by_code_point = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    return by_code_point.with_variant(mysql.VARCHAR(length, collation=COLLATION), "mariadb")


LONG = sa.Text().with_variant(mysql.LONGTEXT(collation=COLLATION), "mariadb")
WIDE = LONG.with_variant(sa.Text(collation="C"), "postgresql")
ORDINAL = _bounded(255)
WORD = _bounded(64)
TENANT = _bounded(128)
LINE = _bounded(512)
INSTANT = (
    sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite").with_variant(mysql.DATETIME(fsp=6), "mariadb")
)
INTEGER = sa.Integer()
BIG = sa.BigInteger()

AGE = ("created_at", "sequence", "id")


def _column(name: str, kind: sa.types.TypeEngine[object], *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, kind, nullable=nullable)


class _Set:
    """Makes the tables and indexes of tenants, or their twins of the platform."""

    def __init__(self, *, tenant: bool) -> None:
        self.tenant = tenant
        self._prefix = "" if tenant else "platform_"
        self.dialect = op.get_bind().dialect.name

    def key(self, *columns: str) -> list[str]:
        return ["tenant_id", *columns] if self.tenant else [*columns]

    def create(self, name: str, key: Sequence[str], *columns: sa.Column[object]) -> None:
        own = [_column("tenant_id", TENANT)] if self.tenant else []
        table = self._prefix + name
        op.create_table(table, *own, *columns, sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"))

    def index(self, name: str, *columns: str, where: str | None = None, by_tenant: bool = True) -> None:
        names = self.key(*columns) if by_tenant else [*columns]
        self.create_index(name, "_".join(names), names, where=where)

    def covering(
        self, name: str, short: str, columns: Sequence[str], shown: Sequence[str], where: str | None = None
    ) -> None:
        also = [*shown] if self.dialect == "sqlite" else []
        self.create_index(name, short, [*self.key(*columns), *also], shown, where)

    def create_index(
        self, name: str, short: str, columns: Sequence[str], shown: Sequence[str] = (), where: str | None = None
    ) -> None:
        condition = None if where is None else sa.text(where)
        op.create_index(
            f"ix_{self._prefix}{name}_{short}",
            self._prefix + name,
            [*columns],
            sqlite_where=condition,
            postgresql_where=condition,
            postgresql_include=[*shown],
        )


def upgrade() -> None:
    for tenant in (True, False):
        tables = _Set(tenant=tenant)
        _notices(tables)
        _deliveries(tables)
    _settings()


def _notices(tables: _Set) -> None:
    tables.create(
        "notices",
        ["id"],
        _column("id", ORDINAL),
        _column("sequence", BIG),
        _column("inbox_of", ORDINAL, nullable=True),
        _column("type", WORD),
        _column("instance_id", ORDINAL),
        _column("task_id", ORDINAL, nullable=True),
        _column("created_at", INSTANT),
        _column("read_at", INSTANT, nullable=True),
        _column("link_used_at", INSTANT, nullable=True),
        _column("document", LONG),
    )
    tables.covering("notices", "inbox", ["inbox_of", *AGE], ["type"], "inbox_of IS NOT NULL")
    if tables.dialect == "mariadb":
        tables.covering("notices", "unread", ["inbox_of", "read_at", *AGE], [])
    else:
        unread = "inbox_of IS NOT NULL AND read_at IS NULL"
        tables.covering("notices", "unread", ["inbox_of", *AGE], ["type"], unread)
    tables.index("notices", "task_id", where="read_at IS NULL AND task_id IS NOT NULL", by_tenant=False)
    tables.index("notices", "instance_id", by_tenant=False)
    tables.index("notices", "created_at")


def _deliveries(tables: _Set) -> None:
    tables.create(
        "deliveries",
        ["id"],
        _column("id", ORDINAL),
        _column("sequence", BIG),
        _column("line", LINE),
        _column("open_line", LINE, nullable=True),
        _column("endpoint_id", ORDINAL),
        _column("recipient_id", ORDINAL, nullable=True),
        _column("topic", ORDINAL, nullable=True),
        _column("instance_id", ORDINAL, nullable=True),
        _column("bundle", WIDE, nullable=True),
        _column("state", WORD),
        _column("attempts", INTEGER),
        _column("next_attempt_at", INSTANT),
        _column("due_at", INSTANT, nullable=True),
        _column("attempted_at", INSTANT, nullable=True),
        _column("claim_token", ORDINAL, nullable=True),
        _column("claimed_until", INSTANT, nullable=True),
        _column("created_at", INSTANT),
        _column("ended_at", INSTANT, nullable=True),
        _column("receipt", WIDE, nullable=True),
        _column("last_error", LONG, nullable=True),
        _column("document", LONG),
    )
    tables.index("deliveries", "due_at", "sequence", "id", where="due_at IS NOT NULL", by_tenant=False)
    tables.index("deliveries", "open_line", "sequence", where="open_line IS NOT NULL")
    tables.index("deliveries", "claim_token", where="claim_token IS NOT NULL", by_tenant=False)
    tables.covering("deliveries", "state", ["state", *AGE], ["endpoint_id", "topic"])
    tables.index("deliveries", "instance_id", where="instance_id IS NOT NULL", by_tenant=False)
    tables.index("deliveries", "ended_at", where="ended_at IS NOT NULL")
    tables.create(
        "delivery_attempts",
        ["delivery_id", "number"],
        _column("delivery_id", ORDINAL),
        _column("number", INTEGER),
        _column("started_at", INSTANT),
        _column("duration_ms", INTEGER),
        _column("outcome", WORD),
        _column("error", LONG, nullable=True),
    )


def _settings() -> None:
    version = ("scope", "event_type", "business_type", "language", "version")
    op.create_table(
        "notice_templates",
        _column("id", ORDINAL),
        _column("scope", ORDINAL),
        _column("event_type", WORD),
        _column("business_type", ORDINAL),
        _column("language", WORD),
        _column("version", INTEGER),
        _column("document", LONG),
        sa.PrimaryKeyConstraint("id", name="pk_notice_templates"),
        sa.UniqueConstraint(*version, name="uq_notice_templates_version"),
    )
    op.create_table(
        "notice_preferences",
        _column("scope", ORDINAL),
        _column("user_id", ORDINAL),
        _column("revision", BIG),
        _column("document", LONG),
        sa.PrimaryKeyConstraint("scope", "user_id", name="pk_notice_preferences"),
    )
    op.create_table(
        "endpoints",
        _column("id", ORDINAL),
        _column("scope", ORDINAL),
        _column("name", ORDINAL),
        _column("revision", BIG),
        _column("document", LONG),
        sa.PrimaryKeyConstraint("id", name="pk_endpoints"),
        sa.UniqueConstraint("scope", "name", name="uq_endpoints_scope_name"),
    )
