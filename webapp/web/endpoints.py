"""Endpoints for administrators: where messages and events leave the house; a secret goes in and never out (spec 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from flask import Blueprint, redirect, render_template, request
from werkzeug.wrappers import Response

from webapp.engine.errors import Denied, NotFound, StaleRevision, WorkflowError
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.services.endpoints import EndpointSettings
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField, problem_text, refusal_text
from webapp.web.listing import read_choice
from webapp.web.shell import page_text, require_sign_in, toast

blueprint = Blueprint("endpoints", __name__, url_prefix="/admin/endpoints")
blueprint.before_request(require_sign_in)

PATH: Final = "/admin/endpoints"

BROKERS: Final = (ChannelKind.AMQP, ChannelKind.REDIS)
KINDS: Final = tuple(kind for kind in ChannelKind if kind is not ChannelKind.EMAIL)
"""What can be made; e-mail is set up in the settings."""

SIGNED: Final = (ChannelKind.WEBHOOK, ChannelKind.DINGTALK, ChannelKind.FEISHU)
OPTIONS: Final[Mapping[ChannelKind, Sequence[str]]] = {
    ChannelKind.AMQP: ("exchange", "routingKey"),
    ChannelKind.REDIS: ("stream", "queue"),
}
"""The fields that only some kinds have."""

ICONS: Final[Mapping[ChannelKind, str]] = {
    ChannelKind.EMAIL: "at-sign",
    ChannelKind.WEBHOOK: "globe",
    ChannelKind.DINGTALK: "message-square",
    ChannelKind.WECOM: "message-square",
    ChannelKind.FEISHU: "message-square",
    ChannelKind.SLACK: "message-square",
    ChannelKind.AMQP: "radio-tower",
    ChannelKind.REDIS: "radio-tower",
}


@dataclass(kw_only=True)
class Refused:
    """What was typed, and why it was not kept; ``stale`` when somebody saved since the page was read."""

    errors: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    stale: bool = False


@blueprint.get("")
def endpoints() -> str:
    """List the endpoints by name."""
    found = services().endpoints.list(current_actor())
    return render_template("notifications/endpoints.html", rows=found, icons=ICONS, email=ChannelKind.EMAIL)


@blueprint.get("/new")
def new() -> str:
    """Ask which kind it shall be, then for what that kind needs."""
    services().endpoints.list(current_actor())
    kind = read_choice(request.args, "kind", KINDS)
    if not kind:
        return render_template("notifications/endpoint_new.html", kinds=KINDS, icons=ICONS)
    return _page(ChannelKind(kind), None, {"enabled": "true", "for_notices": "" if kind in BROKERS else "true"})


@blueprint.post("/new")
def create() -> Response | tuple[str, int]:
    """Make an endpoint; a refusal shows what is wrong at its field."""
    kind = ChannelKind(read_choice(request.args, "kind", KINDS) or ChannelKind.WEBHOOK)
    try:
        made = services().endpoints.create(current_actor(), kind, _posted(kind))
    except Denied:
        raise
    except WorkflowError as refusal:
        return _page(kind, None, request.form, _refused(refusal)), 422
    toast("completed", page_text().text("notifications.endpoints.created"), made.name)
    return redirect(f"{PATH}/{made.id}", 303)


@blueprint.get("/<endpoint_id>")
def endpoint(endpoint_id: str) -> Response | str:
    """Show one endpoint with its settings, all but the secret; e-mail has none here."""
    found = services().endpoints.get(current_actor(), endpoint_id)
    if found.kind not in KINDS:
        return redirect(PATH, 303)
    return _page(found.kind, found, _values(found))


@blueprint.post("/<endpoint_id>")
def update(endpoint_id: str) -> Response | tuple[str, int]:
    """Keep what was typed, unless somebody else changed the endpoint meanwhile; nothing typed is lost."""
    actor = current_actor()
    found = services().endpoints.get(actor, endpoint_id)
    try:
        services().endpoints.update(actor, endpoint_id, _posted(found.kind), expected_revision=_revision())
    except (Denied, NotFound):
        raise
    except StaleRevision:
        found = services().endpoints.get(actor, endpoint_id)
        return _page(found.kind, found, request.form, Refused(stale=True)), 412
    except WorkflowError as refusal:
        return _page(found.kind, found, request.form, _refused(refusal)), 422
    toast("completed", page_text().text("notifications.endpoints.saved"))
    return redirect(f"{PATH}/{endpoint_id}", 303)


@blueprint.post("/<endpoint_id>/delete")
def delete(endpoint_id: str) -> Response | tuple[str, int]:
    """Delete an endpoint as it was shown."""
    actor = current_actor()
    found = services().endpoints.get(actor, endpoint_id)
    try:
        services().endpoints.delete(actor, endpoint_id, _revision())
    except StaleRevision:
        return _page(found.kind, found, _values(found), Refused(stale=True)), 412
    toast("completed", page_text().text("notifications.endpoints.deleted"), found.name)
    return redirect(PATH, 303)


@blueprint.post("/<endpoint_id>/try")
def try_out(endpoint_id: str) -> Response:
    """Send a test message now and say whether it was taken."""
    text = page_text().text
    try:
        services().endpoints.try_out(current_actor(), endpoint_id)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        toast("faulted", text("notifications.endpoints.not_tried"), refusal_text(refusal, text))
    else:
        toast("completed", text("notifications.endpoints.tried"))
    return redirect(f"{PATH}/{endpoint_id}", 303)


def _revision() -> int:
    given = request.form.get("revision", "")
    return int(given) if given.isdecimal() and len(given) < 10 else 0


def _posted(kind: ChannelKind) -> EndpointSettings:
    """Return what the form says; ``secret`` None keeps the one that is there."""
    form = request.form
    topics = [line.strip() for line in form.get("topics", "").splitlines()]
    given = form.get("secret", "")
    return EndpointSettings(
        name=form.get("name", ""),
        address=form.get("address", ""),
        secret="" if form.get("forget") == "true" else given or None,
        topics=[topic for topic in topics if topic],
        for_notices=form.get("for_notices") == "true",
        options={name: form[name].strip() for name in OPTIONS.get(kind, ()) if form.get(name, "").strip()},
        enabled=form.get("enabled") == "true",
    )


def _values(found: Endpoint) -> dict[str, str]:
    options = {name: str(found.options.get(name) or "") for name in OPTIONS.get(found.kind, ())}
    return {
        "name": found.name,
        "address": found.address,
        "topics": "\n".join(found.topics),
        "for_notices": "true" if found.for_notices else "",
        "enabled": "true" if found.enabled else "",
        **options,
    }


def _refused(refusal: WorkflowError) -> Refused:
    text = page_text().text
    known = {"name", "address", "secret", "topics", "exchange", "routingKey", "stream", "queue"}
    errors: dict[str, str] = {}
    others: list[str] = []
    for problem in refusal.problems:
        name = problem.path.removeprefix("options.").partition("[")[0]
        if name in known and name not in errors:
            errors[name] = problem_text(problem, text)
        else:
            others.append(problem_text(problem, text))
    return Refused(errors=errors, lines=others if refusal.problems else [refusal_text(refusal, text)])


def _page(kind: ChannelKind, found: Endpoint | None, values: Mapping[str, str], refused: Refused | None = None) -> str:
    return render_template(
        "notifications/endpoint.html",
        kind=kind.value,
        icon=ICONS[kind],
        endpoint=found,
        fields=_fields(kind, found, values, refused.errors if refused else {}),
        refused=refused,
    )


def _fields(
    kind: ChannelKind, found: Endpoint | None, values: Mapping[str, str], errors: Mapping[str, str]
) -> list[FormField]:
    text = page_text().text

    def made(name: str, help_key: str = "", **rest: Any) -> FormField:
        rest.setdefault("value", values.get(name, ""))
        helped = text(help_key) if help_key else ""
        label = text(f"notifications.endpoints.field.{name}")
        return FormField(name=name, label=label, help=helped, error=errors.get(name, ""), **rest)

    plain = {"autocomplete": "off", "spellcheck": "false"}
    fields = [
        made("name", "notifications.endpoints.field.name_help", required=True, attrs={"maxlength": "100", **plain}),
        made("address", f"notifications.endpoints.address.{kind}", required=True, attrs={"maxlength": "2000", **plain}),
    ]
    lost = found is not None and "secret" in found.unreadable
    if kind in SIGNED or lost:
        kept = found is not None and found.secret is not None
        key = "notifications.endpoints.secret_kept" if kept else f"notifications.endpoints.secret.{kind}"
        key = "notifications.endpoints.secret_lost" if lost else key
        hidden = {"autocomplete": "new-password", "maxlength": "500"}
        fields.append(made("secret", key, value="", input_type="password", attrs=hidden))
        if (kept or lost) and kind is not ChannelKind.WEBHOOK:
            # Without one a webhook's receiver could not tell whose a request is.
            fields.append(made("forget", kind="switch"))
    fields += [
        made(name, f"notifications.endpoints.field.{name}_help", attrs={"maxlength": "255", **plain})
        for name in OPTIONS.get(kind, ())
    ]
    fields.append(made("topics", "notifications.endpoints.field.topics_help", kind="area", rows=4, attrs=plain))
    if kind not in BROKERS:
        fields.append(made("for_notices", "notifications.endpoints.field.for_notices_help", kind="switch"))
    fields.append(made("enabled", "notifications.endpoints.field.enabled_help", kind="switch"))
    return fields
