"""How databases are opened, and what their failures become (spec 8.10, 22)."""

import sqlite3
import threading

import pymysql
import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from tests.stores.records import audit, definition, instance, start
from tests.support.clock import FakeClock
from tests.support.postgresql import new_database, require_server
from tests.support.stores import on_every_database, on_postgresql, on_servers
from webapp.accounts.model import Token
from webapp.engine.errors import InputInvalid
from webapp.engine.ports.queries import DefinitionQuery, InstanceQuery
from webapp.engine.ports.stores import StoreFailure, WriteSet
from webapp.stores.sql import (
    SqlLeases,
    SqlStores,
    create_database,
    create_lease_database,
    current,
    engine_options,
    head,
    normal_url,
)
from webapp.stores.sql import database as database_module
from webapp.stores.sql.database import Database, failure
from webapp.stores.sql.dialects import Instant, is_transient, sessions
from webapp.stores.sql.platform_tables import LEASES

OWN_NUMBER = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT connection_id()"}
"""By what a server names a connection."""


@pytest.fixture
def sqlite(tmp_path):
    engine = create_database(f"sqlite:///{tmp_path / 'a.db'}")
    yield engine
    engine.dispose()


def pragma(connection, name):
    return connection.exec_driver_sql(f"PRAGMA {name}").scalar()


@pytest.mark.parametrize(("synchronous", "number"), [("FULL", 2), ("NORMAL", 1)])
def test_sqlite_is_opened_so_that_nothing_is_lost(tmp_path, synchronous, number):
    engine = create_database(f"sqlite:///{tmp_path / 'a.db'}", sqlite_synchronous=synchronous)
    with engine.connect() as connection:
        assert pragma(connection, "journal_mode") == "wal"
        assert pragma(connection, "synchronous") == number
        assert pragma(connection, "foreign_keys") == 1
        assert pragma(connection, "busy_timeout") == 15000
    engine.dispose()


def test_an_unknown_synchronous_is_refused(tmp_path):
    with pytest.raises(ValueError, match="WRONG"):
        create_database(f"sqlite:///{tmp_path / 'a.db'}", sqlite_synchronous="WRONG")


def test_urls():
    assert normal_url("postgresql://u:p@h/d").drivername == "postgresql+psycopg"
    assert normal_url("postgresql+psycopg://u@h/d").drivername == "postgresql+psycopg"
    assert normal_url("sqlite:////tmp/a.db").drivername == "sqlite"
    for url in ("sqlite://", "sqlite:///:memory:"):
        with pytest.raises(ValueError, match="file"):
            normal_url(url)
    assert normal_url("mariadb://u:p@h/d").drivername == "mariadb+pymysql"
    assert engine_options("postgresql://h/d", pool_size=3)["pool_size"] == 3


def test_a_writer_takes_the_lock_at_once_and_a_reader_none(sqlite, tmp_path):
    database = Database(sqlite)
    other = sqlite3.connect(tmp_path / "a.db", timeout=0)
    with database.writing() as transaction:
        transaction.connection.exec_driver_sql("CREATE TABLE t (x)")
    with database.reading() as transaction:
        transaction.connection.exec_driver_sql("SELECT * FROM t")
        other.execute("INSERT INTO t VALUES (1)")
        other.commit()
        # one state for the whole unit of work
        assert transaction.connection.exec_driver_sql("SELECT count(*) FROM t").scalar() == 0
    with database.writing() as transaction, pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("INSERT INTO t VALUES (2)")
    other.close()


def test_another_process_that_writes_for_long_is_a_passing_failure(sqlite, tmp_path):
    database = Database(sqlite)
    with sqlite.connect() as connection:
        other = sqlite3.connect(tmp_path / "a.db")
        other.execute("BEGIN IMMEDIATE")
        connection.exec_driver_sql("PRAGMA busy_timeout=50")
    with pytest.raises(StoreFailure) as caught, database.writing():
        pass
    assert caught.value.transient
    other.close()


def test_a_new_file_that_somebody_else_opens_too_is_waited_for(tmp_path):
    other = sqlite3.connect(tmp_path / "a.db", check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    threading.Timer(0.2, other.rollback).start()
    engine = create_database(f"sqlite:///{tmp_path / 'a.db'}")
    with engine.connect() as connection:
        assert pragma(connection, "journal_mode") == "wal"
    engine.dispose()
    other.close()


def test_a_thread_that_writes_for_long_is_a_passing_failure(sqlite, monkeypatch):
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.05)
    database = Database(sqlite)
    caught = []

    def write():
        try:
            with database.writing():
                pass
        except StoreFailure as error:
            caught.append(error.transient)

    with database.writing():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join(5)
    assert caught == [True]


@on_every_database
def test_a_broken_statement_is_no_passing_failure(stores):
    with pytest.raises(StoreFailure) as caught, Database(stores.engine).reading() as transaction:
        transaction.read(text("SELECT 1 FROM nowhere"))
    assert not caught.value.transient
    assert "nowhere" in caught.value.reason


@on_servers
def test_a_lost_connection_is_a_passing_failure_and_the_next_one_works(stores, break_connection):
    start(stores.stores)
    database = Database(stores.engine)
    with pytest.raises(StoreFailure) as caught, database.writing() as transaction:
        pid = transaction.connection.exec_driver_sql(OWN_NUMBER[stores.kind]).scalar()
        break_connection(pid)
        transaction.read(text("SELECT 1"))
    assert caught.value.transient
    with stores.stores.reading(None) as work:
        assert work.instances.find(None, "i1") is not None


@on_servers
def test_a_connection_that_died_while_it_rested_is_replaced(stores, break_connection, monkeypatch):
    monkeypatch.setattr(sessions, "_IDLE_SECONDS", 0.0)
    start(stores.stores)
    with stores.engine.connect() as resting:
        pid = resting.exec_driver_sql(OWN_NUMBER[stores.kind]).scalar()
    break_connection(pid)
    for _ in range(3):
        with stores.stores.reading(None) as work:
            assert work.instances.find(None, "i1") is not None


@on_servers
def test_a_connection_that_died_in_the_pool_says_nothing_of_the_server(stores, break_connection):
    stores.engine.dispose()
    with stores.engine.connect() as resting:
        pid = resting.exec_driver_sql(OWN_NUMBER[stores.kind]).scalar()
    break_connection(pid)
    assert stores.stores.maintenance.reachable()
    with stores.engine.connect() as resting:
        pid = resting.exec_driver_sql(OWN_NUMBER[stores.kind]).scalar()
    break_connection(pid)
    assert current(stores.engine) == head()


@on_postgresql
def test_a_text_that_cannot_be_stored_is_the_senders_mistake(stores):
    for block in (
        lambda work: work.instances.find(None, "a\x00"),
        lambda work: work.instances.list(None, InstanceQuery(correlation_id="a\x00")),
        lambda work: work.apply(WriteSet(partition=None, instance=instance(title="\x00"), is_new=True)),
        lambda work: work.apply(WriteSet(partition=None, audit=[audit("a", reason="\x00")])),
    ):
        with pytest.raises(InputInvalid), stores.stores.writing(None) as work:
            block(work)
    with stores.stores.reading(None) as work:
        assert work.instances.list(None, InstanceQuery(keyword="\x00")).total == 0


class _Original(Exception):
    """What a driver raises."""

    def __init__(self, **facts):
        super().__init__("it failed")
        self.__dict__.update(facts)


@pytest.mark.parametrize(
    ("facts", "passing"),
    [
        ({"sqlite_errorname": "SQLITE_BUSY"}, True),
        ({"sqlite_errorname": "SQLITE_BUSY_SNAPSHOT"}, True),
        ({"sqlite_errorname": "SQLITE_FULL"}, False),
        ({"sqlite_errorname": "SQLITE_CORRUPT"}, False),
        ({"sqlstate": "40001"}, True),
        ({"sqlstate": "40P01"}, True),
        ({"sqlstate": "08006"}, True),
        ({"sqlstate": "57P01"}, True),
        ({"sqlstate": "55P03"}, True),
        ({"sqlstate": "53100"}, False),  # the disk is full
        ({"sqlstate": "42P01"}, False),
        ({}, False),
    ],
)
def test_which_failures_pass(facts, passing):
    error = OperationalError("statement", {}, _Original(**facts))
    assert is_transient(error) is passing
    assert failure(error).transient is passing


@pytest.mark.parametrize(
    ("number", "passing"),
    [
        (1205, True),  # waited too long for a lock
        (1213, True),  # deadlock
        (1305, True),  # the deadlock has taken the savepoint along
        (2006, True),
        (2013, True),
        (1040, True),
        (1927, True),  # killed
        (1062, False),  # a key is taken
        (1114, False),  # the disk is full
        (1406, False),  # too long for the column
        (1064, False),
    ],
)
def test_which_failures_of_mariadb_pass(number, passing):
    error = OperationalError("statement", {}, pymysql.OperationalError(number, "it failed"))
    assert failure(error).transient is passing
    assert failure(pymysql.OperationalError(number, "it failed")).transient is passing


@pytest.mark.mariadb
def test_a_connection_of_mariadb_is_told_what_the_statements_rely_on(migrated_mariadb):
    with migrated_mariadb.connect() as connection:
        said = connection.exec_driver_sql(
            "SELECT @@tx_isolation, @@time_zone, @@collation_connection, @@autocommit, @@innodb_lock_wait_timeout,"
            " @@sql_mode, @@character_set_client"
        ).one()
    assert said[:5] == ("READ-COMMITTED", "+00:00", "utf8mb4_nopad_bin", 1, 15)
    assert {"STRICT_ALL_TABLES", "SIMULTANEOUS_ASSIGNMENT"} <= set(said[5].split(","))
    assert said[6] == "utf8mb4"
    # An application that asks for more leaves nothing of it to the next one.
    with migrated_mariadb.connect().execution_options(isolation_level="SERIALIZABLE") as connection:
        assert connection.exec_driver_sql("SELECT @@tx_isolation").scalar() == "SERIALIZABLE"
    with Database(migrated_mariadb).reading() as transaction:
        asked = transaction.read(text("SELECT @@tx_isolation, @@autocommit")).one()
    assert tuple(asked) == ("READ-COMMITTED", 1)


@on_every_database
def test_spaces_at_the_end_and_cases_tell_names_apart(stores):
    for name in ("leave", "leave ", "Leave", "lEAVE", "léave", "ｌeave"):
        save_definition(stores.stores, name)
    with stores.stores.reading(None) as work:
        for name in ("leave", "leave ", "Leave", "léave"):
            assert work.definitions.header_by_version(None, name, 1).name == name
        assert work.definitions.header_by_version(None, "LEAVE", 1) is None
        found = work.definitions.list(None, DefinitionQuery()).items
    # By code point.
    assert [one.name for one in found] == ["Leave", "lEAVE", "leave", "leave ", "léave", "ｌeave"]


def save_definition(stores, name):
    with stores.writing(None) as work:
        work.definitions.insert(None, definition(f"id of {name}", name=name))


def test_a_naive_instant_is_a_programming_error(sqlite):
    from_clock = FakeClock().now()
    assert Instant().process_bind_param(from_clock, sqlite.dialect) == "2026-07-16T08:00:00.000000+00:00"
    with pytest.raises(ValueError, match="time zone"):
        Instant().process_bind_param(from_clock.replace(tzinfo=None), sqlite.dialect)


def test_the_lease_file_does_not_wait_for_the_disk_and_is_made_anew_when_damaged(tmp_path):
    path = tmp_path / "leases.db"
    engine = create_lease_database(f"sqlite:///{path}")
    with engine.connect() as connection:
        assert pragma(connection, "synchronous") == 0
        assert pragma(connection, "journal_mode") == "wal"
    leases = SqlLeases(engine, FakeClock())
    with leases.hold("i1"):
        pass
    leases.close()
    engine.dispose()
    for damage in (b"not a database" * 100, b""):
        path.write_bytes(damage)
        engine = create_lease_database(f"sqlite:///{path}")
        with engine.connect() as connection:
            assert connection.execute(select(LEASES)).all() == []
        leases = SqlLeases(engine, FakeClock())
        with leases.hold("i1"):
            pass
        leases.close()
        engine.dispose()


def test_a_lease_file_of_another_shape_is_made_anew(tmp_path):
    path = tmp_path / "leases.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE leases (something)")
    other.commit()
    other.close()
    engine = create_lease_database(f"sqlite:///{path}")
    with SqlLeases(engine, FakeClock()).attempt("i1"):
        pass
    engine.dispose()


def test_stores_say_whether_they_are_healthy(stores):
    assert stores.stores.maintenance.reachable()
    assert stores.stores.maintenance.at_head()


def test_the_stores_need_no_flask_app(sqlite):
    assert SqlStores(sqlite).maintenance.reachable()


def test_a_busy_lease_file_is_not_taken_for_a_damaged_one(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "BUSY_SECONDS", 0.05)
    path = tmp_path / "leases.db"
    create_lease_database(f"sqlite:///{path}").dispose()
    before = path.stat().st_ino
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreFailure) as caught:
        create_lease_database(f"sqlite:///{path}")
    assert caught.value.transient
    assert path.stat().st_ino == before
    other.close()


def test_processes_that_start_together_make_one_lease_file(tmp_path):
    failures = []
    ready = threading.Barrier(4)

    def start():
        ready.wait()
        try:
            create_lease_database(f"sqlite:///{tmp_path / 'leases.db'}").dispose()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []


@pytest.mark.postgresql
def test_leases_on_a_server_do_not_wait_for_its_disk(migrated_postgresql):
    engine = create_lease_database(migrated_postgresql.url)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"
        assert connection.exec_driver_sql("SHOW timezone").scalar() == "UTC"
    engine.dispose()
    with SqlLeases(migrated_postgresql, FakeClock()).attempt("i1"):
        pass


@pytest.mark.postgresql
def test_a_database_of_the_leases_own_gets_its_table_at_the_start():
    require_server()
    failures, ready = [], threading.Barrier(3)
    with new_database() as url:

        def start():
            ready.wait()
            try:
                create_lease_database(url, apart=True).dispose()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=start) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert failures == []
        engine = create_lease_database(url, apart=True)
        with SqlLeases(engine, FakeClock()).attempt("i1"), engine.connect() as connection:
            query = "SELECT relpersistence FROM pg_class WHERE relname = 'leases'"
            assert connection.exec_driver_sql(query).scalar() == "u"
        engine.dispose()


@pytest.mark.postgresql
def test_behind_a_pooler_nothing_lasts_longer_than_a_transaction(migrated_postgresql):
    url = migrated_postgresql.url.update_query_dict({"pooler": "transaction"})
    engine = create_database(url)
    # Twice: the second connection is made as the first one was.
    with engine.connect() as first, engine.connect() as second:
        for connection in (first, second):
            assert connection.connection.driver_connection.prepare_threshold is None
            assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "0"
    engine.dispose()


@on_every_database
def test_a_broken_rule_of_the_database_that_is_no_duplicate_is_a_failure(stores):
    orphan = Token(id="t", account_id="none", name="t", prefix="p", token_hash="h", created_at=FakeClock().now())
    with pytest.raises(StoreFailure) as caught:
        stores.accounts.insert_token(orphan)
    assert not caught.value.transient
