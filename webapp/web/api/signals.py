"""Signals: told from outside to those who wait for them, and to definitions that they start (spec 11, 3.17)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from webapp.engine.numbers import JsonNumber, JsonObject
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, Shape

section = Section("Signals")


class SignalBody(Body, frozen=True, kw_only=True):
    """What the signal carries, and whom it is for."""

    payload: JsonObject = field(default_factory=dict)
    correlation_id: str | None = None
    ttl_seconds: Annotated[JsonNumber, Meta(description="How long it is kept when nobody waits")] = 0


class SignalAnswer(Shape, frozen=True, kw_only=True):
    """What the signal did; ``queued`` are waits that are resumed after this answer."""

    resumed: int
    started: int
    queued: int
    kept: bool


@section.call(
    "POST", "/signals/<name>", body=SignalBody, body_required=False, answers={200: SignalAnswer}, refuses=(404,),
    answers_once="after",
)  # fmt: skip
def publish_signal(call: Call[SignalBody, None], name: str) -> Reply:
    """Resume who waits for the signal, and start what it starts."""
    wanted = call.body
    result = call.services.signals.publish(
        call.actor, name, wanted.payload, correlation_id=wanted.correlation_id, ttl_seconds=wanted.ttl_seconds
    )
    rest = {name: getattr(result, name) for name in SignalAnswer.__struct_fields__}
    return Reply(value=SignalAnswer(**rest))
