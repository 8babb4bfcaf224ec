"""The publisher port: ``workflow.*`` events leave the engine here (spec 9.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webapp.engine.instances.journal import Event


class Publisher(Protocol):
    """Takes the events of a committed wave, in their order."""

    def publish(self, partition: str | None, events: Sequence[Event]) -> None:
        """Publish events; a failure is logged by the caller and never fails the command."""
