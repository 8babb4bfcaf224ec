"""Tables of the whole engine: outbox, kept signals, batch jobs; work calendars and substitutions of the platform.

Revision: 0002
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

COLLATION = "utf8mb4_nopad_bin"


def _bounded(length: int) -> sa.types.TypeEngine[str]:
    by_code_point = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
    return by_code_point.with_variant(mysql.VARCHAR(length, collation=COLLATION), "mariadb")


ORDINAL = _bounded(255)
TENANT = _bounded(128)
WORD = _bounded(64)
LONG = sa.Text().with_variant(mysql.LONGTEXT(collation=COLLATION), "mariadb")
INSTANT = (
    sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite").with_variant(mysql.DATETIME(fsp=6), "mariadb")
)
INTEGER = sa.Integer()
BIG = sa.BigInteger()


class _Set:
    """Makes the tables of tenants, or their twins of the platform."""

    def __init__(self, *, tenant: bool) -> None:
        self.tenant = tenant
        self._prefix = "" if tenant else "platform_"

    def create(self, name: str, key: Sequence[str], *columns: sa.Column[object]) -> None:
        own = [sa.Column("tenant_id", TENANT, nullable=False)] if self.tenant else []
        table = self._prefix + name
        op.create_table(table, *own, *columns, sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"))

    def index(self, name: str, *columns: str, by_tenant: bool = False) -> None:
        table = self._prefix + name
        names = ["tenant_id", *columns] if by_tenant and self.tenant else [*columns]
        op.create_index(f"ix_{table}_{'_'.join(names)}", table, names)


def upgrade() -> None:
    for tenant in (True, False):
        tables = _Set(tenant=tenant)
        _outbox(tables)
        _stored_signals(tables)
        _batches(tables)
        _batch_items(tables)
    _calendars()
    _substitutions()


def _outbox(tables: _Set) -> None:
    tables.create(
        "outbox",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("sequence", BIG, nullable=False),
        sa.Column("topic", ORDINAL, nullable=False),
        sa.Column("instance_id", ORDINAL, nullable=True),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("document", LONG, nullable=False),
    )
    tables.index("outbox", "created_at", "sequence")


def _stored_signals(tables: _Set) -> None:
    tables.create(
        "stored_signals",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("name", ORDINAL, nullable=False),
        sa.Column("correlation_id", ORDINAL, nullable=True),
        sa.Column("payload", LONG, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
    )
    tables.index("stored_signals", "name", "created_at")
    tables.index("stored_signals", "expires_at")


def _batches(tables: _Set) -> None:
    tables.create(
        "batches",
        ["id"],
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("action", ORDINAL, nullable=False),
        sa.Column("status", WORD, nullable=False),
        sa.Column("actor_id", ORDINAL, nullable=True),
        sa.Column("total", INTEGER, nullable=False),
        sa.Column("done", INTEGER, nullable=False),
        sa.Column("failed", INTEGER, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("ended_at", INSTANT, nullable=True),
        sa.Column("document", LONG, nullable=False),
    )
    tables.index("batches", "created_at", by_tenant=True)


def _batch_items(tables: _Set) -> None:
    tables.create(
        "batch_items",
        ["batch_id", "sequence"],
        sa.Column("batch_id", ORDINAL, nullable=False),
        sa.Column("sequence", BIG, nullable=False),
        sa.Column("instance_id", ORDINAL, nullable=False),
        sa.Column("status", WORD, nullable=False),
        sa.Column("ended_at", INSTANT, nullable=True),
        sa.Column("problem", LONG, nullable=True),
    )
    tables.index("batch_items", "batch_id", "status", "sequence")


def _calendars() -> None:
    op.create_table(
        "calendars",
        sa.Column("scope", ORDINAL, nullable=False),
        sa.Column("name", ORDINAL, nullable=False),
        sa.Column("revision", BIG, nullable=False),
        sa.Column("updated_at", INSTANT, nullable=False),
        sa.Column("updated_by", ORDINAL, nullable=True),
        sa.Column("document", LONG, nullable=False),
        sa.PrimaryKeyConstraint("scope", "name", name="pk_calendars"),
    )


def _substitutions() -> None:
    op.create_table(
        "substitutions",
        sa.Column("id", ORDINAL, nullable=False),
        sa.Column("tenant_id", ORDINAL, nullable=True),
        sa.Column("absent_id", ORDINAL, nullable=False),
        sa.Column("substitute_id", ORDINAL, nullable=False),
        sa.Column("starts_at", INSTANT, nullable=False),
        sa.Column("ends_at", INSTANT, nullable=False),
        sa.Column("definitions", LONG, nullable=False),
        sa.Column("created_at", INSTANT, nullable=False),
        sa.Column("created_by", ORDINAL, nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_substitutions"),
    )
    op.create_index("ix_substitutions_absent_id", "substitutions", ["absent_id"])
    op.create_index("ix_substitutions_ends_at", "substitutions", ["ends_at"])
