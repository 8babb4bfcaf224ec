"""Stored numbers are exact: kept as written, never a binary float (spec 1.17)."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from webapp.engine.numbers import JsonDecimal, copy_json, decode, encode


@pytest.mark.parametrize(
    "text", ["1.50", "0.1", "12345678901234567.89", "123456789012345678901234567890", "-0.00", "7"]
)
def test_a_number_comes_back_as_it_was_written(text: str) -> None:
    document = f'{{"amount":{text}}}'.encode()
    assert encode(decode(document, dict)) == document


def test_a_small_decimal_is_written_without_an_exponent() -> None:
    assert encode({"a": JsonDecimal("1E-7"), "b": JsonDecimal("1E+3")}) == b'{"a":0.0000001,"b":1000}'


def test_a_decimal_is_never_a_float() -> None:
    value = decode(b"[0.1]", list)[0]
    assert isinstance(value, JsonDecimal)
    assert value + decode(b"[0.2]", list)[0] == Decimal("0.3")


def test_a_float_field_inside_a_model_is_decoded_exactly() -> None:
    class Box(msgspec.Struct):
        content: dict[str, object]

    assert decode(b'{"content":{"x":2.10}}', Box).content == {"x": Decimal("2.10")}


def test_what_has_no_json_form_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="complex has no JSON form"):
        encode({"z": 1j})


def test_a_copy_shares_no_list_and_no_object() -> None:
    original = {"list": [1, {"deep": "x"}], "text": "t"}
    copy = copy_json(original)
    copy["list"][1]["deep"] = "changed"  # type: ignore[index]  # the value's shape is known here
    assert original == {"list": [1, {"deep": "x"}], "text": "t"}
