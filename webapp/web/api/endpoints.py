"""Endpoints for administrators: where events and messages leave the house; a secret goes in and never out (spec 10)."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType, field

from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.numbers import JsonObject
from webapp.services.endpoints import EndpointSettings
from webapp.web.api.query import Window
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ListOf, Shape
from webapp.web.wire import Instant, instant_text

section = Section("Endpoints")
PATH = "/api/v1/endpoints"


class EndpointContent(Body, frozen=True, kw_only=True):
    """What an endpoint says. ``secret`` left out keeps the one that is there, null removes it.

    ``address`` sent back as it was shown, masked, stays as it is.
    """

    name: str
    address: str = ""
    secret: str | UnsetType | None = UNSET
    topics: list[str] = field(default_factory=list)
    for_notices: bool = False
    options: JsonObject = field(default_factory=dict)
    enabled: bool = True


class EndpointBody(EndpointContent, frozen=True, kw_only=True):
    """A new endpoint."""

    kind: Literal["webhook", "dingtalk", "wecom", "feishu", "slack", "amqp", "redis"]


class EndpointShape(Shape, frozen=True, kw_only=True):
    """An endpoint as it may be shown."""

    id: str
    kind: ChannelKind
    name: str
    address: str
    has_secret: bool
    unreadable: list[str]
    topics: list[str]
    for_notices: bool
    options: JsonObject
    enabled: bool
    revision: int
    updated_at: Instant
    updated_by: str | None


class TryOutShape(Shape, frozen=True, kw_only=True):
    """The other side took the test message."""

    receipt: str | None
    duration_ms: int


@section.call("GET", "/endpoints", query=Window, answers={200: ListOf[EndpointShape]}, refuses=(403,))
def list_endpoints(call: Call[None, Window]) -> Reply:
    """List the endpoints by name."""
    found = call.services.endpoints.list(call.actor)
    shown = found[call.query.offset : call.query.offset + call.query.limit]
    return Reply(value=ListOf(items=[_shape(one) for one in shown], total=len(found)))


@section.call(
    "POST", "/endpoints", body=EndpointBody, answers={201: EndpointShape}, refuses=(403, 409), sends_revision=True,
    answers_once="after",
)  # fmt: skip
def create_endpoint(call: Call[EndpointBody, None]) -> Reply:
    """Make an endpoint."""
    made = call.services.endpoints.create(call.actor, ChannelKind(call.body.kind), _wanted(call.body))
    return Reply(value=_shape(made), status=201, location=f"{PATH}/{made.id}", revision=made.revision)


@section.call("GET", "/endpoints/<id>", answers={200: EndpointShape}, refuses=(403, 404), sends_revision=True)
def get_endpoint(call: Call[None, None], id: str) -> Reply:
    """Return an endpoint."""
    return _told(call.services.endpoints.get(call.actor, id))


@section.call(
    "PUT", "/endpoints/<id>", body=EndpointContent, answers={200: EndpointShape},
    refuses=(403, 404, 409, 412, 428), if_match="required", sends_revision=True,
)  # fmt: skip
def replace_endpoint(call: Call[EndpointContent, None], id: str) -> Reply:
    """Replace what an endpoint says whose revision is the one that was read."""
    wanted = _wanted(call.body)
    return _told(call.services.endpoints.update(call.actor, id, wanted, expected_revision=call.revision_read))


@section.call("DELETE", "/endpoints/<id>", answers={204: None}, refuses=(403, 404, 409, 412), if_match="optional")
def delete_endpoint(call: Call[None, None], id: str) -> Reply:
    """Delete an endpoint; what still waits for it is dead."""
    call.services.endpoints.delete(call.actor, id, call.expected_revision)
    return Reply(status=204)


@section.call(
    "POST", "/endpoints/<id>/try", answers={200: TryOutShape}, refuses=(403, 404, 409, 503), answers_once="no"
)  # fmt: skip
def try_endpoint(call: Call[None, None], id: str) -> Reply:
    """Send a test message now and tell what the other side said."""
    tried = call.services.endpoints.try_out(call.actor, id)
    return Reply(value=TryOutShape(receipt=tried.receipt, duration_ms=tried.duration_ms))


def _wanted(body: EndpointContent) -> EndpointSettings:
    return EndpointSettings(
        name=body.name,
        address=body.address,
        secret=None if body.secret is UNSET else body.secret or "",
        topics=body.topics,
        for_notices=body.for_notices,
        options=body.options,
        enabled=body.enabled,
    )


def _told(found: Endpoint) -> Reply:
    return Reply(value=_shape(found), revision=found.revision)


def _shape(one: Endpoint) -> EndpointShape:
    made: dict[str, Any] = {
        "has_secret": one.secret is not None or "secret" in one.unreadable,
        "updated_at": instant_text(one.updated_at),
    }
    rest = {name: getattr(one, name) for name in EndpointShape.__struct_fields__ if name not in made}
    return EndpointShape(**made, **rest)
