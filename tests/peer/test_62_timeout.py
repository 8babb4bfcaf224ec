"""Scenario 62: a task with a time limit has a second waiting point; when it fires, the label is ``timeout``."""

from __future__ import annotations

from datetime import timedelta

from tests.peer.bill import begin
from tests.support.engine import Installation
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus


def test_timeout(house: Installation) -> None:
    begun = house.store_set.clock.now()
    instance = begin(house, ["u1"], timeout_seconds=3600)
    assert {one.kind for one in house.bookmarks(instance.id)} == {BookmarkKind.USER_TASK, BookmarkKind.NODE_TIMEOUT}
    (limit,) = house.bookmarks(instance.id, BookmarkKind.NODE_TIMEOUT)
    assert limit.due_at == begun + timedelta(seconds=3600)

    house.elapse(3600)

    after = house.instance(instance.id)
    assert (after.status, after.outcome) == (InstanceStatus.COMPLETED, "late")
    assert house.bookmarks(instance.id) == []
    assert house.tasks("u1") == []
