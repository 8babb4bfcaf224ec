"""The poller and all that walks partitions, with a tenant in a database of its own (spec 8.7, 8.10)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from tests.stores.records import audit
from tests.support.engine import Installation, actor, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import APART, StoreSet
from webapp.accounts.model import Tenant
from webapp.accounts.permissions import ADMINISTRATOR
from webapp.engine.errors import Unavailable, Unexpected
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.hosting import HostTransaction
from webapp.engine.ports.stores import Partition, StoreFailure, WriteSet
from webapp.services import ServiceSettings
from webapp.services.commands import lease_name
from webapp.services.hosting import HostScope
from webapp.services.queries import InstanceQuery

pytestmark = pytest.mark.parametrize("stores", APART, indirect=True)

OWN, SHARED = "t1", "t2"
BOSSES = {name: actor("boss", ADMINISTRATOR, partition=name) for name in (None, OWN, SHARED)}
DELAYED = flow("delayed", [START, node("wait", "Delay", {"DurationSeconds": 5}), END])
PAUSED = flow("paused", [START, node("wait", "Delay", {"DurationSeconds": "seconds"}), END])
CHILD = flow("child", [START, node("wait", "Delay", {"DurationSeconds": 5}), END])
PARENT = flow("parent", [START, node("call", "SubWorkflow", {"DefinitionName": "child"}), END])
DAILY = flow("daily", [node("start", "Start", {"Cron": "0 9 * * *"}), END])


@pytest.fixture
def house(stores: StoreSet) -> Installation:
    return install(stores)


def everywhere(house: Installation, document: Any) -> None:
    for boss in BOSSES.values():
        house.publish(document, boss)


def statuses(house: Installation, started: dict[Partition, str]) -> set[str]:
    return {house.instance(one, BOSSES[name]).status for name, one in started.items()}


def poll(house: Installation, seconds: float) -> int:
    house.store_set.clock.advance(seconds)
    return house.services.housekeeping.poll_once().resumed


def test_what_is_due_runs_wherever_it_lies(house: Installation) -> None:
    everywhere(house, DELAYED)
    started = {name: house.start("delayed", by=boss).id for name, boss in BOSSES.items()}
    assert poll(house, 4) == 0
    assert statuses(house, started) == {InstanceStatus.RUNNING}
    assert poll(house, 1) == 3
    assert statuses(house, started) == {InstanceStatus.COMPLETED}


def looks(house: Installation) -> Callable[[], int]:
    """Return how often the separate database was looked into since the last call."""
    agenda = house.services.housekeeping._due.agendas
    seen: list[str] = []
    for one in agenda.values():
        begin = one.begin

        def noted(entry: str, now: Any, begin: Any = begin) -> None:
            seen.append(entry)
            begin(entry, now)

        one.begin = noted  # type: ignore[method-assign]

    def count() -> int:
        number = len(seen)
        seen.clear()
        return number

    return count


def test_an_idle_database_is_looked_into_every_fifteen_seconds_or_when_something_is_due(house: Installation) -> None:
    everywhere(house, PAUSED)
    house.services.housekeeping.on_due_now(lambda: None)
    count = looks(house)
    poll(house, 0)
    assert count() == 2  # due rows, and nodes in the background
    for _ in range(14):
        poll(house, 1)
    assert count() == 0
    poll(house, 1)
    assert count() == 2
    house.start("paused", {"seconds": 4}, by=BOSSES[OWN])
    for _ in range(3):
        poll(house, 1)
    # Nobody need look before it is due, because this process knows when that is.
    assert count() == 0
    assert poll(house, 1) == 1
    assert count() > 0


def test_a_due_time_that_another_process_made_is_found_by_a_look(house: Installation, stores: StoreSet) -> None:
    everywhere(house, PAUSED)
    poll(house, 0)
    elsewhere = install(stores)
    started = elsewhere.start("paused", {"seconds": 17}, by=BOSSES[OWN]).id
    assert poll(house, 15) == 0
    assert poll(house, 1.9) == 0
    assert poll(house, 0.1) == 1
    assert house.instance(started, BOSSES[OWN]).status is InstanceStatus.COMPLETED


def test_what_is_due_now_wakes_the_poller_of_its_own_database(house: Installation) -> None:
    woken: list[bool] = []
    poll(house, 0)
    house.services.housekeeping.on_due_now(lambda: woken.append(True))
    background = flow(
        "background", [START, node("say", "SetVariable", {"Expressions": {"n": "1"}}, background=True), END]
    )
    house.publish(background, BOSSES[OWN])
    started = house.start("background", by=BOSSES[OWN]).id
    assert woken
    poll(house, 0)
    assert house.instance(started, BOSSES[OWN]).status is InstanceStatus.COMPLETED


def test_children_definition_timers_and_signals_stay_in_their_database(house: Installation) -> None:
    for document in (CHILD, PARENT, DAILY):
        everywhere(house, document)
    started = {name: house.start("parent", by=boss).id for name, boss in BOSSES.items()}
    poll(house, 5)
    poll(house, 0)
    assert statuses(house, started) == {InstanceStatus.COMPLETED}
    for _ in range(3):
        poll(house, 24 * 3600)
    for boss in BOSSES.values():
        found = house.services.instances.query(boss, InstanceQuery(definition_name="daily"))
        assert found.total == 3


def test_batches_run_in_every_database(house: Installation) -> None:
    everywhere(house, DELAYED)
    for boss in BOSSES.values():
        ids = [house.start("delayed", by=boss).id for _ in range(3)]
        house.services.batches.create(boss, "cancel", instance_ids=ids)
    assert house.services.housekeeping.run_batches(lambda: False) == 9
    house.services.housekeeping.run_batches(lambda: False)
    for boss in BOSSES.values():
        (batch,) = house.services.batches.query(boss).items
        assert (batch.status, batch.done) == ("Completed", 3)


def test_trails_are_sealed_and_verified_in_every_database(house: Installation) -> None:
    everywhere(house, DELAYED)
    assert house.services.sealing.seal() >= 3
    found = {one: house.services.audit.verify(one) for one in house.services.audit.partitions()}
    assert set(found) == {None, OWN, SHARED}
    assert all(one.is_whole and one.rows >= 1 and not one.unsealed.count for one in found.values())


def test_old_instances_are_purged_in_every_database(stores: StoreSet) -> None:
    house = install(stores, settings=ServiceSettings(retention_days=1))
    for name in (OWN, SHARED):
        stores.accounts.insert_tenant(Tenant(id=name, name=name, created_at=stores.clock.now()))
    everywhere(house, DELAYED)
    for boss in BOSSES.values():
        house.start("delayed", by=boss)
    poll(house, 5)
    stores.clock.advance(25 * 3600)
    assert house.services.housekeeping.housekeep() == 3


def test_a_busy_instance_of_one_tenant_delays_nobody_who_guesses_its_id(house: Installation, stores: StoreSet) -> None:
    everywhere(house, DELAYED)
    started = {name: house.start("delayed", by=boss).id for name, boss in BOSSES.items()}
    with ExitStack() as held:
        for name, one in started.items():
            held.enter_context(stores.leases.hold(lease_name(one, name)))
        for name in BOSSES:
            for other, one in started.items():
                if name != other:
                    # A lease of its own: free at once, and nothing there.
                    held.enter_context(stores.leases.attempt(lease_name(one, name)))
        assert len({lease_name(one, name) for name in BOSSES for one in started.values()}) == 9


def test_one_id_in_two_databases_is_two_things(
    house: Installation, stores: StoreSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of a database has the same ids: nothing in the process may take one for the other."""
    started = {}
    for name, wait in ((None, 5), (OWN, 9)):
        numbers = iter(range(1, 1000))
        monkeypatch.setattr("webapp.engine.clock.SystemIds.new", lambda _, numbers=numbers: f"id-{next(numbers)}")
        house.publish(flow("same", [START, node("wait", "Delay", {"DurationSeconds": wait}), END]), BOSSES[name])
        started[name] = house.start("same", by=BOSSES[name], correlation_id="one")
    monkeypatch.undo()
    assert started[None].id == started[OWN].id
    assert started[None].definition_id == started[OWN].definition_id
    assert poll(house, 5) == 1
    assert house.instance(started[None].id, BOSSES[None]).status is InstanceStatus.COMPLETED
    assert house.instance(started[OWN].id, BOSSES[OWN]).status is InstanceStatus.RUNNING
    with stores.stores.reading(OWN) as work:
        (left,) = work.bookmarks.by_instance(OWN, started[OWN].id)
    assert left.kind is BookmarkKind.TIMER
    # The definition compiled for the platform is not the tenant's, though it has the same id.
    assert poll(house, 3.9) == 0
    assert poll(house, 0.1) == 1


def test_rows_of_another_partition_in_a_tenants_database_are_left_alone(house: Installation, stores: StoreSet) -> None:
    """Such as those of a backup that was put in its place."""
    everywhere(house, DELAYED)
    house.start("delayed", by=BOSSES[OWN])
    own = stores.stores.own(OWN)  # type: ignore[attr-defined]  # routed stores
    strange = house.start("delayed", by=BOSSES[SHARED])
    with stores.stores.reading(SHARED) as work:
        waits = work.bookmarks.by_instance(SHARED, strange.id)
    with own.stores.writing(SHARED) as work:
        work.apply(WriteSet(partition=SHARED, instance=strange, is_new=True, new_bookmarks=list(waits)))
    assert poll(house, 5) == 2
    assert poll(house, 20) == 0
    with own.stores.reading(SHARED) as work:
        (left,) = work.bookmarks.by_instance(SHARED, strange.id)
    assert left.due_at is not None
    assert house.instance(strange.id, BOSSES[SHARED]).status is InstanceStatus.COMPLETED


def test_what_another_partition_is_owed_in_a_tenants_database_is_left_alone(
    house: Installation, stores: StoreSet
) -> None:
    ran: list[str] = []

    def handle(owed: FollowUp) -> None:
        ran.append(owed.id)

    house.services.follow_ups.register("note", handle)
    own = stores.stores.own(OWN)  # type: ignore[attr-defined]  # routed stores
    now = stores.clock.now()
    for partition, one in (("gone", "a"), (OWN, "b"), ("lost", "c")):
        owed = FollowUp(id=one, tenant_id=partition, action="note", created_at=now, due_at=now)
        with own.stores.writing(partition) as work:
            work.apply(WriteSet(partition=partition, new_follow_ups=[owed]))
    assert house.services.housekeeping.poll_once().follow_ups == 1
    poll(house, 20)
    assert ran == ["b"]
    with own.stores.writing(None) as work:
        assert work.bookmarks.claim_tokens() == []
        left = work.follow_ups.claim_due(stores.clock.now(), 9, "token", stores.clock.now())
    assert [(one.id, one.due_at, one.failures) for one in left] == [("a", now, 0), ("c", now, 0)]


def test_the_trail_of_another_partition_in_a_tenants_database_is_left_alone(
    house: Installation, stores: StoreSet
) -> None:
    own = stores.stores.own(OWN)  # type: ignore[attr-defined]  # routed stores
    for partition in ("gone", OWN):
        with own.stores.writing(partition) as work:
            work.audit.append(partition, [audit(f"of-{partition}", tenant_id=partition)])
    assert house.services.sealing.seal() == 1
    assert house.services.sealing._waiting(stores.stores.polled()[1]) == []  # type: ignore[attr-defined]  # routed
    assert house.services.audit.partitions() == [OWN]


def test_a_tenant_that_this_process_had_not_heard_of_is_no_stranger_for_ever(
    house: Installation, stores: StoreSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has added it to a database that is known, and it has started something at once."""
    everywhere(house, DELAYED)
    databases = type(stores.stores)
    entry_of = databases.entry_of  # type: ignore[attr-defined]  # routed stores
    started = house.start("delayed", by=BOSSES[OWN])
    with monkeypatch.context() as before:
        before.setattr(databases, "entry_of", lambda self, one: None)
        work, own = house.services.housekeeping._due, stores.stores.polled()[1]  # type: ignore[attr-defined]
        work.strangers[OWN] = frozenset([OWN])
        assert OWN in work.without(own)
    assert entry_of(stores.stores, OWN) == OWN
    assert poll(house, 5) == 1
    assert house.instance(started.id, BOSSES[OWN]).status is InstanceStatus.COMPLETED


def test_a_database_that_is_away_stops_its_own_tenant_only(
    house: Installation, stores: StoreSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    everywhere(house, DELAYED)
    started = {name: house.start("delayed", by=boss).id for name, boss in BOSSES.items()}
    place = stores.stores._place(OWN)  # type: ignore[attr-defined]  # routed stores

    def gone() -> str | None:
        raise StoreFailure("gone", transient=True)

    place._sound = False
    with monkeypatch.context() as broken:
        broken.setattr(type(place._database), "behind", lambda self: gone())
        with pytest.raises(Unavailable) as caught:
            house.instance(started[OWN], BOSSES[OWN])
        assert caught.value.details == {"reason": "tenant_database_unreachable"}
        assert poll(house, 5) == 2
        assert house.services.housekeeping.housekeep() == 0
        house.services.housekeeping.run_batches(lambda: False)
        house.services.sealing.seal()
        house.services.housekeeping.run_timers()
        (state,) = house.services.tenants.databases(BOSSES[None])
        assert state.refusal == "tenant_database_unreachable"
        assert house.services.tenants.refused() == [state]
    stores.clock.advance(15)
    assert house.services.housekeeping.poll_once().resumed == 1
    assert statuses(house, started) == {InstanceStatus.COMPLETED}
    assert not house.services.tenants.refused()


def test_a_tenants_people_see_their_own_database_only(house: Installation) -> None:
    assert [one.tenants for one in house.services.tenants.databases(BOSSES[None])] == [(OWN,)]
    (own,) = house.services.tenants.databases(BOSSES[OWN])
    assert (own.tenants, own.address) == ((OWN,), "")
    assert list(house.services.tenants.databases(BOSSES[SHARED])) == []


class _Session:
    """A host's session that must not be asked."""

    read_only = False

    def transaction(self) -> HostTransaction:
        raise AssertionError("it was joined")

    def joined(self) -> AbstractContextManager[None]:
        raise AssertionError("it was joined")


def test_a_hosts_transaction_is_not_joined_for_a_tenant_elsewhere(house: Installation) -> None:
    """The host's transaction is in the platform's database: what it wrote could not be undone with the tenant's."""
    scope = HostScope(house.services.hosting._storage, _Session(), WeakKeyDictionary())
    for call in (scope.read, scope.write):
        with pytest.raises(Unexpected) as caught:
            call(OWN, lambda work: work.instances.find(OWN, "x"))
        assert caught.value.key == "workflow.host.own_database"
    for partition in (None, SHARED):
        with pytest.raises(AssertionError, match="joined"):
            scope.read(partition, lambda work: None)
