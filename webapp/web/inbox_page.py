"""The page of the inbox: list, tabs and one task, also after a refusal with everything that was typed (spec 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from webapp.engine.errors import Conflict, Denied, NotFound, WorkflowError
from webapp.engine.instances.principals import is_group
from webapp.engine.numbers import JsonObject
from webapp.services.queries import DoneTaskSummary, Page, TaskQuery, TaskSummary
from webapp.services.views import InstanceOverview, TaskDetail
from webapp.web.deps import current_actor, services
from webapp.web.drawing import drawing_of
from webapp.web.forms import errors_by_variable, refusal_text
from webapp.web.htmx import render, wants_block
from webapp.web.listing import Listing, list_url, read_choice, read_paging
from webapp.web.shell import may, page_text, task_counts
from webapp.web.task_dialogs import Asking, dialogs_of
from webapp.web.task_forms import Asked, asked_of, task_fields
from webapp.web.task_words import Result, buttons, closing, group_tasks, progress, signer_lines
from webapp.web.words import Words

MINE, CLAIMABLE, DONE, ALL = "mine", "claimable", "done", "all"
SCOPES = (MINE, CLAIMABLE, DONE, ALL)
DUE = ("late", "today", "week")
DEFAULT_SORT = "createdAt"
MAX_PEOPLE = 200
AGAIN = "again"
"""The part that asks for a task that nobody opened, in its present state."""
BLOCKS = {"task": "task_pane", "list": "list", "rows": "rows"}


@dataclass(kw_only=True)
class Refused:
    """What a command did not do, and what was typed; ``action`` names the dialog that stands open again."""

    lines: Sequence[str] = ()
    comment: str = ""
    comment_error: str = ""
    race: bool = False
    action: str = ""
    posted: Mapping[str, str] | None = None
    errors: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Bulk:
    """What became of several tasks, and what was typed; ``chosen`` are those that stay selected."""

    results: Sequence[Result] = ()
    chosen: Sequence[str] = ()
    comment: str = ""


def inbox_page(
    chosen: TaskDetail | None, refused: Refused | None = None, *, bulk: Bulk | None = None, status: int = 200
) -> Response:
    """Answer with the inbox, or with the part of it that htmx asks for."""
    query, shown = _query(), list_filter()
    found = _rows(query, shown)
    detail = chosen or (None if bulk else _first(found))
    # What stands beside the list by itself was opened by nobody, nor was it when it only shows its new state.
    opened = chosen is not None and request.args.get("part") != AGAIN
    if detail is not None and opened:
        note_opened(detail)
    overview = services().monitor.overview(current_actor(), detail.instance_id) if detail else None
    page = page_text()
    names = _names(found.items, detail, overview)
    context: dict[str, Any] = {
        "filter": shown,
        "filtered": bool(shown["keyword"] or shown["due"] or shown["definition"]),
        "groups": group_tasks(found.items, query.paging.sorts[0].field if query.paging.sorts else "", page),
        "listing": Listing(page, query.paging, found.total, len(found.items), path="/inbox"),
        "tabs": _tabs(shown["scope"], found.total),
        "chosen": chosen is not None or bulk is not None,
        "task": detail,
        "opened": opened,
        "names": names,
        "absent": _absent(found.items),
        "bulk": bulk or Bulk(),
        **(_details(detail, overview, found.items, refused or Refused()) if detail and overview else {}),
    }
    return render("inbox/inbox.html", _block(), status=status, **context)


def note_opened(task: TaskDetail) -> None:
    """Note that the reader looks at a task: it is no new one any more, and what was told of it is read."""
    if task.status == "open" and task.opened_at is None:
        services().inbox.mark_opened(current_actor(), task.id)
    services().notices.task_opened(current_actor(), task.id)


def refuse(task_id: str, refusal: WorkflowError, *, action: str = "", posted: Mapping[str, str]) -> Response:
    """Answer with the task as it is now, why the command was refused, and all that was typed."""
    actor, text = current_actor(), page_text().text
    detail = services().inbox.get(actor, task_id)
    race = isinstance(refusal, Conflict) and detail.status == "ended"
    refused = Refused(comment=posted.get("comment", ""), race=race, action=action, posted=posted)
    if not race and not action:
        overview = services().monitor.overview(actor, detail.instance_id)
        asked = asked_of(detail, overview.definition.variables)
        refused.errors, refused.lines = errors_by_variable(
            refusal, [one.name for one in asked], text, {one.name: one.label for one in asked}
        )
    elif not race:
        refused.lines = [refusal_text(refusal, text)]
    return inbox_page(detail, refused, status=422)


def present_values(task: TaskDetail, overview: InstanceOverview) -> JsonObject:
    """Return the values that a task's fields begin with: its own data before those of the request."""
    return {**overview.instance.variables, **task.form_data}


def _block() -> str:
    if request.args.get("part") == "rows":
        return "rows"
    return BLOCKS.get(request.headers.get("HX-Target", ""), "split")


def _rows(query: TaskQuery, shown: Mapping[str, str]) -> Page[TaskSummary] | Page[DoneTaskSummary]:
    inbox, actor = services().inbox, current_actor()
    if shown["scope"] == DONE:
        return inbox.done(actor, query.keyword, query.paging)
    return inbox.query(actor, query, scope=shown["scope"])


def _first(found: Page[TaskSummary] | Page[DoneTaskSummary]) -> TaskDetail | None:
    """Return the task that a wide page shows beside the list before one was chosen."""
    if not found.items or _block() in ("rows", "list"):
        return None
    try:
        return services().inbox.get(current_actor(), found.items[0].id)
    except (Denied, NotFound):
        # It was decided between the two reads.
        return None


def list_filter() -> dict[str, str]:
    """Return the list's filter as the address has it."""
    args = request.args
    return {
        "scope": read_choice(args, "scope", SCOPES) or MINE,
        "keyword": args.get("keyword", "").strip(),
        "due": read_choice(args, "due", DUE),
        "definition": args.get("definition", "").strip(),
        "sort": args.get("sort", "") or DEFAULT_SORT,
    }


def _query() -> TaskQuery:
    shown = list_filter()
    done = shown["scope"] == DONE
    return TaskQuery(
        keyword=shown["keyword"] or None,
        definition_name=shown["definition"] or None,
        due_before=_due_before(shown["due"]),
        paging=read_paging({**request.args, "sort": ""}, "") if done else read_paging(request.args, DEFAULT_SORT),
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
    counts = {**task_counts(), scope: total} if scope in (DONE, ALL) else task_counts()
    shown = SCOPES if may("tasks:all") else (MINE, CLAIMABLE, DONE)
    return [
        {
            "name": name,
            "url": "/inbox" if name == MINE else f"/inbox?scope={name}",
            "current": scope == name,
            "count": counts.get(name),
        }
        for name in shown
    ]


def _absent(rows: Sequence[TaskSummary | DoneTaskSummary]) -> set[str]:
    """Return the tasks that are the reader's as somebody's substitute."""
    actor = current_actor()
    return {row.id for row in rows if actor.stands_in_for(row.assignee_id, row.definition_name)}


def _names(
    rows: Sequence[TaskSummary | DoneTaskSummary], detail: TaskDetail | None, overview: InstanceOverview | None
) -> Mapping[str, str]:
    logins = {login for row in rows for login in (row.starter_id, row.assignee_id) if login}
    if detail is not None:
        people = (detail.assignee_id, detail.starter_id, detail.completed_by, detail.on_behalf_of, detail.delegated_by)
        logins |= {login for login in (*people, *detail.copied_to, *detail.candidates) if login}
        for signer in detail.signers:
            logins |= {login for login in (signer.id, signer.delegate, signer.after, signer.added_by) if login}
    known = dict(overview.names) if overview else {}
    accounts = {login for login in logins - known.keys() if not is_group(login)}
    words = Words(page_text(), {}, "")
    groups = {login: words.name(login) for login in logins if is_group(login)}
    return {**services().accounts.names(current_actor(), accounts), **known, **groups}


def _details(
    detail: TaskDetail,
    overview: InstanceOverview,
    rows: Sequence[TaskSummary | DoneTaskSummary],
    refused: Refused,
) -> dict[str, Any]:
    actor, page = current_actor(), page_text()
    words = Words(page, _names(rows, detail, overview), actor.name)
    links = _links(detail.id, [row.id for row in rows])
    asked = asked_of(detail, overview.definition.variables) if detail.rights.complete else []
    posted = refused.posted if not refused.action else None
    dialogs = _dialogs(detail, words, refused)
    asks_again = any(dialog.open for dialog in dialogs)
    fields = task_fields(asked, present_values(detail, overview), page.zone, posted, refused.errors)
    return {
        "links": links,
        "facts": words.facts(_shown(detail, asked), overview.definition.variables),
        "fields": fields,
        "trail": words.trail(detail.trail),
        "drawing": drawing_of(overview, page.now, page.text),
        "outcomes": buttons(detail, page),
        "needs_comment": [page.verb(label) for label in detail.comment_required],
        "dialogs": dialogs,
        "signers": signer_lines(detail, words, page),
        "progress": progress(detail, page),
        "acting_for": _acting_for(detail, words),
        "closed": closing(detail, words, page, race=refused.race),
        "refusals": [] if asks_again else refused.lines,
        "comment": "" if asks_again else refused.comment,
        "comment_error": refused.comment_error,
        "focus": not refused.comment_error and wants_block() and request.headers.get("HX-Target") == "inbox",
    }


def _shown(detail: TaskDetail, asked: Sequence[Asked]) -> JsonObject:
    """Return the values to read: what the task brings along and shows, but for what is a field below."""
    filled = {one.name for one in asked}
    return {name: value for name, value in {**detail.form_data, **detail.variables}.items() if name not in filled}


def _acting_for(detail: TaskDetail, words: Words) -> str:
    """Return in whose name the reader would decide, as their substitute; empty when in the own."""
    actor = current_actor()
    absent = detail.rights.complete and actor.stands_in_for(detail.assignee_id, detail.definition_name)
    return words.name(detail.assignee_id) if absent and detail.assignee_id != actor.name else ""


def _dialogs(detail: TaskDetail, words: Words, refused: Refused) -> list[Any]:
    actor, rights, returns = current_actor(), detail.rights, services().returns
    names_people = rights.transfer or rights.add or rights.delegate
    return dialogs_of(
        Asking(
            task=detail,
            actor=actor,
            words=words,
            page=page_text(),
            url=lambda action: list_url(f"/inbox/{detail.id}/{action}", offset=request.args.get("offset")),
            people=services().accounts.search(actor, limit=MAX_PEOPLE) if names_people else (),
            targets=returns.return_targets(actor, detail),
            may_recall=returns.may_recall(actor, detail),
            refused=refused.action,
            refusals=refused.lines,
            posted=refused.posted or {},
        )
    )


def _links(task_id: str, ids: Sequence[str]) -> dict[str, str | None]:
    """Return the ways on from a task: the neighbours in the list as it is filtered and sorted now."""
    at = ids.index(task_id) if task_id in ids else -1
    following = ids[at + 1] if at + 1 < len(ids) else next((other for other in ids if other != task_id), None)
    before = ids[at - 1] if at > 0 else None

    def to(path: str) -> str:
        return list_url(path, offset=request.args.get("offset"))

    return {
        "here": to(f"/inbox/{task_id}"),
        "again": list_url(f"/inbox/{task_id}", offset=request.args.get("offset"), part=AGAIN),
        "list": to("/inbox"),
        "next": to(f"/inbox/{following}") if following else None,
        "next_id": following,
        "previous": to(f"/inbox/{before}") if before else None,
        **{action: to(f"/inbox/{task_id}/{action}") for action in ("complete", "claim", "undo")},
    }
