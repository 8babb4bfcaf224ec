"""Peer scenario 44: a lease held elsewhere makes an operation fail with a timeout, and nothing changes."""

from __future__ import annotations

import threading

import pytest

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.errors import TIMEOUT_LOCK, LockTimeout
from webapp.engine.instances.model import InstanceStatus
from webapp.services.commands import lease_name


def test_a_lock_held_elsewhere_times_out(house: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(house.store_set.leases, "_lock_timeout", 0.05)
    house.publish(flow("contended", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END]))
    instance = house.start("contended")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with house.store_set.leases.hold(lease_name(instance.id)):
            held.set()
            done.wait(30)

    elsewhere = threading.Thread(target=hold)
    elsewhere.start()
    held.wait(30)
    try:
        with pytest.raises(LockTimeout) as refused:
            house.services.operations.suspend(ADMIN, instance.id)
    finally:
        done.set()
        elsewhere.join()
    assert refused.value.code == TIMEOUT_LOCK
    assert house.instance(instance.id).status is InstanceStatus.RUNNING
