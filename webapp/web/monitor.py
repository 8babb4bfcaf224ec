"""Monitor: every instance with its filters and counters, and one instance in full."""

from __future__ import annotations

from typing import Any

import msgspec
from flask import Blueprint, request
from werkzeug.wrappers import Response

from webapp.engine.instances.model import InstanceStatus
from webapp.services.queries import DefinitionQuery, DefinitionSummary, Paging
from webapp.web.deps import current_actor, services
from webapp.web.forms import FormField
from webapp.web.htmx import render
from webapp.web.instance_filters import DAYS, FILTERS, MORE, STATUSES, read_query
from webapp.web.instance_page import instance_page
from webapp.web.listing import Listing, list_url, read_choice
from webapp.web.shell import may, page_text, require_sign_in
from webapp.web.words import Words, waiting_names

blueprint = Blueprint("monitor", __name__, url_prefix="/monitor")
blueprint.before_request(require_sign_in)

MAX_OPTIONS = 200


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
        "query": list_url(offset=None, limit=None).partition("?")[2],
        "listing": Listing(page, query.paging, found.total, len(found.items), path="/monitor"),
    }
    return render("monitor/list.html", "list", **context)


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
    return instance_page(instance_id)
