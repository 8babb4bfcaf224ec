"""Forms of user tasks, a subset of JSON Schema: what may be written with a decision, and of which kind (spec 6.7).

Understood: an object with ``properties`` and ``required``; of each property ``type`` (string, number, integer, boolean,
array, object), ``format`` (date, date-time), ``enum``, ``minLength``, ``maxLength``, ``minimum``, ``maximum``,
``items`` and ``readOnly``. Other members are for the page that shows the form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal

from webapp.engine.errors import Problem
from webapp.engine.numbers import JsonObject, JsonValue
from webapp.engine.schedules import is_instant


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[JsonValue], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == int(value),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
TYPES = tuple(_TYPES)


def check_form(form: JsonValue) -> Iterator[Problem]:
    """Yield what is wrong with a form at publish; paths are relative to it."""
    fields = form.get("properties") if isinstance(form, dict) else None
    if not isinstance(form, dict) or form.get("type", "object") != "object" or not isinstance(fields, dict):
        yield Problem(path="", key="workflow.form.shape")
        return
    for name, field in fields.items():
        kind = field.get("type") if isinstance(field, dict) else None
        if kind not in TYPES:
            params = {"name": name, "known": list(TYPES)}
            yield Problem(path=f".properties.{name}", key="workflow.form.field", params=params)
    required = form.get("required", [])
    for index, name in enumerate(required if isinstance(required, list) else [required]):
        if not isinstance(name, str) or name not in fields:
            yield Problem(path=f".required[{index}]", key="workflow.form.required", params={"name": str(name)})


def data_problems(form: JsonObject, data: JsonObject, present: JsonObject) -> list[Problem]:
    """Return what is wrong with the data of a decision; paths begin with ``variables.``.

    A required field that is not in the *data* is there when the instance's variables (*present*) have it.
    """
    fields = _fields(form)
    problems = []
    for name, value in data.items():
        field = fields.get(name)
        path = f"variables.{name}"
        if field is None or field.get("readOnly") is True:
            problems.append(Problem(path=path, key="workflow.task.variable_not_writable", params={"name": name}))
        elif value is not None:
            problems += _value_problems(field, value, path, name)
    required = form.get("required")
    for name in required if isinstance(required, list) else ():
        if data.get(name, None if name in data else present.get(name)) is None:
            problems.append(Problem(path=f"variables.{name}", key="workflow.form.missing", params={"name": name}))
    return problems


def _fields(form: JsonObject) -> JsonObject:
    fields = form.get("properties")
    if not isinstance(fields, dict):
        return {}
    return {name: field for name, field in fields.items() if isinstance(field, dict)}


def _value_problems(field: JsonObject, value: JsonValue, path: str, name: str) -> Iterator[Problem]:
    kind = field.get("type")
    fits = _TYPES.get(kind) if isinstance(kind, str) else None
    if fits is not None and not fits(value):
        yield Problem(path=path, key="workflow.variable.type", params={"name": name, "type": kind})
        return
    choices = field.get("enum")
    if isinstance(choices, list) and value not in choices:
        yield Problem(path=path, key="workflow.form.choice", params={"name": name, "choices": choices})
    if isinstance(value, str) and not _has_format(field.get("format"), value):
        yield Problem(path=path, key="workflow.variable.type", params={"name": name, "type": field["format"]})
    yield from _bound_problems(field, value, path, name)
    items = field.get("items")
    if isinstance(value, list) and isinstance(items, dict):
        for index, item in enumerate(value):
            yield from _value_problems(items, item, f"{path}[{index}]", name)


def _bound_problems(field: JsonObject, value: JsonValue, path: str, name: str) -> Iterator[Problem]:
    if isinstance(value, str):
        measured, least, most = len(value), field.get("minLength"), field.get("maxLength")
    elif _is_number(value):
        measured, least, most = value, field.get("minimum"), field.get("maximum")
    else:
        return
    if least is not None and _is_number(least) and measured < least:
        yield Problem(path=path, key="workflow.form.least", params={"name": name, "least": least})
    if most is not None and _is_number(most) and measured > most:
        yield Problem(path=path, key="workflow.form.most", params={"name": name, "most": most})


def _has_format(name: JsonValue, value: str) -> bool:
    if name == "date-time":
        return is_instant(value)
    if name != "date":
        return True
    try:
        return date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False
