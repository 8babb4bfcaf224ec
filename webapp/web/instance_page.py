"""The monitor's page of one instance, as it is opened and as a refused action leaves it (spec 12, Monitor)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from flask import request
from werkzeug.wrappers import Response

from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeInstance, NodeStatus
from webapp.services.queries import Paging
from webapp.services.views import InstanceOverview
from webapp.web.deps import current_actor, services
from webapp.web.drawing import drawing_of
from webapp.web.formats import duration
from webapp.web.htmx import render
from webapp.web.listing import Listing, read_choice, read_paging
from webapp.web.shell import page_text
from webapp.web.words import Words

VIEWS: Final = ("timeline", "steps")
STEPS_SIZE: Final = 100
DIALOGS: Final = ("suspend", "resume", "retry", "cancel", "terminate")
"""The actions that a question with a reason is enough for; the others have pages of their own."""

CHILD_FAULTED: Final = "workflow.child.faulted"


def instance_page(
    instance_id: str,
    *,
    refusal: str = "",
    opened: str = "",
    typed: Mapping[str, str] | None = None,
    status: int = 200,
) -> Response:
    """Answer with the page; after a refusal with the question *opened* again and all that was *typed*.

    :raises NotFound: there is no such instance. :raises Denied: the reader has no part in it.
    """
    actor, page = current_actor(), page_text()
    overview = services().monitor.overview(actor, instance_id)
    rights = services().operations.rights(actor, overview.instance)
    view = read_choice(request.args, "view", VIEWS) or "timeline"
    paging = read_paging(request.args, "", STEPS_SIZE) if view == "steps" else Paging(limit=1)
    nodes = services().instances.nodes(actor, instance_id, paging)
    signals = _signals(overview)
    allowed = {name for name in DIALOGS if getattr(rights, name)} | ({"signal"} if signals else set())
    context = {
        "overview": overview,
        "rights": rights,
        "dialogs": [name for name in DIALOGS if name in allowed],
        "signals": signals,
        "options": _options(overview),
        "view": view,
        "nodes": [_node_row(node) for node in nodes.items] if view == "steps" else [],
        "listing": Listing(page, paging, nodes.total, len(nodes.items), path=f"/monitor/{instance_id}"),
        "lines_total": len(overview.trail),
        "running_for": _running_for(overview),
        "drawing": drawing_of(overview, page.now, page.text),
        "refusal": refusal,
        "opened": opened if opened in allowed else "",
        "typed": typed or {},
        **_words(overview),
    }
    return render("monitor/instance.html", "instance_page", status=status, **context)


def _signals(overview: InstanceOverview) -> list[str]:
    """Return the signals that the instance waits for and the reader may send."""
    if not overview.may_operate or overview.instance.status is not InstanceStatus.RUNNING:
        return []
    return list(
        dict.fromkeys(wait.signal for wait in overview.waits if wait.kind is BookmarkKind.SIGNAL and wait.signal)
    )


def _options(overview: InstanceOverview) -> dict[str, Sequence[str]]:
    """Return the switches of each question: what may be chosen besides the reason."""
    instance = overview.instance
    family = ["cascade"] if instance.has_children else []
    retry = []
    if instance.fault is not None and instance.fault.key == CHILD_FAULTED:
        retry.append("restart")
    undone = any(state.state == "compensated" for state in overview.node_states.values())
    if overview.definition.compensate_on_fault and undone:
        retry.append("force")
    return {"suspend": family, "resume": family, "retry": retry}


def _words(overview: InstanceOverview) -> dict[str, Any]:
    words = Words(page_text(), overview.names, current_actor().name)
    failed = overview.instance.fault_node_id
    label = next((node.label for node in overview.definition.nodes if node.id == failed), failed)
    return {
        "trail": words.trail(overview.trail, idle=True),
        "waits": words.waits(overview.waits),
        "causes": words.causes(overview.instance.fault),
        "fault_node": label,
        "undone": [
            node.label
            for node in overview.definition.nodes
            if (state := overview.node_states.get(node.id)) is not None and state.state == "compensated"
        ],
        "suspended_by": words.name(overview.instance.suspended_by, first=True),
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
