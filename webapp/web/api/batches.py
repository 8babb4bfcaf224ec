"""Batches: one operation on many instances (spec 11, Instances and Amendments)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from msgspec import field

from webapp.engine.errors import InputInvalid
from webapp.engine.instances.batches import Batch, BatchItem, BatchItemStatus, BatchStatus
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject
from webapp.messages.catalog import Catalog
from webapp.services.queries import InstanceQuery
from webapp.web.api.query import Unreadable, Window, paging, read_instant
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ListOf, Shape
from webapp.web.i18n import Language
from webapp.web.wire import Instant, instant_text, optional_instant

section = Section("Batches")
PATH = "/api/v1/batches"

_STATUSES = Literal["Running", "Suspended", "Completed", "Canceled", "Faulted", "Terminated"]


class BatchQuery(Body, frozen=True, kw_only=True):
    """Which instances: the filters of the instance list, instants as RFC 3339."""

    status: list[_STATUSES] = field(default_factory=list)
    definition_name: str | None = None
    definition_version: int | None = None
    correlation_id: list[str] | None = None
    starter_id: str | None = None
    top_level_only: bool = False
    keyword: str | None = None
    created_from: str | None = None
    created_to: str | None = None
    ended_from: str | None = None
    ended_to: str | None = None


class BatchBody(Body, frozen=True, kw_only=True):
    """What is done to which instances (``ids`` or ``query``), why, and with which parameters.

    ``suspend`` and ``resume`` take ``cascade``, ``migrate`` takes ``version`` and ``nodeMapping``.
    """

    action: Literal["suspend", "resume", "cancel", "terminate", "retry", "migrate"]
    ids: list[str] | None = None
    query: BatchQuery | None = None
    reason: str | None = None
    parameters: JsonObject = field(default_factory=dict)


class BatchShape(Shape, frozen=True, kw_only=True):
    """A batch and how far it has come."""

    id: str
    action: str
    status: BatchStatus
    actor_id: str | None
    reason: str | None
    parameters: JsonObject
    total: int
    done: int
    failed: int
    created_at: Instant
    ended_at: Instant | None


class BatchProblem(Shape, frozen=True, kw_only=True):
    """Why an item failed; ``message`` is in the caller's language."""

    code: str
    key: str
    params: dict[str, Any]
    message: str


class BatchItemShape(Shape, frozen=True, kw_only=True):
    """What has become of one instance."""

    sequence: int
    instance_id: str
    status: BatchItemStatus
    ended_at: Instant | None
    problem: BatchProblem | None


class ItemFilter(Window, frozen=True, kw_only=True, rename="camel"):
    """Only the items of a status."""

    status: BatchItemStatus | None = None


@section.call("POST", "/instances/batch", body=BatchBody, answers={201: BatchShape})
def create_batch(call: Call[BatchBody, None]) -> Reply:
    """Make a batch over the instances that are named, or that a query finds now; it runs in the background."""
    asked = call.body
    batch = call.services.batches.create(
        call.actor,
        asked.action,
        instance_ids=asked.ids,
        query=None if asked.query is None else _query(asked.query),
        reason=asked.reason,
        parameters=asked.parameters,
    )
    return Reply(value=_shape(batch), status=201, location=f"{PATH}/{batch.id}")


@section.call("GET", "/batches", query=Window, answers={200: ListOf[BatchShape]})
def list_batches(call: Call[None, Window]) -> Reply:
    """List the batches, newest first."""
    page = call.services.batches.query(call.actor, paging(call.query))
    return Reply(value=ListOf(items=[_shape(batch) for batch in page.items], total=page.total))


@section.call("GET", "/batches/<id>", answers={200: BatchShape}, refuses=(404,))
def get_batch(call: Call[None, None], id: str) -> Reply:
    """Return a batch with its progress."""
    return Reply(value=_shape(call.services.batches.get(call.actor, id)))


@section.call("GET", "/batches/<id>/items", query=ItemFilter, answers={200: ListOf[BatchItemShape]}, refuses=(404,))
def list_batch_items(call: Call[None, ItemFilter], id: str) -> Reply:
    """List what has become of each instance."""
    page = call.services.batches.items(call.actor, id, call.query.status, paging(call.query))
    items = [_item_shape(item, call.catalog, call.lang) for item in page.items]
    return Reply(value=ListOf(items=items, total=page.total))


@section.call("POST", "/batches/<id>/pause", answers={200: BatchShape}, refuses=(404, 409))
def pause_batch(call: Call[None, None], id: str) -> Reply:
    """Stop a batch after the items at hand."""
    return Reply(value=_shape(call.services.batches.pause(call.actor, id)))


@section.call("POST", "/batches/<id>/resume", answers={200: BatchShape}, refuses=(404, 409))
def resume_batch(call: Call[None, None], id: str) -> Reply:
    """Let a paused batch go on."""
    return Reply(value=_shape(call.services.batches.resume(call.actor, id)))


@section.call("POST", "/batches/<id>/cancel", answers={200: BatchShape}, refuses=(404, 409))
def cancel_batch(call: Call[None, None], id: str) -> Reply:
    """End a batch; what is done stays done."""
    return Reply(value=_shape(call.services.batches.cancel(call.actor, id)))


def _query(asked: BatchQuery) -> InstanceQuery:
    return InstanceQuery(
        statuses=tuple(InstanceStatus(name) for name in asked.status),
        definition_name=asked.definition_name,
        definition_version=asked.definition_version,
        correlation_ids=None if asked.correlation_id is None else tuple(filter(None, asked.correlation_id)),
        starter_id=asked.starter_id,
        top_level_only=asked.top_level_only,
        keyword=asked.keyword,
        created_from=_instant("createdFrom", asked.created_from),
        created_to=_instant("createdTo", asked.created_to),
        ended_from=_instant("endedFrom", asked.ended_from),
        ended_to=_instant("endedTo", asked.ended_to),
    )


def _instant(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return read_instant(text)
    except Unreadable as unreadable:
        params = {"value": text[:80], **unreadable.params}
        raise InputInvalid(unreadable.key, path=f"query.{name}", params=params) from unreadable


def _shape(batch: Batch) -> BatchShape:
    made = ("created_at", "ended_at")
    rest = {name: getattr(batch, name) for name in BatchShape.__struct_fields__ if name not in made}
    return BatchShape(created_at=instant_text(batch.created_at), ended_at=optional_instant(batch.ended_at), **rest)


def _item_shape(item: BatchItem, catalog: Catalog, lang: Language) -> BatchItemShape:
    problem = None
    if item.problem is not None:
        key, params = item.problem["key"], item.problem["params"]
        problem = BatchProblem(
            code=item.problem["code"], key=key, params=params, message=catalog.text(key, params, lang)
        )
    return BatchItemShape(
        sequence=item.sequence,
        instance_id=item.instance_id,
        status=item.status,
        ended_at=optional_instant(item.ended_at),
        problem=problem,
    )
