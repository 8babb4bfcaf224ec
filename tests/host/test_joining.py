"""An application starts and completes inside its own db.session (spec 3.1, 8.10)."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError

from tests.host.conftest import Host, make_host
from tests.support.engine import actor
from tests.support.flows import END, START, flow, node
from tests.support.stores import on_databases
from webapp.engine.errors import (
    READ_ONLY,
    UNAVAILABLE_STORE,
    Conflict,
    Denied,
    InputInvalid,
    Unavailable,
    Unexpected,
    WorkflowError,
)
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.locks import LeaseHeld
from webapp.services.commands import lease_name
from webapp.services.queries import InstanceQuery
from webapp.stores.sql import SqlStores

pytestmark = on_databases
CHILD = flow("child", [START, END])


def leased(host: Host, instance_id: str) -> bool:
    """Whether another thread finds the instance's lease taken."""

    def look() -> bool:
        try:
            with host.stores.leases.attempt(lease_name(instance_id)):
                return False
        except LeaseHeld:
            return True

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(look).result()


def add_order(host: Host, customer: str) -> None:
    host.waypost.begin(host.db.session)
    host.db.session.add(host.order(customer=customer))


def test_order_and_instance_commit_together(host: Host) -> None:
    add_order(host, "Ann")
    instance = host.start("Ann")
    assert instance.status is InstanceStatus.RUNNING
    assert host.stored() == (0, 0, 0)
    host.db.session.commit()
    assert host.stored() == (1, 1, 1)
    assert host.waypost.services.inbox.query(host.boss).total == 1


def test_order_and_instance_are_rolled_back_together(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        add_order(host, "Ann")
        host.start("Ann")
        host.db.session.rollback()
        assert host.stored() == (0, 0, 0)
        assert not [record for record in caplog.records if record.name in ("waypost.flow", "waypost.events")]

        add_order(host, "Ben")
        host.start("Ben")
        assert not [record for record in caplog.records if record.name in ("waypost.flow", "waypost.events")]
        host.db.session.commit()
    lines = [record.getMessage() for record in caplog.records if record.name == "waypost.flow"]
    assert lines == ["order of Ben"]
    assert host.stored() == (1, 1, 1)


def test_two_commands_on_one_instance_in_one_transaction(host: Host) -> None:
    add_order(host, "Ann")
    instance = host.start("Ann")
    with host.waypost.joining(host.db.session) as services:
        task = services.inbox.query(host.boss).items[0]
        services.inbox.transfer(host.boss, task.id, "other")
        moved = services.inbox.query(host.boss, scope="all").items[0]
        assert (moved.id, moved.assignee_id) == (task.id, "other")
        services.inbox.transfer(host.boss, task.id, "boss")
        services.inbox.complete(host.boss, task.id, "approved")
        done = services.instances.get(host.boss, instance.id)
        assert (done.status, done.revision) == (InstanceStatus.COMPLETED, 4)
        with pytest.raises(Conflict):
            services.inbox.complete(host.boss, task.id, "approved")
    assert leased(host, instance.id)
    host.db.session.commit()
    assert not leased(host, instance.id)
    stored = host.waypost.services.instances.get(host.boss, instance.id)
    assert (stored.status, stored.revision) == (InstanceStatus.COMPLETED, 4)
    history = host.waypost.services.instances.history(host.boss, instance.id).items
    assert [entry.action for entry in history] == ["start", "transfer", "transfer", "complete"]


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_leases_are_held_until_the_root_transaction_ends(host: Host, end: str) -> None:
    add_order(host, "Ann")
    instance = host.start("Ann")
    host.db.session.commit()
    host.waypost.begin(host.db.session)
    with host.db.session.begin_nested(), host.waypost.joining(host.db.session) as services:
        services.instances.cancel(host.boss, instance.id)
    assert leased(host, instance.id)
    getattr(host.db.session, end)()
    assert not leased(host, instance.id)
    expected = InstanceStatus.CANCELED if end == "commit" else InstanceStatus.RUNNING
    assert host.waypost.services.instances.get(host.boss, instance.id).status is expected


def test_a_context_that_ends_lets_go_of_its_leases(host: Host) -> None:
    add_order(host, "Ann")
    instance = host.start("Ann")
    host.db.session.commit()
    with host.app.app_context():
        host.waypost.begin(host.db.session)
        with host.waypost.joining(host.db.session) as services:
            services.instances.cancel(host.boss, instance.id)
        assert leased(host, instance.id)
    assert not leased(host, instance.id)
    assert host.waypost.services.instances.get(host.boss, instance.id).status is InstanceStatus.RUNNING


def test_a_savepoint_that_is_rolled_back_takes_the_engines_write_with_it(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    add_order(host, "Ann")
    with caplog.at_level(logging.DEBUG, "waypost.flow"):
        kept = host.start("kept")
        nested = host.db.session.begin_nested()
        dropped = host.start("dropped")
        with host.waypost.joining(host.db.session) as services:
            services.instances.cancel(host.boss, kept.id)
            assert services.instances.get(host.boss, kept.id).status is InstanceStatus.CANCELED
        nested.rollback()
        with host.waypost.joining(host.db.session) as services:
            again = services.instances.get(host.boss, kept.id)
            assert (again.status, again.revision) == (InstanceStatus.RUNNING, 1)
            services.inbox.complete(host.boss, services.inbox.query(host.boss).items[0].id, "approved")
        with host.db.session.begin_nested(), host.db.session.begin_nested():
            host.start("inner")
        host.db.session.commit()
    assert host.stored() == (1, 2, 2)
    lines = [record.getMessage() for record in caplog.records if record.name == "waypost.flow"]
    assert lines == ["order of kept", "order of inner"]
    assert host.waypost.services.instances.get(host.boss, kept.id).status is InstanceStatus.COMPLETED
    with pytest.raises(WorkflowError):
        host.waypost.services.instances.get(host.boss, dropped.id)


def test_a_refused_command_leaves_the_hosts_transaction_as_it_was(host: Host) -> None:
    add_order(host, "Ann")
    with host.waypost.joining(host.db.session) as services:
        with pytest.raises(WorkflowError):
            services.instances.start(host.boss, name="nothing")
        services.instances.start(host.boss, name="order", variables={"customer": "Ann"}, correlation_id="c")
        with pytest.raises(Conflict):
            services.instances.start(
                host.boss, name="order", correlation_id="c", reuse_policy="RejectDuplicate", variables={"customer": "B"}
            )
    host.db.session.commit()
    assert host.stored() == (1, 1, 1)


def test_a_refusal_under_the_lease_does_not_end_the_transaction(host: Host) -> None:
    add_order(host, "Ann")
    instance = host.start("Ann")
    host.db.session.commit()
    host.waypost.begin(host.db.session)
    with host.waypost.joining(host.db.session) as services:
        task = services.inbox.query(host.boss).items[0]
        with pytest.raises(Denied):
            services.inbox.complete(actor("stranger"), task.id, "approved")
        services.inbox.complete(host.boss, task.id, "approved")
    host.db.session.commit()
    assert host.waypost.services.instances.get(host.boss, instance.id).status is InstanceStatus.COMPLETED


def test_a_tenant_that_is_fenced_off_is_refused_and_the_hosts_rows_stay(host: Host) -> None:
    """The commit is the host's, so that it is asked before anything is written."""
    accounts = host.waypost.services.accounts
    north = accounts.actor(accounts.create(name="north", tenant_id="t1", roles=("administrator",)))
    draft = host.waypost.services.catalog.create(north, CHILD)
    host.waypost.services.catalog.publish(north, draft.id)
    assert isinstance(host.stores.stores, SqlStores)
    fences = host.stores.stores.fences
    fences.close("t1")
    add_order(host, "Ann")
    with host.waypost.joining(host.db.session) as services:
        with pytest.raises(Unavailable) as caught:
            services.instances.start(north, name="child")
        assert caught.value.key == "services.tenant_fenced"
    host.start("Ann")
    host.db.session.commit()
    assert host.stored() == (1, 1, 1)
    fences.open("t1")
    with host.waypost.joining(host.db.session) as services:
        services.instances.start(north, name="child")
        host.db.session.commit()
    with host.stores.stores.reading("t1") as work:
        assert work.instances.list("t1", InstanceQuery()).total == 1


def test_a_new_transaction_in_the_same_block_is_joined_anew(host: Host) -> None:
    host.waypost.begin(host.db.session)
    with host.waypost.joining(host.db.session) as services:
        for customer in ("Ann", "Ben"):
            services.instances.start(host.boss, name="order", variables={"customer": customer})
            host.db.session.commit()
            assert host.db.session.info.get("waypost_joined") is None
    assert host.stored() == (0, 2, 2)


def test_follow_ups_run_after_the_hosts_commit(host: Host) -> None:
    services = host.waypost.services
    parent = flow("parent", [START, node("sub", "SubWorkflow", {"DefinitionName": "child"}), END])
    for document in (CHILD, parent):
        draft = services.catalog.create(host.boss, document)
        services.catalog.publish(host.boss, draft.id)
    host.waypost.begin(host.db.session)
    with host.waypost.joining(host.db.session) as joined:
        started = joined.instances.start(host.boss, name="parent").instance
        assert started.status is InstanceStatus.RUNNING
    assert host.stored()[2] == 0
    host.db.session.commit()
    assert host.stored()[2] == 2
    assert services.instances.get(host.boss, started.id).status is InstanceStatus.COMPLETED


def test_reading_only_refuses_before_any_activity_runs(host: Host) -> None:
    with host.waypost.joining(host.db.session, read_only=True) as services:
        assert services.instances.query(host.boss).total == 0
        with pytest.raises(Unexpected) as refused:
            services.instances.start(host.boss, name="order", variables={"customer": "Ann"})
    assert refused.value.code == READ_ONLY
    with host.waypost.reading() as services:
        assert services.catalog.startable(host.boss)
        for write in (
            lambda: services.instances.start(host.boss, name="order", variables={"customer": "Ann"}),
            lambda: services.instances.cancel(host.boss, "x"),
            lambda: services.catalog.create(host.boss, CHILD),
        ):
            with pytest.raises(Unexpected) as refused:
                write()
            assert refused.value.code == READ_ONLY
    assert host.booking.runs == 0


def test_another_database_is_refused_and_the_note_says_so(host: Host, tmp_path: Path) -> None:
    other = make_host(host.stores, tmp_path, url=f"sqlite:///{tmp_path}/other.db")
    with other.app.app_context():
        with pytest.raises(Unexpected) as refused, other.waypost.joining(other.db.session):
            pass
        other.db.session.remove()
        other.db.engine.dispose()
    assert refused.value.key == "workflow.host.other_database"
    assert "Only a transaction of the same database can be joined" in refused.value.__notes__[0]


def test_outside_a_call_an_application_out_of_service_is_unavailable(host: Host) -> None:
    host.waypost.begin(host.db.session)
    with host.waypost.joining(host.db.session) as services:
        host.waypost.drain()
        services.instances.start(host.boss, name="order", variables={"customer": "Ann"})
    host.db.session.commit()
    with pytest.raises(Unavailable) as refused:
        host.waypost.services.instances.start(host.boss, name="order", variables={"customer": "Ann"})
    assert refused.value.code == UNAVAILABLE_STORE
    assert host.stored() == (0, 1, 1)


def test_who_waits_for_a_joined_instance_waits_for_the_commit(host: Host) -> None:
    add_order(host, "Ann")
    instance = host.start("Ann")
    host.db.session.commit()
    host.waypost.begin(host.db.session)
    with host.waypost.joining(host.db.session) as services:
        services.inbox.complete(host.boss, services.inbox.query(host.boss).items[0].id, "approved")
    with ThreadPoolExecutor(1) as thread:
        other = thread.submit(host.waypost.services.instances.cancel, host.boss, instance.id)
        with pytest.raises(TimeoutError):
            other.result(timeout=0.3)
        host.db.session.commit()
        assert other.result(timeout=10).status is InstanceStatus.COMPLETED


def test_an_unknown_account_is_refused(host: Host) -> None:
    with pytest.raises(InputInvalid):
        host.waypost.actor("nobody")


def test_what_fails_in_the_hosts_own_rows_stays_the_hosts_error(host: Host) -> None:
    host.waypost.begin(host.db.session)
    host.db.session.add(host.order(customer=None))
    with pytest.raises(IntegrityError), host.waypost.joining(host.db.session):
        pass
    host.db.session.rollback()
    assert host.stored() == (0, 0, 0)
