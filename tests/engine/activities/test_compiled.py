"""A definition compiled once (spec 3.6, 4)."""

from __future__ import annotations

import pytest

from tests.engine.harness import World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.activities.compiled import join_mode
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import DefinitionInvalid
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.numbers import JsonObject


@pytest.mark.parametrize(
    ("value", "mode"),
    [
        (None, "WaitAll"),
        ("WaitAll", "WaitAll"),
        ("ALL", "WaitAll"),
        ("waitany", "WaitAny"),
        ("Any", "WaitAny"),
        ("", None),
        ("WaitFirst", None),
        (1, None),
    ],
)
def test_join_modes(value: object, mode: str | None) -> None:
    assert join_mode(value) == mode


def test_edges_are_sorted_by_priority_and_stay_in_order_for_ties() -> None:
    edges = [edge("start", "end", id=name, priority=rank) for name, rank in (("a", 1), ("b", 0), ("c", 1), ("d", -1))]
    compiled = World().compile(flow("sorted", [START, END], edges))
    assert [one.id for one in compiled.start.edges] == ["d", "b", "a", "c"]
    assert compiled.nodes["end"].incoming == 4


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ([END], []),
        ([START, END], [edge("start", "nowhere")]),
        ([START, END], [edge("nowhere", "end")]),
    ],
)
def test_what_cannot_run_at_all_is_refused(nodes: list[JsonObject], edges: list[JsonObject]) -> None:
    with pytest.raises(DefinitionInvalid) as refusal:
        World().compile(flow("broken", nodes, edges))
    assert (refusal.value.key, refusal.value.params) == ("workflow.definition.not_runnable", {"name": "broken"})


class Reading:
    """An activity that reads properties of every kind, also such as its descriptor does not list."""

    descriptor = ActivityDescriptor(
        type="Reading",
        category=Category.CUSTOM,
        icon="puzzle",
        custom=True,
        properties=(
            PropertyDescriptor(name="Headers", editor=Editor.KEY_VALUE, kind=Kind.TEMPLATE, type="object"),
            PropertyDescriptor(name="Plain", editor=Editor.TEXT),
            PropertyDescriptor(name="Either", editor=Editor.NUMBER, kind=Kind.LITERAL_OR_EXPRESSION, type="number"),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Write all that the context tells to the variables."""
        context.publish("read", {"n": 1})
        bookmarks: list[Bookmark] = list(context.bookmarks)
        return Complete(
            outputs={
                "headers": context.evaluate_each("Headers"),
                "plain": [context.text("Plain"), context.evaluate("Plain"), context.literal("Plain")],
                "either": context.evaluate("Either"),
                "own": [context.text("Own"), context.literal("Own"), context.literal("Missing", "default")],
                "context": [context.instance_title, context.correlation_id, context.starter_id, context.try_count],
                "node": [context.node_id, context.node_name, len(bookmarks), context.variables["x"]],
                "ids": [context.instance_id, context.node_instance_id],
                "text": context.evaluate_text("x + 1"),
            }
        )


def test_a_context_reads_properties_by_their_kinds() -> None:
    properties = {
        "Headers": {"a": "{{x}}", "b": 5, "c": "plain"},
        "Plain": "{{x}} + 1",
        "Either": "x * 2",
        "own": "as it is",
    }
    run = World(activities=[Reading()]).start(
        flow("read", [START, node("read", "Reading", properties, name="Read all"), END]),
        {"x": 5},
        title="T",
        correlation_id="C",
    )
    assert run.instance.variables == {
        "x": 5,
        "headers": {"a": "5", "b": 5, "c": "plain"},
        "plain": ["{{x}} + 1"] * 3,
        "either": 10,
        "own": ["as it is", "as it is", "default"],
        "context": ["T", "C", "starter", 1],
        "node": ["read", "Read all", 0, 5],
        "ids": [run.instance.id, run.node("read").id],
        "text": 6,
    }
    custom = next(event for event in run.events if event.topic == "workflow.custom")
    assert custom.data == {
        "eventName": "read",
        "instanceId": run.instance.id,
        "correlationId": "C",
        "payload": {"n": 1},
    }


def test_a_value_of_the_definition_is_copied_for_each_run() -> None:
    document = flow("own", [START, node("read", "Reading", {"Headers": {"a": [1]}}), END])
    run = World(activities=[Reading()]).start(document, {"x": 1})
    run.last.instance.variables["headers"]["a"].append(2)
    assert document["nodes"][1]["properties"]["Headers"] == {"a": [1]}


class Effectful(Reading):
    """An activity that reaches outside."""

    effects = True
    descriptor = ActivityDescriptor(type="Effectful", category=Category.CUSTOM, icon="puzzle", custom=True)


def test_a_wave_tells_whether_it_reached_outside() -> None:
    world = World(activities=[Effectful(), Reading()])
    assert world.start(flow("out", [START, node("out", "Effectful"), END]), {"x": 1}).last.outside_effects
    assert not world.start(flow("in", [START, node("in", "Reading"), END]), {"x": 1}).last.outside_effects
