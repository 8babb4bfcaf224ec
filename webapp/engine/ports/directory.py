"""The directory port: who exists, asked before a wave, never in it (spec 25, Model and stores)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol


class Directory(Protocol):
    """Answers from a copy in the process that is at most 5 s old."""

    def disabled(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        """Return those of the ids that are disabled accounts: they count as absent when a task is created."""

    def known(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        """Return those of the ids that are accounts of the partition."""

    def members(self, partition: str | None, principal: str) -> frozenset[str]:
        """Return the accounts of ``role:NAME`` or ``department:NAME``."""
