"""Scenarios of real flows: read from the files beside, and told step by step to whatever drives the product."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonObject

DATA = Path(__file__).parent / "data"
FLOWS = ("leave-request", "expense-report")
PEOPLE = ("oskar", "petra", "tomas", "kofi", "lena", "ines", "mina")


class Driver(Protocol):
    """One way to the product: in process or over REST."""

    def publish(self, document: JsonObject) -> str:
        """Import the document and publish it; return its name."""

    def start(self, name: str, variables: JsonObject) -> str:
        """Start the flow as ``admin``; return the instance's id."""

    def waiting(self, instance_id: str) -> list[str]:
        """Return the nodes that wait for somebody."""

    def decide(self, instance_id: str, node_id: str, who: str, outcome: str, **more: Any) -> tuple[int, str | None]:
        """Decide the node's task as *who*; return the status and the code of a refusal."""

    def elapse(self, instance_id: str, node_id: str) -> None:
        """Let the time of a node be over."""

    def instance(self, instance_id: str) -> JsonObject:
        """Return status, outcome, variables and the path of node ids."""


def read_flow(name: str) -> JsonObject:
    """Return the definition document of a flow."""
    document: JsonObject = read_json((DATA / f"{name}.json").read_bytes())
    return document


def read_scenarios(name: str) -> list[JsonObject]:
    """Return the scenarios of a flow."""
    found = json.loads((DATA / f"{name}.scenarios.json").read_text(encoding="utf-8"), parse_float=Decimal)
    scenarios: list[JsonObject] = found["scenarios"]
    return scenarios


ALL = [(name, scenario["name"]) for name in FLOWS for scenario in read_scenarios(name)]


def play(driver: Driver, flow: str, scenario_name: str) -> None:
    """Publish the flow, do what the scenario says, and compare the end with what it expects."""
    (scenario,) = [one for one in read_scenarios(flow) if one["name"] == scenario_name]
    name = driver.publish(read_flow(flow))
    instance_id = driver.start(name, scenario["start"]["variables"])
    for step in scenario["do"]:
        _do(driver, instance_id, step)
    _compare(driver.instance(instance_id), scenario["expect"])


def _do(driver: Driver, instance_id: str, step: JsonObject) -> None:
    match step:
        case {"waiting": nodes}:
            assert sorted(driver.waiting(instance_id)) == sorted(nodes)
        case {"decide": node_id, "as": who, "outcome": outcome}:
            more = {name: step[name] for name in ("comment", "variables") if name in step}
            answer = driver.decide(instance_id, node_id, who, outcome, **more)
            refused = step.get("refused")
            assert answer == ((refused["status"], refused["code"]) if refused else (200, None))
        case {"elapse": node_id}:
            driver.elapse(instance_id, node_id)
        case _:
            raise AssertionError(f"no driver knows the step {step}")


def _compare(instance: JsonObject, expected: JsonObject) -> None:
    assert instance["status"] == expected["status"]
    assert instance["outcome"] == expected["outcome"]
    assert instance["path"] == expected["path"]
    variables = instance["variables"]
    for name, value in expected["variables"].items():
        assert variables[name] == value, name
        assert isinstance(variables[name], bool) == isinstance(value, bool), name
    for name in expected.get("absent", ()):
        assert name not in variables
