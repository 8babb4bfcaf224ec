"""Every built-in activity, property and option has its texts in both languages; so has every key the engine makes."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from webapp.engine.activities.api import Activity
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.builtin import BUILTIN
from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor
from webapp.engine.instances.bookmarks import Priority
from webapp.engine.instances.model import APPROVED, ERROR, REJECTED, TIMEOUT, InstanceStatus, NodeStatus
from webapp.messages.catalog import LANGUAGES, Catalog, Language

ENGINE = Path(__file__).parents[3] / "webapp" / "engine"
OWN = ("runtime", "builtin", "assignees", "tasks", "activities", "instances", "ports")
CATALOG = Catalog.load(strict=True)
DESCRIPTORS = ActivityRegistry(BUILTIN).descriptors()
EVENTS = re.compile(r"workflow\.(instance|node|task)\.[a-z_]+|workflow\.(custom|timer\.failed)")


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=lambda descriptor: descriptor.type)
def test_an_activity_and_its_properties_have_title_and_help(descriptor: ActivityDescriptor, lang: Language) -> None:
    keys = [f"{descriptor.key}.title", f"{descriptor.key}.description"]
    for prop in descriptor.properties:
        keys += [f"{descriptor.key}.{prop.name}.title", f"{descriptor.key}.{prop.name}.help"]
        keys += [f"{descriptor.key}.{prop.name}.{option}" for option in prop.options]
    for key in keys:
        assert CATALOG.text(key, {}, lang).strip()


def test_no_text_is_there_for_what_does_not_exist() -> None:
    expected = set()
    for descriptor in DESCRIPTORS:
        expected |= {f"{descriptor.key}.title", f"{descriptor.key}.description"}
        for prop in descriptor.properties:
            stem = f"{descriptor.key}.{prop.name}"
            expected |= {f"{stem}.title", f"{stem}.help", *(f"{stem}.{option}" for option in prop.options)}
    present = {key for key in CATALOG.area("workflow.activity") if re.match(r"workflow\.activity\.[A-Z]", key)}
    assert present == expected


@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=lambda descriptor: descriptor.type)
def test_a_choice_has_options_and_a_default_among_them(descriptor: ActivityDescriptor) -> None:
    for prop in descriptor.properties:
        assert bool(prop.options) is (prop.editor is Editor.CHOICE)
        if prop.editor is Editor.CHOICE:
            assert prop.default is None or prop.default in prop.options


@pytest.mark.parametrize("descriptor", DESCRIPTORS, ids=lambda descriptor: descriptor.type)
def test_an_outcome_has_a_label(descriptor: ActivityDescriptor) -> None:
    for label in descriptor.outcomes:
        assert CATALOG.has(f"workflow.outcome.{label}")


def test_an_icon_is_in_the_sprite() -> None:
    icons = json.loads((ENGINE.parents[1] / "static" / "icons.json").read_text(encoding="utf-8"))
    assert {descriptor.icon for descriptor in DESCRIPTORS} <= set(icons)


def test_the_activities_of_the_first_issue_are_there_in_the_order_of_the_palette() -> None:
    assert [descriptor.type for descriptor in DESCRIPTORS] == [
        "Start",
        "End",
        "Terminate",
        "UserTask",
        "Decision",
        "Parallel",
        "Join",
        "Delay",
        "Http",
        "ExternalTask",
        "PublishEvent",
        "WaitSignal",
        "EventGateway",
        "SubWorkflow",
        "ForEach",
        "SetVariable",
        "Log",
        "Fault",
        "Compensate",
    ]
    assert all(isinstance(activity, Activity) for activity in BUILTIN)
    assert {descriptor.type for descriptor in DESCRIPTORS if descriptor.waits} == {
        "Start",
        "UserTask",
        "Delay",
        "SubWorkflow",
        "ForEach",
        "ExternalTask",
        "WaitSignal",
        "EventGateway",
    }
    assert not any(descriptor.custom or descriptor.category is Category.CUSTOM for descriptor in DESCRIPTORS)


@pytest.mark.parametrize(
    ("stem", "names"),
    [
        ("workflow.status", [status.value for status in InstanceStatus]),
        ("workflow.node_status", [status.value for status in NodeStatus]),
        ("workflow.definition_status", [status.value for status in DefinitionStatus]),
        ("inbox.group", [f"priority_{priority.value}" for priority in Priority]),
        ("workflow.outcome", [APPROVED, REJECTED, TIMEOUT, ERROR]),
    ],
)
def test_every_member_of_an_enumeration_has_a_name(stem: str, names: list[str]) -> None:
    for name in names:
        assert CATALOG.has(f"{stem}.{name}")


def _keys(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    texts = {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    return {text for text in texts if re.fullmatch(r"workflow(\.[a-z_]+)+", text)}


def test_every_key_that_the_engine_makes_has_a_text() -> None:
    modules = [path for name in OWN for path in sorted((ENGINE / name).glob("*.py"))]
    topics = _keys(ENGINE / "instances" / "topics.py")
    assert all(EVENTS.fullmatch(topic) for topic in topics)
    keys = set().union(*(_keys(path) for path in modules)) - topics
    assert len(keys) > 50
    assert [key for key in sorted(keys) if not CATALOG.has(key)] == []
