"""Forms made from variables: one field a variable, read back to JSON values by its type (spec 1.4, 1.16, 1.17)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, tzinfo
from decimal import Decimal
from typing import Any, Literal

from webapp.engine.definitions.model import VariableDefinition
from webapp.engine.errors import InputInvalid, Problem, WorkflowError
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonDecimal, JsonObject, JsonValue, encode
from webapp.web.formats import Text

FieldKind = Literal["text", "area", "json", "choice", "switch"]

PREFIX = "v."
"""Variables travel under this prefix, so that none can be mistaken for a field of the page itself."""

_NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?")
_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, kw_only=True)
class FormField:
    """One field as the page shows it; ``value`` is always text, ``scope`` keeps the ids of several forms apart."""

    name: str
    label: str
    kind: FieldKind = "text"
    input_type: str = "text"
    required: bool = False
    value: str = ""
    help: str = ""
    error: str = ""
    rows: int = 1
    options: Sequence[tuple[str, str]] = ()
    scope: str = ""
    attrs: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The element's id."""
        scope = f"{self.scope}-" if self.scope else ""
        return f"f-{scope}" + re.sub(r"[^A-Za-z0-9_-]", "-", self.name)


class FieldRefused(ValueError):
    """A text that is no value of the field's type; carries a message key."""


def _read_number(text: str) -> JsonValue:
    plain = unicodedata.normalize("NFKC", text)
    if not _NUMBER.fullmatch(plain):
        raise FieldRefused("start.field.number")
    digits = plain.replace(",", "").removeprefix("+")
    if "." not in digits and int(digits) in _INT64:
        return int(digits)
    return JsonDecimal(digits)


def _read_date(text: str) -> JsonValue:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise FieldRefused("start.field.date") from None


def _read_instant(text: str, zone: tzinfo) -> JsonValue:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise FieldRefused("start.field.date_time") from None
    return (at if at.tzinfo else at.replace(tzinfo=zone)).isoformat()


def _read_document(text: str, wanted: type, key: str) -> JsonValue:
    try:
        value = read_json(text.encode())
    except InputInvalid:
        raise FieldRefused("start.field.json") from None
    if not isinstance(value, wanted):
        raise FieldRefused(key)
    return value


def type_of(variable: VariableDefinition) -> str:
    """Return the declared type; without one what the default value is, else string."""
    if variable.type:
        return variable.type
    default = variable.default_value
    if isinstance(default, bool):
        return "boolean"
    for kind, name in ((int | Decimal, "number"), (dict, "object"), (list, "array")):
        if isinstance(default, kind):
            return name
    return "string"


def read_value(type_name: str, text: str, zone: tzinfo) -> JsonValue:
    """Return the JSON value of a text. :raises FieldRefused: it is none of that type."""
    if type_name == "number":
        return _read_number(text.strip())
    if type_name == "date":
        return _read_date(text.strip())
    if type_name == "dateTime":
        return _read_instant(text.strip(), zone)
    if type_name == "object":
        return _read_document(text, dict, "start.field.object")
    if type_name == "array":
        return _read_document(text, list, "start.field.array")
    return text.replace("\r\n", "\n")


def show_value(type_name: str, value: JsonValue, zone: tzinfo) -> str:
    """Return the text that a field starts with."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _local_minute(value, zone) if type_name == "dateTime" else value
    return encode(value).decode()


def _local_minute(value: str, zone: tzinfo) -> str:
    try:
        return f"{datetime.fromisoformat(value).astimezone(zone):%Y-%m-%dT%H:%M}"
    except (ValueError, OverflowError):
        # A default of another shape, or an instant that has no day in this zone's calendar, is the designer's mistake:
        # the field shows it and the start refuses it.
        return value


_INPUTS: dict[str, dict[str, Any]] = {
    "string": {"kind": "area"},
    "number": {"attrs": {"inputmode": "decimal", "autocomplete": "off"}},
    "boolean": {"kind": "switch"},
    "date": {"input_type": "date"},
    "dateTime": {"input_type": "datetime-local"},
    "object": {"kind": "json", "rows": 4},
    "array": {"kind": "json", "rows": 4},
}


def field_of(variable: VariableDefinition, zone: tzinfo) -> FormField:
    """Return the empty field of a variable."""
    type_name = type_of(variable)
    return FormField(
        name=PREFIX + variable.name,
        label=variable.title or variable.name,
        required=variable.required and type_name != "boolean",
        help=variable.description or "",
        value=show_value(type_name, variable.default_value, zone),
        **_INPUTS.get(type_name, _INPUTS["string"]),
    )


def read_variables(
    variables: Iterable[VariableDefinition], posted: Mapping[str, str], zone: tzinfo, text: Text
) -> tuple[JsonObject, dict[str, str]]:
    """Return the values that were filled in, and a sentence for each field that cannot be read."""
    values: JsonObject = {}
    errors: dict[str, str] = {}
    for variable in variables:
        type_name = type_of(variable)
        if type_name == "boolean":
            values[variable.name] = posted.get(PREFIX + variable.name) == "true"
            continue
        raw = posted.get(PREFIX + variable.name, "")
        if not raw.strip():
            if variable.required:
                errors[variable.name] = text("ui.field.required")
            continue
        try:
            values[variable.name] = read_value(type_name, raw, zone)
        except FieldRefused as refusal:
            errors[variable.name] = text(str(refusal))
    return values, errors


def fields_of(
    variables: Iterable[VariableDefinition],
    zone: tzinfo,
    posted: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> list[FormField]:
    """Return the fields, after a refusal with what was typed and what is wrong with it."""
    fields = []
    for variable in variables:
        made = field_of(variable, zone)
        if posted is not None:
            made = replace(made, value=posted.get(made.name, ""))
        fields.append(replace(made, error=(errors or {}).get(variable.name, "")))
    return fields


def problem_text(problem: Problem, text: Text) -> str:
    """Return a problem as a sentence."""
    return text(problem.key, **problem.params)


def refusal_text(refusal: WorkflowError, text: Text) -> str:
    """Return a refusal in a sentence: its problems if there are any, else its own message."""
    if refusal.problems:
        return " ".join(problem_text(problem, text) for problem in refusal.problems)
    return text(refusal.key, **refusal.params)


def errors_by_variable(
    refusal: WorkflowError, names: Iterable[str], text: Text, labels: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Return a refusal's problems by variable, called by its label if it has one, and those of no field."""
    known, called = set(names), labels or {}
    by_field: dict[str, str] = {}
    others: list[str] = []
    for problem in refusal.problems:
        path = problem.path.removeprefix("$").lstrip(".").removeprefix("variables").lstrip(".")
        name = re.split(r"[.\[]", path, maxsplit=1)[0]
        if name in known:
            params = {**problem.params, "name": called.get(name, problem.params.get("name", name))}
            by_field.setdefault(name, text(problem.key, **params))
        else:
            others.append(problem_text(problem, text))
    if not refusal.problems:
        others.append(text(refusal.key, **refusal.params))
    return by_field, others
