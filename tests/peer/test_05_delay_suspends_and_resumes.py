"""Scenario 5: a delay of 300 s waits on one timer; when it is due, resuming it completes the instance."""

from __future__ import annotations

from datetime import timedelta

from tests.support.engine import ADMIN, Installation
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus

DOCUMENT = flow("delayed", [START, node("delay", "Delay", {"DurationSeconds": 300}), END])


def test_delay_suspends_and_resumes(house: Installation) -> None:
    house.publish(DOCUMENT)
    begun = house.store_set.clock.now()
    instance = house.start("delayed")

    assert instance.status is InstanceStatus.RUNNING
    (timer,) = house.bookmarks(instance.id)
    assert (timer.kind, timer.due_at) == (BookmarkKind.TIMER, begun + timedelta(seconds=300))

    house.store_set.clock.advance(301)
    with house.store_set.stores.reading(None) as work:
        (due,) = work.bookmarks.due(None, house.store_set.clock.now(), 10)
    assert due.id == timer.id

    resumed = house.services.instances.resume_bookmark(ADMIN, due.id, {})
    assert resumed.status is InstanceStatus.COMPLETED
    assert house.bookmarks(instance.id) == []
