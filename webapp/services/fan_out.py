"""From the outbox to deliveries: each event becomes one for every endpoint that takes its topic (spec 10, D1).

Deliveries come and rows of the outbox go in one transaction. Their ids are made of the event's and the endpoint's, so
that who does it again after a crash, or at the same time in another process, writes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple

from webapp.engine.clock import Clock
from webapp.engine.instances.journal import OutboxEntry
from webapp.engine.notifications.model import Delivery, DeliveryContent, Endpoint, delivery_id
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.services.endpoint_copy import EndpointCopy, Endpoints
from webapp.services.storage import Storage

ENTRIES_AT_ONCE = 200
"""How many events one transaction hands on."""


class _Handed(NamedTuple):
    """What becomes of a partition's events: their deliveries, and which rows go or stay for another system."""

    deliveries: list[Delivery]
    gone: list[str]
    kept: list[str]


class FanOut:
    """Hands events on. Rows whose topic stands in the settings stay in the outbox: they are another system's."""

    def __init__(self, storage: Storage, endpoints: EndpointCopy, clock: Clock) -> None:
        self._storage = storage
        self._endpoints = endpoints
        self._clock = clock

    def run(
        self,
        entry: Partition,
        without: Collection[Partition],
        turn: Callable[[], AbstractContextManager[None]],
    ) -> int:
        """Hand on the oldest events of a database, some at once, and return their number; 0: there are none.

        *without* are partitions whose rows wait. *turn* keeps other processes from doing it at the same time.
        :raises Unavailable: the database, or the endpoints, cannot be read.
        """
        if not self._waiting(entry, without):
            return 0
        with turn():
            entries = self._waiting(entry, without)
            # Read after the events: an endpoint that took part in their being written is known then.
            endpoints = self._endpoints.now()
            handed = self._handed(entries, endpoints, self._clock.now())

            def hand_on(work: UnitOfWork) -> int:
                for partition, one in handed.items():
                    work.deliveries.insert(partition, one.deliveries)
                    work.outbox.delete(partition, one.gone)
                    work.outbox.hand_on(partition, one.kept)
                return len(entries)

            return self._storage.write(entry, hand_on) if entries else 0

    def _waiting(self, entry: Partition, without: Collection[Partition]) -> Sequence[OutboxEntry]:
        return self._storage.read(entry, lambda work: work.outbox.waiting(ENTRIES_AT_ONCE, without))

    def _handed(self, entries: Sequence[OutboxEntry], endpoints: Endpoints, now: datetime) -> dict[Partition, _Handed]:
        found: dict[Partition, _Handed] = {}
        for entry in entries:
            partition = entry.tenant_id
            handed = found.setdefault(partition, _Handed([], [], []))
            taking = endpoints.taking(partition, entry.topic)
            handed.deliveries.extend(_delivery(entry, endpoint, now) for endpoint in taking)
            stays = self._endpoints.settings.wants(partition, entry.topic)
            (handed.kept if stays else handed.gone).append(entry.id)
        return found


def _delivery(entry: OutboxEntry, endpoint: Endpoint, now: datetime) -> Delivery:
    return Delivery(
        id=delivery_id(entry.id, endpoint.id),
        tenant_id=entry.tenant_id,
        sequence=entry.sequence,
        # What belongs to no instance has nothing it must wait for: a line of its own.
        line=f"{endpoint.id}//{entry.instance_id or entry.id}",
        kind=endpoint.kind,
        endpoint_id=endpoint.id,
        topic=entry.topic,
        instance_id=entry.instance_id,
        next_attempt_at=now,
        created_at=entry.created_at,
        content=DeliveryContent(data=entry.data),
    )
