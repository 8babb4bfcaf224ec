"""Scenario 25: a node that fails once and may run three times waits 5 s for its second run and completes."""

from __future__ import annotations

from datetime import timedelta

from tests.support.engine import Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus

FLAKY = node("flaky", "TestFlaky", {"SucceedOnAttempt": 2}, retry_policy={"maxAttempts": 3, "firstDelaySeconds": 5})


def test_retry_policy_succeeds(house: Installation) -> None:
    house.publish(flow("flaky", [START, FLAKY, END]))
    begun = house.store_set.clock.now()
    instance = house.start("flaky")

    assert instance.status is InstanceStatus.RUNNING
    (retry,) = house.bookmarks(instance.id)
    assert (retry.kind, retry.due_at) == (BookmarkKind.RETRY, begun + timedelta(seconds=5))

    house.elapse(5)

    after = house.instance(instance.id)
    assert after.status is InstanceStatus.COMPLETED
    assert after.variables["flakyDone"] is True
    (flaky,) = [one for one in house.nodes(instance.id) if one.node_id == "flaky"]
    assert flaky.try_count == 2
