"""Definitions to be judged, the activities that judge them, and a short form of what was found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.assignees import BUILTIN_PROVIDERS
from webapp.engine.builtin import BUILTIN
from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.descriptors import (
    ActivityDescriptor,
    Category,
    Editor,
    Kind,
    PropertyDescriptor,
)
from webapp.engine.errors import Problem
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.validation import Descriptors, validate_definition
from webapp.messages.catalog import LANGUAGES, Catalog


class FixedClock:
    def now(self) -> datetime:
        return datetime(2026, 7, 16, 8, tzinfo=UTC)


EVALUATOR = ExpressionEvaluator(FixedClock())
PROVIDERS = {provider.rule_type: provider for provider in BUILTIN_PROVIDERS}
CATALOG = Catalog.load(strict=True)
REGISTRY = ActivityRegistry(BUILTIN)


def _property(name: str, editor: Editor, **more: Any) -> PropertyDescriptor:
    return PropertyDescriptor(name=name, editor=editor, **more)


def _activity(type_: str, *properties: PropertyDescriptor, **more: Any) -> ActivityDescriptor:
    return ActivityDescriptor(type=type_, category=Category.CUSTOM, icon="puzzle", properties=properties, **more)


LATER = {
    descriptor.type: descriptor
    for descriptor in (
        _activity(
            "Http", _property("Url", Editor.TEMPLATE, kind=Kind.TEMPLATE), _property("ResultVariable", Editor.TEXT)
        ),
        _activity("SubWorkflow", _property("WaitForCompletion", Editor.SWITCH, type="boolean"), waits=True),
        _activity("WaitSignal", waits=True),
        _activity("Own", custom=True),
        _activity(
            "Everything",
            _property("Any", Editor.JSON, type="any"),
            _property("Count", Editor.NUMBER, type="number", minimum=2),
            _property("Exact", Editor.CHOICE, options=("A", "b"), ignore_case=False),
            _property("Flag", Editor.SWITCH, type="boolean"),
            _property("When", Editor.CONDITION, kind=Kind.EXPRESSION),
            _property("Texts", Editor.KEY_VALUE, kind=Kind.TEMPLATE),
            _property("CompletionThreshold", Editor.NUMBER, type="number"),
        ),
    )
}


class LaterRegistry:
    """The built-in activities, and some that are not there yet."""

    def descriptor(self, type_name: str) -> ActivityDescriptor | None:
        return LATER.get(type_name) or REGISTRY.descriptor(type_name)


def validate(definition: WorkflowDefinition, registry: Descriptors = REGISTRY) -> list[Problem]:
    problems = validate_definition(definition, registry=registry, evaluator=EVALUATOR, providers=PROVIDERS)
    for problem in problems:
        for language in LANGUAGES:
            assert CATALOG.text(problem.key, problem.params, language)
    return problems


def told(problems: list[Problem]) -> list[tuple[str, str, str]]:
    short = [problem.key.removeprefix("workflow.").removeprefix("definition.") for problem in problems]
    return [(problem.severity, key, problem.path) for problem, key in zip(problems, short, strict=True)]


def flow(*types: str) -> DefinitionBuilder:
    """Return Start → n1 → n2 … → End, the nodes of these types."""
    builder = DefinitionBuilder("flow").add_start()
    before = "start"
    for number, type_ in enumerate(types, 1):
        builder.add_node(f"n{number}", type_, properties=DEFAULTS.get(type_, {}))
        builder.add_transition(before, f"n{number}")
        before = f"n{number}"
    return builder.add_end().add_transition(before, "end")


DEFAULTS: dict[str, dict[str, Any]] = {"UserTask": {"Assignees": ["anna"]}, "Delay": {"DurationSeconds": 5}}


def with_node(activity_type: str, properties: dict[str, Any], **settings: Any) -> WorkflowDefinition:
    """Return Start → node → End with a node of that type and these properties."""
    return (
        DefinitionBuilder("flow")
        .add_start()
        .add_node("node", activity_type, properties=properties, **settings)
        .add_end()
        .add_transition("start", "node")
        .add_transition("node", "end")
        .build()
    )
