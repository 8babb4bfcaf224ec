"""How far each back-fill has come: columns that came later are filled from the rows' documents, batch by batch.

Revision: 0006
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

ORDINAL = (
    sa.Text()
    .with_variant(sa.Text(collation="C"), "postgresql")
    .with_variant(mysql.VARCHAR(255, collation="utf8mb4_nopad_bin"), "mariadb")
)


def upgrade() -> None:
    op.create_table(
        "backfills",
        sa.Column("name", ORDINAL, nullable=False),
        sa.Column("place", ORDINAL, nullable=False),
        sa.Column("is_done", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_backfills"),
    )
