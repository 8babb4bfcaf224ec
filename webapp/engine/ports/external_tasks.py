"""The store's side of external tasks: bookmarks that worker programs lock and hand back (spec 6.7, 7).

A lock is three columns of the bookmark's row: worker, token, and availableAt, until when it holds. Fetching sets them
without a lease and without a new revision of the instance; a wave's rewrite of the row leaves them alone, and a wave
that changes a lock says which lock it read (:class:`LockChange`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from webapp.engine.instances.bookmarks import Bookmark

Partition = str | None


class TopicLock(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker asks for: a topic (compared exactly), and until when a task of it shall be locked."""

    topic: str
    until: datetime


class LockedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task as the worker gets it: the bookmark with its payload, and the definition's name."""

    bookmark: Bookmark
    definition_name: str


class LockChange(msgspec.Struct, frozen=True, kw_only=True):
    """A lock given back or moved; it holds only while the token is still the one that was read."""

    bookmark_id: str
    expected_token: str | None
    worker_id: str | None
    lock_token: str | None
    available_at: datetime | None


class ExternalTaskStore(Protocol):
    """External tasks of a partition that may be worked on: availableAt null or past, instance Running."""

    def any_available(self, partition: Partition, topics: Sequence[str], now: datetime) -> bool:
        """Whether :meth:`lock_available` would find something now; a read."""

    def lock_available(
        self,
        partition: Partition,
        topics: Sequence[TopicLock],
        now: datetime,
        limit: int,
        worker_id: str,
        token: str,
    ) -> Sequence[LockedTask]:
        """Lock up to *limit* tasks of these topics in one statement and return them: createdAt, then sequence.

        What another fetch is just locking is passed over, never waited for, so fewer may come back.
        """
