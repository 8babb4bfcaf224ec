"""My requests: what I started, whom each waits for, and what happened to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.engine.errors import Denied, NotFound, WorkflowError
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus
from webapp.services.queries import InstanceQuery, InstanceSummary
from webapp.services.views import InstanceOverview
from webapp.web.deps import current_actor, services
from webapp.web.drawing import drawing_of
from webapp.web.forms import FormField, refusal_text
from webapp.web.htmx import render
from webapp.web.listing import Listing, read_choice, read_paging
from webapp.web.shell import page_text, require_sign_in, toast
from webapp.web.words import Words, waiting_names

blueprint = Blueprint("requests", __name__, url_prefix="/requests")
blueprint.before_request(require_sign_in)

TABS: Mapping[str, tuple[InstanceStatus, ...]] = {
    "open": (InstanceStatus.RUNNING, InstanceStatus.SUSPENDED, InstanceStatus.FAULTED),
    "done": (InstanceStatus.COMPLETED, InstanceStatus.CANCELED, InstanceStatus.TERMINATED),
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """A request as the list shows it."""

    id: str
    title: str
    definition_title: str
    created_at: datetime
    ended_at: datetime | None
    status: str
    state_text: str
    waits: str = ""


@dataclass(frozen=True, kw_only=True)
class Refused:
    """What was not done, and what was typed."""

    action: str = ""
    line: str = ""
    posted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the starter may do with a request, and what it asks for."""

    name: str
    icon: str
    field: FormField
    refusal: str = ""
    open: bool = False


@blueprint.get("")
def mine() -> Response:
    """Show the list, and the newest request beside it."""
    return _page(None)


@blueprint.get("/<instance_id>")
def one(instance_id: str) -> Response:
    """Show one request."""
    return _page(services().monitor.overview(current_actor(), instance_id))


@blueprint.post("/<instance_id>/withdraw")
def withdraw(instance_id: str) -> Response:
    """Take an own request back; a refusal keeps the reason."""
    reason = request.form.get("reason", "").strip()
    try:
        ended = services().returns.withdraw(current_actor(), instance_id, reason or None)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        return _refused(instance_id, "withdraw", refusal)
    toast("completed", page_text().text("start.requests.withdraw.done"), ended.title)
    return redirect(f"/requests/{instance_id}", 303)


@blueprint.post("/<instance_id>/urge")
def urge(instance_id: str) -> Response:
    """Remind everybody whom the request waits for, once for each step; a refusal keeps the comment."""
    actor, comment = current_actor(), request.form.get("comment", "").strip()
    overview = services().monitor.overview(actor, instance_id)
    try:
        for task_id in _urged(overview):
            services().inbox.urge(actor, task_id, comment or None)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        return _refused(instance_id, "urge", refusal)
    toast("completed", page_text().text("start.requests.urge.done"), overview.instance.title)
    return redirect(f"/requests/{instance_id}", 303)


def _urged(overview: InstanceOverview) -> list[str]:
    """Return a task of each step that waits for people: a reminder goes to all of a step."""
    if overview.instance.status is not InstanceStatus.RUNNING:
        return []
    tasks = [wait for wait in overview.waits if wait.kind is BookmarkKind.USER_TASK and wait.bookmark_id]
    return list({wait.node_id: str(wait.bookmark_id) for wait in reversed(tasks)}.values())


def _refused(instance_id: str, action: str, refusal: WorkflowError) -> Response:
    overview = services().monitor.overview(current_actor(), instance_id)
    refused = Refused(action=action, line=refusal_text(refusal, page_text().text), posted=request.form)
    return _page(overview, refused, status=422)


def _page(chosen: InstanceOverview | None, refused: Refused | None = None, *, status: int = 200) -> Response:
    args, actor = request.args, current_actor()
    tab = read_choice(args, "tab", TABS) or ("done" if chosen and chosen.instance.status in TABS["done"] else "open")
    keyword = args.get("keyword", "").strip()
    query = InstanceQuery(
        statuses=TABS[tab], starter_id=actor.name, keyword=keyword or None, paging=read_paging(args, "-createdAt")
    )
    page = services().instances.query(actor, query)
    counts = services().instances.counts(actor, InstanceQuery(starter_id=actor.name))
    shown = chosen
    if shown is None and page.items:
        shown = services().monitor.overview(actor, page.items[0].id)
    titles = {offer.name: offer.display_name or offer.name for offer in services().catalog.startable(actor)}
    waits = _waits(page.items)
    context: dict[str, Any] = {
        "rows": [_row(item, titles, waits.get(item.id, "")) for item in page.items],
        "filter": {"tab": tab, "keyword": keyword},
        "tab_counts": {
            name: sum(counts.get(status.value, 0) for status in statuses) for name, statuses in TABS.items()
        },
        "listing": Listing(page_text(), query.paging, page.total, len(page.items), path="/requests"),
        "chosen": chosen is not None,
        "overview": shown,
        **(_details(shown, refused or Refused()) if shown else {}),
    }
    block = "request" if request.headers.get("HX-Target") == "task" else "list"
    return render("requests/requests.html", block, status=status, **context)


def _waits(items: Sequence[InstanceSummary]) -> dict[str, str]:
    """Return whom each open request of the list waits for."""
    actor = current_actor()
    running = [item.id for item in items if item.status is InstanceStatus.RUNNING]
    waiting = waiting_names(services().inbox.of_instances(actor, running))
    names = services().accounts.names(actor, {login for logins in waiting.values() for login in logins})
    words = Words(page_text(), names, actor.name)
    return {instance_id: words.waits_for(logins) for instance_id, logins in waiting.items()}


def _row(item: InstanceSummary, titles: Mapping[str, str], waits: str) -> Row:
    page = page_text()
    done = item.status is InstanceStatus.COMPLETED and item.outcome
    status = "Waiting" if item.status is InstanceStatus.RUNNING else item.status.value
    return Row(
        id=item.id,
        title=item.title,
        definition_title=titles.get(item.definition_name, item.definition_name),
        created_at=item.created_at,
        ended_at=item.ended_at,
        status=status,
        waits=waits,
        state_text=page.outcome(item.outcome)
        if done and item.outcome
        else page.text(f"workflow.status.{item.status.value}"),
    )


def _questions(overview: InstanceOverview, refused: Refused) -> list[Question]:
    """Return the actions that work now."""
    actor, instance = current_actor(), overview.instance
    offered = []
    if actor.name in (instance.starter_id, instance.requested_by) and _urged(overview):
        offered.append(("urge", "bell-ring", "comment"))
    if services().returns.may_withdraw(actor, instance):
        offered.append(("withdraw", "undo-2", "reason"))
    return [_question(name, icon, asked, refused) for name, icon, asked in offered]


def _question(name: str, icon: str, asked: str, refused: Refused) -> Question:
    mine = refused.action == name
    return Question(
        name=name,
        icon=icon,
        field=FormField(
            name=asked,
            scope=name,
            label=page_text().text(f"start.requests.{name}.{asked}"),
            kind="area",
            rows=2,
            value=refused.posted.get(asked, "") if mine else "",
            attrs={"maxlength": "10000"},
        ),
        refusal=refused.line if mine else "",
        open=mine,
    )


def _details(overview: InstanceOverview, refused: Refused) -> dict[str, Any]:
    page = page_text()
    words = Words(page, overview.names, current_actor().name)
    declared, values = overview.definition.variables, overview.instance.variables
    asked = {variable.name: values[variable.name] for variable in declared if variable.name in values}
    questions = _questions(overview, refused)
    return {
        "questions": questions,
        "refusal": "" if any(question.open for question in questions) else refused.line,
        "say": words.say(overview),
        "steps": words.steps(overview),
        "drawing": drawing_of(overview, page.now, page.text),
        "facts": words.facts(asked, declared),
        "trail": words.trail([entry for entry in overview.trail if entry.kind != "node"]),
    }
