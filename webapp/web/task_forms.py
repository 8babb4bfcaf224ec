"""The fields of a task: those of its form (a subset of JSON Schema), else of the variables it may write (spec 6.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any

from webapp.engine.definitions.model import VariableDefinition
from webapp.engine.numbers import JsonObject, JsonValue, encode
from webapp.services.views import TaskDetail
from webapp.web.formats import Text
from webapp.web.forms import PREFIX, FieldRefused, FormField, field_of, read_value, show_value, type_of

DECIDE = "decide"
"""The id of the form that the fields belong to; they stand above it."""

_FORMATS = {"date": "date", "date-time": "dateTime"}
_LONG = 120


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One value that a decision may bring along; ``type`` is a variable's type."""

    name: str
    label: str
    type: str
    required: bool = False
    help: str = ""
    choices: Sequence[JsonValue] = ()
    default: JsonValue = None
    attrs: Mapping[str, str] = field(default_factory=dict)


def asked_of(task: TaskDetail, variables: Iterable[VariableDefinition]) -> list[Asked]:
    """Return what the person who decides may fill in: the form's writable fields, or the variables named by the step.

    A step that names none lets programs write any variable; a page asks for nothing then.
    """
    if task.form is not None:
        fields, required = task.form.get("properties"), task.form.get("required")
        needed = required if isinstance(required, list) else []
        return [
            _of_schema(name, schema, required=name in needed)
            for name, schema in (fields.items() if isinstance(fields, dict) else ())
            if isinstance(schema, dict) and schema.get("readOnly") is not True
        ]
    named = task.writable_variables or []
    return [_of_variable(variable) for variable in variables if variable.name in named]


def _of_schema(name: str, schema: JsonObject, *, required: bool) -> Asked:
    choices = schema.get("enum")
    attrs = {
        html: str(schema[key])
        for key, html in (("minLength", "minlength"), ("maxLength", "maxlength"))
        if isinstance(schema.get(key), int)
    }
    return Asked(
        name=name,
        label=_text(schema.get("title")) or name,
        type=_type(schema),
        required=required,
        help=_text(schema.get("description")),
        choices=choices if isinstance(choices, list) else (),
        default=schema.get("default"),
        attrs=attrs,
    )


def _type(schema: JsonObject) -> str:
    kind = schema.get("type")
    if kind == "string":
        return _FORMATS.get(_text(schema.get("format")), "string")
    return "number" if kind == "integer" else _text(kind) or "string"


def _of_variable(variable: VariableDefinition) -> Asked:
    return Asked(
        name=variable.name,
        label=variable.title or variable.name,
        type=type_of(variable),
        help=variable.description or "",
    )


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def task_fields(
    asked: Iterable[Asked],
    present: JsonObject,
    zone: tzinfo,
    posted: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[FormField]:
    """Return the fields with the *present* values; after a refusal with what was typed and what is wrong with it."""
    shown = []
    for one in asked:
        made = _field(one, present.get(one.name, one.default), zone)
        if posted is not None:
            made = replace(made, value=posted.get(made.name, ""))
        shown.append(replace(made, error=(errors or {}).get(one.name, "")))
    return shown


def _field(one: Asked, value: JsonValue, zone: tzinfo) -> FormField:
    variable = VariableDefinition(
        name=one.name, title=one.label, type=one.type, description=one.help, required=one.required
    )
    made = replace(field_of(variable, zone), value=show_value(one.type, value, zone))
    attrs = {**made.attrs, **one.attrs, "form": DECIDE}
    if one.choices:
        options = [("", ""), *((_key(choice), _label(choice)) for choice in one.choices)]
        current = "" if value is None else _key(value)
        return replace(made, kind="choice", options=options, value=current, attrs={"form": DECIDE})
    if made.kind == "area" and int(one.attrs.get("maxlength", _LONG + 1)) <= _LONG:
        made = replace(made, kind="text")
    return replace(made, attrs=attrs)


def _key(value: JsonValue) -> str:
    return encode(value).decode()


def _label(value: JsonValue) -> str:
    return value if isinstance(value, str) else _key(value)


def read_fields(
    asked: Iterable[Asked], present: JsonObject, posted: Mapping[str, str], zone: tzinfo, text: Text
) -> tuple[JsonObject, dict[str, str]]:
    """Return the values that were filled in, and a sentence for each field that cannot be read.

    A field that was emptied takes its value away; one that was empty all along is left out.
    """
    values: JsonObject = {}
    errors: dict[str, str] = {}
    for one in asked:
        raw = posted.get(PREFIX + one.name, "")
        if one.type == "boolean" and not one.choices:
            values[one.name] = raw == "true"
        elif raw.strip():
            try:
                values[one.name] = _read(one, raw, zone)
            except FieldRefused as refusal:
                errors[one.name] = text(str(refusal))
        elif one.required:
            errors[one.name] = text("ui.field.required")
        elif present.get(one.name) not in (None, ""):
            values[one.name] = None
    return values, errors


def _read(one: Asked, raw: str, zone: tzinfo) -> Any:
    if not one.choices:
        return read_value(one.type, raw, zone)
    for choice in one.choices:
        if _key(choice) == raw:
            return choice
    raise FieldRefused("inbox.form.choice")
