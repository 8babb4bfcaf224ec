"""Delay by duration, until a moment, by schedule (spec 4.8, 4.20)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonDecimal, JsonObject


def delay(duration: object, variables: JsonObject | None = None, **settings: object) -> Run:
    wait = node("wait", "Delay", {"DurationSeconds": duration}, name="Cool down", **settings)
    return World().start(flow("delay", [START, wait, END]), variables)


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [(300, 300), (JsonDecimal("0.25"), 0.25), ("300", 300), ("hours * 3600", 7200), ("0.5 + 0.25", 0.75)],
)
def test_a_delay_waits_on_a_timer(duration: object, seconds: float) -> None:
    run = delay(duration, {"hours": 2})
    timer = run.only(BookmarkKind.TIMER)
    assert run.instance.status is InstanceStatus.RUNNING
    assert timer.due_at == run.world.clock.now() + timedelta(seconds=seconds)
    run.world.clock.advance(seconds)
    run.due()
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables == {"hours": 2}


@pytest.mark.parametrize("duration", [0, -5, "0", "'soon'", "null", "true", [5], "later"])
def test_what_is_no_time_above_zero_is_a_fault(duration: object) -> None:
    run = delay(duration)
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    assert run.instance.fault.key in ("workflow.delay.invalid", "workflow.property.failed")
    assert run.bookmarks == {}


def test_the_fault_tells_the_value() -> None:
    fault = delay("0 - 5").instance.fault
    assert fault is not None
    assert (fault.key, fault.args) == ("workflow.delay.invalid", {"value": -5})


def test_inputs_of_a_resumed_timer_are_no_outputs() -> None:
    run = delay(5)
    run.resume(run.only(BookmarkKind.TIMER), {"x": 1})
    assert run.instance.variables == {}
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_node_timeout_is_no_elapsed_delay() -> None:
    run = delay(60, timeout_seconds=5)
    run.world.clock.advance(5)
    run.due()
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == ("workflow.node.timed_out", {"node": "Cool down"})


def waiting(properties: JsonObject, variables: JsonObject | None = None) -> Run:
    return World().start(flow("delay", [START, node("wait", "Delay", properties), END]), variables)


@pytest.mark.parametrize(
    ("properties", "due"),
    [
        # The clock of the tests stands at 2026-07-16T08:00:00Z, a Thursday, 10:00 in Berlin.
        ({"DurationSeconds": "PT90M"}, "2026-07-16T09:30:00+00:00"),
        ({"DurationSeconds": "P1DT30M"}, "2026-07-17T08:30:00+00:00"),
        ({"DurationSeconds": "days"}, "2026-07-18T08:00:00+00:00"),
        ({"Until": "2026-07-17T12:00:00+02:00"}, "2026-07-17T10:00:00+00:00"),
        ({"Until": "until"}, "2026-08-01T00:00:00+00:00"),
        ({"Until": "day", "TimeZone": "Europe/Berlin"}, "2026-12-23T23:00:00+00:00"),
        ({"until": "day"}, "2026-12-24T00:00:00+00:00"),
        ({"Cron": "0 9 * * MON-FRI"}, "2026-07-16T09:00:00+00:00"),
        ({"Cron": "0 9 * * MON-FRI", "TimeZone": "Europe/Berlin"}, "2026-07-17T07:00:00+00:00"),
        ({"Cron": "@daily", "TimeZone": "Asia/Kolkata"}, "2026-07-16T18:30:00+00:00"),
        # One day later at the same time on the wall: 25 hours over the change of 25 October.
        ({"DurationSeconds": "P101D", "TimeZone": "Europe/Berlin"}, "2026-10-25T09:00:00+00:00"),
    ],
)
def test_what_a_delay_waits_for(properties: JsonObject, due: str) -> None:
    run = waiting(properties, {"until": "2026-08-01T00:00:00Z", "day": "2026-12-24", "days": "P2D"})
    assert run.only(BookmarkKind.TIMER).due_at.isoformat() == due


def test_a_moment_that_has_passed_is_due_at_once() -> None:
    run = waiting({"Until": "2020-01-01T00:00:00Z"})
    assert run.instance.status is InstanceStatus.RUNNING
    run.due()
    assert run.instance.status is InstanceStatus.COMPLETED


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({}, "workflow.delay.span"),
        ({"DurationSeconds": 5, "Cron": "@daily"}, "workflow.delay.span"),
        ({"Until": "'soon'"}, "workflow.delay.until_invalid"),
        ({"Until": "5"}, "workflow.delay.until_invalid"),
        ({"Cron": "* * *"}, "workflow.cron.fields"),
        ({"Cron": "0 0 31 2 *"}, "workflow.cron.never"),
        ({"Cron": "@daily", "TimeZone": "Europe/Atlantis"}, "workflow.time_zone.unknown"),
        ({"DurationSeconds": "P0D"}, "workflow.property.failed"),
        ({"DurationSeconds": 5, "WorkCalendar": "office"}, "workflow.calendar.unknown"),
        ({"DurationSeconds": 5, "WorkCalendar": 5}, "workflow.property.type"),
    ],
)
def test_what_names_no_time_is_a_fault(properties: JsonObject, key: str) -> None:
    run = waiting(properties)
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    assert run.instance.fault.key == key
