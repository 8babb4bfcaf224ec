"""EventGateway: several waits, the first decides (spec 4.12, 4.20)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.engine.builtin.single import fault_of, single
from tests.engine.harness import Run, World
from tests.support.flows import START, edge, flow, node
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonDecimal, JsonObject, JsonValue
from webapp.engine.schedules import parse_instant

ANY = {"acceptAnyCorrelation": True}


def gateway(events: JsonValue, variables: JsonObject | None = None, **more: object) -> Run:
    it = node("gate", "EventGateway", {"Events": events}, name="The node", **more)
    nodes = [START, it, *(node(name, "End") for name in ("paid", "late", "other"))]
    edges = [
        edge("start", "gate"),
        edge("gate", "paid", "outcome == 'order-paid'"),
        edge("gate", "late", "outcome == 'timer' || outcome == 'timeout'"),
        edge("gate", "other", is_default=True),
    ]
    return World().start(flow("gateway", nodes, edges), variables, correlation_id="C")


def waits(run: Run) -> list[Bookmark]:
    return sorted(run.bookmarks.values(), key=lambda one: one.sequence)


BOTH: list[JsonObject] = [{"signalName": "order-{{ kind }}"}, {"signalName": "stop", **ANY}, {"timerSeconds": 60}]


def test_each_event_has_a_wait_of_its_own() -> None:
    run = gateway(BOTH, {"kind": "paid"})
    due = run.world.clock.now() + timedelta(seconds=60)
    assert [(one.kind, one.key, one.correlation_id, one.due_at) for one in waits(run)] == [
        (BookmarkKind.SIGNAL, "order-paid", "C", None),
        (BookmarkKind.SIGNAL, "stop", None, None),
        (BookmarkKind.TIMER, None, None, due),
    ]


def test_the_first_signal_wins_and_its_name_is_the_label() -> None:
    run = gateway(BOTH, {"kind": "paid"})
    run.resume(waits(run)[0], {"amount": 5})
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.path == ["start", "gate", "paid"]
    assert run.bookmarks == {}
    assert run.instance.variables == {"kind": "paid", "amount": 5, "outcome": "order-paid"}


def test_a_timer_wins_with_its_default_label() -> None:
    run = gateway(BOTH, {"kind": "paid"})
    run.world.clock.advance(60)
    run.due()
    assert run.path == ["start", "gate", "late"]
    assert run.instance.variables["outcome"] == "timer"


def test_a_timer_may_have_a_label_of_its_own() -> None:
    run = gateway([{"timerSeconds": 1, "outcome": "expired"}])
    run.world.clock.advance(1)
    run.due()
    assert (run.path[-1], run.instance.variables) == ("other", {"outcome": "expired"})


def test_the_node_timeout_has_the_label_timeout() -> None:
    run = gateway([{"signalName": "stop", **ANY}], timeout_seconds=30)
    run.world.clock.advance(30)
    run.due()
    assert (run.path[-1], run.instance.variables) == ("late", {"outcome": "timeout"})


@pytest.mark.parametrize(
    ("event", "seconds"),
    [
        ({"timerSeconds": JsonDecimal("0.5")}, 0.5),
        ({"timerSeconds": "hours * 3600"}, 7200),
        ({"until": "2026-07-16T09:00:00Z"}, 3600),
        ({"until": "deadline"}, 86400),
        # A moment that is over is due at once.
        ({"until": "2026-07-16T07:00:00Z"}, -3600),
    ],
)
def test_when_a_timer_is_due(event: JsonObject, seconds: float) -> None:
    run = gateway([event], {"hours": 2, "deadline": "2026-07-17T08:00:00Z"})
    assert parse_instant("2026-07-16T08:00:00Z") == run.world.clock.now()
    assert run.only(BookmarkKind.TIMER).due_at == run.world.clock.now() + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "events",
    [
        None,
        [],
        "paid",
        ["paid"],
        [{}],
        [{"signalName": 5}],
        [{"signalName": "a", "timerSeconds": 5}],
        [{"timerSeconds": 5, "until": "2026-07-16T09:00:00Z"}],
        [{"timerSeconds": 5, "outcome": 5}],
        [{"timerSeconds": 5, "outcome": ""}],
        [{"signalName": f"s{number}", **ANY} for number in range(51)],
    ],
)
def test_what_is_no_list_of_events_is_a_fault(events: JsonValue) -> None:
    assert fault_of(gateway(events)).key == "workflow.gateway.event"


@pytest.mark.parametrize(
    ("event", "key"),
    [
        ({"signalName": " "}, "workflow.property.missing"),
        ({"signalName": "x" * 129}, "workflow.outcome.too_long"),
        ({"signalName": "a", "acceptAnyCorrelation": "yes"}, "workflow.property.type"),
        ({"timerSeconds": 0}, "workflow.gateway.seconds"),
        ({"timerSeconds": "'soon'"}, "workflow.gateway.seconds"),
        ({"until": 5}, "workflow.gateway.until"),
        ({"until": "'tomorrow'"}, "workflow.gateway.until"),
    ],
)
def test_what_is_wrong_with_an_event_is_told(event: JsonObject, key: str) -> None:
    assert fault_of(gateway([event])).key == key


def test_one_event_that_needs_a_correlation_id_is_enough_to_fail() -> None:
    events = [{"signalName": "a", **ANY}, {"signalName": "b"}]
    run = single("EventGateway", {"Events": events})
    assert fault_of(run).key == "workflow.signal.no_correlation"
    assert run.bookmarks == {}
