"""The schedule of a workflow: when it starts next, and what became of the times before (spec 3.22, 12)."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from flask import Blueprint, request
from werkzeug.wrappers import Response

from webapp.engine.errors import InputInvalid
from webapp.engine.instances.model import WorkflowFault
from webapp.services.queries import InstanceQuery, Paging
from webapp.web.deps import current_actor, services
from webapp.web.htmx import render
from webapp.web.listing import Listing, read_paging
from webapp.web.shell import page_text, require_sign_in
from webapp.web.words import Words

blueprint = Blueprint("schedules", __name__, url_prefix="/schedules")
blueprint.before_request(require_sign_in)

NEXT: Final = 5
LOOKS: Final = {"started": "Completed", "failed": "Faulted", "skipped": "Canceled"}


@blueprint.get("/<definition_id>")
def schedule(definition_id: str) -> Response:
    """Show the next times and the past ones; for who may read definitions."""
    actor, page = current_actor(), page_text()
    definition = services().catalog.get(actor, definition_id)
    state = services().timers.state(actor, definition_id)
    paging = read_paging(request.args, "")
    firings = services().timers.firings(actor, definition_id, paging)
    ids = tuple(one.instance_id for one in firings.items if one.instance_id)
    found = services().instances.query(actor, InstanceQuery(ids=ids, paging=Paging(limit=max(len(ids), 1))))
    words = Words(page, {}, actor.name)
    context: dict[str, Any] = {
        "definition": definition,
        "state": state,
        "next": _next(state.cron, state.time_zone) if state is not None else [],
        "rows": [
            {
                "firing": one,
                "look": LOOKS.get(one.status.value, "Canceled"),
                "causes": words.causes(msgspec.convert(one.fault, WorkflowFault)) if one.fault else [],
            }
            for one in firings.items
        ],
        "instances": {one.id: one for one in found.items},
        "listing": Listing(page, paging, firings.total, len(firings.items), path=f"/schedules/{definition_id}"),
    }
    return render("monitor/schedule.html", "list", **context)


def _next(cron: str, zone: str) -> list[Any]:
    try:
        return services().schedules.next_firings(current_actor(), cron, zone, NEXT).instants
    except InputInvalid:
        # Published before such a schedule was refused: the page says when it fires, not how it is written.
        return []
