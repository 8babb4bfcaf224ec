"""The SQL set of stores: SQLite, PostgreSQL and MariaDB, SQLAlchemy Core, no ORM sessions."""

from webapp.stores.sql.bulk import SqlBulk
from webapp.stores.sql.database import create_database, db, engine_options
from webapp.stores.sql.dialects.migrating import USUAL, Patience
from webapp.stores.sql.dialects.sessions import joined_options, normal_url, prepare
from webapp.stores.sql.hosting import SqlHostSession
from webapp.stores.sql.leases import SqlLeases, create_lease_database
from webapp.stores.sql.maintenance import current, head, reindex, unsupported, upgrade
from webapp.stores.sql.own_databases import SqlOpening
from webapp.stores.sql.relocation import SqlRelocation
from webapp.stores.sql.unit_of_work import SqlStores

__all__ = [
    "USUAL",
    "Patience",
    "SqlBulk",
    "SqlHostSession",
    "SqlLeases",
    "SqlOpening",
    "SqlRelocation",
    "SqlStores",
    "create_database",
    "create_lease_database",
    "current",
    "db",
    "engine_options",
    "head",
    "joined_options",
    "normal_url",
    "prepare",
    "reindex",
    "unsupported",
    "upgrade",
]
