"""Monitor: every instance with its filters and counters, and one instance in full."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import tzinfo
from typing import Any

import msgspec
from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.engine.errors import Denied, NotFound, WorkflowError
from webapp.engine.instances.model import InstanceStatus, NodeInstance, NodeStatus, WorkflowInstance
from webapp.services.queries import DefinitionQuery, DefinitionSummary, InstanceQuery, Paging
from webapp.services.views import InstanceOverview
from webapp.web.deps import current_actor, services
from webapp.web.drawing import drawing_of
from webapp.web.formats import duration
from webapp.web.forms import FormField, refusal_text
from webapp.web.htmx import render
from webapp.web.listing import Listing, read_choice, read_day, read_integer, read_paging
from webapp.web.shell import may, page_text, require_sign_in, toast
from webapp.web.words import Words, waiting_names

blueprint = Blueprint("monitor", __name__, url_prefix="/monitor")
blueprint.before_request(require_sign_in)

STATUSES = [status.value for status in InstanceStatus]
DAYS = ("createdFrom", "createdTo", "endedFrom", "endedTo")
MORE = ("version", "correlation", "starter", *DAYS)
FILTERS = ("keyword", "definition", "children", *MORE)
MAX_OPTIONS = 200
VIEWS = ("timeline", "steps")
STEPS_SIZE = 100


@blueprint.get("")
def instances() -> Response:
    """Show the instances; the counters are filters, and all of it is the address."""
    args, actor, page = request.args, current_actor(), page_text()
    query = read_query(args, page.zone)
    found = services().instances.query(actor, query)
    chosen = {name: args.get(name, "").strip() for name in FILTERS} | {"status": read_choice(args, "status", STATUSES)}
    definitions = _definitions()
    running = [row.id for row in found.items if row.status is InstanceStatus.RUNNING]
    waiting = waiting_names(services().inbox.of_instances(actor, running))
    people = {row.starter_id for row in found.items if row.starter_id}
    names = services().accounts.names(actor, people.union(*waiting.values()))
    words = Words(page, names, actor.name)
    context: dict[str, Any] = {
        "rows": found.items,
        "counts": services().instances.counts(actor, msgspec.structs.replace(query, statuses=())),
        "statuses": STATUSES,
        "definitions": definitions,
        "titles": {item.name: item.display_name or item.name for item in definitions},
        "names": names,
        "waits": {instance_id: words.waits_for(logins) for instance_id, logins in waiting.items()},
        "filter": chosen,
        "filtered": any(chosen.values()),
        "more": [_more_field(name, chosen[name]) for name in MORE],
        "more_count": sum(1 for name in MORE if chosen[name]),
        "sort": args.get("sort", ""),
        "listing": Listing(page, query.paging, found.total, len(found.items), path="/monitor"),
    }
    return render("monitor/list.html", "list", **context)


def read_query(args: Mapping[str, str], zone: tzinfo) -> InstanceQuery:
    """Return the query that an address asks for."""
    status = read_choice(args, "status", STATUSES)
    return InstanceQuery(
        statuses=(InstanceStatus(status),) if status else (),
        keyword=args.get("keyword", "").strip() or None,
        definition_name=args.get("definition", "").strip() or None,
        definition_version=read_integer(args, "version", 0) or None,
        correlation_id=args.get("correlation", "").strip() or None,
        starter_id=args.get("starter", "").strip() or None,
        top_level_only=args.get("children") != "1",
        created_from=read_day(args, "createdFrom", zone),
        created_to=read_day(args, "createdTo", zone, end=True),
        ended_from=read_day(args, "endedFrom", zone),
        ended_to=read_day(args, "endedTo", zone, end=True),
        paging=read_paging(args, "-createdAt"),
    )


def _definitions() -> list[DefinitionSummary]:
    if not may("definitions:read"):
        return []
    return (
        services().catalog.query(current_actor(), DefinitionQuery(latest=True, paging=Paging(limit=MAX_OPTIONS))).items
    )


def _more_field(name: str, value: str) -> FormField:
    label = page_text().text(f"monitor.filter.{name}")
    return FormField(
        name=name,
        label=label,
        value=value,
        input_type="date" if name in DAYS else "text",
        attrs={"autocomplete": "off"},
    )


@blueprint.get("/<instance_id>")
def instance(instance_id: str) -> Response:
    """Show one instance."""
    return _instance_page(instance_id)


@blueprint.post("/<instance_id>/cancel")
def cancel(instance_id: str) -> Response:
    """Cancel an instance; the reason stays in its trail."""
    return _operate(instance_id, "cancel", services().instances.cancel)


@blueprint.post("/<instance_id>/retry")
def retry(instance_id: str) -> Response:
    """Run the step that failed once more."""
    return _operate(instance_id, "retry", services().instances.retry)


def _operate(instance_id: str, action: str, command: Callable[..., WorkflowInstance]) -> Response:
    text = page_text().text
    try:
        changed = command(current_actor(), instance_id, request.form.get("reason", "").strip() or None)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        return _instance_page(instance_id, refusals=[refusal_text(refusal, text)], status=422)
    failed_again = action == "retry" and changed.status is InstanceStatus.FAULTED
    if failed_again:
        toast("faulted", text("monitor.retry.failed"), changed.title)
    else:
        toast("completed", text(f"monitor.{action}.done"), changed.title)
    return redirect(f"/monitor/{instance_id}", 303)


def _instance_page(instance_id: str, refusals: list[str] | None = None, status: int = 200) -> Response:
    actor, page = current_actor(), page_text()
    overview = services().monitor.overview(actor, instance_id)
    view = read_choice(request.args, "view", VIEWS) or "timeline"
    paging = read_paging(request.args, "", STEPS_SIZE) if view == "steps" else Paging(limit=1)
    nodes = services().instances.nodes(actor, instance_id, paging)
    context = {
        "overview": overview,
        "view": view,
        "nodes": [_node_row(node) for node in nodes.items] if view == "steps" else [],
        "listing": Listing(page, paging, nodes.total, len(nodes.items), path=f"/monitor/{instance_id}"),
        "lines_total": len(overview.trail),
        "running_for": _running_for(overview),
        "drawing": drawing_of(overview, page.now, page.text),
        "refusals": refusals or [],
        **_words(overview),
    }
    return render("monitor/instance.html", "instance_page", status=status, **context)


def _words(overview: InstanceOverview) -> dict[str, Any]:
    words = Words(page_text(), overview.names, current_actor().name)
    failed = overview.instance.fault_node_id
    label = next((node.label for node in overview.definition.nodes if node.id == failed), failed)
    return {
        "trail": words.trail(overview.trail, idle=True),
        "waits": words.waits(overview.waits),
        "causes": words.causes(overview.instance.fault),
        "fault_node": label,
    }


def _running_for(overview: InstanceOverview) -> str:
    page, shown = page_text(), overview.instance
    return duration((shown.ended_at or page.now()) - shown.created_at, page.text)


def _node_row(node: NodeInstance) -> dict[str, Any]:
    page = page_text()
    waiting = node.status is NodeStatus.SUSPENDED
    title = f"workflow.activity.{node.activity_type}.title"
    return {
        "status": node.status.value,
        "look": "Waiting" if waiting else node.status.value,
        "name": node.name or node.node_id,
        "type": page.text(title) if page.has(title) else node.activity_type,
        "tries": node.try_count,
        "started_at": node.started_at,
        "took": duration((node.ended_at or page.now()) - node.started_at, page.text),
    }
