"""The shape check alone: what it says of every kind of member."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import pytest

from webapp.engine.numbers import JsonDecimal, JsonNumber
from webapp.web.api.body import shape_problems


class Inner(msgspec.Struct):
    code: str


class Sample(msgspec.Struct):
    text: str = ""
    count: int = 0
    flag: bool = False
    number: JsonNumber = 0
    amount: float = 0
    names: list[str] = []
    maybe: list[Literal["a", "b"]] | None = None
    inner: Inner | None = None
    inners: list[Inner] = []
    anything: Any = None
    facts: dict[str, Any] = {}
    noted: Annotated[JsonNumber, msgspec.Meta(description="seconds")] = 0
    maybe_number: JsonNumber | None = None
    names_of: dict[str, str] = {}


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"text": "x", "count": 3, "flag": True, "number": JsonDecimal("1.5"), "amount": JsonDecimal("2.5")},
        {"names": ["a"], "maybe": None, "inner": None, "inners": [{"code": "x"}], "anything": [1], "facts": {"a": 1}},
        {"maybe": ["a", "b"], "inner": {"code": "x"}},
    ],
)
def test_what_fits_has_no_problems(document: dict[str, Any]) -> None:
    assert list(shape_problems(document, Sample)) == []


@pytest.mark.parametrize(
    ("document", "path", "key", "params"),
    [
        ({"text": 1}, "text", "api.body.type", {"expected": "string"}),
        ({"text": None}, "text", "api.body.type", {"expected": "string"}),
        ({"count": True}, "count", "api.body.type", {"expected": "integer"}),
        ({"count": JsonDecimal("1.0")}, "count", "api.body.type", {"expected": "integer"}),
        ({"flag": 1}, "flag", "api.body.type", {"expected": "boolean"}),
        ({"number": "1"}, "number", "api.body.type", {"expected": "number"}),
        ({"number": None}, "number", "api.body.type", {"expected": "number"}),
        ({"number": True}, "number", "api.body.type", {"expected": "number"}),
        ({"number": {}}, "number", "api.body.type", {"expected": "number"}),
        ({"noted": [1]}, "noted", "api.body.type", {"expected": "number"}),
        ({"maybe_number": "x"}, "maybe_number", "api.body.type", {"expected": "number | null"}),
        ({"names_of": {"a": "b", "c": 1}}, "names_of.c", "api.body.type", {"expected": "string"}),
        ({"amount": "1"}, "amount", "api.body.type", {"expected": "number"}),
        ({"amount": False}, "amount", "api.body.type", {"expected": "number"}),
        ({"names": "a"}, "names", "api.body.type", {"expected": "array"}),
        ({"names": ["a", 2]}, "names[1]", "api.body.type", {"expected": "string"}),
        ({"maybe": ["a", "c"]}, "maybe[1]", "api.body.choice", {"known": ["a", "b"]}),
        ({"maybe": "a"}, "maybe", "api.body.type", {"expected": "array | null"}),
        ({"inner": {}}, "inner.code", "api.body.missing", {}),
        ({"inner": {"code": 1}}, "inner.code", "api.body.type", {"expected": "string"}),
        ({"inner": []}, "inner", "api.body.type", {"expected": "object | null"}),
        ({"inners": [{"code": "x"}, {"code": "y", "z": 1}]}, "inners[1].z", "api.body.unknown", {"known": ["code"]}),
        ({"facts": []}, "facts", "api.body.type", {"expected": "object"}),
    ],
)
def test_what_does_not_fit_is_named(document: dict[str, Any], path: str, key: str, params: dict[str, Any]) -> None:
    (problem,) = shape_problems(document, Sample)
    assert (problem.path, problem.key, problem.params) == (path, key, params)
