"""Version 4's definition documents: what is known is converted, the rest is refused with its place (spec 0, 1.17)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import World
from webapp.engine.definitions import upgrades
from webapp.engine.definitions.codec import export_definition, import_definition, write_definition
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import InputInvalid
from webapp.engine.json_input import read_json
from webapp.messages.catalog import LANGUAGES, Catalog, Language

PURCHASE = Path(__file__).parent / "data" / "version_4_purchase.json"


def purchase() -> dict[str, Any]:
    """Return the document of a purchase as version 4 stored it."""
    document = read_json(PURCHASE.read_bytes())
    assert isinstance(document, dict)
    return document


def v4(*nodes: dict[str, Any], transitions: list[dict[str, Any]] | None = None, **members: Any) -> dict[str, Any]:
    """Return a document of version 4."""
    return {"code": "old", "name": "Old", "nodes": list(nodes), "transitions": transitions or [], **members}


def node_of(definition: WorkflowDefinition, node_id: str) -> Any:
    return next(node for node in definition.nodes if node.id == node_id)


def problems_of(document: Any) -> list[tuple[str, str]]:
    with pytest.raises(InputInvalid) as caught:
        import_definition(document)
    return [(problem.path, problem.key) for problem in caught.value.problems]


def test_a_whole_document_is_read() -> None:
    definition = import_definition(purchase())
    assert (definition.name, definition.display_name, definition.category) == (
        "purchase-request",
        "采购申请",
        "finance",
    )
    assert (definition.id, definition.version, definition.tenant_id, definition.published_at) == ("", 1, None, None)
    assert (definition.compensate_on_cancel, definition.compensate_on_fault) == (True, False)
    assert [(one.name, one.type, one.required, one.default_value) for one in definition.variables] == [
        ("amount", "number", True, None), ("item", "string", True, None), ("urgent", "boolean", False, False),
    ]  # fmt: skip
    approve, book = node_of(definition, "approve"), node_of(definition, "book")
    assert approve.properties == {
        "Assignees": ["boss"],
        "CompletionPolicy": "all",
        "Title": "{{item}} 采购审批，金额 {{amount}} 元",
        "AllowedOutcomes": ["approved", "rejected"],
        "CcUserIds": ["office"],
    }
    assert (approve.name, approve.timeout_seconds, book.continue_on_error) == ("Approval", 86400, True)
    assert (book.retry_policy.max_attempts, book.retry_policy.first_delay_seconds) == (3, 10)
    assert node_of(definition, "check").timeout_seconds is None
    assert node_of(definition, "order").properties["DefinitionName"] == "place-order"
    assert node_of(definition, "order").name == "order"
    assert definition.extra_properties == {"layout": '{"start":{"x":10,"y":20}}'}


def test_its_transitions_have_usable_ids_and_default_ones_no_priority() -> None:
    transitions = import_definition(purchase()).transitions
    assert [one.id for one in transitions] == ["t1", "t2", "t3", "t4", "t5", "t6", "t7"]
    assert [one.target_node_id for one in transitions if one.is_default] == ["order", "refused"]
    assert {one.priority for one in transitions} == {0}


def test_it_is_valid_and_runs_as_version_4_ran_it() -> None:
    world = World()
    definition = import_definition(purchase())
    assert world.engine.validate(definition) == []
    document = write_definition(definition)
    small = world.start(document, {"amount": 20, "item": "pencils"})
    assert small.path == ["start", "check", "order"]
    large = world.start(document, {"amount": 5000, "item": "桌子"})
    assert large.task("boss").title == "桌子 采购审批，金额 5000 元"
    large.approve("boss")
    assert large.path == ["start", "check", "approve", "order"]
    other = world.start(document, {"amount": 5000, "item": "chair"})
    other.approve("boss", "rejected")
    assert (other.instance.status.value, other.instance.cancellation_reason) == ("Terminated", "refused by rejected")


def test_reading_what_was_exported_changes_nothing_any_more() -> None:
    definition = import_definition(purchase())
    assert import_definition(export_definition(definition)) == definition


def test_names_in_pascal_case_are_read_too() -> None:
    waits = {"signalName": "go", "ACCEPTANYCORRELATION": True}
    document = {
        "Code": "old",
        "Name": "Old",
        "EnableCompensation": True,
        "Nodes": [{"Id": "w", "ActivityType": "WaitSignal", "Properties": waits}],
        "Transitions": [{"Id": "t", "SourceNodeId": "w", "TargetNodeId": "w", "IsDefault": True}],
    }  # fmt: skip
    definition = import_definition(document)
    assert (definition.name, definition.display_name, definition.compensate_on_cancel) == ("old", "Old", True)
    assert definition.nodes[0].properties == {"SignalName": "go", "AcceptAnyCorrelation": True}
    assert (definition.transitions[0].id, definition.transitions[0].is_default) == ("t", True)


def test_a_script_is_refused() -> None:
    script = {"id": "calc", "activityType": "Script", "properties": {"Code": "return 1;"}}
    assert problems_of(v4({"id": "s", "activityType": "Start"}, script)) == [("nodes[1].activityType", upgrades.SCRIPT)]


@pytest.mark.parametrize("code", ["LeaveRequest", "请假", "-a", "a b", "x" * 129])
def test_a_code_that_is_no_name_is_refused(code: str) -> None:
    assert problems_of(v4(code=code)) == [("code", upgrades.CODE)]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("lastError == 'gone'", True),
        ("contains(lastError, 'gone')", True),
        ("len( lastError ) > 0 && lastError.code == 'X'", True),
        ("lastError.args.text == 'gone'", False),
        ("lastError['code'] == 'X'", False),
        ("lastError != null", False),
        ("reason == 'lastError'", False),
        ("order.lastError == 'x' || myLastError == lastErrors", False),
    ],
)
def test_an_expression_that_takes_the_last_error_for_a_text_is_refused(text: str, refused: bool) -> None:
    edge = {"id": "t", "sourceNodeId": "s", "targetNodeId": "s", "condition": text}
    document = v4(
        {"id": "s", "activityType": "SetVariable", "properties": {"Expressions": {"e": text}}}, transitions=[edge]
    )
    places = [
        ("nodes[0].properties.Expressions.e", upgrades.LAST_ERROR),
        ("transitions[0].condition", upgrades.LAST_ERROR),
    ]
    if refused:
        assert problems_of(document) == places
    else:
        assert import_definition(document).transitions[0].condition == text


def test_a_template_too_but_no_text_beside_it_and_no_literal() -> None:
    log = {"id": "l", "activityType": "Log", "properties": {"Message": "lastError was {{ lastError }}"}}
    http = {"id": "h", "activityType": "Http", "properties": {"Headers": {"X-Why": "{{lastError}}"}}}
    told = {"id": "p", "activityType": "Log", "properties": {"Message": "lastError: {{ lastError.args.text }}"}}
    literal = {"id": "v", "activityType": "SetVariable", "properties": {"Values": {"a": "{{lastError}}"}}}
    assert problems_of(v4(log, http, told, literal)) == [
        ("nodes[0].properties.Message", upgrades.LAST_ERROR),
        ('nodes[1].properties.Headers["X-Why"]', upgrades.LAST_ERROR),
    ]


def test_one_property_in_two_spellings_is_refused() -> None:
    both = {"id": "s", "activityType": "SubWorkflow", "properties": {"DefinitionCode": "a", "DefinitionName": "b"}}
    told = {"id": "l", "activityType": "Log", "properties": {"Message": "a", "message": "b"}}
    expected = [("nodes[0].properties.DefinitionName", "workflow.definition.member.twice"),
                ("nodes[1].properties.message", "workflow.definition.member.twice")]  # fmt: skip
    assert problems_of(v4(both, told)) == expected


def test_transitions_of_one_id_become_two() -> None:
    twice = {"id": "t1", "sourceNodeId": "a", "targetNodeId": "b"}
    definition = import_definition(v4(transitions=[twice, dict(twice), {**twice, "id": ""}, {**twice, "id": "t3"}]))
    assert [one.id for one in definition.transitions] == ["t1", "t2", "t4", "t3"]


def test_priorities_that_decide_something_are_kept() -> None:
    def default(id: str, source: str, priority: int) -> dict[str, Any]:
        return {"id": id, "sourceNodeId": source, "targetNodeId": "x", "isDefault": True, "priority": priority}

    highest = upgrades.INT_MAX
    definition = import_definition(
        v4(transitions=[default("t1", "a", highest), default("t2", "a", 5), default("t3", "b", highest)])
    )
    assert [one.priority for one in definition.transitions] == [highest, 5, 0]


def test_all_that_is_wrong_is_told_at_once() -> None:
    document = v4({"id": "x", "activityType": "Script"}, code="Bad Code", transitions=[{"id": "t", "sourceNodeId": "x",
                  "targetNodeId": "x", "condition": "lastError == 'a'"}])  # fmt: skip
    assert [key for _, key in problems_of(document)] == [upgrades.CODE, upgrades.SCRIPT, upgrades.LAST_ERROR]


def test_a_document_of_today_is_not_touched() -> None:
    log = {"id": "a", "activityType": "Script", "properties": {"message": "{{lastError}}"}, "timeoutSeconds": 0}
    edge = {"id": "a->a#1", "sourceNodeId": "a", "targetNodeId": "a", "isDefault": True, "priority": upgrades.INT_MAX}
    today = {"name": "today", "nodes": [log], "transitions": [edge]}
    definition = import_definition(today)
    assert definition.nodes[0].properties == {"message": "{{lastError}}"}
    assert (definition.nodes[0].activity_type, definition.nodes[0].timeout_seconds) == ("Script", 0)
    assert (definition.transitions[0].id, definition.transitions[0].priority) == ("a->a#1", upgrades.INT_MAX)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_refusal_has_a_text(language: Language) -> None:
    assert set(upgrades.KEYS) <= set(Catalog.load(strict=True).area("workflow.definition", language))
