"""Delay by duration (spec 4.8)."""

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


@pytest.mark.parametrize("duration", [0, -5, "0", "'soon'", "null", "true", None, [5], "later"])
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
