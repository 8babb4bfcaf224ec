"""Editing the variables of an instance: one at a time, with its kind, and who changed what before (spec 12, 3.20)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Final

import msgspec
from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.accounts.permissions import INSTANCES_OPERATE
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import DENIED_PERMISSION, Denied, InputInvalid, NotFound, WorkflowError
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonObject, JsonValue
from webapp.services.views import InstanceOverview
from webapp.web.deps import current_actor, services
from webapp.web.forms import FieldRefused, FormField, problem_text, read_value, refusal_text
from webapp.web.htmx import render
from webapp.web.i18n import json_text
from webapp.web.shell import page_text, require_sign_in, toast
from webapp.web.words import Words

blueprint = Blueprint("monitor_variables", __name__, url_prefix="/monitor")
blueprint.before_request(require_sign_in)

KINDS: Final = ("text", "number", "yes", "no", "none", "json")
_FIXED: Final[dict[str, JsonValue]] = {"yes": True, "no": False, "none": None}
MAX_NAME: Final = 200


@blueprint.get("/<instance_id>/variables")
def variables(instance_id: str) -> Response:
    """Show the variables; with ``name`` the form of that one, with an empty one that of a new one."""
    return _page(instance_id)


@blueprint.post("/<instance_id>/variables")
def change(instance_id: str) -> Response:
    """Set or remove one variable."""
    form, page = request.form, page_text()
    name, removes = form.get("name", "").strip(), form.get("step") == "remove"
    try:
        _check_unchanged(instance_id, name)
        values: JsonObject = {} if removes else {name: _value()}
        services().operations.update_variables(
            current_actor(),
            instance_id,
            values=values,
            removed=[name] if removes else [],
            reason=form.get("reason", "").strip() or None,
        )
    except (Denied, NotFound):
        raise
    except FieldRefused as refused:
        return _page(instance_id, errors={"value": page.text(str(refused))}, status=422)
    except WorkflowError as refusal:
        return _page(instance_id, errors=_errors(refusal, name), status=422)
    toast("completed", page.text("monitor.edit.removed" if removes else "monitor.edit.done", name=name))
    return redirect(f"/monitor/{instance_id}/variables", 303)


def _value() -> JsonValue:
    kind, text = request.form.get("kind", "text"), request.form.get("value", "")
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "number":
        return read_value("number", text, page_text().zone)
    if kind != "json":
        return text.replace("\r\n", "\n")
    try:
        return read_json(text.encode())
    except InputInvalid:
        raise FieldRefused("start.field.json") from None


def _check_unchanged(instance_id: str, name: str) -> None:
    """Refuse to write over what somebody else, or the flow, has written since the form was shown."""
    now = services().instances.get(current_actor(), instance_id).variables
    if request.form.get("was", "") != _mark(now, name):
        value = json_text(now[name]) if name in now else ""
        key = "monitor.edit.changed" if name in now else "monitor.edit.gone"
        raise InputInvalid(key, path="value", params={"name": name, "value": value[:200]})


def _mark(variables: JsonObject, name: str) -> str:
    return json_text(variables[name]) if name in variables else ""


def _errors(refusal: WorkflowError, name: str) -> dict[str, str]:
    """Return a refusal's sentences by field; ``page`` are those that belong to none."""
    text = page_text().text
    if not refusal.problems:
        return {"page": refusal_text(refusal, text)}
    errors: dict[str, str] = {}
    for problem in refusal.problems:
        wrong_name = problem.key == "workflow.variables.name"
        field = "name" if wrong_name else "value" if problem.path in (f"set.{name}", "value") else "page"
        errors.setdefault(field, problem_text(problem, text))
    return errors


def kind_of(value: JsonValue) -> str:
    """Return as which kind a value is edited."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return "text"
    return "number" if isinstance(value, int | Decimal) else "json"


def text_of(value: JsonValue) -> str:
    """Return the text that a value is edited as."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return ""
    # Indented for the eye; the numbers keep the digits that they have.
    return msgspec.json.format(json_text(value))


def _page(instance_id: str, *, errors: dict[str, str] | None = None, status: int = 200) -> Response:
    overview = services().monitor.overview(current_actor(), instance_id)
    if not overview.may_operate:
        raise Denied("access.denied", code=DENIED_PERMISSION, params={"permission": INSTANCES_OPERATE})
    rights = services().operations.rights(current_actor(), overview.instance)
    posted = request.method == "POST"
    name = (request.form if posted else request.args).get("name", "")
    chosen = "name" in request.args or posted
    words = Words(page_text(), overview.names, current_actor().name)
    context: dict[str, Any] = {
        "overview": overview,
        "rights": rights,
        "name": name.strip(),
        "known": name.strip() in overview.instance.variables,
        "required": _required(overview.definition, name.strip()),
        "fields": _fields(overview, name, errors or {}) if chosen and rights.update_variables else [],
        "was": _mark(overview.instance.variables, name.strip()),
        "error": (errors or {}).get("page", ""),
        "changes": words.trail([entry for entry in overview.trail if entry.action == "updateVariables"]),
    }
    return render("monitor/variables.html", "content", status=status, **context)


def _required(definition: WorkflowDefinition, name: str) -> bool:
    return any(one.name == name and one.required for one in definition.variables)


def _fields(overview: InstanceOverview, name: str, errors: dict[str, str]) -> list[FormField]:
    page, variables = page_text(), overview.instance.variables
    typed = request.form if request.method == "POST" else None
    known = variables.get(name.strip())
    declared = next((one for one in overview.definition.variables if one.name == name.strip()), None)
    kind = typed.get("kind", "text") if typed is not None else kind_of(known) if name in variables else "text"
    value = typed.get("value", "") if typed is not None else text_of(known)
    named = FormField(
        name="name",
        label=page.text("monitor.edit.name"),
        value=name,
        required=True,
        error=errors.get("name", ""),
        attrs={"autocomplete": "off", "maxlength": str(MAX_NAME), **({"readonly": ""} if name in variables else {})},
    )
    chosen = FormField(
        name="kind",
        label=page.text("monitor.edit.kind"),
        kind="choice",
        value=kind,
        options=[(one, page.text(f"monitor.edit.kind.{one}")) for one in KINDS],
        help=page.text("monitor.edit.declared", type=declared.type) if declared and declared.type else "",
    )
    written = FormField(
        name="value",
        label=page.text("monitor.edit.value"),
        kind="json" if kind == "json" else "area",
        rows=6 if kind == "json" else 3,
        value=value,
        help=page.text("monitor.edit.value_help"),
        error=errors.get("value", ""),
    )
    reason = FormField(
        name="reason",
        label=page.text("monitor.reason_label"),
        kind="area",
        rows=2,
        value=typed.get("reason", "") if typed is not None else "",
        attrs={"maxlength": "10000"},
    )
    return [named, chosen, written, reason]
