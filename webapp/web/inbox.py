"""The inbox: the list of tasks, one task beside it, and the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.accounts.model import Account
from webapp.engine.errors import Conflict, Denied, InputInvalid, NotFound, WorkflowError
from webapp.services.queries import Page, TaskQuery, TaskSummary
from webapp.services.views import InstanceOverview, TaskDetail
from webapp.web.deps import current_actor, services
from webapp.web.drawing import drawing_of
from webapp.web.forms import refusal_text
from webapp.web.htmx import render, wants_block
from webapp.web.listing import Listing, list_url, read_choice, read_paging
from webapp.web.shell import may, open_tasks, page_text, require_sign_in, toast
from webapp.web.task_words import buttons, closing, group_tasks
from webapp.web.words import Words

blueprint = Blueprint("inbox", __name__, url_prefix="/inbox")
blueprint.before_request(require_sign_in)

SCOPES = ("mine", "all")
DUE = ("late", "today", "week")
DEFAULT_SORT = "createdAt"
MAX_PEOPLE = 200
BLOCKS = {"task": "task_pane", "list": "list", "rows": "rows"}


@dataclass(kw_only=True)
class Refused:
    """What a command did not do, and what was typed."""

    lines: list[str] = field(default_factory=list)
    comment: str = ""
    comment_error: str = ""
    race: bool = False


@blueprint.get("")
def tasks() -> Response:
    """Show the list with its first task."""
    return _page(None)


@blueprint.get("/<task_id>")
def task(task_id: str) -> Response:
    """Show one task beside the list, open or ended."""
    detail = services().inbox.get(current_actor(), task_id)
    return _page(detail)


@blueprint.post("/<task_id>/complete")
def complete(task_id: str) -> Response:
    """Decide, and go on to the next task; a refusal leaves everything where it was."""
    actor, text = current_actor(), page_text().text
    outcome, comment = request.form.get("outcome", ""), request.form.get("comment", "").strip()
    before = services().inbox.get(actor, task_id)
    if outcome in before.comment_required and not comment and before.status == "open":
        refused = Refused(comment_error=text("inbox.comment.required", outcome=page_text().outcome(outcome)))
        return _page(before, refused, status=422)
    try:
        done = services().inbox.complete(actor, task_id, outcome, comment or None)
    except Conflict as conflict:
        return _refused(task_id, conflict, comment, race=True)
    except InputInvalid as refusal:
        return _refused(task_id, refusal, comment)
    toast("completed", page_text().outcome(outcome), done.task.title)
    following = request.form.get("next", "")
    if not following:
        return redirect(list_url("/inbox"), 303)
    # The next task is on the same page of the list.
    return redirect(list_url(f"/inbox/{following}", offset=request.args.get("offset")), 303)


@blueprint.post("/<task_id>/transfer")
def transfer(task_id: str) -> Response:
    """Hand the task over to somebody else."""
    who, comment = request.form.get("who", "").strip(), request.form.get("comment", "").strip()
    try:
        done = services().inbox.transfer(current_actor(), task_id, who, comment or None)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        return _refused(task_id, refusal, comment)
    toast("completed", page_text().text("inbox.transfer.done", name=_name(who)), done.task.title)
    return redirect(list_url("/inbox"), 303)


@blueprint.post("/<task_id>/add")
def add(task_id: str) -> Response:
    """Ask one more person to decide as well."""
    who, comment = request.form.get("who", "").strip(), request.form.get("comment", "").strip()
    try:
        done = services().inbox.add(current_actor(), task_id, [who], comment=comment or None)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        return _refused(task_id, refusal, comment)
    toast("completed", page_text().text("inbox.add.done", name=_name(who)), done.task.title)
    return redirect(list_url(f"/inbox/{task_id}"), 303)


def _name(login: str) -> str:
    return services().accounts.names(current_actor(), [login]).get(login, login)


def _refused(task_id: str, refusal: WorkflowError, comment: str, *, race: bool = False) -> Response:
    detail = services().inbox.get(current_actor(), task_id)
    race = race and detail.status == "ended"
    lines = [] if race else [refusal_text(refusal, page_text().text)]
    return _page(detail, Refused(lines=lines, comment=comment, race=race), status=422)


def _page(chosen: TaskDetail | None, refused: Refused | None = None, status: int = 200) -> Response:
    query, shown = _query(), _filter()
    found = services().inbox.query(current_actor(), query, scope=shown["scope"])
    detail = chosen or _first(found)
    overview = services().monitor.overview(current_actor(), detail.instance_id) if detail else None
    page = page_text()
    context: dict[str, Any] = {
        "filter": shown,
        "filtered": bool(shown["keyword"] or shown["due"] or shown["definition"]),
        "groups": group_tasks(found.items, query.paging.sorts[0].field, page),
        "listing": Listing(page, query.paging, found.total, len(found.items), path="/inbox"),
        "tabs": _tabs(shown["scope"], found.total),
        "chosen": chosen is not None,
        "task": detail,
        "names": _names(found.items, detail, overview),
        **(_details(detail, overview, found.items, refused or Refused()) if detail and overview else {}),
    }
    return render("inbox/inbox.html", _block(), status=status, **context)


def _block() -> str:
    if request.args.get("part") == "rows":
        return "rows"
    return BLOCKS.get(request.headers.get("HX-Target", ""), "split")


def _first(found: Page[TaskSummary]) -> TaskDetail | None:
    """Return the task that a wide page shows beside the list before one was chosen."""
    if not found.items or _block() in ("rows", "list"):
        return None
    try:
        return services().inbox.get(current_actor(), found.items[0].id)
    except (Denied, NotFound):
        # It was decided between the two reads.
        return None


def _filter() -> dict[str, str]:
    args = request.args
    return {
        "scope": read_choice(args, "scope", SCOPES) or "mine",
        "keyword": args.get("keyword", "").strip(),
        "due": read_choice(args, "due", DUE),
        "definition": args.get("definition", "").strip(),
        "sort": args.get("sort", "") or DEFAULT_SORT,
    }


def _query() -> TaskQuery:
    shown = _filter()
    return TaskQuery(
        keyword=shown["keyword"] or None,
        definition_name=shown["definition"] or None,
        due_before=_due_before(shown["due"]),
        paging=read_paging(request.args, DEFAULT_SORT),
    )


def _due_before(choice: str) -> datetime | None:
    page = page_text()
    now = page.now()
    if choice == "late":
        return now
    if choice == "today":
        return now.astimezone(page.zone).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return now + timedelta(days=7) if choice == "week" else None


def _tabs(scope: str, total: int) -> list[dict[str, Any]]:
    tabs = [
        {
            "name": "mine",
            "url": "/inbox",
            "current": scope == "mine",
            "count": open_tasks(),
        }
    ]
    if may("tasks:all"):
        count = total if scope == "all" else None
        tabs.append({"name": "all", "url": "/inbox?scope=all", "current": scope == "all", "count": count})
    return tabs


def _names(
    rows: Sequence[TaskSummary], detail: TaskDetail | None, overview: InstanceOverview | None
) -> Mapping[str, str]:
    logins = {login for row in rows for login in (row.starter_id, row.assignee_id) if login}
    if detail is not None:
        people = (detail.assignee_id, detail.starter_id, detail.completed_by, *detail.copied_to)
        logins |= {login for login in (*people, *(signer.id for signer in detail.signers)) if login}
    known = dict(overview.names) if overview else {}
    return {**services().accounts.names(current_actor(), logins - known.keys()), **known}


def _details(
    detail: TaskDetail, overview: InstanceOverview, rows: Sequence[TaskSummary], refused: Refused
) -> dict[str, Any]:
    actor, page = current_actor(), page_text()
    if detail.status == "open" and detail.assignee_id == actor.name and detail.opened_at is None:
        services().inbox.mark_opened(actor, detail.id)
    words = Words(page, _names(rows, detail, overview), actor.name)
    acting = detail.status == "open" and (detail.rights.transfer or detail.rights.add)
    return {
        "links": _links(detail.id, [row.id for row in rows]),
        "facts": words.facts({**detail.form_data, **detail.variables}, overview.definition.variables),
        "trail": words.trail(detail.trail),
        "drawing": drawing_of(overview, page.now, page.text),
        "outcomes": buttons(detail, page),
        "needs_comment": [page.verb(label) for label in detail.comment_required],
        "people": _others() if acting else [],
        "closed": closing(detail, words, page, race=refused.race),
        "refusals": refused.lines,
        "comment": refused.comment,
        "comment_error": refused.comment_error,
        "focus": not refused.comment_error and wants_block() and request.headers.get("HX-Target") == "inbox",
    }


def _others() -> list[Account]:
    """Return whom a task can be handed to."""
    actor = current_actor()
    return [one for one in services().accounts.search(actor, limit=MAX_PEOPLE) if one.name != actor.name]


def _links(task_id: str, ids: Sequence[str]) -> dict[str, str | None]:
    """Return the ways on from a task: the neighbours in the list as it is filtered and sorted now."""
    at = ids.index(task_id) if task_id in ids else -1
    following = ids[at + 1] if at + 1 < len(ids) else next((other for other in ids if other != task_id), None)
    before = ids[at - 1] if at > 0 else None

    def to(path: str) -> str:
        return list_url(path, offset=request.args.get("offset"))

    return {
        "here": to(f"/inbox/{task_id}"),
        "list": to("/inbox"),
        "next": to(f"/inbox/{following}") if following else None,
        "next_id": following,
        "previous": to(f"/inbox/{before}") if before else None,
        **{action: to(f"/inbox/{task_id}/{action}") for action in ("complete", "transfer", "add")},
    }
