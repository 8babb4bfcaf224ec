"""Forms made from variables: what is read from a field, and what is said when it cannot be."""

from __future__ import annotations

from datetime import UTC
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from webapp.engine.definitions.model import VariableDefinition
from webapp.engine.errors import InputInvalid, Problem
from webapp.messages.catalog import Catalog
from webapp.web.forms import (
    FieldRefused,
    errors_by_variable,
    field_of,
    fields_of,
    read_value,
    read_variables,
    type_of,
)

CATALOG = Catalog.load(strict=True)


def text(key: str, **args: Any) -> str:
    return CATALOG.text(key, args, "en")


@pytest.mark.parametrize(
    ("type_name", "typed", "value"),
    [
        ("number", "12", 12),
        ("number", " -7 ", -7),
        ("number", "6,480.00", Decimal("6480.00")),
        ("number", "１２", 12),
        ("date", "2026-07-16", "2026-07-16"),
        ("dateTime", "2026-07-16T09:30", "2026-07-16T09:30:00+02:00"),
        ("object", '{"a": 1.50}', {"a": Decimal("1.50")}),
        ("array", "[1, 2]", [1, 2]),
        ("string", "one\r\ntwo", "one\ntwo"),
    ],
)
def test_a_field_is_read_by_its_type(type_name: str, typed: str, value: object) -> None:
    assert read_value(type_name, typed, ZoneInfo("Europe/Stockholm")) == value


def test_numbers_keep_what_was_typed() -> None:
    exact = read_value("number", "1.50", UTC)
    assert str(exact) == "1.50"
    beyond = read_value("number", "9223372036854775808", UTC)
    assert isinstance(beyond, Decimal)
    assert isinstance(read_value("number", "9223372036854775807", UTC), int)


@pytest.mark.parametrize(
    ("type_name", "typed"),
    [
        ("number", "ten"),
        ("number", "1,2"),
        ("number", "1e5"),
        ("date", "31 June"),
        ("date", "2026-06-31"),
        ("dateTime", "noon"),
        ("object", "[1]"),
        ("object", '{"a": 1, "a": 2}'),
        ("array", "{}"),
        ("array", "[1"),
    ],
)
def test_what_is_no_value_of_the_type_is_refused_with_a_sentence(type_name: str, typed: str) -> None:
    with pytest.raises(FieldRefused) as refusal:
        read_value(type_name, typed, UTC)
    assert text(str(refusal.value))


def test_an_untyped_variable_takes_the_type_of_its_default() -> None:
    assert type_of(VariableDefinition(name="a", default_value=0)) == "number"
    assert type_of(VariableDefinition(name="a", default_value=False)) == "boolean"
    assert type_of(VariableDefinition(name="a", default_value=[])) == "array"
    assert type_of(VariableDefinition(name="a")) == "string"


def test_required_fields_are_told_and_empty_optional_ones_left_to_their_default() -> None:
    variables = [
        VariableDefinition(name="days", type="number", required=True),
        VariableDefinition(name="note", type="string", default_value="none"),
        VariableDefinition(name="paid", type="boolean"),
    ]
    values, errors = read_variables(variables, {"v.days": " ", "v.note": ""}, UTC, text)
    assert values == {"paid": False}
    assert errors == {"days": "Fill this in"}


def test_a_refused_form_keeps_what_was_typed() -> None:
    variables = [VariableDefinition(name="days", type="number", default_value=3)]
    assert fields_of(variables, UTC)[0].value == "3"
    shown = fields_of(variables, UTC, {"v.days": "ten"}, {"days": "Enter a number"})[0]
    assert (shown.value, shown.error) == ("ten", "Enter a number")


def test_a_field_has_the_variables_words() -> None:
    made = field_of(
        VariableDefinition(name="days", title="How many days", description="Whole days", required=True), UTC
    )
    assert (made.label, made.help, made.required, made.name) == ("How many days", "Whole days", True, "v.days")


def test_the_problems_of_a_refusal_find_their_fields() -> None:
    refusal = InputInvalid(
        "workflow.input.blank",
        problems=[
            Problem(path="variables.days", key="ui.field.required"),
            Problem(path="variables.lines[2].price", key="ui.field.required"),
            Problem(path="title", key="ui.field.required"),
        ],
    )
    by_field, others = errors_by_variable(refusal, ["days", "lines"], text)
    assert by_field == {"days": "Fill this in", "lines": "Fill this in"}
    assert others == ["Fill this in"]


def test_a_default_instant_is_shown_in_the_zone_of_the_installation() -> None:
    at = VariableDefinition(name="at", type="dateTime", default_value="2026-07-16T07:30:00Z")
    assert field_of(at, ZoneInfo("Europe/Stockholm")).value == "2026-07-16T09:30"
