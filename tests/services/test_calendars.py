"""Work calendars: who may change them, and what waits by them (spec 4.20, D33)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from tests.services.stores_that_fail import FailingStores, busy
from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, START, edge, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.permissions import DESIGNER
from webapp.engine.errors import Conflict, DefinitionInvalid, Denied, InputInvalid, NotFound, StaleRevision
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject
from webapp.services.calendars import WorkCalendar, WorkHours

WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday")
NINE_TO_FIVE = [WorkHours(start="09:00", end="17:00")]


def calendar(name: str = "office", **more: Any) -> WorkCalendar:
    return WorkCalendar(name=name, weekly_hours=dict.fromkeys(WEEK, NINE_TO_FIVE), **more)


@pytest.fixture
def site(stores: StoreSet) -> Installation:
    return install(stores)


def waiting(properties: JsonObject, **settings: Any) -> JsonObject:
    return flow("wait", [START, node("wait", "Delay", properties), END], **settings)


def due(site: Installation, instance_id: str, kind: BookmarkKind = BookmarkKind.TIMER) -> str:
    (timer,) = site.bookmarks(instance_id, kind)
    assert timer.due_at is not None
    return f"{timer.due_at:%m-%dT%H:%M}"


def test_a_calendar_is_made_read_changed_and_deleted(site: Installation) -> None:
    calendars = site.services.calendars
    made = calendars.create(ADMIN, calendar(display_name=" Head office "))
    assert (made.revision, made.calendar.display_name, made.updated_by) == (1, "Head office", "admin")
    assert [one.calendar.name for one in calendars.list(actor("bob"))] == ["office"]
    changed = calendars.replace(ADMIN, "office", calendar("ignored", time_zone="Asia/Kolkata"), 1)
    assert (changed.revision, changed.calendar.name) == (2, "office")
    assert calendars.get(actor("bob"), "office") == changed
    calendars.delete(ADMIN, "office", 2)
    with pytest.raises(NotFound):
        calendars.get(ADMIN, "office")


def test_who_lost_a_race_is_told(site: Installation) -> None:
    calendars = site.services.calendars
    calendars.create(ADMIN, calendar())
    with pytest.raises(Conflict):
        calendars.create(ADMIN, calendar())
    calendars.replace(ADMIN, "office", calendar(), 1)
    with pytest.raises(StaleRevision) as refused:
        calendars.replace(ADMIN, "office", calendar(), 1)
    assert refused.value.details["revision"] == 2
    with pytest.raises(StaleRevision):
        calendars.delete(ADMIN, "office", 1)


def test_a_change_whose_entry_lost_its_answer_is_told_of_once(stores: StoreSet) -> None:
    failing = FailingStores(stores.stores)
    site = install(replace(stores, stores=failing))
    failing.after = [busy()]
    assert site.services.calendars.create(ADMIN, calendar()).revision == 1
    failing.after = [busy()]
    assert site.services.tenants.add("acme").name == "acme"
    with stores.stores.reading(None) as work:
        told = [row.action for row in work.seals.unsealed(None, 9)]
    assert sorted(told) == ["addTenant", "createCalendar"]


def test_only_administrators_change_calendars(site: Installation) -> None:
    calendars, designer = site.services.calendars, actor("dan", DESIGNER)
    with pytest.raises(Denied):
        calendars.create(designer, calendar())
    calendars.create(ADMIN, calendar())
    with pytest.raises(Denied):
        calendars.replace(designer, "office", calendar(), 1)
    with pytest.raises(Denied):
        calendars.delete(designer, "office")


@pytest.mark.parametrize("name", ["", "Office", "my office", "none", "x" * 129, "-a"])
def test_names_that_no_calendar_may_have(site: Installation, name: str) -> None:
    with pytest.raises(InputInvalid) as refused:
        site.services.calendars.create(ADMIN, calendar(name))
    assert refused.value.problems[0].path == "name"


def test_every_mistake_is_named_at_once(site: Installation) -> None:
    bad = WorkCalendar(name="office", time_zone="Mars", weekly_hours={"monday": [WorkHours(start="x", end="17:00")]})
    with pytest.raises(InputInvalid) as refused:
        site.services.calendars.create(ADMIN, bad)
    assert [one.path for one in refused.value.problems] == ["timeZone", "weeklyHours.monday[0]"]


def test_a_partition_sees_its_own_calendars_only(site: Installation) -> None:
    site.services.calendars.create(ADMIN, calendar())
    other = actor("eve", "administrator", partition="t1")
    assert site.services.calendars.list(other) == []
    site.services.calendars.create(other, calendar())


def test_one_working_day_is_no_24_working_hours(site: Installation) -> None:
    site.services.calendars.create(ADMIN, calendar())
    site.publish(waiting({"DurationSeconds": "P1D", "WorkCalendar": "office"}))
    # Thursday 16 July 2026, 08:00Z: the day begins at nine.
    instance = site.start("wait")
    assert due(site, instance.id) == "07-17T09:00"
    site.store_set.clock.advance((datetime(2026, 7, 17, 9, tzinfo=UTC) - site.store_set.clock.now()).total_seconds())
    site.services.housekeeping.poll_once()
    assert site.instance(instance.id).status is InstanceStatus.COMPLETED


@pytest.mark.parametrize(
    ("properties", "definition_calendar", "expected"),
    [
        ({"DurationSeconds": 10 * 3600, "WorkCalendar": "office"}, None, "07-17T11:00"),
        ({"DurationSeconds": 10 * 3600}, "office", "07-17T11:00"),
        ({"DurationSeconds": 10 * 3600, "WorkCalendar": "none"}, "office", "07-16T18:00"),
        ({"DurationSeconds": 10 * 3600}, None, "07-16T18:00"),
        # Kolkata: 13:30 there; three and a half hours are left, then from 03:30Z on.
        ({"DurationSeconds": 10 * 3600, "WorkCalendar": "office", "TimeZone": "Asia/Kolkata"}, None, "07-17T10:00"),
        # The calendar's own zone wins over the step's.
        ({"DurationSeconds": 10 * 3600, "WorkCalendar": "berlin", "TimeZone": "Asia/Kolkata"}, None, "07-17T10:00"),
    ],
)
def test_which_calendar_and_zone_count(
    site: Installation, properties: JsonObject, definition_calendar: str | None, expected: str
) -> None:
    site.services.calendars.create(ADMIN, calendar())
    site.services.calendars.create(ADMIN, calendar("berlin", time_zone="Europe/Berlin"))
    site.publish(waiting(properties, workCalendar=definition_calendar))
    assert due(site, site.start("wait").id) == expected


def test_time_limits_of_steps_and_instances_count_in_the_calendar(site: Installation) -> None:
    site.services.calendars.create(ADMIN, calendar())
    task = node("task", "UserTask", {"Assignees": ["anna"]}, timeout_seconds=9 * 3600)
    site.publish(flow("task", [START, task, END], workCalendar="office", timeout=17 * 3600))
    instance = site.start("task")
    assert due(site, instance.id, BookmarkKind.NODE_TIMEOUT) == "07-17T10:00"
    assert due(site, instance.id, BookmarkKind.INSTANCE_TIMEOUT) == "07-20T10:00"


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({"DueInSeconds": "P1D", "WorkCalendar": "office"}, "2026-07-17T09:00:00+00:00"),
        ({"DueInSeconds": 9 * 3600, "WorkCalendar": "office"}, "2026-07-17T10:00:00+00:00"),
        ({"DueInSeconds": "P1D"}, "2026-07-17T08:00:00+00:00"),
        ({"DueAt": "day", "TimeZone": "Asia/Kolkata"}, "2026-07-19T18:30:00+00:00"),
    ],
)
def test_due_dates_of_tasks_count_in_the_calendar(site: Installation, properties: JsonObject, expected: str) -> None:
    site.services.calendars.create(ADMIN, calendar())
    task = node("task", "UserTask", {"Assignees": ["anna"], **properties})
    site.publish(flow("task", [START, task, END]))
    site.start("task", {"day": "2026-07-20"})
    due_at = site.task("anna").due_at
    assert due_at is not None
    assert due_at.isoformat() == expected


def test_an_unknown_calendar_forbids_publishing(site: Installation) -> None:
    draft = site.services.catalog.create(ADMIN, waiting({"DurationSeconds": 5, "WorkCalendar": "office"}))
    with pytest.raises(DefinitionInvalid) as refused:
        site.services.catalog.publish(ADMIN, draft.id)
    (problem,) = refused.value.problems
    assert (problem.path, problem.key) == ("nodes[1].properties.WorkCalendar", "workflow.definition.calendar")
    whole = site.services.catalog.create(ADMIN, waiting({"DurationSeconds": 5}, workCalendar="office"))
    assert [one.path for one in site.services.catalog.validate(ADMIN, whole.id)] == ["workCalendar"]
    site.services.calendars.create(ADMIN, calendar())
    site.services.catalog.publish(ADMIN, draft.id)


def test_a_calendar_that_is_gone_faults_the_step_that_needs_it(site: Installation) -> None:
    site.services.calendars.create(ADMIN, calendar())
    task = node("task", "UserTask", {"Assignees": ["anna"]})
    wait = node("wait", "Delay", {"DurationSeconds": 5, "WorkCalendar": "office"})
    site.publish(flow("wait", [START, task, wait, END]))
    instance = site.start("wait")
    site.services.calendars.delete(ADMIN, "office")
    ended = site.decide("anna", "approved")
    assert ended.fault is not None
    assert (ended.status, ended.fault.key) == (InstanceStatus.FAULTED, "workflow.calendar.unknown")
    site.services.calendars.create(ADMIN, calendar())
    site.services.instances.retry(ADMIN, instance.id)
    assert due(site, instance.id) == "07-16T09:00"


def test_a_change_counts_for_what_begins_to_wait_afterwards(site: Installation) -> None:
    site.services.calendars.create(ADMIN, calendar())
    site.publish(waiting({"DurationSeconds": 3600, "WorkCalendar": "office"}))
    first = site.start("wait")
    late = WorkCalendar(name="office", weekly_hours={"thursday": [WorkHours(start="12:00", end="17:00")]})
    site.services.calendars.replace(ADMIN, "office", late, 1)
    assert (due(site, first.id), due(site, site.start("wait").id)) == ("07-16T10:00", "07-16T13:00")


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"timerSeconds": 10 * 3600}, "07-17T11:00"),
        ({"until": "2026-07-16T20:00:00Z"}, "07-16T20:00"),
    ],
)
def test_timers_of_a_gateway_count_in_the_calendar(site: Installation, event: JsonObject, expected: str) -> None:
    site.services.calendars.create(ADMIN, calendar())
    gate = node("gate", "EventGateway", {"Events": [event]})
    edges = [edge("start", "gate"), edge("gate", "end", is_default=True)]
    site.publish(flow("gate", [START, gate, END], edges, workCalendar="office"))
    assert due(site, site.start("gate").id) == expected


def test_who_changed_a_calendar_and_how_stands_in_the_trail(
    site: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[AuditEntry] = []
    calendars = site.services.calendars
    write = calendars._storage.write

    def noting(partition: str | None, block: Any, **more: Any) -> Any:
        block(SimpleNamespace(audit=SimpleNamespace(append=lambda _, entries: written.extend(entries))))
        return write(partition, block, **more)

    monkeypatch.setattr(calendars._storage, "write", noting)
    calendars.create(ADMIN, calendar())
    calendars.replace(ADMIN, "office", calendar(time_zone="Asia/Kolkata"), 1)
    calendars.delete(ADMIN, "office", 2)
    assert [(one.action, one.actor_id) for one in written] == [
        ("createCalendar", "admin"),
        ("replaceCalendar", "admin"),
        ("deleteCalendar", "admin"),
    ]
    made, changed, gone = written
    assert (made.before, made.after and made.after["name"]) == (None, "office")
    assert changed.before is not None
    assert changed.after is not None
    assert (changed.before["timeZone"], changed.after["timeZone"]) == (None, "Asia/Kolkata")
    assert (gone.before and gone.before["revision"], gone.after) == (2, None)
    with site.store_set.stores.reading(None) as work:
        assert all(work.audit.holds(None, one.id) for one in written)
