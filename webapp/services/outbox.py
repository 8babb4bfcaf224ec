"""The outbox: events of subscribed topics are rows of the command's own transaction (spec 3.11, 8.10, 9.1)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from webapp.engine.clock import Clock, IdSource, next_sequence
from webapp.engine.instances.journal import Event, OutboxEntry
from webapp.engine.ports.messaging import Subscriptions
from webapp.engine.ports.stores import Partition
from webapp.engine.runtime.commands import Wave

log = logging.getLogger("waypost.outbox")


class Outbox:
    """Adds to a wave's write set the events that somebody subscribes to, in their order."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        clock: Clock,
        ids: IdSource,
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        self._subscriptions = subscriptions
        self.refresh = refresh
        """Reads anew who wants what, if that is older than a few seconds; called before a wave."""
        self._clock = clock
        self._ids = ids

    def collect(self, wave: Wave) -> None:
        """Fill ``wave.write_set.outbox``; the numbers continue the instance's write order."""
        instance, write_set = wave.instance, wave.write_set
        wanted = self._wanted(write_set.partition, sorted({event.topic for event in wave.events}))
        if not wanted or write_set.instance is None:
            return
        at = self._clock.now()
        write_set.outbox = []
        for event in wave.events:
            if event.topic not in wanted:
                continue
            instance.last_sequence += 1
            write_set.outbox.append(
                OutboxEntry(
                    id=self._ids.new(),
                    tenant_id=write_set.partition,
                    sequence=instance.last_sequence,
                    topic=event.topic,
                    instance_id=instance.id,
                    created_at=at,
                    data=event.data,
                )
            )

    def entries(self, partition: Partition, events: Sequence[Event]) -> list[OutboxEntry]:
        """Return the entries of events that belong to no instance."""
        wanted, at = self._wanted(partition, sorted({event.topic for event in events})), self._clock.now()
        return [
            OutboxEntry(
                id=self._ids.new(),
                tenant_id=partition,
                sequence=next_sequence(0, at) + number,
                topic=event.topic,
                created_at=at,
                data=event.data,
            )
            for number, event in enumerate(events)
            if event.topic in wanted
        ]

    def _wanted(self, partition: Partition, topics: Sequence[str]) -> set[str]:
        try:
            return {topic for topic in topics if self._subscriptions.wants(partition, topic)}
        except Exception:
            # Who wants an event must not be able to stop the command that causes it (spec 3.11).
            log.exception("the subscriptions cannot be read: events are not kept")
            return set()
