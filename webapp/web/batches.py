"""Batches: one operation on many instances, how far each has come, and what could not be done (spec 12, Monitor)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.accounts.permissions import INSTANCES_OPERATE
from webapp.engine.errors import DENIED_PERMISSION, Denied, InputInvalid, NotFound, WorkflowError
from webapp.engine.instances.batches import Batch, BatchItem, BatchItemStatus, BatchStatus
from webapp.engine.numbers import JsonObject
from webapp.services.queries import InstanceQuery, InstanceSummary, Paging
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField, problem_text, refusal_text
from webapp.web.htmx import render
from webapp.web.instance_filters import read_query
from webapp.web.listing import Listing, read_choice, read_paging
from webapp.web.shell import may, page_text, require_sign_in, toast

blueprint = Blueprint("batches", __name__, url_prefix="/monitor/batches")
blueprint.before_request(require_sign_in)


@blueprint.before_request
def require_operating() -> None:
    """Keep batches to operators; an owner acts on single instances, and on many through the API."""
    if not may(INSTANCES_OPERATE):
        raise Denied("access.denied", code=DENIED_PERMISSION, params={"permission": INSTANCES_OPERATE})


ACTIONS: Final = ("suspend", "resume", "retry", "cancel", "terminate", "migrate")
STATES: Final = {
    BatchStatus.RUNNING: "Running",
    BatchStatus.PAUSED: "Suspended",
    BatchStatus.COMPLETED: "Completed",
    BatchStatus.CANCELED: "Canceled",
}
"""As which state of an instance a batch is coloured."""

ITEMS: Final = [status.value for status in BatchItemStatus]
SHOWN: Final = 10
"""So many titles of what was chosen are named before the batch is made."""


@blueprint.get("")
def batches() -> Response:
    """List the batches, the newest first."""
    actor, paging = current_actor(), read_paging(request.args, "")
    found = services().batches.query(actor, paging)
    names = services().accounts.names(actor, {one.actor_id for one in found.items if one.actor_id})
    listing = Listing(page_text(), paging, found.total, len(found.items), path="/monitor/batches")
    return render(
        "monitor/batches.html", "list", rows=found.items, states=STATES, names=names, listing=listing, shares=_shares
    )


def _shares(batch: Batch) -> int:
    """Return how much of a batch is over, in percent."""
    return 100 * (batch.done + batch.failed) // batch.total if batch.total else 100


# --- making one -------------------------------------------------------------------------------


@blueprint.post("/new")
def choose() -> Response:
    """Ask what is to be done with the chosen instances, or with all that the filters find."""
    return _form()


@blueprint.post("")
def create() -> Response:
    """Make the batch; the poller runs it."""
    form = request.form
    chosen: dict[str, Any] = {"query": _query(form)} if _all(form) else {"instance_ids": form.getlist("id")}
    try:
        made = services().batches.create(
            current_actor(),
            form.get("action", ""),
            reason=form.get("reason", "").strip() or None,
            parameters=_parameters(form),
            **chosen,
        )
    except Denied:
        raise
    except WorkflowError as refusal:
        return _form(refusal, 422)
    toast("completed", page_text().text("monitor.batch.started", count=made.total))
    return redirect(f"/monitor/batches/{made.id}", 303)


def _all(form: Mapping[str, str]) -> bool:
    return form.get("all") == "true"


def _query(form: Mapping[str, str]) -> InstanceQuery:
    """Return the query of the list's address that the form carries."""
    return read_query(dict(parse_qsl(form.get("filters", ""))), page_text().zone)


def _parameters(form: Mapping[str, str]) -> JsonObject:
    action = form.get("action", "")
    if action in ("suspend", "resume"):
        return {"cascade": form.get("cascade") == "true"}
    if action != "migrate":
        return {}
    version = form.get("version", "").strip()
    if not version.isdecimal() or len(version) > 9:
        raise InputInvalid("monitor.batch.no_version", path="parameters.version")
    return {"version": int(version)}


def _form(refusal: WorkflowError | None = None, status: int = 200) -> Response:
    form, page = request.form, page_text()
    found, total = _found(form)
    filters = form.get("filters", "")
    errors: dict[str, str] = {}
    others: list[str] = []
    for problem in [] if refusal is None else refusal.problems:
        name = problem.path.removeprefix("parameters.")
        if name in ("action", "version") and name not in errors:
            errors[name] = problem_text(problem, page.text)
        else:
            others.append(problem_text(problem, page.text))
    if refusal is not None and not refusal.problems:
        others.append(refusal_text(refusal, page.text))
    context = {
        "ids": [] if _all(form) else form.getlist("id"),
        "all": _all(form),
        "filters": filters,
        "back": "/monitor" + (f"?{filters}" if filters else ""),
        "found": found,
        "total": total,
        "others": others,
        "fields": _fields(form, errors, len({one.definition_name for one in found}) > 1),
    }
    return render("monitor/batch_new.html", "content", status=status, **context)


def _found(form: Any) -> tuple[list[InstanceSummary], int]:
    """Return the first of what was chosen, and how many there are."""
    actor, some = current_actor(), Paging(limit=SHOWN)
    if _all(form):
        page = services().instances.query(actor, _with(_query(form), some))
        return page.items, page.total
    ids = tuple(dict.fromkeys(form.getlist("id")))
    page = services().instances.query(actor, InstanceQuery(ids=ids, paging=some))
    return page.items, len(ids)


def _with(query: InstanceQuery, paging: Paging) -> InstanceQuery:
    members = {name: getattr(query, name) for name in InstanceQuery.__struct_fields__}
    return InstanceQuery(**{**members, "paging": paging})


def _fields(form: Mapping[str, str], errors: Mapping[str, str], mixed: bool) -> list[FormField]:
    text = page_text().text
    return [
        FormField(
            name="action",
            label=text("monitor.batch.action"),
            kind="choice",
            value=form.get("action", ""),
            options=[(name, text(f"monitor.batch.action.{name}")) for name in ACTIONS],
            error=errors.get("action", ""),
        ),
        FormField(
            name="cascade",
            label=text("monitor.option.cascade"),
            kind="switch",
            value=form.get("cascade", "" if "action" in form else "true"),
            help=text("monitor.batch.cascade_help"),
        ),
        FormField(
            name="version",
            label=text("monitor.batch.version"),
            value=form.get("version", ""),
            help=text("monitor.batch.version_mixed" if mixed else "monitor.batch.version_help"),
            error=errors.get("version", ""),
            attrs={"inputmode": "numeric", "autocomplete": "off"},
        ),
        FormField(
            name="reason",
            label=text("monitor.reason_label"),
            kind="area",
            rows=2,
            value=form.get("reason", ""),
            attrs={"maxlength": "10000"},
        ),
    ]


# --- watching one -----------------------------------------------------------------------------


@blueprint.get("/<batch_id>")
def batch(batch_id: str) -> Response:
    """Show how far a batch has come, and why which instance failed."""
    return _batch_page(batch_id)


@blueprint.post("/<batch_id>/pause")
def pause(batch_id: str) -> Response:
    """Stop it after the instances at hand."""
    return _turn(batch_id, "pause", services().batches.pause)


@blueprint.post("/<batch_id>/resume")
def resume(batch_id: str) -> Response:
    """Let it go on."""
    return _turn(batch_id, "resume", services().batches.resume)


@blueprint.post("/<batch_id>/cancel")
def cancel(batch_id: str) -> Response:
    """End it; what is done stays done."""
    return _turn(batch_id, "cancel", services().batches.cancel)


def _turn(batch_id: str, action: str, command: Callable[..., Batch]) -> Response:
    try:
        command(current_actor(), batch_id)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        return _batch_page(batch_id, refusal_text(refusal, page_text().text), 422)
    toast("completed", page_text().text(f"monitor.batch.{action}.done"))
    return redirect(f"/monitor/batches/{batch_id}", 303)


def _batch_page(batch_id: str, refusal: str = "", status: int = 200) -> Response:
    actor, page = current_actor(), page_text()
    shown = services().batches.get(actor, batch_id)
    chosen = read_choice(request.args, "status", ITEMS)
    paging = read_paging(request.args, "")
    items = services().batches.items(actor, batch_id, BatchItemStatus(chosen) if chosen else None, paging)
    ids = tuple(item.instance_id for item in items.items)
    found = services().instances.query(actor, InstanceQuery(ids=ids, paging=Paging(limit=max(len(ids), 1))))
    names = services().accounts.names(actor, {shown.actor_id} if shown.actor_id else set())
    context = {
        "batch": shown,
        "state": STATES[shown.status],
        "share": _shares(shown),
        "who": names.get(shown.actor_id or "", shown.actor_id or ""),
        "chosen": chosen,
        "statuses": ITEMS,
        "counts": {
            "pending": shown.total - shown.done - shown.failed,
            "done": shown.done,
            "failed": shown.failed,
        },
        "rows": [_row(item) for item in items.items],
        "titles": {one.id: one for one in found.items},
        "listing": Listing(page, paging, items.total, len(items.items), path=f"/monitor/batches/{batch_id}"),
        "refusal": refusal,
    }
    return render("monitor/batch.html", "batch_page", status=status, **context)


def _row(item: BatchItem) -> dict[str, Any]:
    """Return a row: the instance, what became of it, and why it failed in words."""
    page, problem = page_text(), item.problem or {}
    key = str(problem.get("key", ""))
    params = problem.get("params")
    told = page.text(key, **(params if isinstance(params, dict) else {})) if page.has(key) else key
    looks = {BatchItemStatus.PENDING: "Waiting", BatchItemStatus.DONE: "Completed", BatchItemStatus.FAILED: "Faulted"}
    return {
        "id": item.instance_id,
        "status": item.status.value,
        "look": looks[item.status],
        "ended_at": item.ended_at,
        "why": told,
    }
