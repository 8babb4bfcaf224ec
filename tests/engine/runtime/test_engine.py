"""The facade: what is not shown by the waves themselves."""

from __future__ import annotations

import msgspec
import pytest

from tests.engine.harness import Scripted, World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.assignees import BUILTIN_PROVIDERS
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Unexpected
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.engine import EngineOptions


def definition(document: JsonObject) -> WorkflowDefinition:
    return msgspec.convert(document, WorkflowDefinition)


def test_a_good_definition_has_no_problems() -> None:
    task = node("ask", "UserTask", {"AssigneeRules": [{"type": "Starter"}]})
    assert World().engine.validate(definition(flow("good", [START, task, END]))) == []


def test_validation_knows_the_registered_activities_and_assignee_rules() -> None:
    task = node("ask", "UserTask", {"AssigneeRules": [{"type": "Role", "values": ["boss"]}]})
    document = flow("bad", [START, task, node("script", "Script"), END])
    problems = World().engine.validate(definition(document))
    assert {problem.key for problem in problems if problem.severity == "error"} == {
        "workflow.assignee.unknown_type",
        "workflow.definition.activity.unknown",
    }


def test_options_have_the_documented_defaults() -> None:
    options = EngineOptions()
    assert (options.max_node_executions_per_burst, options.max_sub_workflow_depth) == (1_000, 16)
    assert options.not_resumable_backoff_seconds == 300


def test_the_rule_types_are_there_for_whoever_asks() -> None:
    assert list(World().engine.assignee_providers) == [provider.rule_type for provider in BUILTIN_PROVIDERS]


def test_one_compiled_definition_serves_many_instances() -> None:
    world = World()
    document = flow("many", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END])
    first, second = world.start(document), world.start(document)
    assert first.instance.id != second.instance.id
    first.approve("u1")
    assert second.holders() == ["u1"]


def test_a_definition_is_not_changed_by_its_instances() -> None:
    nodes = [START, node("set", "SetVariable", {"Values": {"a": [1]}}), node("join", "Join"), END]
    edges = [edge("start", "set"), edge("set", "join"), edge("join", "end")]
    world = World()
    compiled = world.compile(flow("same", nodes, edges))
    before = msgspec.json.encode(compiled.definition)
    world.start(flow("same", nodes, edges))
    assert msgspec.json.encode(compiled.definition) == before


def test_a_calendar_of_the_deadline_that_is_gone_refuses_the_start_before_anything_runs() -> None:
    scripted = Scripted()
    world = World(activities=[scripted])
    document = flow("f", [START, node("x", "Scripted"), END], timeout=60, workCalendar="gone")
    with pytest.raises(Unexpected) as refused:
        world.start(document)
    assert refused.value.key == "workflow.calendar.unknown"
    assert scripted.seen == []
