"""Databases of the tests' own on a MariaDB server (WAYPOST_TEST_MARIADB_URL)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pymysql
from sqlalchemy import URL, Engine

from tests.support.servers import Execute, Server
from webapp.stores.sql.columns import METADATA


@contextmanager
def _connected(url: URL) -> Iterator[Execute]:
    connection = pymysql.connect(
        host=url.host or "127.0.0.1",
        port=url.port or 3306,
        user=url.username,
        password=url.password or "",
        database=url.database,
        autocommit=True,
        connect_timeout=3,
    )
    try:
        yield connection.cursor().execute
    finally:
        connection.close()


SERVER = Server(
    kind="mariadb",
    default_url="mariadb://root@127.0.0.1:3306/test",
    connected=_connected,
    failure=pymysql.OperationalError,
    # Of another collation than its tables get.
    create=("CREATE DATABASE {name} CHARACTER SET latin1 COLLATE latin1_swedish_ci",),
    drop="DROP DATABASE IF EXISTS {name}",
)
UNREACHABLE = SERVER.unreachable
server_url, require_server, new_database = SERVER.url, SERVER.require, SERVER.new_database


def break_connection(number: int) -> None:
    """End a connection of the server, as a restart would."""
    SERVER.run(f"KILL CONNECTION {int(number)}")


def empty(engine: Engine) -> None:
    """Delete every row; a table without rows costs a look, not a commit."""
    tables = [table.name for table in reversed(METADATA.sorted_tables)]
    looks = " UNION ALL ".join(f"SELECT '{name}' FROM DUAL WHERE EXISTS (SELECT 1 FROM {name})" for name in tables)
    with engine.begin() as connection:
        for name in connection.exec_driver_sql(looks).scalars().all():
            connection.exec_driver_sql(f"DELETE FROM {name}")
