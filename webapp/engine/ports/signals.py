"""The store's side of signals: who waits, what is started, signals kept for later (spec 3.17, 3.22).

A kept signal is a row that whoever takes it deletes in the very transaction that resumes the wait, so that one wait
gets it and no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from webapp.engine.numbers import JsonObject
from webapp.engine.ports.queries import DefinitionSummary

Partition = str | None


class SignalTaken(Exception):
    """A kept signal is gone: another wait got it first, or its time is over; nothing was changed."""


class StoredSignal(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A signal kept for the first matching wait that begins before ``expires_at``."""

    id: str
    tenant_id: str | None = None
    name: str
    correlation_id: str | None = None
    payload: JsonObject = {}
    created_at: datetime
    expires_at: datetime

    def reaches(self, correlation_id: str | None) -> bool:
        """Whether a wait with that correlation id, or with none, is meant (spec 3.17)."""
        return self.correlation_id is None or correlation_id is None or correlation_id == self.correlation_id


class SignalTarget(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A bookmark that waits for a signal; its last three members tell its place in the order."""

    instance_id: str
    created_at: datetime
    sequence: int
    bookmark_id: str


class SignalStore(Protocol):
    """Signals of a partition; names and correlation ids are compared exactly."""

    def targets(
        self,
        partition: Partition,
        name: str,
        correlation_id: str | None,
        until: datetime,
        limit: int,
        after: SignalTarget | None = None,
    ) -> Sequence[SignalTarget]:
        """Return the bookmarks of Running instances that wait for the signal: createdAt, then sequence, then id.

        Without a correlation id all of them, else those whose own is null or equal. Only those created at or before
        *until*, and behind *after*.
        """

    def count_targets(
        self,
        partition: Partition,
        name: str,
        correlation_id: str | None,
        until: datetime,
        after: SignalTarget | None = None,
    ) -> int:
        """Return how many :meth:`targets` would return without a limit."""

    def starts(self, partition: Partition, name: str) -> Sequence[DefinitionSummary]:
        """Return the definitions that the signal starts, by name: of each name the latest published version, if its
        Start names the signal (decision D24).
        """

    def keep(self, partition: Partition, signal: StoredSignal) -> None:
        """Store a signal for later; the same one again changes nothing."""

    def find(self, partition: Partition, signal_id: str) -> StoredSignal | None:
        """Return a kept signal, or None."""

    def kept(self, partition: Partition, names: Sequence[str], now: datetime) -> Sequence[StoredSignal]:
        """Return the kept signals of these names whose time is not over, the oldest first, a thousand at most."""

    def discard(self, partition: Partition, signal_id: str) -> bool:
        """Delete a kept signal; False: it was gone."""

    def purge(self, partition: Partition, now: datetime, limit: int) -> int:
        """Delete at most *limit* kept signals whose time is over; return their number."""
