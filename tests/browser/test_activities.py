"""One journey for each activity: placed, connected, configured, validated, published, started, and watched to its end.

A journey is a row of the table below; the steps they share are in ``Desk``. What the outside does (deciding a task,
sending a signal, working) goes through REST.
"""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import VisitorFactory
from tests.browser.drawing import Drawing
from tests.browser.visitor import Visitor
from tests.support.http_server import ScriptedServer

CHILD = "journey-child"


def node(id_: str, activity: str, x: int, y: int = 0, **more: Any) -> dict[str, Any]:
    return {"id": id_, "name": id_.title(), "activityType": activity, "x": x, "y": 100 + y, **more}


START, END = node("start", "Start", 60), node("end", "End", 660)


def joined(*pairs: str) -> list[dict[str, Any]]:
    """Return transitions written ``source>target``."""
    split = [pair.split(">") for pair in pairs]
    return [{"id": f"t-{a}-{b}", "sourceNodeId": a, "targetNodeId": b} for a, b in split]


class Desk:
    """What a person does with one activity, in one browser window."""

    def __init__(self, visitor: Visitor) -> None:
        self.page: Page = visitor.page
        self.name = ""
        self.placed = ""
        self.rates = ""

    # --- REST: set-up, and what the outside does ----------------------------------------------

    def call(self, method: str, path: str, body: Any = None) -> Any:
        token = self.page.locator("meta[name=csrf-token]").get_attribute("content") or ""
        answer = self.page.request.fetch(
            f"/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body),
            headers={"Content-Type": "application/json", "X-CSRFToken": token},
        )
        assert answer.ok, answer.text()
        return answer.json()

    def decide(self, outcome: str) -> None:
        (task,) = self.call("GET", f"/tasks?definitionName={self.name}")["items"]
        self.call("POST", f"/tasks/{task['id']}/complete", {"outcome": outcome})

    def signal(self, name: str, **payload: Any) -> None:
        self.call("POST", f"/signals/{name}", {"payload": payload})

    def work(self, topic: str, **variables: Any) -> None:
        asked = {"workerId": "printer", "topics": [{"topic": topic, "lockSeconds": 30}], "maxTasks": 1}
        (task,) = self.call("POST", "/external-tasks/fetch-and-lock", asked)["items"]
        self.call("POST", f"/external-tasks/{task['id']}/complete", {"workerId": "printer", "variables": variables})

    # --- the designer -------------------------------------------------------------------------

    def open(self, journey: Journey) -> None:
        self.name = f"journey-{journey.activity.lower()}"
        document = {
            "name": self.name,
            "displayName": self.name,
            "nodes": list(journey.nodes),
            "transitions": joined(*journey.joined),
            "variables": list(journey.variables),
        }
        draft = self.call("POST", "/definitions", document)
        self.page.goto(f"/designer/{draft['id']}")
        self.drawing = Drawing(self.page)

    def place(self, journey: Journey) -> None:
        """Put the activity onto the canvas: with the keyboard behind Start, or dragged from the palette."""
        if journey.drag:
            self.placed = self.drawing.drag(journey.activity, 400, 260)
            return
        self.placed = self.add_behind("start", journey.activity)

    def add_behind(self, source: str, activity: str) -> str:
        """Press / on a step, find the activity by its name, and take it with Enter."""
        before = set(self.drawing.nodes())
        self.page.locator(f"[data-element-id='{source}']").focus()
        self.page.keyboard.press("/")
        self.page.keyboard.type(activity)
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".djs-shape")).to_have_count(len(before) + 1)
        (added,) = set(self.drawing.nodes()) - before
        expect(self.page.locator(f"[data-element-id='{added}']")).to_be_focused()
        return added

    def connect(self, *pairs: str) -> None:
        for pair in pairs:
            source, target = (self.placed if end == "it" else end for end in pair.split(">"))
            self.drawing.connect(source, target)

    def see_errors(self) -> None:
        expect(self.page.locator(".dock")).not_to_have_attribute("data-problems", "0")
        expect(self.page.locator("#dock-problems .problem.faulted").first).to_be_visible()

    def see_no_errors(self) -> None:
        expect(self.page.locator(".dock")).to_have_attribute("data-problems", "0")

    def type_expression(self, field: str, text: str) -> None:
        """Type as a person does; whatever completion offers is left."""
        area = self.drawing.field(field).locator("textarea, input").first
        area.click()
        self.page.keyboard.type(text)
        self.page.keyboard.press("Escape")

    def row(self, field: str, name: str, value: str) -> None:
        """Add a row to a table of names and values."""
        table = self.drawing.field(field)
        table.get_by_role("button", name="Add row").click()
        last = table.locator(".kv-row").last
        last.locator("input").first.fill(name)
        last.locator("textarea, .kv-value input").last.fill(value)

    def choose(self, field: str, title: str) -> None:
        self.drawing.field(field).locator("select").last.select_option(label=title)

    def publish(self) -> None:
        self.drawing.wait_until_saved()
        self.page.get_by_role("button", name="Publish").first.click()
        self.page.locator("dialog[open] .btn.primary").click()
        expect(self.page.get_by_text("v1 published")).to_be_visible()

    # --- running ------------------------------------------------------------------------------

    def start(self, **values: str) -> None:
        """Start it on its page and open it in the monitor."""
        self.page.goto(f"/start/{self.name}")
        form = self.page.locator("form#start")
        for name, value in values.items():
            form.locator(f"[name='v.{name}']").fill(value)
        self.page.locator("button[form=start]").click()
        expect(self.page).to_have_url(re.compile("/requests/"))
        self.watch(self.page.url.rsplit("/", 1)[1].split("?")[0])

    def watch(self, instance_id: str) -> None:
        self.page.goto(f"/monitor/{instance_id}")
        expect(self.page.locator(".viewer")).to_be_visible()

    def see_state(self, state: str, id_: str = "") -> None:
        """The diagram shows the step so."""
        shown = self.page.locator(f".viewer [data-node='{id_ or self.placed}']")
        expect(shown).to_have_attribute("data-state", state)

    def see_end(self, status: str) -> None:
        """Wait until the instance has ended, and look again: the page by itself does so every 15 seconds only."""
        instance_id = self.page.url.rsplit("/", 1)[1]
        deadline = time.monotonic() + 15
        while self.call("GET", f"/instances/{instance_id}")["status"] == "Running" and time.monotonic() < deadline:
            self.page.wait_for_timeout(100)
        self.page.reload()
        expect(self.page.locator("#instance .page-head .pill")).to_have_text(status)

    def see_in_timeline(self, *texts: str) -> None:
        for text in texts:
            expect(self.page.locator(".trail")).to_contain_text(text)


Script = Callable[[Desk], None]


def nothing(desk: Desk) -> None:
    """Leave it as it is."""


@dataclass(frozen=True)
class Journey:
    """One activity: what is drawn beforehand, how it is configured, what the outside does, how it ends.

    A node is named ``it`` where the placed one is meant. Without ``drag`` it is placed with the keyboard behind
    Start, and an End behind it.
    """

    activity: str
    configure: Script = nothing
    run: Script = nothing
    drag: bool = False
    nodes: tuple[dict[str, Any], ...] = (START,)
    joined: tuple[str, ...] = ()
    variables: tuple[dict[str, Any], ...] = ()
    connect: tuple[str, ...] = ()
    started: Script = Desk.start
    afterwards: Script = nothing
    status: str = "Completed"
    state: str = "completed"
    timeline: tuple[str, ...] = ()


# --- what is typed, and what the outside does -------------------------------------------------


def configure_start(desk: Desk) -> None:
    desk.drawing.select(desk.placed)
    desk.drawing.type("SignalName", "journey.begin")
    desk.drawing.type("DelaySeconds", "1")


def begin_by_signal(desk: Desk) -> None:
    desk.signal("journey.begin")
    (made,) = desk.call("GET", f"/instances?definitionName={desk.name}")["items"]
    desk.watch(made["id"])


def configure_task(desk: Desk) -> None:
    desk.drawing.type("Title", "Please look at it")
    desk.drawing.field("AssigneeRules").locator("button[data-rule=User]").click()
    people = desk.drawing.field("AssigneeRules").locator(".rule .chips-input input").first
    people.fill("admin")
    people.press("Enter")
    desk.drawing.list_values("AllowedOutcomes", "approved", "rejected")


def decide_task(desk: Desk) -> None:
    desk.see_state("waiting")
    desk.see_in_timeline("User task")
    desk.decide("approved")


def configure_decision(desk: Desk) -> None:
    desk.drawing.select_transition("Decision", "End")
    desk.drawing.field("condition").locator("textarea").fill("amount > 1000")
    desk.drawing.select_transition("Decision", "Small")
    desk.drawing.field("isDefault").locator("input").check()


def configure_join(desk: Desk) -> None:
    desk.drawing.select(desk.placed)
    mode = desk.drawing.field("Mode").locator("[role=radio]")
    mode.first.focus()
    desk.page.keyboard.press("ArrowRight")
    expect(mode.last).to_have_attribute("aria-checked", "true")


def configure_delay(desk: Desk) -> None:
    desk.drawing.type("DurationSeconds", "1")


def configure_http(desk: Desk) -> None:
    desk.type_expression("Url", desk.rates)
    desk.drawing.type("ResultVariable", "answer")


def configure_child(desk: Desk) -> None:
    desk.drawing.type("DefinitionName", CHILD)
    desk.row("VariableExpressions", "amount", "2 + 3")
    desk.drawing.type("ResultVariable", "result")


def configure_each(desk: Desk) -> None:
    desk.drawing.type("DefinitionName", CHILD)
    desk.type_expression("ItemsExpression", "lines")
    desk.drawing.type("ResultVariable", "results")


def configure_work(desk: Desk) -> None:
    desk.type_expression("Topic", "journey.print")
    desk.row("VariableExpressions", "order", "3 + 4")


def do_work(desk: Desk) -> None:
    desk.see_state("waiting")
    desk.work("journey.print", invoice="R-7")


def configure_event(desk: Desk) -> None:
    desk.type_expression("EventName", "journey.shipped")
    desk.row("Payload", "text", "On its way")


def configure_wait(desk: Desk) -> None:
    desk.type_expression("SignalName", "journey.paid")
    desk.drawing.field("AcceptAnyCorrelation").locator("input").check()


def send_signal(desk: Desk) -> None:
    desk.see_state("waiting")
    desk.signal("journey.paid", paid=120)


def configure_gateway(desk: Desk) -> None:
    events = [{"signalName": "journey.first", "acceptAnyCorrelation": True}, {"timerSeconds": 3600, "outcome": "late"}]
    desk.drawing.type("Events", json.dumps(events))


def send_first(desk: Desk) -> None:
    desk.see_state("waiting")
    desk.signal("journey.first")


def configure_variables(desk: Desk) -> None:
    desk.drawing.select(desk.placed)
    desk.row("Values", "currency", "EUR")
    desk.row("Expressions", "total", "2 * 3")


def configure_log(desk: Desk) -> None:
    desk.drawing.select(desk.placed)
    desk.type_expression("Message", "Something happened")
    desk.choose("Level", "Warning")


def configure_fault(desk: Desk) -> None:
    desk.drawing.select(desk.placed)
    desk.type_expression("Message", "No stock left")


def configure_terminate(desk: Desk) -> None:
    desk.drawing.select(desk.placed)
    desk.type_expression("Reason", "Nobody wants it")


def configure_end(desk: Desk) -> None:
    desk.drawing.select(desk.placed)
    desk.type_expression("Outcome", "granted")


def configure_compensate(desk: Desk) -> None:
    desk.drawing.select("reserve")
    desk.drawing.unfold("compensateWith")
    desk.choose("compensateWith", "Release")
    expect(desk.page.locator(".compensation")).to_have_count(1)
    desk.drawing.select(desk.placed)
    desk.drawing.list_values("NodeIds", "reserve")


def see_undone(desk: Desk) -> None:
    desk.see_state("completed", "release")


FORK = (
    START,
    node("fork", "Parallel", 240),
    node("left", "Log", 240, 160),
    node("right", "Log", 240, 260),
    END,
)
RESERVE = (
    START,
    node("reserve", "SetVariable", 240, properties={"Values": {"stock": 4}}),
    node("release", "SetVariable", 240, 330, properties={"Values": {"stock": 5}}),
    END,
)
SMALL = node("small", "End", 660, 260)
AMOUNT = {"name": "amount", "type": "number", "required": True}
LINES = {"name": "lines", "type": "array", "defaultValue": [1, 2]}

JOURNEYS = (
    Journey("Start", configure_start, begin_by_signal, drag=True, nodes=(END,), connect=("it>end",), started=nothing),
    Journey("End", configure_end, drag=True, connect=("start>it",), timeline=("End",)),
    Journey("Terminate", configure_terminate, drag=True, connect=("start>it",), status="Terminated"),
    Journey("UserTask", configure_task, decide_task),
    Journey(
        "Decision", configure_decision, drag=True, nodes=(START, END, SMALL), variables=(AMOUNT,),
        connect=("start>it", "it>end", "it>small"), started=lambda desk: desk.start(amount="1200"),
        afterwards=lambda desk: desk.see_state("completed", "end"),
    ),
    Journey(
        "Parallel", drag=True, nodes=(START, END, SMALL), connect=("start>it", "it>end", "it>small"),
        afterwards=lambda desk: desk.see_state("completed", "small"),
    ),
    Journey(
        "Join", configure_join, drag=True, nodes=FORK, joined=("start>fork", "fork>left", "fork>right"),
        connect=("left>it", "right>it", "it>end"),
    ),
    Journey("Delay", configure_delay),
    Journey("Http", configure_http),
    Journey("SubWorkflow", configure_child),
    Journey("ForEach", configure_each, variables=(LINES,)),
    Journey("ExternalTask", configure_work, do_work),
    Journey("PublishEvent", configure_event),
    Journey("WaitSignal", configure_wait, send_signal),
    Journey("EventGateway", configure_gateway, send_first),
    Journey("SetVariable", configure_variables, drag=True, nodes=(START, END), connect=("start>it", "it>end")),
    Journey("Log", configure_log, drag=True, nodes=(START, END), connect=("start>it", "it>end")),
    Journey(
        "Fault", configure_fault, drag=True, connect=("start>it",), status="Faulted", state="faulted",
        timeline=("No stock left",),
    ),
    Journey(
        "Compensate", configure_compensate, afterwards=see_undone, drag=True, nodes=RESERVE, joined=("start>reserve",),
        connect=("reserve>it", "it>end"),
    ),
)  # fmt: skip


@contextmanager
def rate_service() -> Iterator[str]:
    """A web service on this machine that says what a dollar is worth."""

    def answer(request: str, connection: socket.socket) -> None:
        body = b'{"rate": 1.08}'
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)

    service = ScriptedServer(answer)
    yield service.url("/rate")
    service.close()


@pytest.fixture(scope="module")
def window(module_visitors: VisitorFactory) -> Visitor:
    """One window for all journeys, of somebody who may do everything; the child workflow is published."""
    visitor = module_visitors("admin")
    desk = Desk(visitor)
    desk.page.goto("/designer")
    child = {
        "name": CHILD,
        "displayName": "Child",
        "nodes": [START, node("double", "SetVariable", 300, properties={"Values": {"done": True}}), END],
        "transitions": joined("start>double", "double>end"),
    }
    draft = desk.call("POST", "/definitions", child)
    desk.call("POST", f"/definitions/{draft['id']}/publish")
    return visitor


@pytest.mark.parametrize("journey", JOURNEYS, ids=lambda journey: journey.activity)
def test_an_activity_is_drawn_configured_run_and_watched(window: Visitor, journey: Journey) -> None:
    desk = Desk(window)
    with rate_service() as rates:
        desk.rates = rates
        desk.open(journey)
        desk.place(journey)
        desk.see_errors()
        desk.connect(*journey.connect)
        journey.configure(desk)
        if not journey.drag:
            desk.drawing.wait_until_saved()
            desk.add_behind(desk.placed, "End")
        desk.see_no_errors()
        desk.publish()
        journey.started(desk)
        journey.run(desk)
        desk.see_end(journey.status)
        desk.see_state(journey.state)
        journey.afterwards(desk)
        desk.see_in_timeline(*journey.timeline)
    assert window.complaints == []


def test_there_is_a_journey_for_every_activity(window: Visitor) -> None:
    listed = Desk(window).call("GET", "/activities")["items"]
    assert sorted(item["type"] for item in listed) == sorted(journey.activity for journey in JOURNEYS)
