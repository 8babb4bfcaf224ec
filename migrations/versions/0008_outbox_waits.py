"""Events that wait for the sender: those that are there already were kept for other systems and wait no more.

Revision: 0008
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

INSTANT = (
    sa.DateTime(timezone=True).with_variant(sa.String(32), "sqlite").with_variant(mysql.DATETIME(fsp=6), "mariadb")
)
INDEX = ("waits_since", "sequence", "id")


def upgrade() -> None:
    for table in ("outbox", "platform_outbox"):
        there = sa.inspect(op.get_bind())
        if "waits_since" not in {column["name"] for column in there.get_columns(table)}:
            op.add_column(table, sa.Column("waits_since", INSTANT, nullable=True))
        name, filled = f"ix_{table}_{'_'.join(INDEX)}", sa.text("waits_since IS NOT NULL")
        if name not in {index["name"] for index in there.get_indexes(table)}:
            op.create_index(name, table, INDEX, sqlite_where=filled, postgresql_where=filled)
