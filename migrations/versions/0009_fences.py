"""Fences: tenants whose rows in a database are not to be changed, because they are disabled or lie elsewhere.

Revision: 0009
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TENANT = (
    sa.Text()
    .with_variant(sa.Text(collation="C"), "postgresql")
    .with_variant(mysql.VARCHAR(128, collation="utf8mb4_nopad_bin"), "mariadb")
)


def upgrade() -> None:
    op.create_table(
        "fences",
        sa.Column("tenant_id", TENANT, nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", name="pk_fences"),
    )
