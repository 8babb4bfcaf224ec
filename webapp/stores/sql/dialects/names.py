"""The databases, by the names SQLAlchemy gives their dialects."""

from __future__ import annotations

SQLITE = "sqlite"
POSTGRESQL = "postgresql"
MARIADB = "mariadb"
