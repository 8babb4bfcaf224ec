"""The table of leases is not logged: nothing in it needs to outlive a crash of the server (spec 8.10, PostgreSQL).

Revision: 0003
"""

from __future__ import annotations

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Leave the write-ahead log alone; what a lost lease lets through, the instance's revision stops."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE leases SET UNLOGGED")
