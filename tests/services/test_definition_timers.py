"""Workflows that start on a schedule (spec 2.1, 3.18, 3.22, D32); the clock stands at 2026-07-16T08:00:00Z."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tests.support.engine import ADMIN, Installation, actor, install
from tests.support.flows import END, flow, node
from tests.support.stores import StoreSet
from webapp.accounts.permissions import USER
from webapp.engine.definitions import codec
from webapp.engine.errors import DefinitionInvalid, Denied
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import FiringStatus
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.locks import LeaseHeld
from webapp.engine.ports.messaging import TopicPatterns
from webapp.engine.ports.queries import DueBookmark
from webapp.engine.ports.stores import DuplicateRecord, WriteSet
from webapp.services.definition_timers import timer_id
from webapp.services.queries import InstanceQuery


def scheduled(cron: str | None = "0 9 * * *", name: str = "report", /, **properties: object) -> JsonObject:
    """Return a flow that starts on a schedule and waits for anna, so that its instances can be told."""
    given = {"Cron": cron, **properties} if cron is not None else properties
    task = node("task", "UserTask", {"Assignees": ["anna"]})
    return flow(name, [node("start", "Start", given), task, END])


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def site(stores: StoreSet) -> Installation:
    return install(stores)


def timer(site: Installation, name: str = "report") -> Bookmark | None:
    with site.store_set.stores.reading(None) as work:
        found = work.bookmarks.by_kind_and_key(None, BookmarkKind.DEFINITION_TIMER, name)
    assert len(found) <= 1
    return found[0] if found else None


def due(site: Installation, name: str = "report") -> str | None:
    found = timer(site, name)
    return None if found is None or found.due_at is None else f"{found.due_at:%Y-%m-%dT%H:%M:%S}"


def move(site: Installation, text: str) -> None:
    """Let the clock show that time, then poll until nothing is due."""
    site.store_set.clock.advance((at(text) - site.store_set.clock.now()).total_seconds())
    site.services.housekeeping.poll_once()


def started(site: Installation) -> list[str]:
    found = site.services.instances.query(ADMIN, InstanceQuery()).items
    times = [site.instance(one.id).scheduled_at for one in found]
    return sorted(f"{one:%m-%dT%H:%M:%S}" for one in times if one is not None)


def firings(site: Installation, definition_id: str) -> list[tuple[str, str, int]]:
    found = site.services.timers.firings(ADMIN, definition_id).items
    return [(f"{one.scheduled_at:%m-%dT%H:%M:%S}", one.status.value, one.failures) for one in found]


def test_publishing_arms_the_next_time_in_its_zone(site: Installation) -> None:
    definition = site.publish(scheduled("0 9 * * *", TimeZone="Europe/Berlin"))
    # 09:00 in Berlin was at 07:00Z today.
    assert due(site) == "2026-07-17T07:00:00"
    state = site.services.timers.state(ADMIN, definition.id)
    assert state is not None
    assert (state.cron, state.time_zone, state.next_at) == ("0 9 * * *", "Europe/Berlin", at("2026-07-17T07:00:00"))


def test_a_draft_and_a_workflow_without_schedule_have_no_timer(site: Installation) -> None:
    site.services.catalog.create(ADMIN, scheduled())
    assert due(site) is None
    definition = site.publish(scheduled(None))
    assert due(site) is None
    assert site.services.timers.state(ADMIN, definition.id) is None


def test_a_due_timer_starts_the_workflow_once_and_is_armed_again(site: Installation) -> None:
    definition = site.publish(scheduled())
    move(site, "2026-07-16T08:59:59")
    assert started(site) == []
    move(site, "2026-07-16T09:00:01")
    assert started(site) == ["07-16T09:00:00"]
    assert due(site) == "2026-07-17T09:00:00"
    move(site, "2026-07-16T09:00:02")
    assert started(site) == ["07-16T09:00:00"]
    (firing,) = site.services.timers.firings(ADMIN, definition.id).items
    (instance,) = site.services.instances.query(ADMIN, InstanceQuery()).items
    assert (firing.status, firing.instance_id) == (FiringStatus.STARTED, instance.id)
    assert firing.fired_at == at("2026-07-16T09:00:01")
    assert site.instance(instance.id).starter_id is None


def test_a_monthly_timer_fires_once_a_month(site: Installation) -> None:
    site.publish(scheduled("0 0 31 * *"))
    for month in ("07-31", "08-31", "10-31", "12-31"):
        for second in ("00", "20", "40"):
            move(site, f"2026-{month}T00:00:{second}")
    assert started(site) == [f"{month}T00:00:00" for month in ("07-31", "08-31", "10-31", "12-31")]


def test_a_fifteen_second_schedule_is_not_silent_in_autumn(site: Installation) -> None:
    move(site, "2026-10-25T00:59:50")
    site.publish(scheduled("*/15 * * * * *", TimeZone="Europe/Berlin"))
    for minute in range(4):
        for second in (0, 15, 30, 45):
            move(site, f"2026-10-25T01:{minute:02}:{second:02}")
    # The second pass of the hour from 02:00 to 03:00.
    assert len(started(site)) == 16
    assert started(site)[0] == "10-25T01:00:00"


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        (None, ["07-19T09:00:00"]),
        ("One", ["07-19T09:00:00"]),
        ("Skip", []),
        ("All", ["07-16T09:00:00", "07-17T09:00:00", "07-18T09:00:00", "07-19T09:00:00"]),
    ],
)
def test_what_was_missed(site: Installation, catch_up: str | None, expected: list[str]) -> None:
    definition = site.publish(scheduled(**({} if catch_up is None else {"CatchUp": catch_up})))
    move(site, "2026-07-19T12:00:00")
    assert started(site) == expected
    assert due(site) == "2026-07-20T09:00:00"
    if catch_up == "Skip":
        assert firings(site, definition.id) == [("07-19T09:00:00", "skipped", 0)]
        move(site, "2026-07-20T09:00:30")
        assert started(site) == ["07-20T09:00:00"]


def test_all_means_the_last_hundred_in_order(site: Installation) -> None:
    definition = site.publish(scheduled("*/15 * * * * *", CatchUp="All"))
    move(site, "2026-07-16T12:00:00")
    fired = [one for one, _, _ in reversed(firings(site, definition.id))]
    # 100 times, 15 seconds apart: the first 24 minutes 45 seconds before the last.
    assert (len(fired), fired[0], fired[-1]) == (100, "07-16T11:35:15", "07-16T12:00:00")
    assert fired == sorted(fired) == started(site)
    assert due(site) == "2026-07-16T12:00:15"


def test_the_poller_is_down_across_the_gap(site: Installation) -> None:
    site.store_set.clock.advance((at("2027-03-27T12:00:00") - site.store_set.clock.now()).total_seconds())
    definition = site.publish(scheduled("30 2 * * *", TimeZone="Europe/Berlin", CatchUp="All"))
    # 28 March 2027 has no 02:30: the first instant after the gap is 01:00Z.
    assert due(site) == "2027-03-28T01:00:00"
    move(site, "2027-03-29T12:00:00")
    assert started(site) == ["03-28T01:00:00", "03-29T00:30:00"]
    assert len(firings(site, definition.id)) == 2


def test_publishing_the_same_schedule_again_leaves_the_timer_alone(site: Installation) -> None:
    first = site.publish(scheduled("0 9 * * *", CatchUp="One"))
    before = timer(site)
    # It is missed at the moment of publishing: a timer armed anew would lose it.
    site.store_set.clock.advance(2 * 3600)
    draft = site.services.catalog.new_version(ADMIN, id=first.id)
    site.services.catalog.publish(ADMIN, draft.id)
    assert timer(site) == before
    site.services.housekeeping.poll_once()
    assert started(site) == ["07-16T09:00:00"]
    (instance,) = site.services.instances.query(ADMIN, InstanceQuery()).items
    assert instance.definition_version == 2


@pytest.mark.parametrize(
    ("properties", "next_due"),
    [
        ({"Cron": "0 10 * * *"}, "2026-07-16T10:00:00"),
        ({"Cron": "0 9 * * *", "TimeZone": "Asia/Kolkata"}, "2026-07-17T03:30:00"),
        ({"Cron": "0 9 * * *", "CatchUp": "All"}, "2026-07-16T09:00:00"),
        ({}, None),
    ],
)
def test_another_schedule_replaces_the_timer(
    site: Installation, properties: dict[str, object], next_due: str | None
) -> None:
    site.publish(scheduled())
    site.publish(scheduled(None, "report", **properties))
    assert due(site) == next_due


def test_publishing_never_arms_a_time_that_was_dealt_with(site: Installation) -> None:
    site.publish(scheduled("0 9 * * *"))
    move(site, "2026-07-16T09:00:00")
    # The clock was set back, and the schedule changes to one that has the same time.
    site.store_set.clock.advance(-1800)
    site.publish(scheduled("0 9,12 * * *"))
    assert due(site) == "2026-07-16T12:00:00"


def test_disabling_removes_the_timer_and_an_older_version_takes_over(site: Installation) -> None:
    first = site.publish(scheduled("0 10 * * *"))
    second = site.publish(scheduled("0 11 * * *"))
    assert due(site) == "2026-07-16T11:00:00"
    site.services.catalog.disable(ADMIN, second.id)
    assert due(site) == "2026-07-16T10:00:00"
    site.services.catalog.archive(ADMIN, first.id)
    assert due(site) is None
    move(site, "2026-07-17T12:00:00")
    assert started(site) == []


def test_disabling_an_older_version_changes_nothing(site: Installation) -> None:
    first = site.publish(scheduled("0 10 * * *"))
    site.publish(scheduled("0 11 * * *"))
    before = timer(site)
    site.services.catalog.disable(ADMIN, first.id)
    assert timer(site) == before


def test_a_refused_publish_arms_nothing(site: Installation) -> None:
    site.publish(scheduled("0 10 * * *"))
    draft = site.services.catalog.create(ADMIN, scheduled("0 0 31 2 *"))
    with pytest.raises(DefinitionInvalid):
        site.services.catalog.publish(ADMIN, draft.id)
    assert due(site) == "2026-07-16T10:00:00"


def broken(site: Installation) -> str:
    """Publish a workflow that cannot be started, as one may become after an upgrade; return its id."""
    definition = site.publish(scheduled("0 9 * * *"))
    worse = {**scheduled("0 9 * * *"), "variables": [{"name": "x", "required": True}]}
    content = codec.read_definition(worse)
    with site.store_set.stores.writing(None) as work:
        stored = work.definitions.find(None, definition.id)
        assert stored is not None
        changed = msgspec.structs.replace(stored, variables=content.variables, revision=stored.revision + 1)
        work.definitions.replace(None, changed, stored.revision)
    return definition.id


def test_a_start_that_fails_is_tried_again_and_then_recorded_and_the_timer_goes_on(site: Installation) -> None:
    definition_id = broken(site)
    move(site, "2026-07-16T09:00:00")
    assert due(site) == "2026-07-16T09:01:00"
    state = site.services.timers.state(ADMIN, definition_id)
    assert state is not None
    assert (state.scheduled_at, state.failures) == (at("2026-07-16T09:00:00"), 1)
    move(site, "2026-07-16T09:01:00")
    assert due(site) == "2026-07-16T09:06:00"
    move(site, "2026-07-16T09:06:00")
    assert due(site) == "2026-07-16T09:31:00"
    assert firings(site, definition_id) == []
    move(site, "2026-07-16T09:31:00")
    assert due(site) == "2026-07-17T09:00:00"
    assert firings(site, definition_id) == [("07-16T09:00:00", "failed", 4)]
    (firing,) = site.services.timers.firings(ADMIN, definition_id).items
    assert firing.fault is not None
    assert firing.fault["code"] == "WORKFLOW_VALIDATION_001"
    assert started(site) == []


def test_a_failed_firing_is_told_once_to_who_listens_and_to_who_subscribes(stores: StoreSet) -> None:
    site = install(stores, subscriptions=TopicPatterns(["workflow.timer.*"]))
    broken(site)
    for text in ("09:00", "09:01", "09:06"):
        move(site, f"2026-07-16T{text}:00")
    assert site.publisher.of("workflow.timer.failed") == []
    move(site, "2026-07-16T09:31:00")
    (told,) = site.publisher.of("workflow.timer.failed")
    assert (told["definitionName"], told["scheduledAt"], told["failures"]) == ("report", "2026-07-16T09:00:00.000Z", 4)
    assert told["fault"]["code"] == "WORKFLOW_VALIDATION_001"
    with stores.stores.reading(None) as work:
        (entry,) = work.outbox.read(10)
    assert (entry.topic, entry.instance_id, entry.data) == ("workflow.timer.failed", None, told)


def test_a_start_that_succeeds_later_keeps_its_due_time(site: Installation) -> None:
    definition_id = broken(site)
    move(site, "2026-07-16T09:00:00")
    good = site.services.catalog.new_version(ADMIN, id=definition_id)
    document = scheduled("0 9 * * *")
    site.services.catalog.update(ADMIN, good.id, document, good.revision)
    site.services.catalog.publish(ADMIN, good.id)
    move(site, "2026-07-16T09:01:00")
    assert started(site) == ["07-16T09:00:00"]
    assert firings(site, definition_id) == [("07-16T09:00:00", "started", 1)]
    assert due(site) == "2026-07-17T09:00:00"


def test_a_due_time_fires_once_ever(site: Installation) -> None:
    site.publish(scheduled())
    armed = timer(site)
    assert armed is not None
    move(site, "2026-07-16T09:00:00")
    # A restored backup: the timer is as it was before, the firing is known.
    with site.store_set.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, changed_bookmarks=[armed]))
    move(site, "2026-07-16T09:00:05")
    assert started(site) == ["07-16T09:00:00"]
    assert due(site) == "2026-07-17T09:00:00"


def test_a_timer_that_was_moved_meanwhile_is_left_alone(site: Installation) -> None:
    site.publish(scheduled())
    claimed = DueBookmark(
        id=timer_id(None, "report"),
        tenant_id=None,
        instance_id=None,
        kind=BookmarkKind.DEFINITION_TIMER,
        key="report",
        due_at=at("2026-07-16T07:00:00"),
    )
    site.services.timers.fire(claimed)
    assert started(site) == []
    assert due(site) == "2026-07-16T09:00:00"


def test_two_pollers_at_once_start_it_once(site: Installation) -> None:
    site.publish(scheduled())
    site.store_set.clock.advance(3600)
    claimed = DueBookmark(
        id=timer_id(None, "report"),
        tenant_id=None,
        instance_id=None,
        kind=BookmarkKind.DEFINITION_TIMER,
        key="report",
        due_at=at("2026-07-16T09:00:00"),
    )
    together = threading.Barrier(6)
    others: list[Exception] = []

    def fire() -> None:
        together.wait()
        try:
            site.services.timers.fire(claimed)
        except LeaseHeld as held:
            others.append(held)

    threads = [threading.Thread(target=fire) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert started(site) == ["07-16T09:00:00"]
    assert due(site) == "2026-07-17T09:00:00"


def test_a_timer_does_not_fire_while_its_definition_changes(site: Installation) -> None:
    site.publish(scheduled())
    site.store_set.clock.advance(3600)
    refused = threading.Event()

    def poll() -> None:
        site.services.housekeeping.poll_once()
        refused.set()

    with site.services.timers.changing(None, "report"):
        thread = threading.Thread(target=poll)
        thread.start()
        thread.join()
        assert refused.is_set()
        assert started(site) == []
    site.services.housekeeping.poll_once()
    assert started(site) == ["07-16T09:00:00"]


def test_a_timer_without_a_published_version_removes_itself(site: Installation) -> None:
    definition = site.publish(scheduled())
    armed = timer(site)
    assert armed is not None
    site.services.catalog.disable(ADMIN, definition.id)
    with site.store_set.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, new_bookmarks=[armed]))
    move(site, "2026-07-16T09:00:00")
    assert (due(site), started(site)) == (None, [])


def test_names_and_partitions_have_timers_of_their_own(site: Installation) -> None:
    site.publish(scheduled("0 9 * * *", "one"))
    site.publish(scheduled("0 10 * * *", "two"))
    assert (due(site, "one"), due(site, "two")) == ("2026-07-16T09:00:00", "2026-07-16T10:00:00")
    assert len({timer_id(None, "one"), timer_id(None, "two"), timer_id("t", "one")}) == 3


def test_the_firing_key_is_unique_in_the_store(site: Installation) -> None:
    site.publish(scheduled())
    move(site, "2026-07-16T09:00:00")
    with site.store_set.stores.reading(None) as work:
        (firing,) = work.timer_firings.list(None, "report").items
    with pytest.raises(DuplicateRecord), site.store_set.stores.writing(None) as work:
        work.apply(WriteSet(partition=None, timer_firings=[firing]))


def test_firings_are_kept_400_days_and_listed_in_pages(site: Installation) -> None:
    definition = site.publish(scheduled("0 9 1 * *"))
    for month in ("2026-08-01", "2026-09-01", "2026-10-01"):
        move(site, f"{month}T09:00:00")
    page = site.services.timers.firings(ADMIN, definition.id)
    assert [f"{one.scheduled_at:%m-%d}" for one in page.items] == ["10-01", "09-01", "08-01"]
    assert page.total == 3
    last = at("2026-08-01T09:00:00") + timedelta(days=400)
    site.store_set.clock.advance((last - site.store_set.clock.now()).total_seconds())
    site.services.housekeeping.housekeep()
    assert len(site.services.timers.firings(ADMIN, definition.id).items) == 3
    site.store_set.clock.advance(1)
    site.services.housekeeping.housekeep()
    assert [f"{one.scheduled_at:%m-%d}" for one in site.services.timers.firings(ADMIN, definition.id).items] == [
        "10-01",
        "09-01",
    ]


def test_who_may_not_read_definitions_may_not_see_firings(site: Installation) -> None:
    definition = site.publish(scheduled())
    with pytest.raises(Denied):
        site.services.timers.firings(actor("bob", USER), definition.id)
    with pytest.raises(Denied):
        site.services.timers.state(actor("bob", USER), definition.id)


def test_a_first_wave_that_faults_is_a_started_instance(site: Installation) -> None:
    fault = node("fault", "Fault", {"Message": "no"})
    definition = site.publish(flow("report", [node("start", "Start", {"Cron": "0 9 * * *"}), fault]))
    move(site, "2026-07-16T09:00:00")
    assert firings(site, definition.id) == [("07-16T09:00:00", "started", 0)]


def test_a_delayed_start_waits_in_its_instance(site: Installation) -> None:
    site.publish(flow("later", [node("start", "Start", {"DelaySeconds": 30}), END]))
    instance = site.start("later")
    assert instance.status == "Running"
    site.elapse(29)
    assert site.instance(instance.id).status == "Running"
    site.elapse(1)
    assert site.instance(instance.id).status == "Completed"
