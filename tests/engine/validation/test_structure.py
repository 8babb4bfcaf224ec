"""Names, ids, arrows, reachability, joins, loops (spec 2.4, 2.5): what is said, and where it points."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec
import pytest

from tests.support.validation import CATALOG, LATER, LaterRegistry, flow, told, validate, with_node
from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.model import Node
from webapp.engine.descriptors import OutgoingMode
from webapp.engine.validation import KEYS
from webapp.messages.catalog import LANGUAGES, Language


def test_a_sound_definition_has_no_problem() -> None:
    definition = (
        DefinitionBuilder("leave-request", "Leave", timeout=86400, priority="high")
        .add_variable("days", "number", required=True)
        .add_variable("reason", "string", default="")
        .add_start()
        .add_node("set", "SetVariable", properties={"Expressions": {"long": "days > 5"}})
        .add_node(
            "task",
            "UserTask",
            properties={"AssigneeRules": [{"type": "Starter"}], "Title": "{{ days }} days, {{ reason }}"},
            timeout_seconds=3600,
            timeout_action="Outcome",
            retry_policy={"maxAttempts": 3, "firstDelaySeconds": 0, "backoffFactor": 1},
        )
        .add_node("says", "Decision")
        .add_end("yes", outcome="granted")
        .add_end("no", outcome="refused")
        .add_transition("start", "set")
        .add_transition("set", "task")
        .add_transition("task", "says")
        .add_transition("says", "yes", "outcome == 'approved' && !long")
        .add_transition("says", "no", is_default=True)
        .build()
    )
    assert validate(definition) == []


def test_1_and_2_name_and_title() -> None:
    for name in ("", "Bad Name", "-x", "a" * 129):
        definition = flow().build()
        assert told(validate(msgspec.structs.replace(definition, name=name))) == [("error", "name", "name")]
    blank = msgspec.structs.replace(flow().build(), display_name=" ")
    assert told(validate(blank)) == [("error", "display_name", "displayName")]


def test_3_no_nodes_stops_everything_else() -> None:
    definition = DefinitionBuilder("a", timeout=-5).add_transition("x", "y", "1 +").add_variable("").build()
    assert told(validate(definition)) == [("error", "no_nodes", "nodes")]


def test_4_5_and_18_node_ids() -> None:
    definition = flow("Log").build()
    extra = [Node(id=id_, activity_type="Log") for id_ in ("n1", "n1", " ", "a b", "-x", "x" * 129)]
    found = validate(msgspec.structs.replace(definition, nodes=[*definition.nodes, *extra]))
    ids = [problem for problem in told(found) if problem[1].startswith("node.")]
    assert ids == [
        ("error", "node.duplicate", "nodes[3].id"),
        ("error", "node.blank", "nodes[5].id"),
        ("error", "node.id", "nodes[6].id"),
        ("error", "node.id", "nodes[7].id"),
        ("error", "node.id", "nodes[8].id"),
    ]
    assert found[0].params == {"id": "n1", "count": 3}


def test_6_and_7_activity_types() -> None:
    found = validate(flow("Script", " ").build())
    assert told(found) == [
        ("error", "activity.unknown", "nodes[1].activityType"),
        ("error", "activity.blank", "nodes[2].activityType"),
    ]
    assert (found[0].params, found[0].node_id) == ({"type": "Script"}, "n1")


def test_8_exactly_one_start() -> None:
    none = DefinitionBuilder("a").add_end().build()
    assert told(validate(none)) == [("error", "start.count", "nodes")]
    two = flow().add_start("again").add_transition("again", "end").build()
    (problem,) = validate(two)
    assert (problem.key, problem.path, problem.params, problem.node_id) == (
        "workflow.definition.start.count",
        "nodes[2]",
        {"found": 2},
        "again",
    )


def test_9_and_10_ends_of_transitions() -> None:
    found = validate(flow().add_transition("ghost", "end", id="a").add_transition("start", "phantom", id="b").build())
    assert told(found) == [
        ("error", "transition.source", "transitions[1].sourceNodeId"),
        ("error", "transition.target", "transitions[2].targetNodeId"),
    ]
    assert [(problem.transition_id, problem.params["id"]) for problem in found] == [("a", "ghost"), ("b", "phantom")]


def test_11_a_condition_that_cannot_be_read() -> None:
    (problem,) = validate(flow().add_transition("start", "end", "amount >", id="broken").build())
    assert (problem.key, problem.path, problem.transition_id, problem.node_id) == (
        "workflow.expression.syntax.end",
        "transitions[1].condition",
        "broken",
        "start",
    )
    assert (problem.line, problem.column) == (1, 9)


def test_a_condition_that_is_never_one_is_a_warning() -> None:
    definition = flow().add_variable("amount", default=1).add_transition("start", "end", "amount + 1").build()
    assert told(validate(definition)) == [("warning", "expression.type.condition", "transitions[1].condition")]


def test_a_blank_condition_is_none() -> None:
    assert validate(flow().add_transition("start", "end", "  ").build()) == []


def test_12_no_arrow_leads_to_the_start() -> None:
    (problem,) = validate(flow("UserTask").add_transition("n1", "start", id="back").build())
    assert (problem.key, problem.path) == ("workflow.definition.start.incoming", "transitions[2].targetNodeId")
    assert (problem.node_id, problem.transition_id) == ("start", "back")


@pytest.mark.parametrize("type_", ["Decision", "UserTask"])
def test_13_and_19_one_default_at_most_on_any_node(type_: str) -> None:
    builder = flow(type_)
    for id_ in ("d1", "d2", "d3"):
        builder.add_transition("n1", "end", is_default=True, id=id_)
    (problem,) = validate(builder.build())
    assert (problem.key, problem.path) == ("workflow.definition.transition.default", "transitions[3].isDefault")
    assert (problem.params, problem.transition_id) == ({"name": "n1", "found": 3}, "d2")


def test_the_condition_of_a_default_arrow_is_ignored() -> None:
    definition = flow().add_transition("start", "end", "true", is_default=True).build()
    assert told(validate(definition)) == [("warning", "transition.default_condition", "transitions[1].condition")]


def test_17_every_node_is_reachable() -> None:
    builder = flow().add_node("orphan", "Log", "Lost").add_node("after", "Log").add_transition("orphan", "after")
    found = validate(builder.build())
    assert told(found) == [("error", "unreachable", "nodes[2]"), ("error", "unreachable", "nodes[3]")]
    assert (found[0].params, found[0].node_id) == ({"name": "Lost"}, "orphan")


def test_18_transition_ids() -> None:
    builder = flow()
    for id_ in ("t1", "t1", "", "a b", "s->e#1"):
        builder.add_transition("start", "end", id=id_)
    assert told(validate(builder.build())) == [
        ("error", "transition.duplicate", "transitions[1].id"),
        ("error", "transition.blank", "transitions[3].id"),
        ("error", "transition.id", "transitions[4].id"),
        ("error", "transition.id", "transitions[5].id"),
    ]


def test_22_retry_and_time_limits() -> None:
    policy = {"maxAttempts": 0, "firstDelaySeconds": Decimal("-0.5"), "backoffFactor": Decimal("0.9")}
    definition = with_node("Log", {}, retry_policy=policy, timeout_seconds=0)
    found = validate(msgspec.structs.replace(definition, timeout=Decimal(0)))
    assert told(found) == [
        ("error", "timeout", "timeout"),
        ("error", "retry.attempts", "nodes[1].retryPolicy.maxAttempts"),
        ("error", "retry.delay", "nodes[1].retryPolicy.firstDelaySeconds"),
        ("error", "retry.factor", "nodes[1].retryPolicy.backoffFactor"),
        ("error", "timeout", "nodes[1].timeoutSeconds"),
    ]


def test_24_timeout_actions_and_priority() -> None:
    found = validate(with_node("UserTask", {"Assignees": ["a"]}, timeout_action="Explode"))
    assert told(found) == [("error", "timeout_action", "nodes[1].timeoutAction")]
    for action in ("Outcome", "Fault", "Approve", "Reject"):
        assert told(validate(with_node("UserTask", {"Assignees": ["a"]}, timeout_action=action))) == []
    for action in ("Escalate", "Transfer"):
        for targets, paths in ((["b"], []), ([" "], ["nodes[1].timeoutTarget"]), (None, ["nodes[1].timeoutTarget"])):
            task = with_node("UserTask", {"Assignees": ["a"]}, timeout_action=action, timeout_target=targets)
            assert [(problem.key, problem.path) for problem in validate(task)] == [
                ("workflow.definition.timeout_target", path) for path in paths
            ]
    wait = {"DurationSeconds": 9}
    assert told(validate(with_node("Delay", wait, timeout_action="Fault"))) == []
    found = validate(with_node("Delay", wait, timeout_action="Transfer", timeout_target=["b"]))
    assert told(found) == [("error", "timeout_action.type", "nodes[1].timeoutAction")]
    found = validate(msgspec.structs.replace(flow().build(), priority="now"))
    assert told(found) == [("error", "priority", "priority")]


def test_listeners_are_of_a_kind_and_at_a_moment_that_there_are() -> None:
    fine = {"type": "notification", "on": "enter", "channel": "Look", "expression": "Now at {{ 1 + 1 }}"}
    assert told(validate(with_node("Log", {}, listeners=[fine, {**fine, "on": "leave", "channel": None}]))) == []
    wrong = {"type": "sms", "on": "later", "channel": 7}
    assert told(validate(with_node("Log", {}, listeners=[fine, wrong]))) == [
        ("error", "listener.type", "nodes[1].listeners[1].type"),
        ("error", "listener.occasion", "nodes[1].listeners[1].on"),
        ("error", "listener.text", "nodes[1].listeners[1].channel"),
        ("error", "listener.text", "nodes[1].listeners[1].expression"),
    ]


def test_the_body_of_a_listener_is_checked_as_a_template_and_sees_what_its_node_has_written() -> None:
    def listening(on: str, body: str) -> list[tuple[str, str, str]]:
        listener = {"type": "notification", "on": on, "expression": body}
        return told(validate(with_node("SetVariable", {"Values": {"total": 5}}, listeners=[listener])))

    assert listening("leave", "{{ total }}") == []
    (early,) = listening("enter", "{{ total }}")
    assert early[0] == "warning"
    (broken,) = validate(
        with_node("Log", {}, listeners=[{"type": "notification", "on": "enter", "expression": "{{ 1 + }}"}])
    )
    assert (broken.severity, broken.path) == ("error", "nodes[1].listeners[0].expression")


def test_26_variables() -> None:
    builder = flow()
    for name in ("a", " ", "a", "outcome", "__x", "my-var", "", "a"):
        builder.add_variable(name, default=1)
    builder.add_variable("typed", "money").add_variable("wrong", "number", default="5").add_variable("ok", "date")
    builder.add_variable("day", "date", default="2026-02-30").add_variable("list", "array", default=[1])
    found = validate(builder.build())
    assert told(found) == [
        ("error", "variable.blank", "variables[1].name"),
        ("error", "variable.duplicate", "variables[2].name"),
        ("warning", "variable.reserved", "variables[3].name"),
        ("warning", "variable.reserved", "variables[4].name"),
        ("warning", "variable.unreadable", "variables[5].name"),
        ("error", "variable.blank", "variables[6].name"),
        ("error", "variable.type", "variables[8].type"),
        ("error", "variable.default", "variables[9].defaultValue"),
        ("error", "variable.default", "variables[11].defaultValue"),
    ]
    assert found[1].params == {"name": "a", "count": 3}


def join(mode: str) -> DefinitionBuilder:
    return DefinitionBuilder("a").add_start().add_node("join", "Join", "Gather", properties={"Mode": mode}).add_end()


def test_27_a_wait_any_join_on_a_cycle() -> None:
    builder = join("WaitAny").add_node("task", "UserTask", properties={"Assignees": ["a"]})
    for source, target in (("start", "join"), ("join", "task"), ("task", "join"), ("task", "end")):
        builder.add_transition(source, target)
    (problem,) = validate(builder.build())
    assert (problem.severity, problem.key, problem.node_id) == ("error", "workflow.definition.join.cycle", "join")


def test_27_a_wait_all_join_fed_by_branches_of_which_one_runs() -> None:
    builder = join("WaitAll").add_node("decide", "Decision", "Which?").add_node("a", "Log").add_node("b", "Log")
    builder.add_transition("start", "decide").add_transition("decide", "a", "true").add_transition(
        "decide", "b", is_default=True
    )
    builder.add_transition("a", "join").add_transition("b", "join").add_transition("join", "end")
    (problem,) = validate(builder.build())
    assert (problem.severity, problem.key, problem.params) == (
        "warning",
        "workflow.definition.join.exclusive",
        {"name": "Gather", "decision": "Which?"},
    )


def test_27_an_arrow_straight_from_the_decision_counts_as_a_branch() -> None:
    builder = join("WaitAll").add_node("decide", "Decision").add_node("a", "Log")
    builder.add_transition("start", "decide").add_transition("decide", "a", "true")
    builder.add_transition("decide", "join", is_default=True).add_transition("a", "join").add_transition("join", "end")
    assert told(validate(builder.build())) == [("warning", "join.exclusive", "nodes[1]")]


def test_27_parallel_branches_with_a_decision_inside_are_fine() -> None:
    builder = join("WaitAll").add_node("fork", "Parallel").add_node("a", "Log").add_node("b", "Decision")
    builder.add_node("c", "Log").add_node("d", "Log").add_node("merge", "Log")
    edges = (
        ("start", "fork"),
        ("fork", "a"),
        ("fork", "b"),
        ("a", "join"),
        ("c", "merge"),
        ("d", "merge"),
        ("merge", "join"),
    )
    for source, target in (*edges, ("join", "end")):
        builder.add_transition(source, target)
    builder.add_transition("b", "c", "true").add_transition("b", "d", is_default=True)
    assert validate(builder.build()) == []


def test_27_a_join_without_a_start_is_not_judged() -> None:
    builder = DefinitionBuilder("a").add_node("d", "Decision").add_node("j", "Join")
    builder.add_transition("d", "j", "true").add_transition("d", "j", is_default=True)
    assert told(validate(builder.build())) == [("error", "start.count", "nodes")]


def test_compensating_nodes() -> None:
    def compensated(with_: str, *nodes: tuple[str, str, dict[str, Any]], edge: bool = False) -> list[str]:
        builder = flow().add_node("pay", "Log", compensate_with=with_).add_transition("start", "pay")
        for id_, type_, properties in nodes:
            builder.add_node(id_, type_, properties=properties)
        if edge:
            builder.add_transition("pay", "undo")
        found = validate(builder.build(), LaterRegistry())
        return [key for _, key, _ in told(found)]

    assert compensated("undo", ("undo", "SetVariable", {})) == []
    assert compensated("undo", ("undo", "SubWorkflow", {"WaitForCompletion": False})) == []
    assert compensated("undo", ("undo", "SubWorkflow", {})) == ["compensation.type"]
    assert compensated("undo", ("undo", "UserTask", {"Assignees": ["a"]})) == ["compensation.type"]
    assert compensated("undo", ("undo", "Log", {}), edge=True) == ["compensation.reached"]
    assert compensated("ghost") == ["compensation.missing"]
    reading = {"Expressions": {"gone": "compensated.receipt + neverWritten"}}
    assert compensated("undo", ("undo", "SetVariable", reading)) == []


def test_what_compensates_stands_alone_and_runs_once() -> None:
    builder = flow().add_node("pay", "Log", compensate_with="undo").add_transition("start", "pay")
    builder.add_node("undo", "Log", compensate_with="more", timeout_seconds=5).add_node("more", "Log")
    assert told(validate(builder.build())) == [
        ("error", "compensation.chain", "nodes[2].compensateWith"),
        ("warning", "compensation.settings", "nodes[2].compensateWith"),
    ]
    builder = flow().add_node("pay", "Log", compensate_with="undo").add_transition("start", "pay")
    builder.add_node("undo", "Log").add_node("after", "Log").add_transition("undo", "after")
    assert [key for _, key, _ in told(validate(builder.build()))] == ["unreachable", "compensation.chain"]


def test_compensate_names_nodes_that_can_be_undone() -> None:
    builder = flow().add_node("pay", "Log", compensate_with="back").add_node("back", "Log").add_node("say", "Log")
    builder.add_node("undo", "Compensate", properties={"NodeIds": ["pay", "say", "ghost"]})
    for target in ("pay", "say", "undo"):
        builder.add_transition("start", target)
    assert told(validate(builder.build())) == [
        ("warning", "compensation.nothing", "nodes[5].properties.NodeIds[1]"),
        ("error", "compensation.missing", "nodes[5].properties.NodeIds[2]"),
    ]


def test_a_decision_without_a_default_is_a_warning() -> None:
    builder = (
        DefinitionBuilder("a").add_start().add_node("d", "Decision", "Big?").add_end().add_variable("n", default=1)
    )
    builder.add_transition("start", "d").add_transition("d", "end", "n > 1")
    (problem,) = validate(builder.build())
    assert (problem.severity, problem.key, problem.path) == (
        "warning",
        "workflow.definition.decision.no_default",
        "nodes[1]",
    )
    assert (problem.params, problem.node_id) == ({"name": "Big?"}, "d")
    assert validate(builder.add_transition("d", "end").build()) == []


def test_a_loop_without_a_step_that_waits_is_a_warning() -> None:
    looping = flow("Log", "Log").add_transition("n2", "n1", "false").build()
    (problem,) = validate(looping)
    assert (problem.severity, problem.key, problem.path) == ("warning", "workflow.definition.loop", "nodes[1]")
    assert problem.params == {"names": ["n1", "n2"]}
    assert validate(flow("Log", "UserTask").add_transition("n2", "n1", "false").build()) == []
    assert validate(flow("Log", "Delay").add_transition("n2", "n1", "false").build()) == []


def test_five_different_mistakes_are_told_at_once() -> None:
    builder = flow("Script").add_node("orphan", "Log", properties={"Message": "{{ 1 + }}"})
    builder.add_transition("n1", "ghost").add_transition("n1", "start", "amount >")
    keys = {problem.key for problem in validate(builder.build()) if problem.severity == "error"}
    assert keys == {
        "workflow.definition.activity.unknown",
        "workflow.definition.transition.target",
        "workflow.definition.start.incoming",
        "workflow.definition.unreachable",
        "workflow.expression.syntax.end",
    }


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_problem_has_a_text(language: Language) -> None:
    for key in KEYS:
        assert CATALOG.has(key)
    assert CATALOG.problems() == []


def test_modes_of_the_later_activities_are_what_the_tests_assume() -> None:
    assert all(descriptor.outgoing_mode is OutgoingMode.MATCHED for descriptor in LATER.values())


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({}, []),
        ({"compensate_on_cancel": True}, ["compensation.external"]),
        ({"compensate_on_fault": True}, ["compensation.external"]),
    ],
)
def test_a_program_outside_undoes_nothing_of_an_instance_that_has_ended(
    settings: dict[str, bool], found: list[str]
) -> None:
    builder = flow().add_node("pay", "Log", compensate_with="refund").add_transition("start", "pay")
    builder.add_node("refund", "ExternalTask", properties={"Topic": "refunds"})
    definition = msgspec.structs.replace(builder.build(), **settings)
    assert [key for _, key, _ in told(validate(definition, LaterRegistry()))] == found
