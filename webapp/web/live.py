"""What pages ask every few seconds: a handful of numbers with an ETag; nothing holds a connection (spec 11)."""

from __future__ import annotations

from flask import Blueprint, request
from werkzeug.wrappers import Response

from webapp.engine.errors import Denied, NotFound
from webapp.engine.numbers import encode
from webapp.web.deps import current_actor, services
from webapp.web.shell import open_tasks, require_sign_in, unread_text

blueprint = Blueprint("live", __name__)


@blueprint.get("/live")
def live() -> Response:
    """Return the counts of tasks and notices, and the state of the task or the instance that a page shows."""
    refused = require_sign_in()
    if refused is not None:
        return Response(status=401)
    answer = {
        "tasks": open_tasks(),
        "notices": unread_text(),
        "task": _task(request.args.get("task")),
        "instance": _instance(request.args.get("instance")),
    }
    response = Response(encode(answer), content_type="application/json")
    response.headers["Cache-Control"] = "private, no-cache"
    response.add_etag()
    return response.make_conditional(request.environ)


def _task(task_id: str | None) -> str:
    if not task_id:
        return ""
    try:
        return services().inbox.get(current_actor(), task_id).status
    except (Denied, NotFound):
        # Handed over or purged meanwhile: for this reader it is over.
        return "ended"


def _instance(instance_id: str | None) -> str:
    if not instance_id:
        return ""
    try:
        return str(services().instances.get(current_actor(), instance_id).revision)
    except (Denied, NotFound):
        return ""
