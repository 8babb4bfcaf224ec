"""The messaging ports: ``workflow.*`` events leave the engine here (spec 9.1, 8.10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from webapp.engine.instances.journal import Event


class Publisher(Protocol):
    """Takes the events of a committed wave, in their order."""

    def publish(self, partition: str | None, events: Sequence[Event]) -> None:
        """Publish events; a failure is logged by the caller and never fails the command."""


class Subscriptions(Protocol):
    """Who wants which events: only topics that somebody subscribes to are written into the outbox."""

    def wants(self, partition: str | None, topic: str) -> bool:
        """Whether somebody subscribes to the topic in the partition.

        Asked for each event between wave and write, so it answers from memory. A failure counts as no: it is logged by
        the caller and never fails the command.
        """


class TopicPatterns:
    """Subscriptions that stand in the settings: topics, ``*`` for all, ``workflow.task.*`` for all that begin so."""

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        self._exact = frozenset(pattern for pattern in patterns if not pattern.endswith("*"))
        self._prefixes = tuple(pattern[:-1] for pattern in patterns if pattern.endswith("*"))

    def wants(self, partition: str | None, topic: str) -> bool:
        """Whether one of the patterns is the topic or its beginning; partitions are all alike."""
        return topic in self._exact or topic.startswith(self._prefixes)
