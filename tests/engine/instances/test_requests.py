"""What a new instance begins with (spec 1.4, 1.16, 1.17, 3.2)."""

from __future__ import annotations

import pytest

from webapp.engine.definitions.model import VariableDefinition, WorkflowDefinition
from webapp.engine.errors import InputInvalid
from webapp.engine.instances.limits import MAX_VARIABLES_BYTES
from webapp.engine.instances.requests import VARIABLE_TYPES, StartRequest, check_document, initial_variables
from webapp.engine.numbers import JsonDecimal, JsonObject

GOOD: dict[str, list[object]] = {
    "string": ["", "x"],
    "number": [0, -1, JsonDecimal("1.50")],
    "boolean": [True, False],
    "date": ["2026-12-01"],
    "dateTime": ["2026-12-01T09:00:00Z", "2026-12-01T09:00:00.5+08:00"],
    "object": [{}, {"a": 1}],
    "array": [[], [1]],
}
BAD: dict[str, list[object]] = {
    "string": [1, True, [], {}],
    "number": ["1", True, [], {}],
    "boolean": [0, "true", []],
    "date": ["2026-12-01T09:00:00Z", "2026-02-30", "1.12.2026", 20261201],
    "dateTime": ["2026-12-01", "2026-12-01T09:00:00", "now", 0],
    "object": [[], "{}"],
    "array": [{}, "[]"],
}


def begin(variables: JsonObject, *declared: VariableDefinition, **request: object) -> JsonObject:
    definition = WorkflowDefinition(name="x", variables=list(declared))
    return initial_variables(definition, StartRequest(variables=variables, **request))  # type: ignore[arg-type]


def problems(variables: JsonObject, *declared: VariableDefinition, **request: object) -> list[tuple[str, str]]:
    with pytest.raises(InputInvalid) as refusal:
        begin(variables, *declared, **request)
    assert refusal.value.key == "workflow.start.invalid"
    return [(problem.path, problem.key) for problem in refusal.value.problems]


def test_every_type_has_its_cases() -> None:
    assert set(GOOD) == set(BAD) == set(VARIABLE_TYPES)


@pytest.mark.parametrize(("type_", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_a_value_of_its_type_is_taken(type_: str, value: object) -> None:
    assert begin({"v": value}, VariableDefinition(name="v", type=type_)) == {"v": value}


@pytest.mark.parametrize(("type_", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_value_of_another_type_is_refused_with_its_path(type_: str, value: object) -> None:
    declared = VariableDefinition(name="v", type=type_)
    assert problems({"v": value}, declared) == [("variables.v", "workflow.variable.type")]


def test_null_is_a_value_of_every_type_unless_it_is_required() -> None:
    assert begin({"v": None}, VariableDefinition(name="v", type="number")) == {"v": None}
    required = VariableDefinition(name="v", type="number", required=True)
    assert problems({"v": None}, required) == [("variables.v", "workflow.variable.type")]


def test_null_supplies_a_required_variable_without_a_type() -> None:
    assert begin({"v": None}, VariableDefinition(name="v", required=True)) == {"v": None}


def test_a_required_variable_that_is_missing_is_refused() -> None:
    assert problems({}, VariableDefinition(name="v", required=True)) == [("variables.v", "workflow.variable.required")]


def test_a_default_does_not_supply_a_required_variable() -> None:
    declared = VariableDefinition(name="v", required=True, default_value=1)
    assert problems({}, declared) == [("variables.v", "workflow.variable.required")]


def test_a_default_fills_in_what_is_missing_and_is_nobodys_own() -> None:
    declared = VariableDefinition(name="v", default_value=[1])
    first = begin({}, declared)
    first["v"].append(2)
    assert begin({}, declared) == {"v": [1]}


def test_a_default_of_null_sets_nothing_and_a_value_wins() -> None:
    assert begin({}, VariableDefinition(name="v")) == {}
    assert begin({"v": None}, VariableDefinition(name="v", default_value=1)) == {"v": None}


def test_undeclared_variables_are_allowed() -> None:
    assert begin({"extra": {"a": [1]}}) == {"extra": {"a": [1]}}


def test_a_type_that_nobody_knows_is_not_enforced() -> None:
    assert begin({"v": 1}, VariableDefinition(name="v", type="money")) == {"v": 1}


def test_texts_have_their_lengths() -> None:
    long = {"title": "t" * 501, "correlation_id": "c" * 201, "starter_id": "s" * 129}
    assert problems({}, **long) == [
        (path, "workflow.input.too_long") for path in ("title", "correlationId", "starterId")
    ]
    assert begin({}, title="t" * 500, correlation_id="c" * 200, starter_id="s" * 128) == {}
    assert problems({}, title="a\x00b") == [("title", "workflow.input.nul")]


def test_the_size_of_a_document_is_returned_or_refused() -> None:
    assert check_document({"x": "é"}, "variables") == len('{"x":"é"}'.encode())
    assert check_document({"x": "t" * (MAX_VARIABLES_BYTES - 8)}, "variables") == MAX_VARIABLES_BYTES
    with pytest.raises(InputInvalid):
        check_document({"x": "t" * (MAX_VARIABLES_BYTES - 7)}, "variables")


def test_a_document_with_a_null_character_is_refused_at_its_variable() -> None:
    document: JsonObject = {"ok": "a\\u0000b", "v": [{"x": "a\x00b"}], "a\x00": 1}
    with pytest.raises(InputInvalid) as refusal:
        begin(document)
    assert [(problem.path, problem.key) for problem in refusal.value.problems] == [
        ("variables.v", "workflow.input.nul"),
        ("variables", "workflow.input.nul"),
    ]
    assert begin({"ok": "a\\u0000b"}) == {"ok": "a\\u0000b"}
