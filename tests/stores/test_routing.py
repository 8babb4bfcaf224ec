"""Units of work in the database of the call's partition, and what a database that fails does to others (spec 8.10)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.clock import FakeClock
from webapp.accounts.model import Tenant
from webapp.accounts.tenants import TenantDirectory
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.ports.partitions import NotServed, PolledDatabase, Refusal
from webapp.engine.ports.stores import Partition, StoreFailure, Stores, UnitOfWork
from webapp.stores.memory import MemoryStores
from webapp.stores.routing import FencedStores, RoutedStores
from webapp.stores.sql import SqlOpening, SqlStores, create_database, upgrade


@dataclass
class Own:
    """A tenant's database that can be taken away."""

    stores: FencedStores = field(default_factory=MemoryStores)
    failure: StoreFailure | None = None
    lacking: str | None = None
    looks: int = 0
    rests: int = 0

    def behind(self) -> str | None:
        self.looks += 1
        if self.failure is not None:
            raise self.failure
        return self.lacking

    def rest(self) -> None:
        self.rests += 1


class Opening:
    """Opens databases in memory by their URL; everything behind a ``#`` is only another way of writing one."""

    def __init__(self) -> None:
        self.opened: dict[str, Own] = {}

    def key(self, url: str) -> str:
        if "://" not in url:
            raise ValueError(url)
        return url.partition("#")[0]

    def open(self, url: str) -> Own:
        return self.opened.setdefault(self.key(url), Own())

    def masked(self, url: str) -> str:
        return "masked"


class House:
    """Routed stores over memory, with tenants as a test wants them."""

    def __init__(self, **urls: str | None) -> None:
        self.clock = FakeClock()
        self.platform = MemoryStores()
        self.opening = Opening()
        self.directory = TenantDirectory(self.platform.accounts, self.clock)
        for name, url in urls.items():
            self.add(name, url)
        self.stores = RoutedStores(
            self.platform,
            directory=self.directory,
            opening=self.opening,
            clock=self.clock,
            platform_url="db://platform",
        )

    def add(self, name: str, url: str | None = None, *, enabled: bool = True) -> None:
        self.platform.accounts.insert_tenant(
            Tenant(id=name, name=name, enabled=enabled, database_url=url, created_at=self.clock.now())
        )
        self.directory.forget()

    def change(self, name: str, url: str | None = None, *, enabled: bool = True) -> None:
        made = Tenant(id=name, name=name, enabled=enabled, database_url=url, created_at=self.clock.now())
        self.platform.accounts.update_tenant(made)
        self.directory.forget()

    def write(self, partition: Partition, entry: str) -> None:
        made = AuditEntry(id=entry, tenant_id=partition, at=self.clock.now(), action="noted")
        with self.stores.writing(partition) as work:
            work.audit.append(partition, [made])

    def holds(self, stores: Stores, partition: Partition, entry: str) -> bool:
        with stores.reading(partition) as work:
            return work.audit.holds(partition, entry)

    def refusal(self, partition: Partition) -> Refusal | None:
        try:
            with self.stores.reading(partition):
                return None
        except NotServed as refused:
            assert refused.partition == partition
            return refused.refusal

    def polled(self) -> dict[Partition, frozenset[Partition]]:
        return {one.entry: one.without for one in self.stores.polled()}


def test_each_partition_is_written_in_its_own_database() -> None:
    house = House(shared=None, north="db://north", also="db://platform")
    for partition in (None, "shared", "north", "also", "unknown"):
        house.write(partition, f"of {partition}")
    north = house.opening.opened["db://north"].stores
    for partition in (None, "shared", "also", "unknown"):
        assert house.holds(house.platform, partition, f"of {partition}")
        assert not house.holds(north, partition, f"of {partition}")
    assert house.holds(north, "north", "of north")
    assert not house.holds(house.platform, "north", "of north")
    assert house.holds(house.stores, "north", "of north")
    assert list(house.opening.opened) == ["db://north"]


def test_tenants_that_share_a_database_are_polled_by_one_query() -> None:
    house = House(a="db://one", b="db://one#again", c="db://two", d=None)
    house.add("e", "db://one", enabled=False)
    polled = house.polled()
    assert polled == {
        None: {"a", "b", "c", "e"},
        "a": {None, "c", "d", "e"},
        "c": {None, "a", "b", "d", "e"},
    }
    assert [house.stores.entry_of(one) for one in (None, "a", "b", "c", "d", "x")] == [None, "a", "a", "c", None, None]
    assert house.stores.polled()[0] == PolledDatabase(None, frozenset({"a", "b", "c", "e"}))


def test_a_disabled_tenant_is_refused_and_its_data_stay() -> None:
    house = House(a="db://one", b=None)
    for partition in ("a", "b"):
        house.write(partition, partition)
        house.change(partition, "db://one" if partition == "a" else None, enabled=False)
        assert house.refusal(partition) is Refusal.DISABLED
    assert house.polled() == {None: {"a", "b"}}
    assert house.stores.states() == []
    house.change("a", "db://one")
    house.change("b")
    assert house.holds(house.stores, "a", "a")
    assert house.holds(house.stores, "b", "b")


def test_another_process_learns_of_a_change_within_five_seconds() -> None:
    house = House(a=None)
    elsewhere = RoutedStores(
        house.platform,
        directory=TenantDirectory(house.platform.accounts, house.clock),
        opening=house.opening,
        clock=house.clock,
    )
    with elsewhere.reading("a"):
        pass
    house.change("a", enabled=False)
    house.clock.advance(4.9)
    with elsewhere.reading("a"):
        pass
    house.clock.advance(0.1)
    with pytest.raises(NotServed), elsewhere.reading("a"):
        pass


def test_a_tenant_that_another_process_has_just_added_lies_in_its_own_database() -> None:
    house = House(a=None)
    elsewhere = TenantDirectory(house.platform.accounts, house.clock)
    stores = RoutedStores(house.platform, directory=elsewhere, opening=house.opening, clock=house.clock)
    with stores.reading("a"):
        pass
    house.add("b", "db://two")
    made = AuditEntry(id="of b", tenant_id="b", at=house.clock.now(), action="noted")
    with stores.writing("b") as work:
        work.audit.append("b", [made])
    assert not house.holds(house.platform, "b", "of b")
    assert house.holds(house.opening.opened["db://two"].stores, "b", "of b")
    assert stores.entry_of("b") == "b"


def test_who_is_no_tenant_is_looked_for_once_in_five_seconds() -> None:
    house = House(a=None)
    asked: list[None] = []
    tenants = house.platform.accounts.tenants

    def count() -> Sequence[Tenant]:
        asked.append(None)
        return tenants()

    house.platform.accounts.tenants = count  # type: ignore[method-assign]
    for seconds in (0.0, 1.0, 1.0, 4.0):
        house.clock.advance(seconds)
        for name in ("a", "x", "y"):
            assert house.stores.entry_of(name) is None
    # The copy, x, y; five seconds after the last of them the copy, x, y.
    assert len(asked) == 6


def test_a_failing_database_backs_off_alone_and_comes_back_by_itself(caplog: pytest.LogCaptureFixture) -> None:
    house = House(a="db://one", b="db://two")
    house.write("a", "1")
    own = house.opening.opened["db://one"]
    own.failure = StoreFailure("OperationalError: secret@host refused", transient=True)
    _lose(house, "a")
    began = house.clock.now()
    looks, waits = own.looks, []
    with caplog.at_level(logging.WARNING, "waypost.tenants"):
        while house.clock.now() < began + timedelta(seconds=60):
            assert house.refusal("a") is Refusal.UNREACHABLE
            house.write("b", f"b{house.clock.now()}")
            if own.looks > looks:
                looks = own.looks
                waits.append((house.clock.now() - began).total_seconds())
                assert "a" not in house.polled()
                (state,) = (one for one in house.stores.states() if one.tenants == ("a",))
                assert (state.refusal, state.since) == (Refusal.UNREACHABLE, began)
                assert state.next_try is not None and state.next_try > house.clock.now()
            house.clock.advance(0.5)
    # 1, 2, 4, 8, then every 15 seconds.
    assert waits == [0, 1, 3, 7, 15, 30, 45]
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "secret" not in caplog.text
    own.failure = None
    assert house.refusal("a") is None
    assert house.holds(house.stores, "a", "1")
    assert "a" in house.polled()
    assert house.stores.states()[0].refusal is None
    assert own.rests >= 7


def _lose(house: House, partition: Partition) -> None:
    """Let a unit of work fail, as the first that meets a database which has gone does."""
    with pytest.raises(StoreFailure), house.stores.reading(partition):
        raise StoreFailure("gone", transient=True)


def test_a_failure_that_is_no_loss_costs_a_look_and_nothing_else() -> None:
    house = House(a="db://one")
    house.write("a", "1")
    own = house.opening.opened["db://one"]
    assert own.looks == 1
    _lose(house, "a")
    assert house.refusal("a") is None
    house.write("a", "2")
    assert own.looks == 2


def test_a_database_behind_this_version_is_not_served_until_it_is_upgraded() -> None:
    house = House(a="db://one", b=None)
    house.opening.open("db://one").lacking = "it is at 0001"
    assert house.refusal("a") is Refusal.BEHIND
    assert house.refusal("b") is None
    house.opening.opened["db://one"].lacking = None
    assert house.refusal("a") is Refusal.BEHIND
    house.clock.advance(1)
    assert house.refusal("a") is None


def test_an_address_that_is_none_keeps_its_own_tenant_only_from_work() -> None:
    house = House(a="nonsense", b=None)
    house.opening.open = lambda url: _refuse(url)  # type: ignore[method-assign]
    assert house.refusal("a") is Refusal.UNREACHABLE
    assert house.refusal("b") is None


def _refuse(url: str) -> Own:
    raise ValueError(url)


def test_a_clock_that_is_set_back_keeps_nobody_waiting() -> None:
    house = House(a="db://one")
    own = house.opening.open("db://one")
    own.failure = StoreFailure("gone")
    assert house.refusal("a") is Refusal.UNREACHABLE
    own.failure = None
    house.clock.advance(-3600)
    assert house.refusal("a") is None


def test_connections_nobody_uses_are_dropped_after_ten_minutes() -> None:
    house = House(a="db://one", b="db://two")
    house.write("a", "1")
    house.write("b", "1")
    one, two = (house.opening.opened[f"db://{name}"] for name in ("one", "two"))
    for _ in range(11):
        house.clock.advance(60)
        house.write("b", f"b {house.clock.now()}")
        # The poller looks, which is no use.
        with house.stores.glancing(), house.stores.reading("a"):
            pass
    assert two.rests == 0
    # Dropped at ten minutes, and again after the look at eleven had opened one.
    assert one.rests == 2
    house.write("a", "2")
    with house.stores.glancing():
        pass
    assert one.rests == 2


def test_a_database_no_tenant_names_any_more_is_let_go() -> None:
    house = House(a="db://one")
    house.write("a", "1")
    house.change("a", None, enabled=False)
    house.change("a", None)
    assert house.refusal("a") is None
    assert house.opening.opened["db://one"].rests == 1
    assert house.stores.states() == []


# --- with databases ---------------------------------------------------------------------------


@contextmanager
def _opened(path: Path, opening: SqlOpening) -> Iterator[Stores]:
    database = create_database(f"sqlite:///{path}", sqlite_synchronous="OFF", pool_size=2)
    upgrade(database)
    platform, clock = SqlStores(database), FakeClock()
    routed = RoutedStores(
        platform,
        directory=TenantDirectory(platform.accounts, clock),
        opening=opening,
        clock=clock,
        platform_url=f"sqlite:///{path}",
    )
    yield routed
    routed.close()
    database.dispose()


def _note(work: UnitOfWork, partition: Partition) -> None:
    entry = AuditEntry(id=f"of {partition}", tenant_id=partition, at=FakeClock().now(), action="noted")
    work.audit.append(partition, [entry])


def test_the_tables_of_a_file_are_made_before_it_is_served(tmp_path: Path) -> None:
    opening = SqlOpening(sqlite_synchronous="OFF")
    url = f"sqlite:///{tmp_path / 'deep' / 'own.db'}"
    with _opened(tmp_path / "platform.db", opening) as stores:
        tenant = Tenant(id="a", name="a", database_url=url, created_at=FakeClock().now())
        stores._platform.accounts.insert_tenant(tenant)  # type: ignore[attr-defined]
        with pytest.raises(NotServed) as caught, stores.reading("a"):
            pass
        # Its folder is not there.
        assert caught.value.refusal is Refusal.UNREACHABLE
        assert opening.upgrade(url) is None
        stores._clock.advance(2)  # type: ignore[attr-defined]
        with stores.writing("a") as work:
            _note(work, "a")
        with stores.writing(None) as work:
            _note(work, None)
    own = SqlStores(opening.engine(url))
    with own.reading("a") as work:
        assert work.audit.holds("a", "of a")
    with own.reading(None) as work:
        assert not work.audit.holds(None, "of None")
    own.database.engine.dispose()


def test_an_empty_file_is_behind(tmp_path: Path) -> None:
    opening = SqlOpening(sqlite_synchronous="OFF")
    own = opening.open(f"sqlite:///{tmp_path / 'own.db'}")
    assert "nothing" in (own.behind() or "")
    own.rest()


def test_ways_of_writing_one_address_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opening = SqlOpening()
    assert opening.key("sqlite:///own.db") == opening.key(f"sqlite:///{tmp_path}/own.db")
    assert opening.key("postgresql://u:p@h/d") == opening.key("postgresql+psycopg://u:p@h/d")
    assert opening.key("postgresql://u:p@h/d") != opening.key("postgresql://u:p@h/e")
    for wrong in ("", "own.db", "sqlite://"):
        with pytest.raises(ValueError):
            opening.key(wrong)


def test_a_password_is_never_shown() -> None:
    opening = SqlOpening()
    assert "s3cret" not in opening.masked("postgresql://u:s3cret@h/d")
    assert "s3cret" not in opening.masked("postgresql://h/d?password=s3cret&user=u")
    tenant = Tenant(id="a", name="a", database_url="postgresql://u:s3cret@h/d", created_at=FakeClock().now())
    assert "s3cret" not in repr(tenant) and "s3cret" not in f"{[tenant]}"


def test_a_tenants_pool_is_small() -> None:
    engine = SqlOpening().engine("postgresql://h/d")
    assert engine.pool.size() == 2  # type: ignore[attr-defined]
    assert engine.pool._max_overflow == 0  # type: ignore[attr-defined]
