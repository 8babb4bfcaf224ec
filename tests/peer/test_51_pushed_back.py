"""Peer scenario 51: the due timer of a suspended instance is pushed back, and nothing is due then."""

from __future__ import annotations

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus


def test_a_suspended_instances_due_timer_is_pushed_back(house: Installation) -> None:
    house.publish(flow("pushed", [START, node("wait", "Delay", {"DurationSeconds": 10}), END]))
    instance = house.start("pushed")
    house.services.operations.suspend(ADMIN, instance.id)
    house.elapse(11)
    (timer,) = house.bookmarks(instance.id, BookmarkKind.TIMER)
    now = house.store_set.clock.now()
    assert timer.due_at is not None
    assert timer.due_at > now
    with house.store_set.stores.reading(None) as work:
        assert list(work.bookmarks.due(None, now, 10)) == []
    house.services.operations.resume(ADMIN, instance.id)
    house.elapse(0)
    assert house.instance(instance.id).status is InstanceStatus.COMPLETED
