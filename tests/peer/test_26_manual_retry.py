"""Scenario 26: without a policy the first failure faults the instance; a retry completes it."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.model import InstanceStatus

FLAKY = node("flaky", "TestFlaky", {"SucceedOnAttempt": 2})


def test_manual_retry(house: Installation) -> None:
    house.publish(flow("flaky", [START, FLAKY, END]))
    instance = house.start("flaky")
    assert instance.status is InstanceStatus.FAULTED
    assert instance.fault_node_id == "flaky"
    assert instance.fault is not None
    assert instance.fault.args["text"] == "attempt 1 doomed"

    retried = house.services.instances.retry(ADMIN, instance.id)

    assert retried.status is InstanceStatus.COMPLETED
    stored = house.instance(instance.id)
    assert (stored.fault, stored.fault_node_id, stored.fault_node_instance_id) == (None, None, None)
