"""All that differs between SQLite, PostgreSQL and MariaDB: types, functions, upserts, clocks, which errors pass.

Everything else in ``stores.sql`` is written once. How a connection of each is opened is in ``sessions``.
"""

from webapp.stores.sql.dialects.errors import (
    DRIVER_ERRORS,
    INTEGRITY_ERRORS,
    DriverError,
    is_duplicate,
    is_fenced,
    is_full,
    is_nul,
    is_transient,
)
from webapp.stores.sql.dialects.expressions import (
    begins_with,
    contains,
    has_clock,
    lease_clock,
    passes_over_locked,
    placed,
)
from webapp.stores.sql.dialects.indexes import indexes_of, limited
from webapp.stores.sql.dialects.lists import among, each, listed
from webapp.stores.sql.dialects.names import MARIADB, POSTGRESQL, SQLITE
from webapp.stores.sql.dialects.types import Instant, ReadableInstant, long_bytes, long_text, ordinal_text, wide_text
from webapp.stores.sql.dialects.writes import (
    can_update_returning,
    insert_once,
    replace_each_if,
    replace_if,
    update_many,
    upsert,
    upsert_many,
    written,
)

__all__ = [
    "DRIVER_ERRORS",
    "INTEGRITY_ERRORS",
    "MARIADB",
    "POSTGRESQL",
    "SQLITE",
    "DriverError",
    "Instant",
    "ReadableInstant",
    "among",
    "begins_with",
    "can_update_returning",
    "contains",
    "each",
    "has_clock",
    "indexes_of",
    "insert_once",
    "is_duplicate",
    "is_fenced",
    "is_full",
    "is_nul",
    "is_transient",
    "lease_clock",
    "limited",
    "listed",
    "long_bytes",
    "long_text",
    "ordinal_text",
    "passes_over_locked",
    "placed",
    "replace_each_if",
    "replace_if",
    "update_many",
    "upsert",
    "upsert_many",
    "wide_text",
    "written",
]
