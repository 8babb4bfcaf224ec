"""Whether a database server is one that the stores can be kept on, told before anything is kept there."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Engine, bindparam, text
from sqlalchemy.exc import InvalidRequestError, SQLAlchemyError

from webapp.stores.sql.dialects.names import MARIADB
from webapp.stores.sql.dialects.types import COLLATION

OLDEST_MARIADB = (10, 6)
"""The first that passes over locked rows and returns what it inserts and deletes."""

SMALLEST_PACKET = 16 * 1024 * 1024
"""Bytes of a statement that carries the largest row; MariaDB's own default."""

_COMPARED = text(
    "SELECT table_name, column_name, collation_name FROM information_schema.columns WHERE table_schema = database()"
    " AND table_name IN :names AND collation_name <> :collation ORDER BY table_name, ordinal_position LIMIT 1"
).bindparams(bindparam("names", expanding=True))

Refusal = tuple[str, dict[str, Any]]
"""The key of a message and its parameters."""


def unsupported(engine: Engine, tables: Collection[str]) -> Refusal | None:
    """Return why the server cannot hold the stores, or None; a server that does not answer may be right.

    *tables* are the names of those that must compare by code point.
    """
    if engine.dialect.name != MARIADB:
        return None
    try:
        return _of_mariadb(engine, tables)
    except InvalidRequestError:
        # What SQLAlchemy says of a MySQL server.
        return "config.mariadb_is_mysql", {}
    except SQLAlchemyError:
        return None


def _of_mariadb(engine: Engine, tables: Collection[str]) -> Refusal | None:
    with engine.connect() as connection:
        version = connection.dialect.server_version_info or ()
        if tuple(version[:2]) < OLDEST_MARIADB:
            oldest, found = (".".join(map(str, one)) for one in (OLDEST_MARIADB, version))
            return "config.mariadb_version", {"oldest": oldest, "version": found}
        packet = connection.execute(text("SELECT @@max_allowed_packet")).scalar_one()
        if packet < SMALLEST_PACKET:
            return "config.mariadb_packet", {"smallest": SMALLEST_PACKET, "size": packet}
        other = connection.execute(_COMPARED, {"names": list(tables), "collation": COLLATION}).first()
        if other is not None:
            table, column, collation = other
            names = {"table": table, "column": column, "collation": collation, "wanted": COLLATION}
            return "config.mariadb_collation", names
    return None
