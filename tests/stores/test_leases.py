"""Leases on every set of stores (spec 8.6, 8.10)."""

import logging
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tests.stores.records import process_start
from tests.support.clock import FakeClock
from tests.support.stores import on_postgresql
from webapp.engine.errors import TIMEOUT_LOCK, LockTimeout
from webapp.engine.ports.locks import LeaseHeld
from webapp.stores.leasing import LeaseRow, RowLeases
from webapp.stores.memory.leases import MemoryLeaseRows
from webapp.stores.processes import this_process
from webapp.stores.sql.leases import SqlLeaseRows


class Ids:
    """Counts, so that tests can tell stamps apart."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.number = 0

    def new(self):
        self.number += 1
        return f"{self.prefix}{self.number}"


@pytest.fixture
def rows(stores):
    """The table of leases, bare."""
    if stores.kind == "memory":
        return MemoryLeaseRows(stores.clock)
    return SqlLeaseRows(stores.lease_engine, stores.clock)


@pytest.fixture
def make(rows):
    """Makes the leases of a process of its own over the one table."""
    made = []

    def leases(name="a", identity=None, **options):
        process = identity or this_process()
        made.append(RowLeases(rows, **({"ids": Ids(name), "identity": process, "lock_timeout_seconds": 5} | options)))
        return made[-1]

    yield leases
    for each in made:
        each.close()


def dead_identity():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = process_start(process.pid)
    process.kill()
    process.communicate()
    return msgspec.structs.replace(this_process(), pid=process.pid, started=started)


def test_a_lease_is_there_while_the_block_runs(make, rows):
    leases = make()
    with leases.hold("i1"):
        row = rows.read("i1")
        assert row.holder == f"/{this_process().text}/a1"
        assert row.stamp == "a1"
    assert rows.read("i1") is None


def test_a_lease_is_released_when_the_block_raises(make, rows):
    with pytest.raises(ZeroDivisionError), make().hold("i1"):
        1 / 0  # noqa: B018 -- any failure of the block
    assert rows.read("i1") is None


def test_a_thread_may_hold_it_again(make, rows):
    leases = make()
    with leases.hold("i1"), leases.hold("i1"), leases.attempt("i1"):
        pass
    assert rows.read("i1") is None
    with leases.hold("i1"):
        with leases.hold("i1"):
            pass
        assert rows.read("i1") is not None


def test_only_one_holds_it(make):
    # Two processes of four threads each.
    inside, most, turns = 0, 0, 0
    guard = threading.Lock()

    def work(leases):
        nonlocal inside, most, turns
        for _ in range(5):
            with leases.hold("i1"):
                with guard:
                    inside += 1
                    most = max(most, inside)
                time.sleep(0.001)
                with guard:
                    inside -= 1
                    turns += 1

    processes = [make("a", lock_timeout_seconds=60), make("b", lock_timeout_seconds=60)]
    threads = [threading.Thread(target=work, args=(leases,)) for leases in processes for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most, turns) == (1, 40)


def test_names_do_not_wait_for_each_other(make):
    first, second = make("a"), make("b")
    with first.hold("i1"), second.hold("i2"), first.hold("I1"):
        pass


def test_a_lease_that_is_not_to_be_had_in_time_is_a_timeout(make):
    with make("a").hold("i1"):
        began = time.monotonic()
        with pytest.raises(LockTimeout) as caught, make("b", lock_timeout_seconds=0.2).hold("i1"):
            pass
        assert 0.2 <= time.monotonic() - began < 20
    assert caught.value.code == TIMEOUT_LOCK
    assert caught.value.params == {"name": "i1", "seconds": 0.2}


def test_the_wait_in_the_queue_counts(make):
    leases = make(lock_timeout_seconds=0.2)
    caught = []

    def wait():
        try:
            with leases.hold("i1"):
                pass
        except LockTimeout as error:
            caught.append(error)

    with leases.hold("i1"):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(5)
    assert len(caught) == 1
    with leases.hold("i1"):
        pass


def test_an_attempt_does_not_wait(make):
    first, second = make("a"), make("b")
    with first.hold("i1"):
        with pytest.raises(LeaseHeld), second.attempt("i1"):
            pass
        failed = []

        def attempt():
            try:
                with first.attempt("i1"):
                    pass
            except LeaseHeld:
                failed.append(True)

        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(5)
        assert failed == [True]
    with second.attempt("i1"):
        pass


def expire(stores, seconds):
    """Let a lease run out: by the clock given, on a server by the database's own."""
    if stores.has_clock:
        time.sleep(seconds + 0.05)
    else:
        stores.clock.advance(seconds)


def test_an_expired_lease_is_taken_over(stores, make, rows):
    first, second = make("a", lease_seconds=0.2), make("b")
    with ExitStack() as stack:
        stack.enter_context(first.hold("i1"))
        expire(stores, 0.2)
        with second.hold("i1"):
            assert rows.read("i1").stamp.startswith("b")
            # The late one's release leaves the other's row alone, now and again.
            rows.drop("i1", "a1")
            rows.drop("i1", "a1")
            stack.close()
            assert rows.read("i1").stamp.startswith("b")
    assert rows.read("i1") is None


def test_a_lease_of_a_dead_process_of_this_host_is_taken_over_at_once(make, rows):
    dead = make("a", identity=dead_identity())
    with ExitStack() as stack:
        stack.enter_context(dead.hold("i1"))
        # It waits for a living holder 5 s at most, and the dead one's lease has a minute left.
        with make("b").hold("i1"):
            assert rows.read("i1").stamp.startswith("b")
    with ExitStack() as stack:
        stack.enter_context(dead.hold("i2"))
        with make("c").attempt("i2"):
            pass


def test_a_lease_of_a_process_elsewhere_is_waited_for_until_it_is_over(stores, make, rows):
    # Nobody here can tell whether a process of another host runs.
    elsewhere = msgspec.structs.replace(dead_identity(), host_key="elsewhere")
    second = make("b", lock_timeout_seconds=0.1)
    with ExitStack() as stack:
        stack.enter_context(make("a", identity=elsewhere, lease_seconds=0.5).hold("i1"))
        with pytest.raises(LockTimeout), second.hold("i1"):
            pass
        expire(stores, 0.5)
        with second.hold("i1"):
            assert rows.read("i1").stamp.startswith("b")


def test_a_lease_that_was_let_go_is_taken_over(stores, make, rows):
    # Renewed at most for so long, and no more: then it runs out under its holder, who lives.
    first, second = make("a", lease_seconds=1, longest_hold_seconds=0.5), make("b")
    with first.hold("i1"):
        time.sleep(1.2)
        expire(stores, 1)
        with second.hold("i1"):
            assert rows.read("i1").stamp.startswith("b")
    assert rows.read("i1") is None


def test_a_takeover_needs_the_stamp_that_was_read(make, rows):
    leases = make()
    with leases.hold("i1"):
        row = msgspec.structs.replace(rows.read("i1"), stamp="new")
        assert not rows.take_over("i1", row, "old", 60)
        assert rows.take_over("i1", row, "a1", 60)
        assert not rows.take_over("i1", row, "a1", 60)


def test_a_lease_is_renewed_while_it_is_held(stores, make):
    # The shortest period of renewal is a second.
    first, second = make("a", lease_seconds=1.5), make("b", lock_timeout_seconds=0.1)
    with first.hold("i1"):
        for _ in range(2):
            time.sleep(1.1)
            if not stores.has_clock:
                stores.clock.advance(1.1)
            with pytest.raises(LeaseHeld), second.attempt("i1"):
                pass


def test_a_lease_held_for_ever_is_let_go(make, rows, caplog):
    leases = make(lease_seconds=0.1, longest_hold_seconds=0.5)
    with caplog.at_level(logging.ERROR, "waypost.leases"), leases.hold("i1"):
        time.sleep(1.3)
        assert [record.message for record in caplog.records] == ["lease held too long, renewed no more"]


def test_a_lost_lease_is_logged(make, rows, caplog):
    leases = make(lease_seconds=3)
    with caplog.at_level(logging.WARNING, "waypost.leases"), leases.hold("i1"):
        rows.drop("i1", "a1")
        time.sleep(1.3)
    assert [record.message for record in caplog.records] == ["lease lost"]


def test_a_process_says_that_it_is_alive(stores, make):
    leases = make()
    assert not leases.live("poller:")
    leases.beat("poller:one", 0.2)
    assert leases.live("poller:")
    assert not leases.live("poller:two")
    assert not leases.live("poller_")
    expire(stores, 0.2)
    assert not leases.live("poller:")
    leases.beat("poller:one", 20)
    assert leases.live("poller:")
    leases.beat("poller:one", 0)
    assert not leases.live("poller:")


def test_a_process_that_is_gone_is_not_alive_though_its_row_is_not_over(make, rows):
    leases = make()
    gone = leases.token().split("/")
    gone[-3] = "4194305"
    rows.beat("poller:gone", LeaseRow("/".join(gone), "s1"), 100)
    assert not leases.live("poller:")
    rows.beat("poller:elsewhere", LeaseRow("h/another-host/1/2/u", "s2"), 100)
    assert leases.live("poller:")


def test_rows_that_are_over_are_swept(make, rows):
    leases = make()
    leases.beat("poller:one", -10)
    leases.beat("poller:two", 10)
    assert leases.sweep(20) == 0
    assert rows.read("poller:one") is not None
    assert leases.sweep(10) == 1
    assert rows.read("poller:one") is None
    assert leases.live("poller:two")


@pytest.mark.parametrize("hours", [-2, 2])
@on_postgresql
def test_a_wrong_clock_of_a_host_neither_ends_a_lease_nor_keeps_one(stores, make, rows, hours):
    # Only the database's clock counts: two hours are more than any lease lasts.
    wrong = FakeClock(datetime.now(UTC) + timedelta(hours=hours))
    of_wrong_host = RowLeases(SqlLeaseRows(stores.lease_engine, wrong), ids=Ids("w"), identity=this_process())
    own = make("a")
    with own.hold("i1"):
        assert of_wrong_host.sweep(3600) == 0
        with pytest.raises(LeaseHeld), of_wrong_host.attempt("i1"):
            pass
    of_wrong_host.beat("poller:wrong", 60)
    assert own.live("poller:wrong")
    assert own.sweep(0) == 0
    with ExitStack() as stack:
        stack.enter_context(of_wrong_host.hold("i2"))
        with pytest.raises(LeaseHeld), own.attempt("i2"):
            pass
    of_wrong_host.close()


def test_each_token_is_unique_and_names_the_process(make):
    leases = make(holder_id="node-1")
    first, second = leases.token(), leases.token()
    assert first != second
    assert first.startswith(f"node-1/{this_process().text}/")
    assert not leases.is_gone(first)
    assert make("x", identity=dead_identity(), holder_id="node-1").token()
    assert leases.is_gone(make("y", identity=dead_identity()).token())


def test_the_lease_lasts_as_long_as_was_said(stores, make, rows):
    first = make("a", lease_seconds=60)
    with first.hold("i1"), pytest.raises(LeaseHeld):
        stores.clock.advance(timedelta(seconds=59).total_seconds())
        with make("b").attempt("i1"):
            pass


def test_nobody_starves(make):
    # Twenty threads come back for the same lease again and again; each has to wait for all the others.
    leases = make(lock_timeout_seconds=20)
    turns = []

    def work(number):
        for _ in range(3):
            with leases.hold("i1"):
                turns.append(number)
                time.sleep(0.001)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(turns) == sorted(list(range(20)) * 3)


# --- several at once ----------------------------------------------------------------------------


def test_of_many_those_that_are_free_are_held(make, rows):
    first, second = make("a"), make("b")
    with second.hold("i2"):
        with first.attempt_many(["i3", "i1", "i2", "i1"]) as held:
            assert sorted(held) == ["i1", "i3"]
            assert {rows.read(name).holder for name in held} == {f"/{this_process().text}/a1"}
            with pytest.raises(LeaseHeld), second.attempt("i1"):
                pass
        assert (rows.read("i1"), rows.read("i3")) == (None, None)
        assert rows.read("i2").stamp == "b1"
    with second.attempt("i1"):
        pass


def test_many_are_let_go_when_the_block_raises(make, rows):
    leases = make()
    with pytest.raises(ZeroDivisionError), leases.attempt_many(["i1", "i2"]):
        1 / 0  # noqa: B018 -- any failure of the block
    assert (rows.read("i1"), rows.read("i2")) == (None, None)
    with leases.hold("i1"):
        pass


def test_none_of_no_names(make):
    with make().attempt_many([]) as held:
        assert list(held) == []


def test_many_do_not_take_what_a_thread_of_this_process_holds(make):
    leases = make()
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with leases.hold("i1"):
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(10)
    with leases.attempt_many(["i1", "i2"]) as held:
        assert list(held) == ["i2"]
    leave.set()
    thread.join(10)


def test_a_thread_that_holds_one_of_many_already_keeps_it(make, rows):
    leases = make()
    with leases.hold("i1"):
        with leases.attempt_many(["i1", "i2"]) as held:
            assert list(held) == ["i1", "i2"]
        assert rows.read("i1") is not None
        assert rows.read("i2") is None


def test_of_many_the_expired_and_those_of_the_dead_are_taken_over(make, rows, stores):
    rows.take("i1", LeaseRow("elsewhere/x", "old"), -1)
    dead = make("dead", identity=dead_identity())
    rows.take("i2", LeaseRow(dead.token(), "left"), 60)
    rows.take("i3", LeaseRow("elsewhere/y", "live"), 60)
    with make("a").attempt_many(["i1", "i2", "i3"]) as held:
        assert list(held) == ["i1", "i2"]
    assert rows.read("i3").stamp == "live"


def test_many_leases_are_renewed(make, rows):
    with make("a", lease_seconds=3).attempt_many(["i1", "i2"]) as held:
        assert len(held) == 2
        time.sleep(4)
        with make("b").attempt_many(["i1", "i2"]) as others:
            assert list(others) == []
