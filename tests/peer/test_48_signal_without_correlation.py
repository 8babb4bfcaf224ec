"""Scenario 48: a wait that needs a correlation id fails without one; one that accepts any waits for a broadcast."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus
from webapp.messages.catalog import Catalog

CLOSED = flow("closed", [START, node("wait", "WaitSignal", {"SignalName": "go"}), END])
OPEN = flow("open", [START, node("wait", "WaitSignal", {"SignalName": "go", "AcceptAnyCorrelation": True}), END])


def test_signal_without_correlation_fails_closed(house: Installation) -> None:
    house.publish(CLOSED)
    failed = house.start("closed")
    assert failed.status is InstanceStatus.FAULTED
    assert failed.fault is not None
    assert "correlation id" in Catalog.load(strict=True).text(failed.fault.key, failed.fault.args)
    assert house.bookmarks(failed.id) == []

    house.publish(OPEN)
    waiting = house.start("open")
    assert waiting.status is InstanceStatus.RUNNING
    assert house.services.signals.publish(ADMIN, "go").resumed == 1
    assert house.instance(waiting.id).status is InstanceStatus.COMPLETED
