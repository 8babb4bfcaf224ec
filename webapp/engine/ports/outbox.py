"""The port of the outbox: events that a command has left for the sender, or for another system (spec 8.10, 10)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from webapp.engine.instances.journal import OutboxEntry

Partition = str | None


class OutboxStore(Protocol):
    """Events of subscribed topics; written by ``apply`` only. They wait for the sender, and then go, or stay.

    Those whose topic stands in the settings stay, for another system to fetch and delete.
    """

    def read(self, limit: int, after: OutboxEntry | None = None) -> Sequence[OutboxEntry]:
        """Return at most *limit* entries of all partitions of this database, those behind *after* only.

        Order: createdAt, then sequence, then id; so the entries of one instance stand in the order in which they were
        told.
        """

    def waiting(self, limit: int, without: Collection[Partition] = ()) -> Sequence[OutboxEntry]:
        """Return the oldest entries that the sender has not handed on, of all partitions but those in *without*.

        In the order of ``read``.
        """

    def depth(self, partition: Partition, most: int) -> int:
        """Return how many of a partition's entries wait for the sender, at most *most*."""

    def hand_on(self, partition: Partition, entry_ids: Sequence[str]) -> None:
        """Note that the sender has handed entries on, which stay for another system."""

    def delete(self, partition: Partition, entry_ids: Sequence[str]) -> None:
        """Delete entries that were handed on, or fetched."""
