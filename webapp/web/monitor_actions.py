"""What operators and owners do to one instance after a question: suspend, resume, cancel, retry … (spec 12, 3.13)."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.engine.errors import Denied, InputInvalid, NotFound, WorkflowError
from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonObject
from webapp.web.deps import current_actor, services
from webapp.web.forms import refusal_text
from webapp.web.instance_page import instance_page
from webapp.web.shell import page_text, require_sign_in, toast

blueprint = Blueprint("monitor_actions", __name__, url_prefix="/monitor")
blueprint.before_request(require_sign_in)


@blueprint.post("/<instance_id>/suspend")
def suspend(instance_id: str) -> Response:
    """Stop an instance where it stands, with its children if wanted."""
    command, cascade = services().operations.suspend, _chosen("cascade")
    return _act(instance_id, "suspend", lambda: command(current_actor(), instance_id, _reason(), cascade=cascade))


@blueprint.post("/<instance_id>/resume")
def resume(instance_id: str) -> Response:
    """Let a suspended instance go on."""
    command, cascade = services().operations.resume, _chosen("cascade")
    return _act(instance_id, "resume", lambda: command(current_actor(), instance_id, _reason(), cascade=cascade))


@blueprint.post("/<instance_id>/cancel")
def cancel(instance_id: str) -> Response:
    """Cancel an instance; the reason stays in its trail."""
    command = services().instances.cancel
    return _act(instance_id, "cancel", lambda: command(current_actor(), instance_id, _reason()))


@blueprint.post("/<instance_id>/terminate")
def terminate(instance_id: str) -> Response:
    """End an instance at once, without undoing anything."""
    command = services().operations.terminate
    return _act(instance_id, "terminate", lambda: command(current_actor(), instance_id, _reason()))


@blueprint.post("/<instance_id>/retry")
def retry(instance_id: str) -> Response:
    """Run the step that failed once more."""
    command, restart, force = services().instances.retry, _chosen("restart"), _chosen("force")
    return _act(
        instance_id,
        "retry",
        lambda: command(current_actor(), instance_id, _reason(), restart=restart, force=force),
    )


@blueprint.post("/<instance_id>/signal")
def signal(instance_id: str) -> Response:
    """Give the instance a signal that it waits for."""
    name = request.form.get("name", "").strip()
    return _act(
        instance_id,
        "signal",
        lambda: services().signals.send_to(current_actor(), instance_id, name, _payload()),
    )


def _payload() -> JsonObject:
    text = request.form.get("payload", "").strip()
    if not text:
        return {}
    try:
        value = read_json(text.encode())
    except InputInvalid:
        raise InputInvalid("monitor.signal.not_json", path="payload") from None
    if not isinstance(value, dict):
        raise InputInvalid("start.field.object", path="payload")
    return value


def _reason() -> str | None:
    return request.form.get("reason", "").strip() or None


def _chosen(name: str) -> bool:
    return request.form.get(name) == "true"


def _act(instance_id: str, action: str, command: Callable[[], WorkflowInstance]) -> Response:
    text = page_text().text
    try:
        changed = command()
    except (Denied, NotFound):
        raise
    except WorkflowError as refused:
        return instance_page(
            instance_id, refusal=refusal_text(refused, text), opened=action, typed=request.form, status=422
        )
    if action == "retry" and changed.status is InstanceStatus.FAULTED:
        toast("faulted", text("monitor.retry.failed"), changed.title)
    else:
        toast("completed", text(f"monitor.{action}.done"), changed.title)
    return redirect(f"/monitor/{instance_id}", 303)
