"""What is looked at before a transaction is joined, database by database (spec 8.10)."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from tests.host.conftest import Host
from tests.support.stores import on_postgresql
from webapp.engine.errors import READ_ONLY, Unexpected

on_sqlite = pytest.mark.parametrize("stores", ["sqlite"], indirect=True)


@on_sqlite
def test_sqlite_must_be_begun_for_writing(host: Host) -> None:
    host.db.session.execute(text("SELECT 1 FROM host_orders"))
    host.db.session.add(host.order(customer="Ann"))
    host.db.session.flush()
    with pytest.raises(Unexpected) as refused, host.waypost.joining(host.db.session):
        pass
    assert refused.value.key == "workflow.host.not_immediate"
    assert "waypost.begin(db.session)" in refused.value.__notes__[0]
    with pytest.raises(Unexpected):
        host.waypost.begin(host.db.session)
    host.db.session.rollback()
    host.start("Ann")
    host.db.session.commit()
    assert host.stored() == (0, 1, 1)


@on_sqlite
def test_a_write_of_waypost_beside_the_transaction_is_refused_at_once(host: Host) -> None:
    """It would wait for a lock that its own thread holds."""
    host.waypost.begin(host.db.session)
    with host.waypost.joining(host.db.session) as services, pytest.raises(RuntimeError, match="already"):
        services.accounts.create(name="late", password="late!")
    host.db.session.rollback()


@on_postgresql
def test_another_isolation_is_refused(host: Host) -> None:
    host.db.session.connection(execution_options={"isolation_level": "SERIALIZABLE"})
    with pytest.raises(Unexpected) as refused, host.waypost.joining(host.db.session):
        pass
    assert refused.value.key == "workflow.host.isolation"
    host.db.session.rollback()


@on_postgresql
def test_a_transaction_that_only_reads_is_a_read_only_call(host: Host) -> None:
    host.db.session.execute(text("SET TRANSACTION READ ONLY"))
    with host.waypost.joining(host.db.session) as services:
        assert services.instances.query(host.boss).total == 0
        with pytest.raises(Unexpected) as refused:
            services.instances.start(host.boss, name="order", variables={"customer": "Ann"})
    assert refused.value.code == READ_ONLY
    assert host.booking.runs == 0
