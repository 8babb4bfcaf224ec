"""Upkeep: seals of the audit trail with their heads; purging by index, marks of what is purged in parts.

Revision: 0004
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

COLLATION = "utf8mb4_nopad_bin"


def _bounded(length: int) -> sa.types.TypeEngine[str]:
    by_code_point = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    return by_code_point.with_variant(mysql.VARCHAR(length, collation=COLLATION), "mariadb")


ORDINAL = _bounded(255)
TENANT = _bounded(128)
INSTANT = (
    sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite").with_variant(mysql.DATETIME(fsp=6), "mariadb")
)
INTEGER = sa.Integer()
BIG = sa.BigInteger()


class _Set:
    """Makes the tables and indexes of tenants, or their twins of the platform."""

    def __init__(self, *, tenant: bool) -> None:
        self.tenant = tenant
        self._prefix = "" if tenant else "platform_"

    def key(self, *columns: str) -> list[str]:
        return ["tenant_id", *columns] if self.tenant else [*columns]

    def create(self, name: str, key: Sequence[str], *columns: sa.Column[object]) -> None:
        own = [sa.Column("tenant_id", TENANT, nullable=False)] if self.tenant else []
        table = self._prefix + name
        op.create_table(table, *own, *columns, sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"))

    def name(self, kind: str, name: str, *columns: str) -> str:
        return f"{kind}_{self._prefix}{name}_{'_'.join(columns)}"

    def index(self, name: str, *columns: str, where: str | None = None, unique: bool = False) -> None:
        names = self.key(*columns)
        condition = None if where is None else sa.text(where)
        op.create_index(
            self.name("uq" if unique else "ix", name, *names),
            self._prefix + name,
            names,
            unique=unique,
            sqlite_where=condition,
            postgresql_where=condition,
        )

    def statistics(self, name: str, columns: Sequence[str], *numbers: int) -> None:
        """Tell SQLite how many rows the index will have, and how many a value of each more column leads to."""
        names = self.key(*columns)
        shown = numbers if self.tenant else (numbers[0], *numbers[2:])
        values = (self._prefix + name, self.name("ix", name, *names), " ".join(map(str, shown)))
        op.get_bind().exec_driver_sql("INSERT INTO sqlite_stat1 VALUES (?, ?, ?)", values)


def upgrade() -> None:
    for tenant in (True, False):
        tables = _Set(tenant=tenant)
        _seals(tables)
        _purge(tables)
        _ages(tables)
    if op.get_bind().dialect.name == "sqlite":
        _statistics()


def _seals(tables: _Set) -> None:
    tables.index("audit", "sequence", where="seal_number IS NULL")
    tables.index("audit", "seal_number", where="seal_number IS NOT NULL", unique=True)
    tables.create(
        "audit_heads",
        tables.key("seal_number"),
        sa.Column("seal_number", BIG, nullable=False),
        sa.Column("hash", ORDINAL, nullable=False),
        sa.Column("at", INSTANT, nullable=False),
    )


def _purge(tables: _Set) -> None:
    tables.index(
        "instances", "status", "ended_at", "sequence", where="ended_at IS NOT NULL AND parent_instance_id IS NULL"
    )
    tables.index("instances", "root_instance_id", where="parent_instance_id IS NOT NULL")
    tables.create(
        "purge_marks",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("has_children", sa.Boolean(), nullable=False),
        sa.Column("marked_at", INSTANT, nullable=False),
    )
    tables.index("purge_marks", "marked_at")
    tables.create(
        "purge_runs",
        tables.key("name"),
        sa.Column("name", ORDINAL, nullable=False),
        sa.Column("started_at", INSTANT, nullable=False),
        sa.Column("moved_at", INSTANT, nullable=False),
        sa.Column("ended_at", INSTANT, nullable=True),
        sa.Column("ended_before", INSTANT, nullable=False),
        sa.Column("instances", BIG, nullable=False),
        sa.Column("removed_rows", BIG, nullable=False),
    )


def _ages(tables: _Set) -> None:
    """Let what is too old be found by partition, so that none walks over another's."""
    if tables.tenant:
        op.drop_index("ix_idempotency_created_at", "idempotency")
        tables.index("idempotency", "created_at")
    tables.index("timer_firings", "scheduled_at")
    tables.index("batches", "ended_at", where="ended_at IS NOT NULL")


def _statistics() -> None:
    """Nobody runs ANALYZE later, and without numbers SQLite's plans are blind guesses."""
    for tenant in (True, False):
        tables = _Set(tenant=tenant)
        tables.statistics("instances", ("status", "ended_at", "sequence"), 80_000, 20_000, 7_000, 1, 1)
        tables.statistics("instances", ("root_instance_id",), 15_000, 4_000, 3)
        tables.statistics("audit", ("sequence",), 1_000, 250, 1)
        if tenant:
            tables.statistics("idempotency", ("created_at",), 5_000, 1_250, 1)
        tables.statistics("timer_firings", ("scheduled_at",), 20_000, 5_000, 1)
    # Reads them again, or this connection would not use them.
    op.get_bind().exec_driver_sql("ANALYZE sqlite_schema")
