"""Leases when the database fails: waits, refusals, and what is only logged (spec 8.6)."""

import logging
import threading
import time

import pytest

from tests.support.clock import FakeClock
from webapp.engine.clock import SystemIds
from webapp.engine.errors import UNAVAILABLE_STORE, Unavailable
from webapp.engine.ports.stores import StoreFailure
from webapp.stores.leasing import RowLeases
from webapp.stores.memory.leases import MemoryLeaseRows
from webapp.stores.processes import this_process


class FailingRows(MemoryLeaseRows):
    """A table of leases whose methods fail as often as they are told to."""

    def __init__(self):
        super().__init__(FakeClock())
        self.failures = {}

    def fail(self, method, times=1, *, transient=True):
        self.failures[method] = (times, transient)

    def _meet(self, method):
        times, transient = self.failures.get(method, (0, True))
        if times:
            self.failures[method] = (times - 1, transient)
            raise StoreFailure("disk I/O error", transient=transient)

    def take(self, name, row, seconds):
        self._meet("take")
        return super().take(name, row, seconds)

    def renew(self, name, stamp, seconds):
        self._meet("renew")
        return super().renew(name, stamp, seconds)

    def drop(self, name, stamp):
        self._meet("drop")
        super().drop(name, stamp)

    def beat(self, name, row, seconds):
        self._meet("beat")
        super().beat(name, row, seconds)

    def holders(self, prefix):
        self._meet("holders")
        return super().holders(prefix)


@pytest.fixture
def rows():
    return FailingRows()


@pytest.fixture
def leases(rows):
    made = RowLeases(rows, ids=SystemIds(), identity=this_process(), lease_seconds=3, lock_timeout_seconds=0.3)
    yield made
    made.close()


def test_a_passing_failure_is_waited_out(rows, leases):
    rows.fail("take", 2)
    with leases.hold("i1"):
        assert rows.read("i1") is not None


def test_a_failure_that_stays_is_a_refusal(rows, leases):
    rows.fail("take", 100)
    with pytest.raises(Unavailable) as caught, leases.hold("i1"):
        pass
    assert caught.value.code == UNAVAILABLE_STORE
    assert caught.value.details == {"reason": "disk I/O error"}
    rows.fail("take", 0)
    with leases.hold("i1"):  # the queue is free again
        pass


def test_a_failure_that_does_not_pass_is_a_refusal_at_once(rows, leases):
    rows.fail("take", 2, transient=False)
    with pytest.raises(Unavailable), leases.hold("i1"):
        pass
    assert rows.failures["take"][0] == 1  # it was not tried again


def test_a_failing_release_is_only_logged(rows, leases, caplog):
    rows.fail("drop", 3)
    with caplog.at_level(logging.WARNING, "waypost.leases"), leases.hold("i1"):
        pass
    assert [record.message for record in caplog.records] == ["lease not released"]
    left = rows.read("i1")
    assert left is not None
    # Nobody holds it, so this process does not wait until it has run out; others do.
    with leases.attempt("i1"):
        assert rows.read("i1").stamp != left.stamp
    assert rows.read("i1") is None


def test_a_release_that_passes_at_the_next_try_is_none(rows, leases, caplog):
    rows.fail("drop", 2)
    with caplog.at_level(logging.WARNING, "waypost.leases"), leases.hold("i1"):
        pass
    assert caplog.records == []
    assert rows.read("i1") is None
    rows.fail("drop", transient=False)
    with leases.hold("i2"):
        pass
    assert rows.read("i2") is not None


def test_a_failing_renewal_is_only_logged(rows, leases, caplog):
    rows.fail("renew")
    with caplog.at_level(logging.WARNING, "waypost.leases"), leases.hold("i1"):
        time.sleep(1.3)
        assert rows.read("i1") is not None
    assert [record.message for record in caplog.records] == ["lease not renewed"]


@pytest.mark.parametrize("method", ["beat", "holders"])
def test_signs_of_life_that_fail_are_refusals(rows, leases, method):
    rows.fail(method)
    with pytest.raises(Unavailable):
        leases.beat("poller:x", 1) if method == "beat" else leases.live("poller:")


def test_a_lease_whose_answer_was_lost_is_held_all_the_same(rows, leases, monkeypatch):
    take = MemoryLeaseRows.take
    lost = [StoreFailure("lost connection", transient=True)]

    def take_and_lose(self, name, row, seconds):
        taken = take(self, name, row, seconds)
        if lost:
            raise lost.pop()
        return taken

    monkeypatch.setattr(FailingRows, "take", take_and_lose)
    with leases.hold("i1"):
        assert rows.read("i1") is not None
    assert rows.read("i1") is None


def test_a_refusal_keeps_what_the_database_said_to_itself(rows, leases, monkeypatch):
    def fail(self, name, row, seconds):
        raise StoreFailure("OperationalError: connection to server at 10.0.0.3 failed")

    monkeypatch.setattr(FailingRows, "take", fail)
    with pytest.raises(Unavailable) as caught, leases.hold("i1"):
        pass
    assert caught.value.details == {"reason": "OperationalError"}


def test_a_late_renewal_leaves_the_next_holders_lease_alone(rows, leases, caplog):
    renewal = leases._renewal
    with leases.hold("i1"):
        (late,) = renewal._held.items()
    with caplog.at_level(logging.WARNING, "waypost.leases"), leases.hold("i1"):
        # The thread had taken the first lease to renew it, and comes to it when the second is held.
        renewal._renew(*late)
        assert "i1" in renewal._held
    assert caplog.records == []


def test_a_lease_that_cannot_be_renewed_is_let_go_and_the_next_tries_again(rows, leases, monkeypatch):
    def fail(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError), leases.hold("i1"):
            pass
    assert rows.read("i1") is None
    renewed = []
    monkeypatch.setattr(FailingRows, "renew", lambda self, name, stamp, seconds: renewed.append(name) or True)
    with leases.hold("i1"):
        time.sleep(1.3)
    assert renewed == ["i1"]
