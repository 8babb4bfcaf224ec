"""How housekeeping stands: what waits to be purged, the last run, the sealing of the audit trail (spec 3.20, 13)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from webapp.services.purging import PurgeState
from webapp.services.sealing import SealingState
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Shape
from webapp.web.wire import Instant, instant_text, optional_instant

section = Section("Upkeep")

Counted = Annotated[int, Meta(description="Counted up to 10,000; that number means so many or more")]


class PurgeRunShape(Shape, frozen=True, kw_only=True):
    """The last run of housekeeping; ``endedAt`` null: it goes on, or was cut off and goes on with the next one."""

    started_at: Instant
    moved_at: Instant
    ended_at: Instant | None
    ended_before: Instant
    instances: int
    rows: int


class PurgeShape(Shape, frozen=True, kw_only=True):
    """What waits to be purged: ended trees past their retention, and instances that are gone but for parts of them."""

    retention_days: float
    waiting: Counted
    oldest_ended_at: Instant | None
    marked: Counted
    last_run: PurgeRunShape | None


class SealingShape(Shape, frozen=True, kw_only=True):
    """How far the audit trail is sealed: the newest head, and the rows that wait."""

    seal_number: int
    hash: str | None
    sealed_at: Instant | None
    unsealed: Counted
    oldest_unsealed_at: Instant | None


class SendingShape(Shape, frozen=True, kw_only=True):
    """Events that wait to be handed on, and deliveries by status; of those that are sent, the last day's."""

    outbox: Counted
    deliveries: dict[str, int]


class UpkeepShape(Shape, frozen=True, kw_only=True):
    """How the caller's partition stands."""

    purge: PurgeShape
    audit: SealingShape
    sending: SendingShape


@section.call("GET", "/upkeep", answers={200: UpkeepShape}, refuses=(403,))
def get_upkeep(call: Call[None, None]) -> Reply:
    """Return how housekeeping and the sealing of the audit trail stand in the caller's partition."""
    found = call.services.upkeep.state(call.actor)
    sending = SendingShape(outbox=found.sending.outbox, deliveries=found.sending.deliveries)
    return Reply(value=UpkeepShape(purge=_purge(found.purge), audit=_sealing(found.sealing), sending=sending))


def _purge(state: PurgeState) -> PurgeShape:
    run = state.run
    return PurgeShape(
        retention_days=state.retention_days,
        waiting=state.trees,
        oldest_ended_at=optional_instant(state.oldest),
        marked=state.marked,
        last_run=None
        if run is None
        else PurgeRunShape(
            started_at=instant_text(run.started_at),
            moved_at=instant_text(run.moved_at),
            ended_at=optional_instant(run.ended_at),
            ended_before=instant_text(run.ended_before),
            instances=run.instances,
            rows=run.removed_rows,
        ),
    )


def _sealing(state: SealingState) -> SealingShape:
    head = state.head
    return SealingShape(
        seal_number=0 if head is None else head.seal_number,
        hash=None if head is None else head.hash,
        sealed_at=None if head is None else optional_instant(head.at),
        unsealed=state.unsealed.count,
        oldest_unsealed_at=optional_instant(state.unsealed.oldest),
    )
