"""The store of work calendars: partitions, revisions, order (spec 8.10, D33)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.stores.records import at
from tests.support.stores import StoreSet
from webapp.engine.ports.calendars import StoredCalendar
from webapp.engine.ports.stores import DuplicateRecord, RevisionConflict
from webapp.engine.schedules import Holiday, WorkCalendar, WorkHours

DAY = [WorkHours(start="09:00", end="17:00")]


def stored(name: str = "office", tenant: str | None = None, **more: Any) -> StoredCalendar:
    calendar = WorkCalendar(
        name=name,
        display_name="Büro",
        time_zone="Europe/Berlin",
        weekly_hours={"monday": DAY},
        holidays=[Holiday(date="2026-12-24", name="Eve", hours=[WorkHours(start="09:00", end="12:00")])],
    )
    values: dict[str, Any] = {"revision": 1, "updated_at": at(0), "updated_by": "ada", **more}
    return StoredCalendar(tenant_id=tenant, calendar=calendar, **values)


def test_a_calendar_comes_back_as_it_was_stored(stores: StoreSet) -> None:
    stores.calendars.insert(stored())
    assert stores.calendars.find(None, "office") == stored()
    assert stores.calendars.find(None, "Office") is None
    assert stores.calendars.find("t1", "office") is None


def test_lists_are_sorted_and_keep_partitions_apart(stores: StoreSet) -> None:
    for name, tenant in (("b", None), ("a", "t1"), ("a", None), ("c", "t1")):
        stores.calendars.insert(stored(name, tenant))
    assert [one.calendar.name for one in stores.calendars.list(None)] == ["a", "b"]
    assert [one.calendar.name for one in stores.calendars.list("t1")] == ["a", "c"]
    assert [(one.tenant_id, one.calendar.name) for one in stores.calendars.all()] == [
        (None, "a"), (None, "b"), ("t1", "a"), ("t1", "c"),
    ]  # fmt: skip


def test_a_name_is_there_once_a_partition(stores: StoreSet) -> None:
    stores.calendars.insert(stored())
    stores.calendars.insert(stored(tenant="t1"))
    with pytest.raises(DuplicateRecord):
        stores.calendars.insert(stored())


def test_a_calendar_is_replaced_and_deleted_at_its_revision_only(stores: StoreSet) -> None:
    stores.calendars.insert(stored())
    second = msgspec.structs.replace(stored(), revision=2, updated_by="ben")
    with pytest.raises(RevisionConflict):
        stores.calendars.replace(second, 2)
    stores.calendars.replace(second, 1)
    assert stores.calendars.find(None, "office") == second
    with pytest.raises(RevisionConflict):
        stores.calendars.delete(None, "office", 1)
    stores.calendars.delete(None, "office", 2)
    assert stores.calendars.find(None, "office") is None
    for change in (lambda: stores.calendars.delete(None, "office", 2), lambda: stores.calendars.replace(second, 1)):
        with pytest.raises(RevisionConflict):
            change()
