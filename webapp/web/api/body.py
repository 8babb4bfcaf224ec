"""Request bodies: through the JSON door, then checked against their type, every mistake named with its path."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from flask import request
from msgspec import inspect

from webapp.engine.errors import InputInvalid, Problem
from webapp.engine.json_input import item_path, member_path, read_json
from webapp.engine.numbers import JsonObject
from webapp.web.errors import MEDIA_TYPE, TOO_LARGE, RequestRefused

B = TypeVar("B", bound=msgspec.Struct)

MAX_BODY_BYTES = 2 * 1024 * 1024 + 64 * 1024
"""A definition may have 2 MiB; the rest of the document gets 64 KiB (spec 13)."""

_NAMES: dict[type[inspect.Type], str] = {
    inspect.StrType: "string",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.DecimalType: "number",
    inspect.BoolType: "boolean",
    inspect.ListType: "array",
    inspect.DictType: "object",
    inspect.StructType: "object",
    inspect.LiteralType: "string",
    inspect.NoneType: "null",
}


def read_object() -> JsonObject:
    """Return the request's body, a JSON object.

    :raises WorkflowError: it is too large (413), of another media type (415), no JSON or no object (400).
    """
    if request.mimetype != "application/json" and not request.mimetype.endswith("+json"):
        raise RequestRefused("errors.media_type", code=MEDIA_TYPE, params={"given": request.mimetype})
    data = request.get_data(cache=False)
    if request.content_length is None and len(data) >= MAX_BODY_BYTES:
        # A body sent in chunks ends where the limit is, whatever comes after it.
        raise RequestRefused("errors.body_too_large", code=TOO_LARGE)
    value = read_json(data, max_bytes=MAX_BODY_BYTES)
    if not isinstance(value, dict):
        raise InputInvalid("api.body.type", path="", params={"expected": "object"})
    return value


def has_body() -> bool:
    """Whether the request brings a body at all; actions may go without one."""
    return bool(request.content_length) or "chunked" in request.headers.get("Transfer-Encoding", "").lower()


def read_body(type_: type[B]) -> B:
    """Return the request's body as *type_*. :raises InputInvalid: naming every member that is wrong."""
    document = read_object()
    problems = list(shape_problems(document, type_))
    if problems:
        raise InputInvalid("api.body.invalid", problems=problems)
    return msgspec.convert(document, type_)


def shape_problems(document: JsonObject, type_: type[msgspec.Struct]) -> Iterator[Problem]:
    """Yield what is wrong with the members of a document: missing, unknown, of another type."""
    yield from _object_problems(document, _type_info(type_), "")


@lru_cache(maxsize=100)
def _type_info(type_: type[msgspec.Struct]) -> inspect.StructType:
    info = inspect.type_info(type_)
    if not isinstance(info, inspect.StructType):
        raise TypeError(f"{type_.__name__} is no body")
    return info


def _object_problems(document: JsonObject, info: inspect.StructType, path: str) -> Iterator[Problem]:
    fields = {field.encode_name: field for field in info.fields}
    for name in document:
        if name not in fields:
            yield Problem(path=member_path(path, name), key="api.body.unknown", params={"known": list(fields)})
    for name, field in fields.items():
        if name in document:
            yield from _value_problems(document[name], field.type, member_path(path, name))
        elif field.required:
            yield Problem(path=member_path(path, name), key="api.body.missing")


def _value_problems(value: Any, info: inspect.Type, path: str) -> Iterator[Problem]:
    if isinstance(info, inspect.Metadata):
        yield from _value_problems(value, _described(info), path)
    elif isinstance(info, inspect.UnionType) and value is not None and _fits(value, info):
        # Our unions are "a type, or null".
        yield from _value_problems(
            value, next(one for one in info.types if not isinstance(one, inspect.NoneType)), path
        )
    elif not _fits(value, info):
        yield _type_problem(info, path)
    else:
        yield from _inner_problems(value, info, path)


def _inner_problems(value: Any, info: inspect.Type, path: str) -> Iterator[Problem]:
    match info:
        case inspect.LiteralType() if value not in info.values:
            yield Problem(path=path, key="api.body.choice", params={"known": list(info.values)})
        case inspect.ListType():
            for index, item in enumerate(value):
                yield from _value_problems(item, info.item_type, item_path(path, index))
        case inspect.DictType():
            for name, item in value.items():
                yield from _value_problems(item, info.value_type, member_path(path, name))
        case inspect.StructType():
            yield from _object_problems(value, info, path)
        case _:
            return


_PYTHON: dict[type[inspect.Type], tuple[type, ...]] = {
    inspect.NoneType: (type(None),),
    inspect.StrType: (str,),
    inspect.LiteralType: (str,),
    inspect.BoolType: (bool,),
    inspect.IntType: (int,),
    inspect.FloatType: (int, Decimal),
    inspect.DecimalType: (int, Decimal),
    inspect.ListType: (list,),
    inspect.DictType: (dict,),
    inspect.StructType: (dict,),
}


def _fits(value: Any, info: inspect.Type) -> bool:
    if isinstance(info, inspect.Metadata):
        return _fits(value, _described(info))
    if isinstance(info, inspect.AnyType):
        return True
    if isinstance(info, inspect.UnionType):
        return any(_fits(value, member) for member in info.types)
    if isinstance(value, bool) and not isinstance(info, inspect.BoolType):
        return False
    return isinstance(value, _PYTHON.get(type(info), ()))


def _described(info: inspect.Metadata) -> inspect.Type:
    """Return the type under the notes; numbers are decoded as anything, and only their notes say what they are."""
    noted = (info.extra_json_schema or {}).get("type")
    return inspect.DecimalType() if noted == "number" and isinstance(info.type, inspect.AnyType) else info.type


def _type_problem(info: inspect.Type, path: str) -> Problem:
    members = info.types if isinstance(info, inspect.UnionType) else (info,)
    plain = [_described(one) if isinstance(one, inspect.Metadata) else one for one in members]
    names = [_NAMES.get(type(one), "value") for one in plain]
    return Problem(path=path, key="api.body.type", params={"expected": " | ".join(names)})
