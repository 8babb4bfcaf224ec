"""Start: at once, after a span of time, or at a moment (spec 4.1, 3.18)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject


def starting(variables: JsonObject | None = None, /, **properties: object) -> Run:
    return World().start(flow("start", [node("start", "Start", properties), END]), variables)


def test_a_start_completes_at_once_and_writes_nothing() -> None:
    run = World().start(flow("start", [START, END]))
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.node("start").outputs == run.instance.variables == {}


def test_a_start_takes_its_edges_like_any_other_node() -> None:
    edges = [edge("start", "end", "vip"), edge("start", "end", id="other", is_default=True)]
    run = World().start(flow("start", [START, END], edges), {"vip": False})
    assert run.node("end").via_transition_ids == ["other"]


@pytest.mark.parametrize(("span", "seconds"), [(90, 90), ("minutes * 60", 120), ("PT1H", 3600), ("P1D", 86_400)])
def test_a_delayed_start_is_running_and_waits_on_a_timer(span: object, seconds: int) -> None:
    run = starting({"minutes": 2}, DelaySeconds=span)
    timer = run.only(BookmarkKind.TIMER)
    assert run.instance.status is InstanceStatus.RUNNING
    assert timer.due_at == run.world.clock.now() + timedelta(seconds=seconds)
    run.world.clock.advance(seconds)
    run.due()
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables == {"minutes": 2}


def test_a_start_at_a_moment_waits_for_it() -> None:
    run = starting({"wanted": "2026-07-20"}, StartAt="wanted", TimeZone="Europe/Berlin")
    # Midnight in Berlin in summer.
    assert run.only(BookmarkKind.TIMER).due_at.isoformat() == "2026-07-19T22:00:00+00:00"


def test_a_moment_that_has_passed_does_not_hold_a_start_up() -> None:
    assert starting(StartAt="2020-01-01T00:00:00Z").instance.status is InstanceStatus.COMPLETED


@pytest.mark.parametrize(
    ("properties", "key"),
    [
        ({"DelaySeconds": 0}, "workflow.start.delay_invalid"),
        ({"DelaySeconds": "'soon'"}, "workflow.start.delay_invalid"),
        ({"StartAt": "5"}, "workflow.start.delay_invalid"),
        ({"DelaySeconds": 5, "StartAt": "2030-01-01T00:00:00Z"}, "workflow.start.delay_twice"),
        ({"StartAt": "'2030-01-01'", "TimeZone": "Mars/North"}, "workflow.time_zone.unknown"),
    ],
)
def test_a_bad_delay_is_a_fault_of_the_start(properties: dict[str, object], key: str) -> None:
    run = starting(**properties)
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    assert run.instance.fault.key == key


def test_a_node_timeout_is_no_elapsed_wait() -> None:
    run = World().start(flow("start", [node("start", "Start", {"DelaySeconds": 60}, timeout_seconds=5), END]))
    run.world.clock.advance(5)
    run.due()
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.node.timed_out"
