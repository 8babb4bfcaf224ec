"""Events on the log: what happens to them while nobody subscribes (spec 9.1)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from webapp.engine.instances.journal import Event

log = logging.getLogger("waypost.events")


class ConsolePublisher:
    """Writes each event's topic to the log at level DEBUG, so that a developer can watch a flow."""

    def publish(self, partition: str | None, events: Sequence[Event]) -> None:
        """Log the events in their order."""
        if log.isEnabledFor(logging.DEBUG):
            for event in events:
                log.debug("event", extra={"topic": event.topic, "partition": partition, "data": event.data})
