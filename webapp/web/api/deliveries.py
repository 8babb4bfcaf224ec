"""Deliveries for administrators: what went out, attempt by attempt, and what to do where it did not (spec 10, 11)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from webapp.accounts.model import Actor
from webapp.engine.notifications.model import (
    AttemptOutcome,
    ChannelKind,
    Delivery,
    DeliveryAttempt,
    DeliveryState,
)
from webapp.engine.numbers import JsonObject
from webapp.messages.catalog import Catalog
from webapp.services.queries import DeliveryQuery
from webapp.web.api.query import Window, paging
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ListOf, Shape
from webapp.web.i18n import Language
from webapp.web.wire import Instant, instant_text, optional_instant

section = Section("Deliveries")


class DeliveryFilter(Window, frozen=True, kw_only=True, rename="camel"):
    """Which deliveries, newest first."""

    status: tuple[DeliveryState, ...] = ()
    endpoint_id: str | None = None
    instance_id: str | None = None
    recipient_id: str | None = None
    topic: str | None = None


class DeliveryShape(Shape, frozen=True, kw_only=True):
    """A delivery; ``address`` is masked, ``lastError`` is in the caller's language where it is the house's own."""

    id: str
    status: DeliveryState
    kind: ChannelKind
    endpoint_id: str
    notice_id: str | None
    recipient_id: str | None
    topic: str | None
    instance_id: str | None
    address: str | None
    title: str
    attempts: int
    next_attempt_at: Instant
    receipt: str | None
    last_error: str | None
    created_at: Instant
    ended_at: Instant | None


class AttemptShape(Shape, frozen=True, kw_only=True):
    """One attempt and how it ended."""

    number: int
    started_at: Instant
    duration_ms: int
    outcome: AttemptOutcome
    error: str | None


class DeliveryDetail(Shape, frozen=True, kw_only=True):
    """A delivery with what was sent and each attempt, the first one first."""

    delivery: DeliveryShape
    body: str
    data: JsonObject | None
    attempts: list[AttemptShape]


class DeliveryIds(Body, frozen=True, kw_only=True):
    """Which deliveries, 1 to 1,000."""

    ids: list[str]


class DeliveriesChanged(Shape, frozen=True, kw_only=True):
    """With how many it was done; the others were in no state for it."""

    changed: int


@section.call("GET", "/deliveries", query=DeliveryFilter, answers={200: ListOf[DeliveryShape]}, refuses=(403,))
def list_deliveries(call: Call[None, DeliveryFilter]) -> Reply:
    """List deliveries, newest first."""
    asked = call.query
    query = DeliveryQuery(
        states=asked.status,
        endpoint_id=asked.endpoint_id,
        instance_id=asked.instance_id,
        recipient_id=asked.recipient_id,
        topic=asked.topic,
        paging=paging(asked),
    )
    page = call.services.deliveries.list(call.actor, query)
    items = [_shape(one, call.catalog, call.lang) for one in page.items]
    return Reply(value=ListOf(items=items, total=page.total))


@section.call("GET", "/deliveries/counts", answers={200: dict[str, int]}, refuses=(403,))
def count_deliveries(call: Call[None, None]) -> Reply:
    """Count deliveries by status; of those that are sent, the last day's."""
    return Reply(value=call.services.deliveries.counts(call.actor))


@section.call("GET", "/deliveries/<id>", answers={200: DeliveryDetail}, refuses=(403, 404))
def get_delivery(call: Call[None, None], id: str) -> Reply:
    """Return a delivery with its attempts."""
    found, attempts = call.services.deliveries.get(call.actor, id)
    return Reply(
        value=DeliveryDetail(
            delivery=_shape(found, call.catalog, call.lang),
            body=found.content.body,
            data=found.content.data,
            attempts=[_attempt(one, call.catalog, call.lang) for one in attempts],
        )
    )


@section.call("POST", "/deliveries/retry", body=DeliveryIds, answers={200: DeliveriesChanged}, refuses=(403,))
def retry_deliveries(call: Call[DeliveryIds, None]) -> Reply:
    """Send dead, dropped and failed deliveries now, each with a whole round of attempts."""
    return _changed(call, call.services.deliveries.retry)


@section.call("POST", "/deliveries/drop", body=DeliveryIds, answers={200: DeliveriesChanged}, refuses=(403,))
def drop_deliveries(call: Call[DeliveryIds, None]) -> Reply:
    """Mark deliveries that did not go out as settled; their lines go on."""
    return _changed(call, call.services.deliveries.drop)


@section.call("POST", "/deliveries/replay", body=DeliveryIds, answers={200: DeliveriesChanged}, refuses=(403,))
def replay_deliveries(call: Call[DeliveryIds, None]) -> Reply:
    """Send deliveries that were sent once more, under the same ids."""
    return _changed(call, call.services.deliveries.replay)


@section.call("POST", "/deliveries/<id>/retry", answers={200: DeliveriesChanged}, refuses=(403, 404))
def retry_delivery(call: Call[None, None], id: str) -> Reply:
    """Send one delivery now."""
    call.services.deliveries.get(call.actor, id)
    return Reply(value=DeliveriesChanged(changed=call.services.deliveries.retry(call.actor, [id])))


def _changed(call: Call[DeliveryIds, None], change: Callable[[Actor, Sequence[str]], int]) -> Reply:
    return Reply(value=DeliveriesChanged(changed=change(call.actor, call.body.ids)))


def _reason(text: str | None, catalog: Catalog, lang: Language) -> str | None:
    return catalog.text(text, {}, lang) if text and catalog.has(text) else text


def _shape(one: Delivery, catalog: Catalog, lang: Language) -> DeliveryShape:
    made: dict[str, Any] = {
        "status": one.state,
        "title": one.content.title,
        "last_error": _reason(one.last_error, catalog, lang),
        "next_attempt_at": instant_text(one.next_attempt_at),
        "created_at": instant_text(one.created_at),
        "ended_at": optional_instant(one.ended_at),
    }
    rest = {name: getattr(one, name) for name in DeliveryShape.__struct_fields__ if name not in made}
    return DeliveryShape(**made, **rest)


def _attempt(one: DeliveryAttempt, catalog: Catalog, lang: Language) -> AttemptShape:
    return AttemptShape(
        number=one.number,
        started_at=instant_text(one.started_at),
        duration_ms=one.duration_ms,
        outcome=one.outcome,
        error=_reason(one.error, catalog, lang),
    )
