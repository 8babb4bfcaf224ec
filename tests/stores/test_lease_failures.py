"""Leases when the database fails: waits, refusals, and what is only logged (spec 8.6)."""

import logging
import time

import pytest

from tests.stores.records import at
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

    def beat(self, name, row, until):
        self._meet("beat")
        super().beat(name, row, until)

    def live(self, prefix, now):
        self._meet("live")
        return super().live(prefix, now)


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
    rows.fail("take", transient=False)
    began = time.monotonic()
    with pytest.raises(Unavailable), leases.hold("i1"):
        pass
    assert time.monotonic() - began < 0.2


def test_a_failing_release_is_only_logged(rows, leases, caplog):
    rows.fail("drop")
    with caplog.at_level(logging.WARNING, "waypost.leases"), leases.hold("i1"):
        pass
    assert [record.message for record in caplog.records] == ["lease not released"]
    assert rows.read("i1") is not None


def test_a_failing_renewal_is_only_logged(rows, leases, caplog):
    rows.fail("renew")
    with caplog.at_level(logging.WARNING, "waypost.leases"), leases.hold("i1"):
        time.sleep(1.3)
        assert rows.read("i1") is not None
    assert [record.message for record in caplog.records] == ["lease not renewed"]


@pytest.mark.parametrize("method", ["beat", "live"])
def test_signs_of_life_that_fail_are_refusals(rows, leases, method):
    rows.fail(method)
    with pytest.raises(Unavailable):
        leases.beat("poller:x", at(1)) if method == "beat" else leases.live("poller:", at(1))
