"""Definition documents: every shape problem at once, exact round trips, version 4's names on import (spec 1.17)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.engine.definitions.codec import (
    export_definition,
    import_definition,
    read_definition,
    write_definition,
)
from webapp.engine.definitions.model import READ_ONLY_MEMBERS, InstanceTimeoutAction, WorkflowDefinition
from webapp.engine.definitions.shapes import KEYS, json_type
from webapp.engine.errors import InputInvalid
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonDecimal, decode, encode
from webapp.messages.catalog import LANGUAGES, Catalog, Language

FULL = """{
 "name": "leave.request", "displayName": "Leave request", "description": "d", "category": "hr",
 "nodes": [
  {"id": "start", "activityType": "Start", "name": "Start", "x": 10, "y": 20.5, "properties": {}},
  {"id": "task", "activityType": "UserTask", "properties": {"Title": "{{ a }}", "Nested": {"amount": 1.50, "n": 5}},
   "retryPolicy": {"maxAttempts": 3, "firstDelaySeconds": 0.5, "backoffFactor": 1.5}, "timeoutSeconds": 3600,
   "timeoutAction": "Escalate", "timeoutTarget": ["anna"], "continueOnError": true, "background": true,
   "compensateWith": "undo", "listeners": [{"on": "created"}], "note": "n"}
 ],
 "transitions": [
  {"id": "t1", "sourceNodeId": "start", "targetNodeId": "task", "name": "go", "condition": "a > 1", "priority": 2,
   "isDefault": true, "waypoints": [[1, 2.50], [3, 4]]}
 ],
 "variables": [
  {"name": "a", "type": "number", "title": "A", "required": true, "defaultValue": {"x": 1.0}, "description": "v"}
 ],
 "timeout": 86400, "timeoutAction": "Cancel", "compensateOnCancel": true, "compensateOnFault": true,
 "owners": ["anna"], "startableBy": ["role:staff"], "allowWithdraw": false, "searchableVariables": ["a"],
 "priority": "high", "workCalendar": "cn", "startForm": {"fields": []}, "extraProperties": {"Zoom": 1.25, "other": "x"}
}"""


def read(text: str) -> WorkflowDefinition:
    return read_definition(read_json(text))


def refusal(document: Any) -> dict[str, str]:
    with pytest.raises(InputInvalid) as caught:
        read_definition(document)
    assert caught.value.code == "WORKFLOW_VALIDATION_002"
    return {problem.path: problem.key.removeprefix("workflow.definition.member.") for problem in caught.value.problems}


def test_a_full_document_survives_the_round_trip_exactly() -> None:
    definition = read(FULL)
    written = write_definition(definition)
    given = decode(FULL, dict)
    for name, value in given.items():
        assert encode(merged(value, written[name])) == encode(written[name]), name
    assert read_definition(written) == definition
    assert definition.timeout_action is InstanceTimeoutAction.CANCEL
    assert encode(definition.nodes[1].properties) == b'{"Title":"{{ a }}","Nested":{"amount":1.50,"n":5}}'
    assert encode(definition.transitions[0].waypoints) == b"[[1,2.50],[3,4]]"


def merged(given: Any, written: Any) -> Any:
    """Return *given* with the members that the codec fills in, in the written order."""
    if isinstance(given, dict) and isinstance(written, dict):
        return {name: merged(given[name], value) if name in given else value for name, value in written.items()}
    if isinstance(given, list) and isinstance(written, list):
        return [merged(one, other) for one, other in zip(given, written, strict=True)]
    return given


def test_the_decoded_definition_shares_nothing_with_the_document() -> None:
    document = decode(FULL, dict)
    definition = read_definition(document)
    document["nodes"][1]["properties"]["Nested"]["n"] = 6
    document["extraProperties"]["other"] = "y"
    assert definition.nodes[1].properties["Nested"]["n"] == 5
    assert definition.extra_properties["other"] == "x"


def test_a_node_without_a_name_has_its_id_for_one_and_exports_none() -> None:
    definition = read('{"name": "a", "nodes": [{"id": "n", "activityType": "Log"}, {"id": "", "activityType": "Log"}]}')
    assert [node.name for node in definition.nodes] == ["n", ""]
    assert all("name" not in node for node in export_definition(definition)["nodes"])


def test_a_missing_display_name_becomes_the_name_and_a_blank_one_stays() -> None:
    assert read('{"name": "a"}').display_name == "a"
    assert read('{"name": "a", "displayName": null}').display_name == "a"
    assert read('{"name": "a", "displayName": " "}').display_name == " "


def test_null_says_the_same_as_leaving_a_member_out() -> None:
    definition = read(
        """{"name": "a", "nodes": [{"id": "n", "activityType": "Log", "properties": null, "continueOnError": null,
        "retryPolicy": {"maxAttempts": null, "firstDelaySeconds": 3}, "x": null}], "allowWithdraw": null,
        "owners": null, "transitions": null}"""
    )
    assert definition.allow_withdraw is True
    assert definition.owners == []
    assert definition.nodes[0].properties == {}
    assert definition.nodes[0].retry_policy is not None
    assert definition.nodes[0].retry_policy.max_attempts == 1


def test_what_only_the_catalog_writes_is_ignored_whatever_it_is() -> None:
    document = {"name": "a", **{name: [1] for name in READ_ONLY_MEMBERS}}
    assert read_definition(document) == read('{"name": "a"}')


def test_every_shape_problem_is_told_at_once_with_its_path() -> None:
    document = {
        "displayName": 5,
        "surprise": 1,
        "nodes": [
            {"id": 1, "activityType": None, "Properties": {}},
            {
                "id": "b",
                "activityType": "Log",
                "x": "left",
                "retryPolicy": {"attempts": 3, "maxAttempts": JsonDecimal("1.5")},
            },
            "node",
        ],
        "transitions": [{"sourceNodeId": "a", "priority": True, "waypoints": [[1, "2"], 3]}],
        "variables": [{"required": "yes"}],
        "timeoutAction": "Explode",
        "owners": "anna",
        "startForm": [],
        "extraProperties": {"anything": {"goes": [None]}},
        "description": "x" * 10_001,
    }
    assert refusal(document) == {
        "name": "required",
        "displayName": "type",
        "surprise": "unknown",
        "nodes[0].id": "type",
        "nodes[0].activityType": "required",
        "nodes[0].Properties": "unknown",
        "nodes[1].x": "type",
        "nodes[1].retryPolicy.attempts": "unknown",
        "nodes[1].retryPolicy.maxAttempts": "type",
        "nodes[2]": "type",
        "transitions[0].id": "required",
        "transitions[0].targetNodeId": "required",
        "transitions[0].priority": "type",
        "transitions[0].waypoints[0][1]": "type",
        "transitions[0].waypoints[1]": "type",
        "variables[0].name": "required",
        "variables[0].required": "type",
        "timeoutAction": "choice",
        "owners": "type",
        "startForm": "type",
        "description": "too_long",
    }


@pytest.mark.parametrize("document", [None, [], "x", 1, True])
def test_a_document_that_is_no_object_is_refused(document: Any) -> None:
    assert refusal(document) == {"": "type"}
    with pytest.raises(InputInvalid):
        import_definition(document)


def test_wrong_types_are_named() -> None:
    with pytest.raises(InputInvalid) as caught:
        read_definition({"name": "a", "timeoutAction": 1, "nodes": {}})
    assert [problem.params for problem in caught.value.problems] == [
        {"expected": "string", "found": "number"},
        {"expected": "array", "found": "object"},
    ]


def test_2001_nodes_are_too_many() -> None:
    node = {"id": "n", "activityType": "Log"}
    assert len(read_definition({"name": "a", "nodes": [node] * 2000}).nodes) == 2000
    assert refusal({"name": "a", "nodes": [node] * 2001}) == {"nodes": "too_many"}


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "null"),
        (True, "boolean"),
        (1, "number"),
        (JsonDecimal("1.5"), "number"),
        ("", "string"),
        ([], "array"),
        ({}, "object"),
    ],
)
def test_json_types_have_their_json_names(value: Any, name: str) -> None:
    assert json_type(value) == name


def test_import_reads_names_in_any_case_but_leaves_properties_alone() -> None:
    definition = import_definition(
        {
            "NAME": "a",
            "Displayname": "A",
            "Nodes": [
                {
                    "ID": "n",
                    "activitytype": "Log",
                    "Properties": {"Message": "m", "MESSAGE": "M"},
                    "RetryPolicy": {"maxattempts": 2},
                }
            ],
            "TRANSITIONS": [{"Id": "t", "SourceNodeId": "n", "targetnodeid": "n", "ISDEFAULT": True}],
            "Variables": [{"NAME": "v", "DefaultValue": 1}],
            "extraProperties": {"KEEP": "Case"},
        }
    )
    assert definition.nodes[0].properties == {"Message": "m", "MESSAGE": "M"}
    assert definition.nodes[0].retry_policy is not None
    assert definition.nodes[0].retry_policy.max_attempts == 2
    assert definition.transitions[0].is_default
    assert definition.variables[0].default_value == 1
    assert definition.extra_properties == {"KEEP": "Case"}


def test_import_reads_version_4() -> None:
    definition = import_definition(
        {
            "id": "123",
            "code": "leave",
            "name": "Leave request",
            "version": 3,
            "status": 1,
            "enableCompensation": True,
            "nodes": [
                {"id": "s", "activityType": "Start"},
                {"id": "c", "activityType": "SubWorkflow", "properties": {"DefinitionCode": "child"}},
            ],
            "transitions": [
                {"sourceNodeId": "s", "targetNodeId": "c"},
                {"id": "t2", "sourceNodeId": "c", "targetNodeId": "s"},
                {"sourceNodeId": "s", "targetNodeId": "c"},
            ],
        }
    )
    assert (definition.name, definition.display_name, definition.id) == ("leave", "Leave request", "")
    assert definition.compensate_on_cancel
    assert definition.nodes[1].properties == {"DefinitionName": "child"}
    assert [transition.id for transition in definition.transitions] == ["t1", "t2", "t3"]


def test_import_refuses_two_spellings_of_one_name() -> None:
    with pytest.raises(InputInvalid) as caught:
        import_definition({"name": "a", "Name": "b", "nodes": [{"id": "x", "ID": "y", "activityType": "Log"}]})
    assert [(problem.path, problem.params) for problem in caught.value.problems] == [
        ("Name", {"name": "name"}),
        ("nodes[0].ID", {"name": "id"}),
    ]


def test_import_tells_shape_problems_like_the_strict_codec() -> None:
    with pytest.raises(InputInvalid) as caught:
        import_definition({"Name": 5, "nodes": [7], "transitions": 8})
    assert [problem.path for problem in caught.value.problems] == ["name", "nodes[0]", "transitions"]


def test_an_export_holds_the_content_and_nothing_of_this_installation() -> None:
    definition = read(FULL)
    stored = read_definition(write_definition(definition))
    exported = export_definition(stored)
    assert not READ_ONLY_MEMBERS & exported.keys()
    assert encode(import_definition(exported)) == encode(definition)
    minimal = export_definition(read('{"name": "a", "nodes": [{"id": "n", "activityType": "Log"}]}'))
    assert minimal == {"name": "a", "displayName": "a", "nodes": [{"id": "n", "activityType": "Log"}]}


def test_an_export_keeps_numbers_as_they_were_written() -> None:
    policy = '{"name": "a", "nodes": [{"id": "n", "activityType": "Log", "retryPolicy": {"firstDelaySeconds": 10.0}}]}'
    exported = export_definition(read(policy))
    assert encode(exported["nodes"][0]["retryPolicy"]["firstDelaySeconds"]) == b"10.0"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_shape_problem_has_a_text(language: Language) -> None:
    texts = Catalog.load(strict=True).area("workflow.definition", language)
    assert {*KEYS, "workflow.definition.shape"} <= set(texts)


NAMES = st.sampled_from(
    ["name", "Name", "nodes", "transitions", "variables", "id", "code", "properties", "x", "retryPolicy"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=15,
)


@given(JSON)
def test_any_json_is_a_definition_or_a_refusal(document: Any) -> None:
    for codec in (read_definition, import_definition):
        try:
            definition = codec(document)
        except InputInvalid as error:
            assert error.problems
        else:
            assert read_definition(write_definition(definition)) == definition
