"""The inbox: the list of tasks, one task beside it, and its decision; also several tasks decided at once."""

from __future__ import annotations

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.engine.errors import Conflict, InputInvalid
from webapp.services.views import TaskResult
from webapp.web.deps import current_actor, installation, services
from webapp.web.forms import refusal_text
from webapp.web.inbox_page import Bulk, Refused, inbox_page, note_opened, present_values, refuse
from webapp.web.listing import list_url
from webapp.web.shell import page_text, require_sign_in, toast
from webapp.web.task_forms import asked_of, read_fields
from webapp.web.task_words import Result

blueprint = Blueprint("inbox", __name__, url_prefix="/inbox")
blueprint.before_request(require_sign_in)


@blueprint.get("")
def tasks() -> Response:
    """Show the list with its first task."""
    return inbox_page(None)


@blueprint.get("/<task_id>")
def task(task_id: str) -> Response:
    """Show one task beside the list, open or ended."""
    return inbox_page(services().inbox.get(current_actor(), task_id))


@blueprint.post("/<task_id>/opened")
def opened(task_id: str) -> Response:
    """Note that somebody began to read the task that stood beside the list by itself."""
    note_opened(services().inbox.get(current_actor(), task_id))
    return Response(status=204, headers={"HX-Trigger": "waypost:opened"})


@blueprint.post("/<task_id>/complete")
def complete(task_id: str) -> Response:
    """Decide, and go on to the next task; a refusal leaves everything where it was."""
    actor, page, posted = current_actor(), page_text(), request.form
    outcome, comment = posted.get("outcome", ""), posted.get("comment", "").strip()
    before = services().inbox.get(actor, task_id)
    overview = services().monitor.overview(actor, before.instance_id)
    asked = asked_of(before, overview.definition.variables)
    variables, errors = read_fields(asked, present_values(before, overview), posted, page.zone, page.text)
    refused = Refused(comment=comment, posted=posted, errors=errors)
    if outcome in before.comment_required and not comment:
        refused.comment_error = page.text("inbox.comment.required", outcome=page.outcome(outcome))
    if before.status == "open" and (errors or refused.comment_error):
        return inbox_page(before, refused, status=422)
    try:
        undo_seconds = installation().settings.undo_seconds
        done = services().inbox.complete(actor, task_id, outcome, comment or None, variables, undo_seconds=undo_seconds)
    except Conflict as conflict:
        return refuse(task_id, conflict, posted=posted)
    except InputInvalid as refusal:
        return refuse(task_id, refusal, posted=posted)
    services().notices.task_opened(actor, task_id)
    _tell(done, outcome)
    following = posted.get("next", "")
    if not following:
        return redirect(list_url("/inbox"), 303)
    # The next task is on the same page of the list.
    return redirect(list_url(f"/inbox/{following}", offset=request.args.get("offset")), 303)


def _tell(done: TaskResult, outcome: str) -> None:
    undo = f"/inbox/{done.task.id}/undo" if done.task.undo_until is not None else ""
    toast("completed", page_text().outcome(outcome), done.task.title, undo=undo)


@blueprint.post("/decide")
def decide() -> Response:
    """Decide the selected tasks alike and say of each what became of it; what was refused stays selected."""
    page, posted = page_text(), request.form
    ids, outcome = posted.getlist("ids"), posted.get("decision", "")
    comment = posted.get("comment", "").strip()
    try:
        done = services().inbox.complete_each(current_actor(), ids, outcome, comment or None)
        services().notices.task_opened(current_actor(), *(one.id for one in done if one.result is not None))
    except InputInvalid as refusal:
        line = Result(title=refusal_text(refusal, page.text))
        return inbox_page(None, bulk=Bulk(results=[line], chosen=ids, comment=comment), status=422)
    results = []
    for one in done:
        if one.result is not None:
            title = f"{one.result.task.title} · {one.result.task.instance_title}"
            results.append(Result(task_id=one.id, title=title, text=page.outcome(outcome), done=True))
        else:
            title = posted.get(f"title.{one.id}") or page.text("inbox.bulk.unknown")
            reason = refusal_text(one.error, page.text) if one.error is not None else ""
            results.append(Result(task_id=one.id, title=title, text=reason))
    left = [one.task_id for one in results if not one.done]
    return inbox_page(None, bulk=Bulk(results=results, chosen=left, comment=comment if left else ""))
