"""Scenarios of real flows: read from the files beside, and told step by step to whatever drives the product."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from tests.flows.bureau import Bureau
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonObject, JsonValue

DATA = Path(__file__).parent / "data"
FLOWS = (
    "leave-request",
    "expense-report",
    "purchase",
    "access-request",
    "incident",
    "onboarding",
    "loan",
    "order",
    "contract",
    "report",
    "audit",
)
PEOPLE = ("oskar", "petra", "tomas", "kofi", "lena", "ines", "mina", "ravi")
GROUPS = {"mina": ["facilities"], "kofi": ["facilities"], "lena": ["personnel"]}
Refusal = tuple[int, str | None]


class Driver(Protocol):
    """One way to the product: in process or over REST.

    What is refused is answered with its status and code, what is taken with ``(200, None)``; None: there is no such
    task.
    """

    def publish(self, document: JsonObject) -> str:
        """Import the document and publish it; return its name."""

    def start(self, name: str, variables: JsonObject, correlation_id: str | None, who: str) -> str:
        """Start the flow; return the instance's id."""

    def waiting(self, instance_id: str) -> list[str]:
        """Return the nodes that wait for somebody."""

    def due(self, instance_id: str) -> Iterator[tuple[str, str, datetime]]:
        """Return node ("" for the instance), kind and due time of what is due some time, of descendants too."""

    def task_due(self, node_id: str, who: str) -> str | None:
        """Return the due date of *who*'s task at the node."""

    def decide(self, node_id: str, who: str, outcome: str, title: str, **more: Any) -> Refusal | None:
        """Decide *who*'s task at the node, of this instance or of a child, whose title holds *title*."""

    def act(self, action: str, node_id: str, who: str, of: str, title: str, **more: Any) -> Refusal | None:
        """Do something else with the task that *of* has (or may claim) at the node, as *who*."""

    def operate(self, action: str, instance_id: str, who: str, body: JsonObject) -> Refusal:
        """Do something with a whole instance."""

    def work(self, topic: str, **result: Any) -> JsonObject:
        """Fetch the one task of the topic as a worker and hand in its result, or its ``error`` and ``retries``.

        Return the variables that came with it.
        """

    def signal(self, name: str, payload: JsonObject, correlation_id: str | None) -> int:
        """Publish a signal as ``admin``, to everybody without a correlation id; return how many it resumed."""

    def now(self) -> datetime:
        """Return the time of the clock."""

    def advance(self, seconds: float) -> None:
        """Move the clock, and do what is due then."""

    def calendar(self, document: JsonObject) -> None:
        """Make a work calendar."""

    def family(self, instance_id: str) -> list[JsonObject]:
        """Return ``id``, ``definitionName`` and ``status`` of the descendants."""

    def scheduled(self, name: str) -> list[str | None]:
        """Return for which times the instances of a flow were started, oldest first."""

    def instance(self, instance_id: str) -> JsonObject:
        """Return status, outcome, variables, reason, fault, the path of node ids and each node's last status."""


def read_flow(name: str) -> JsonObject:
    """Return the definition document of a flow."""
    document: JsonObject = read_json((DATA / f"{name}.json").read_bytes())
    return document


def _read_file(name: str) -> JsonObject:
    found: JsonObject = json.loads((DATA / f"{name}.scenarios.json").read_text(encoding="utf-8"), parse_float=Decimal)
    return found


def read_scenarios(name: str) -> list[JsonObject]:
    """Return the scenarios of a flow."""
    scenarios: list[JsonObject] = _read_file(name)["scenarios"]
    return scenarios


def read_children(name: str) -> list[str]:
    """Return the names of the flows that a flow starts: they are published first."""
    return [file.removesuffix(".json") for file in _read_file(name).get("children", ())]


ALL = [(name, scenario["name"]) for name in FLOWS for scenario in read_scenarios(name)]


def play(driver: Driver, others: Bureau, flow: str, scenario_name: str) -> None:
    """Publish the flow, do what the scenario says, and compare the end with what it expects."""
    (scenario,) = [one for one in read_scenarios(flow) if one["name"] == scenario_name]
    others.prepare(scenario.get("server", []))
    for calendar in scenario.get("calendars", ()):
        driver.calendar(calendar)
    for child in read_children(flow):
        driver.publish(read_flow(child))
    name = driver.publish(read_flow(flow))
    start = scenario["start"]
    variables = {name: others.url if value == "$server" else value for name, value in start["variables"].items()}
    instance_id = driver.start(name, variables, start.get("correlationId"), start.get("as", "admin"))
    for step in scenario["do"]:
        _do(driver, instance_id, step)
    _compare(driver.instance(instance_id), scenario["expect"])
    if "requests" in scenario:
        assert others.told == scenario["requests"]


def _do(driver: Driver, instance_id: str, step: JsonObject) -> None:
    match step:
        case {"waiting": nodes}:
            assert set(driver.waiting(instance_id)) == set(nodes)
        case {"decide": node_id, "as": who, "outcome": outcome}:
            more = {name: step[name] for name in ("comment", "variables") if name in step}
            assert driver.decide(node_id, who, outcome, step.get("title", ""), **more) == _expected(step)
        case {"act": action, "node": node_id, "as": who}:
            more = _rest(step, "act", "node", "as", "of", "title")
            answer = driver.act(action, node_id, who, step.get("of", who), step.get("title", ""), **more)
            assert answer == _expected(step)
        case {"operate": action}:
            body = _rest(step, "operate", "as", "of", "where")
            target = _one_of(driver, instance_id, step)
            assert driver.operate(action, target, step.get("as", "admin"), body) == _expected(step)
        case {"work": topic}:
            given = driver.work(topic, **_worked(step))
            assert _holds(given, step.get("gets", {}))
        case {"signal": signal}:
            resumed = driver.signal(signal, step.get("payload", {}), step.get("correlationId"))
            assert resumed == step.get("resumed", resumed)
        case {"status": status}:
            assert driver.instance(instance_id)["status"] == status
        case {"elapse": node_id}:
            found = [at for node, kind, at in driver.due(instance_id) if _is_it(step, node, kind)]
            (due,) = found
            # The wire has milliseconds, the clock microseconds.
            driver.advance(max((due - driver.now()).total_seconds(), 0) + 0.001)
        case _:
            _look(driver, instance_id, step)


def _look(driver: Driver, instance_id: str, step: JsonObject) -> None:
    match step:
        case {"clock": moment}:
            driver.advance((datetime.fromisoformat(moment) - driver.now()).total_seconds())
        case {"due": expected}:
            found = {node: _to_the_second(at) for node, _, at in driver.due(instance_id) if node in expected}
            assert found == {node: datetime.fromisoformat(at) for node, at in expected.items()}
        case {"taskDue": node_id, "as": who, "at": moment}:
            told = driver.task_due(node_id, who)
            assert told is not None
            assert _to_the_second(datetime.fromisoformat(told)) == datetime.fromisoformat(moment)
        case {"family": expected}:
            kin = driver.family(instance_id)
            names = {one["definitionName"] for one in kin}
            found = {name: sorted(one["status"] for one in kin if one["definitionName"] == name) for name in names}
            assert found == expected
        case {"started": name, "scheduledAt": times}:
            assert driver.scheduled(name) == times
        case {"publish": file}:
            driver.publish(read_flow(file.removesuffix(".json")))
        case _:
            raise AssertionError(f"no driver knows the step {step}")


def _expected(step: JsonObject) -> Refusal | None:
    """Return what an action is to be answered with; ``absent``: the task is not there for that person."""
    if step.get("absent"):
        return None
    refused = step.get("refused")
    return (refused["status"], refused["code"]) if refused else (200, None)


def _rest(step: JsonObject, *known: str) -> JsonObject:
    return {name: value for name, value in step.items() if name not in (*known, "refused", "absent")}


def _is_it(step: JsonObject, node_id: str, kind: str) -> bool:
    return node_id == step["elapse"] and step.get("kind", kind) == kind


def _one_of(driver: Driver, instance_id: str, step: JsonObject) -> str:
    """Return the instance itself, or its one descendant of a flow and a status."""
    if "of" not in step:
        return instance_id
    kin = [one for one in driver.family(instance_id) if one["definitionName"] == step["of"]]
    (found,) = [one["id"] for one in kin if one["status"] == step.get("where", one["status"])]
    return str(found)


def _to_the_second(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def _worked(step: JsonObject) -> JsonObject:
    """Return what the worker hands in: a result, or why it failed."""
    if "fail" not in step:
        return {name: step[name] for name in ("variables", "outcome") if name in step}
    return {"error": step["fail"], **({"retries": step["retries"]} if "retries" in step else {})}


def _holds(found: JsonValue, expected: JsonValue) -> bool:
    """Whether a value is the expected one; an object may have more members than are expected."""
    if expected == {"$any": True}:
        return True
    if isinstance(expected, dict) and "$contains" in expected:
        return expected["$contains"] in json.dumps(found, ensure_ascii=False, default=str)
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            name in found and _holds(found[name], one) for name, one in expected.items()
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(_holds(one, other) for one, other in zip(found, expected, strict=True))
        )
    return bool(found == expected)


def _compare(instance: JsonObject, expected: JsonObject) -> None:
    assert instance["status"] == expected["status"]
    assert instance["outcome"] == expected["outcome"]
    assert instance["path"] == expected["path"]
    for name in ("cancellationReason", "fault"):
        assert _holds(instance[name], expected.get(name, instance[name])), name
    for node_id, status in expected.get("nodes", {}).items():
        assert instance["nodes"][node_id] == status, node_id
    variables = instance["variables"]
    for name, value in expected["variables"].items():
        assert _holds(variables[name], value), name
        assert isinstance(variables[name], bool) == isinstance(value, bool), name
    for name in expected.get("absent", ()):
        assert name not in variables
