"""Deliveries for administrators: what goes out of the house, attempt by attempt, and what to do when it does not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.engine.errors import NotFound
from webapp.engine.notifications.model import AttemptOutcome, ChannelKind, Delivery, DeliveryState
from webapp.services.queries import DeliveryQuery
from webapp.web.deps import current_actor, services
from webapp.web.errors import NO_SUCH_ADDRESS
from webapp.web.htmx import render
from webapp.web.listing import Listing, list_url, read_choice, read_paging
from webapp.web.shell import page_text, require_sign_in, toast

blueprint = Blueprint("deliveries", __name__, url_prefix="/admin/deliveries")
blueprint.before_request(require_sign_in)

PATH: Final = "/admin/deliveries"
FILTERS: Final = ("endpoint", "recipient", "instance", "topic")

LOOKS: Final[Mapping[DeliveryState, str]] = {
    DeliveryState.PENDING: "Waiting",
    DeliveryState.SENDING: "Running",
    DeliveryState.FAILED: "Suspended",
    DeliveryState.DEAD: "Faulted",
    DeliveryState.SENT: "Completed",
    DeliveryState.DROPPED: "Canceled",
}
"""As which state of an instance a delivery is coloured."""

ATTEMPT_LOOKS: Final[Mapping[AttemptOutcome, str]] = {
    AttemptOutcome.SENT: "Completed",
    AttemptOutcome.FAILED: "Faulted",
    AttemptOutcome.LOST: "Canceled",
}

ACTIONS: Final[Mapping[str, Sequence[DeliveryState]]] = {
    "retry": (DeliveryState.DEAD, DeliveryState.FAILED, DeliveryState.DROPPED),
    "drop": (DeliveryState.DEAD, DeliveryState.FAILED, DeliveryState.PENDING),
    "replay": (DeliveryState.SENT,),
}
"""What can be done with a delivery, by its state."""


@blueprint.get("")
def deliveries() -> Response:
    """Show how many there are of each state, and those that the filters find."""
    actor, page, args = current_actor(), page_text(), request.args
    state = read_choice(args, "status", list(DeliveryState))
    shown = {name: args.get(name, "").strip() for name in FILTERS}
    paging = read_paging(args, "")
    query = DeliveryQuery(
        states=(DeliveryState(state),) if state else (),
        endpoint_id=shown["endpoint"] or None,
        recipient_id=shown["recipient"] or None,
        instance_id=shown["instance"] or None,
        topic=shown["topic"] or None,
        paging=paging,
    )
    found = services().deliveries.list(actor, query)
    context: dict[str, Any] = {
        "counts": services().deliveries.counts(actor),
        "states": [one.value for one in LOOKS],
        "looks": LOOKS,
        "chosen": state,
        "filter": shown,
        "filtered": bool(state or any(shown.values())),
        "rows": [{"delivery": one, "why": reason(one.last_error)} for one in found.items],
        "endpoints": _endpoints(),
        "people": _people(found.items),
        "actions": _useful(found.items),
        "listing": Listing(page, paging, found.total, len(found.items), path=PATH),
    }
    return render("notifications/deliveries.html", "list", **context)


@blueprint.get("/<delivery_id>")
def delivery(delivery_id: str) -> Response:
    """Show one delivery: where it went, what was sent, and how each attempt ended."""
    actor = current_actor()
    found, attempts = services().deliveries.get(actor, delivery_id)
    context: dict[str, Any] = {
        "delivery": found,
        "why": reason(found.last_error),
        "attempts": [{"attempt": one, "why": reason(one.error)} for one in attempts],
        "looks": LOOKS,
        "attempt_looks": ATTEMPT_LOOKS,
        "endpoints": _endpoints(),
        "people": _people([found]),
        "actions": _useful([found]),
    }
    return render("notifications/delivery.html", "content", **context)


@blueprint.post("/<action>")
def act(action: str) -> Response:
    """Do one thing with the selected deliveries, and say with how many it was done."""
    text, ids = page_text().text, list(dict.fromkeys(request.form.getlist("id")))
    done = _command(action)(current_actor(), ids) if ids else 0
    if done:
        toast("completed", text(f"notifications.deliveries.{action}.done", count=done))
    if not ids:
        toast("info", text("notifications.deliveries.none_chosen"), text("notifications.deliveries.none_chosen_text"))
    elif done < len(ids):
        toast("info", text("notifications.deliveries.left", count=len(ids) - done))
    one = request.form.get("back") == "one" and len(ids) == 1
    return redirect(f"{PATH}/{ids[0]}" if one else list_url(PATH, offset=request.args.get("offset")), 303)


def _command(action: str) -> Callable[..., int]:
    commands: Mapping[str, Callable[..., int]] = {
        "retry": services().deliveries.retry,
        "drop": services().deliveries.drop,
        "replay": services().deliveries.replay,
    }
    if action not in commands:
        params = {"method": request.method, "path": f"{PATH}/{action}"}
        raise NotFound("errors.no_such_address", code=NO_SUCH_ADDRESS, params=params)
    return commands[action]


def reason(kept: str | None) -> str:
    """Return why an attempt failed: the house's own reasons in the reader's language, another side's as it said it."""
    page = page_text()
    return page.text(kept) if kept and page.has(kept) else kept or ""


def _useful(found: Sequence[Delivery]) -> list[str]:
    """Return what can be done with at least one of these."""
    there = {one.state for one in found}
    return [name for name, states in ACTIONS.items() if there.intersection(states)]


def _endpoints() -> dict[str, str]:
    """Return the endpoints' names; that of e-mail, which nobody has named, in the reader's language."""
    text = page_text().text
    return {
        one.id: text("notifications.channel.email") if one.kind is ChannelKind.EMAIL else one.name
        for one in services().endpoints.list(current_actor())
    }


def _people(found: Sequence[Delivery]) -> Mapping[str, str]:
    return services().accounts.names(current_actor(), {one.recipient_id for one in found if one.recipient_id})
