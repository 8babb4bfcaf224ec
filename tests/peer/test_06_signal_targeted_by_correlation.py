"""Scenario 6: a signal with a correlation id completes its instance only; one without completes the other."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus

DOCUMENT = flow("order", [START, node("paid", "WaitSignal", {"SignalName": "order-paid"}), END])


def test_signal_targeted_by_correlation(house: Installation) -> None:
    house.publish(DOCUMENT)
    first = house.start("order", correlation_id="ORDER-1")
    second = house.start("order", correlation_id="ORDER-2")

    sent = house.services.signals.publish(ADMIN, "order-paid", {"paidAmount": 88}, correlation_id="ORDER-1")
    assert sent.resumed == 1
    assert house.instance(first.id).status is InstanceStatus.COMPLETED
    assert house.instance(first.id).variables["paidAmount"] == 88
    assert house.instance(second.id).status is InstanceStatus.RUNNING

    assert house.services.signals.publish(ADMIN, "order-paid").resumed == 1
    assert house.instance(second.id).status is InstanceStatus.COMPLETED
