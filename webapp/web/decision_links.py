"""Links out of messages: signed in as their recipient one comes to the task; one use, seven days (spec 10)."""

from __future__ import annotations

from flask import Blueprint, redirect, render_template, request
from werkzeug.wrappers import Response

from webapp.engine.errors import Denied, Unavailable, WorkflowError
from webapp.web.deps import current_actor, services
from webapp.web.errors import status_of
from webapp.web.forms import refusal_text
from webapp.web.shell import page_text, require_sign_in

blueprint = Blueprint("decision_links", __name__, url_prefix="/d")
blueprint.before_request(require_sign_in)


@blueprint.get("/<token>")
def follow(token: str) -> Response | tuple[str, int]:
    """Lead to the task, or say why the link does not open and what to do instead."""
    try:
        task_id = services().decision_links.open(current_actor(), token)
    except Unavailable:
        raise
    except WorkflowError as refusal:
        shown = {
            "reason": refusal_text(refusal, page_text().text),
            "task_id": refusal.details.get("taskId"),
            "foreign": isinstance(refusal, Denied),
            "again": request.path,
        }
        return render_template("notifications/link.html", **shown), status_of(refusal)
    return redirect(f"/inbox/{task_id}", 303)
