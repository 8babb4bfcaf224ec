"""The door for JSON from outside: every refusal with its place, everything else exactly as written (spec 1.17, 13)."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.costs import at_most
from webapp.engine import json_input
from webapp.engine.errors import InputInvalid
from webapp.engine.numbers import JsonDecimal, decode, encode
from webapp.messages.catalog import LANGUAGES, Catalog, Language

MAX = 4 * 1024 * 1024


def parse(text: str | bytes) -> Any:
    return json_input.read_json(text, max_bytes=MAX)


def refusal(text: str | bytes) -> InputInvalid:
    with pytest.raises(InputInvalid) as caught:
        parse(text)
    assert caught.value.code == "WORKFLOW_VALIDATION_002"
    return caught.value


def check_refusal(value: object, path: str = "") -> InputInvalid:
    with pytest.raises(InputInvalid) as caught:
        json_input.check_json(value, path)
    return caught.value


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("1.50", "1.50"),
        ("-0", "0"),
        ("-0.00", "0.00"),
        ("0e5", "0"),
        ("1e5", "100000"),
        ("1.5E1", "15"),
        ("1e-7", "0.0000001"),
        ("1.0e2", "100"),
        ("9223372036854775807", "9223372036854775807"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("1234567890123456789012345678901234567890", "1234567890123456789012345678901234567890"),
        ("1e50", "1" + "0" * 50),
        ("1" + "0" * 50, "1" + "0" * 50),
        ("0." + "0" * 99 + "1", "0." + "0" * 99 + "1"),
        ('"a\\u00e9\\ud83d\\ude00"', '"aé😀"'),
        ('"\\\\u0000"', '"\\\\u0000"'),
        ('{"b":[null,true,false,{}],"a":""}', '{"b":[null,true,false,{}],"a":""}'),
        ("\ufeff1".encode(), "1"),
    ],
)
def test_what_passes_is_written_as_it_came(text: str | bytes, written: str) -> None:
    assert encode(parse(text)).decode() == written
    assert encode(decode(encode(parse(text)), object)).decode() == written


def test_whole_numbers_are_int_within_64_bits_and_exact_decimals_beyond() -> None:
    assert type(parse("9223372036854775807")) is int
    assert type(parse("9223372036854775808")) is JsonDecimal
    assert type(parse("-9223372036854775808")) is int
    assert type(parse("1.0")) is JsonDecimal
    assert type(parse("1e3")) is int


@pytest.mark.parametrize(
    ("text", "key", "path"),
    [
        ('{"a": 1, "a": 2}', "duplicate", "a"),
        ('{"variables": {"items": [0, 1, 2, {"amount": 1e999999999}]}}', "number", "variables.items[3].amount"),
        ('{"x": [{"n": 1, "n": 1}]}', "duplicate", "x[0].n"),
        ("[NaN]", "number", "[0]"),
        ("[1, Infinity]", "number", "[1]"),
        ("-Infinity", "number", ""),
        ("1e101", "number", ""),
        ("1e-101", "number", ""),
        ("1e99999999999999999999999", "number", ""),
        ("1" * 41, "number", ""),
        ("0." + "1" * 41, "number", ""),
        ("1" * 1_000_000, "number", ""),
        ("0." + "1" * 1_000_000, "number", ""),
        ('{"a": "\\ud800"}', "character", "a"),
        ('{"a": "x\\u0000"}', "character", "a"),
        ('{"a": {"\\udfff": 1}}', "character", "a"),
        ('{"a": "\ud800"}', "character", "a"),
        ('{"odd name": {"": [1e101]}}', "number", '["odd name"][""][0]'),
    ],
)
def test_what_is_refused_has_key_and_path(text: str, key: str, path: str) -> None:
    error = refusal(text)
    assert (error.key, error.problems[0].path) == (f"workflow.json.{key}", path)


def test_all_refused_parts_are_told_at_once_but_not_without_end() -> None:
    error = refusal('{"a": NaN, "b": [1e101, {"c": 1, "c": 2}], "d": "\\u0000"}')
    assert [problem.path for problem in error.problems] == ["a", "b[0]", "b[1].c", "d"]
    assert len(refusal("[" + ",".join(["NaN"] * 1000) + "]").problems) == 50


def test_a_duplicate_name_is_told_once_whatever_it_held_before() -> None:
    error = refusal('{"a": 1, "a": {"b": 1}, "a": 3}')
    assert [(problem.path, problem.params) for problem in error.problems] == [("a", {"name": "a"})]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("{", 1, 2),
        ('{\n "a": 1,\n "😀" 2}', 3, 7),
        ("[1] x", 1, 5),
        ('"a\nb"', 1, 3),
        ("{'a': 1}", 1, 2),
        ("01", 1, 2),
    ],
)
def test_what_is_no_json_has_line_and_column(text: str, line: int, column: int) -> None:
    problem = refusal(text).problems[0]
    assert (problem.key, problem.path, problem.line, problem.column) == ("workflow.json.syntax", "", line, column)


def test_bytes_must_be_utf8() -> None:
    error = refusal(b'{"a": "\xff"}')
    assert (error.key, error.params) == ("workflow.json.encoding", {"offset": 7})
    assert refusal(b'"\xed\xa0\x80"').key == "workflow.json.encoding"


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_64_levels_pass_and_65_do_not(opening: str, closing: str) -> None:
    levels = 64 // len(closing)
    core = "[]" if len(closing) == 2 else "1"
    parse(opening * levels + "1" + closing * levels)
    error = refusal(opening * levels + "[" + core + "]" + closing * levels)
    assert error.key == "workflow.json.depth"
    assert error.problems[0].path.count("[0]") + error.problems[0].path.count("a") == 64


def test_many_shallow_containers_are_not_deep() -> None:
    assert parse("[" + ",".join(["[{}]"] * 1000) + "]") == [[{}]] * 1000


@pytest.mark.parametrize("bracket", ["[", '{"a":'])
def test_a_million_open_brackets_are_an_ordinary_refusal(bracket: str) -> None:
    assert refusal(bracket * (1_000_000 // len(bracket))).key in ("workflow.json.depth", "workflow.json.syntax")


def test_size_is_checked_before_anything_else() -> None:
    for text in ("[1, 2]", b"[1, 2]"):
        with pytest.raises(InputInvalid) as caught:
            json_input.read_json(text, max_bytes=5)
        assert (caught.value.key, caught.value.params) == ("workflow.json.too_large", {"size": 6, "max": 5})
    assert json_input.read_json('"张"', max_bytes=5) == "张"
    with pytest.raises(InputInvalid):
        json_input.read_json('"张"', max_bytes=4)


def test_huge_exponents_cost_nothing() -> None:
    with at_most(10):
        refusal("[" + ",".join(["1e999999999", "1e-999999999"] * 20_000) + "]")


def test_a_document_of_1_mib_passes_quickly() -> None:
    row = {"id": 1, "name": "purchase order", "amount": 12.5, "tags": ["a", "b"], "nested": {"ok": True, "none": None}}
    text = json.dumps([row] * 10_000)
    with at_most(10):
        assert len(parse(text.encode())) == 10_000


def test_check_copies_and_normalises() -> None:
    value = {"a": [Decimal("1.50"), Decimal("-0"), Decimal("1E+3"), 5, None, True, "x"]}
    checked = json_input.check_json(value)
    assert encode(checked) == b'{"a":[1.50,0,1000,5,null,true,"x"]}'
    checked["a"].append(1)
    assert len(value["a"]) == 7


@pytest.mark.parametrize(
    ("value", "key", "path"),
    [
        ({"a": [1.5]}, "type", "variables.a[0]"),
        ({"a": (1,)}, "type", "variables.a"),
        ({1: 2}, "type", "variables"),
        ({"a": Decimal("NaN")}, "number", "variables.a"),
        ({"a": Decimal("1E+101")}, "number", "variables.a"),
        ({"a": 10**101}, "number", "variables.a"),
        ({"a": "\0"}, "character", "variables.a"),
        ({"a": "\udc00"}, "character", "variables.a"),
        ({"a" * 200: 1.5}, "type", "variables." + "a" * 100 + "…"),
    ],
)
def test_check_refuses_what_json_cannot_say(value: object, key: str, path: str) -> None:
    error = check_refusal(value, "variables")
    assert error.key == f"workflow.json.{key}"
    assert error.problems[0].path == path or key == "type"


def test_check_refuses_the_65th_level() -> None:
    value: list[Any] = []
    for _ in range(63):
        value = [value]
    assert json_input.check_json(value) == value
    assert check_refusal([value]).key == "workflow.json.depth"


def test_check_bounds_values_that_contain_themselves() -> None:
    value: list[Any] = []
    value.append(value)
    assert check_refusal(value).key == "workflow.json.depth"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_refusal_has_a_text(language: Language) -> None:
    texts = Catalog.load(strict=True).area("workflow.json", language)
    assert set(json_input.KEYS) <= set(texts)


@given(st.text(max_size=80) | st.binary(max_size=80))
def test_any_input_is_a_value_or_a_refusal(data: str | bytes) -> None:
    try:
        value = parse(data)
    except InputInvalid as error:
        assert error.problems
    else:
        assert json_input.check_json(value) == value


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NUMBERS = st.integers(-(10**30), 10**30) | st.decimals(-(10**20), 10**20, allow_nan=False, places=4)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_what_was_checked_survives_the_way_out_and_in(value: object) -> None:
    checked = json_input.check_json(value)
    assert parse(encode(checked)) == checked
    assert encode(parse(encode(checked))) == encode(checked)
