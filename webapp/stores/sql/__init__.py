"""The SQL set of stores: SQLite and PostgreSQL, SQLAlchemy Core, no ORM sessions."""

from webapp.stores.sql.database import create_database, db, engine_options, normal_url, prepare
from webapp.stores.sql.leases import SqlLeases, create_lease_database
from webapp.stores.sql.maintenance import current, head, upgrade
from webapp.stores.sql.unit_of_work import SqlStores

__all__ = [
    "SqlLeases",
    "SqlStores",
    "create_database",
    "create_lease_database",
    "current",
    "db",
    "engine_options",
    "head",
    "normal_url",
    "prepare",
    "upgrade",
]
