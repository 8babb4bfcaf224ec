"""The builder makes what the REST body makes (spec 25, catalog)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.codec import read_definition
from webapp.engine.errors import InputInvalid
from webapp.engine.json_input import read_json


def test_the_greeting_of_the_readme() -> None:
    built = (
        DefinitionBuilder.create("demo.greeting")
        .add_variable("name", required=True)
        .add_start()
        .add_node("greet", "SetVariable", properties={"Expressions": {"greeting": "'hello ' + upper(name)"}})
        .add_end()
        .add_transition("start", "greet")
        .add_transition("greet", "end")
        .build()
    )
    posted = read_definition(
        read_json(
            """{"name": "demo.greeting", "variables": [{"name": "name", "required": true}],
            "nodes": [{"id": "start", "activityType": "Start"},
             {"id": "greet", "activityType": "SetVariable",
              "properties": {"Expressions": {"greeting": "'hello ' + upper(name)"}}},
             {"id": "end", "activityType": "End"}],
            "transitions": [{"id": "t1", "sourceNodeId": "start", "targetNodeId": "greet"},
             {"id": "t2", "sourceNodeId": "greet", "targetNodeId": "end"}]}"""
        )
    )
    assert built == posted


def test_every_member_can_be_set() -> None:
    built = (
        DefinitionBuilder.create("a", "A", category="hr", timeout_action="Cancel", extra_properties={"k": "v"})
        .add_start("s", "Begin", properties={"DelaySeconds": 5}, x=1, y=2)
        .add_end("e", "Done", outcome="granted", note="n")
        .add_node("n", "Log", "Note", timeout_seconds=60, retry_policy={"maxAttempts": 2})
        .add_transition("s", "n", "a > 1", priority=3, is_default=True, name="go", id="first", waypoints=[[1, 2]])
        .add_variable("a", "number", default=Decimal("1.50"), title="Amount", description="d")
        .build()
    )
    assert (built.display_name, built.category, built.timeout_action.value) == ("A", "hr", "Cancel")
    assert (built.nodes[0].name, built.nodes[0].x, built.nodes[0].properties) == ("Begin", 1, {"DelaySeconds": 5})
    assert built.nodes[1].properties == {"Outcome": "granted"}
    assert built.nodes[2].timeout_seconds == 60
    transition = built.transitions[0]
    assert (transition.id, transition.condition, transition.priority) == ("first", "a > 1", 3)
    assert transition.waypoints == [[1, 2]]
    assert str(built.variables[0].default_value) == "1.50"


def test_generated_transition_ids_avoid_those_given() -> None:
    built = (
        DefinitionBuilder("a")
        .add_node("n", "Log")
        .add_transition("n", "n", id="t2")
        .add_transition("n", "n")
        .add_transition("n", "n")
        .build()
    )
    assert [transition.id for transition in built.transitions] == ["t2", "t3", "t4"]


def test_the_builder_keeps_no_reference_to_what_it_was_given() -> None:
    properties = {"Values": {"a": [1]}}
    built = DefinitionBuilder("a").add_node("n", "SetVariable", properties=properties).build()
    properties["Values"]["a"].append(2)
    assert built.nodes[0].properties == {"Values": {"a": [1]}}


def test_a_float_and_an_unknown_setting_are_refused_with_their_path() -> None:
    with pytest.raises(InputInvalid) as caught:
        DefinitionBuilder("a").add_node("n", "Log", properties={"Message": 1.5}).build()
    assert caught.value.problems[0].path == "nodes[0].properties.Message"
    with pytest.raises(InputInvalid) as caught:
        DefinitionBuilder("a").add_node("n", "Log", time_out=5).build()
    assert caught.value.problems[0].path == "nodes[0].timeOut"
