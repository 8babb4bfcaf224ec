"""What people were told: each reads their own notices and nobody else's (spec 10, 12)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from webapp.accounts.model import Actor
from webapp.engine.clock import Clock
from webapp.engine.errors import InputInvalid, NotFound
from webapp.engine.notifications.model import Notice
from webapp.engine.ports.notices import NoticeQuery
from webapp.engine.ports.queries import Page, check_page
from webapp.engine.ports.stores import UnitOfWork
from webapp.services.access import NOT_FOUND
from webapp.services.storage import Storage

MAX_MARKED = 1_000
"""Notices marked in one call."""


class NoticeService:
    """The use cases of the bell and its page: everybody their own."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock

    def list(self, actor: Actor, query: NoticeQuery | None = None) -> Page[Notice]:
        """Return a page of the actor's notices, newest first. :raises InputInvalid: a bad limit or offset."""
        asked = query or NoticeQuery()
        check_page("tasks", asked.paging, ())
        return self._storage.read(actor.partition, lambda work: work.notices.list(actor.partition, actor.name, asked))

    def latest(self, actor: Actor, most: int) -> Sequence[Notice]:
        """Return the newest of the actor's unread notices, at most *most*: for the panel below the bell."""
        return self._storage.read(actor.partition, lambda work: work.notices.latest(actor.partition, actor.name, most))

    def unread(self, actor: Actor) -> int:
        """Return how many notices the actor has not read, at most 100: for the bell."""
        return self._storage.read(actor.partition, lambda work: work.notices.unread(actor.partition, actor.name))

    def read(self, actor: Actor, notice_id: str) -> Notice:
        """Mark a notice as read and return it; one that was read keeps its time.

        :raises NotFound: there is none, or it is another's.
        """
        found = self._own(actor, notice_id)
        if found.read_at is not None:
            return found
        self.mark_read(actor, [notice_id])
        return self._own(actor, notice_id)

    def mark_read(self, actor: Actor, ids: Sequence[str]) -> int:
        """Mark those of the notices as read that are the actor's; return how many were not.

        :raises InputInvalid: more than can be marked in one call.
        """
        chosen = list(dict.fromkeys(ids))
        if len(chosen) > MAX_MARKED:
            raise InputInvalid("services.input.too_many", path="ids", params={"max": MAX_MARKED})
        if not chosen:
            return 0
        at = self._clock.now()
        return self._storage.write(
            actor.partition, lambda work: work.notices.mark_read(actor.partition, actor.name, chosen, at)
        )

    def mark_all_read(self, actor: Actor, until: datetime | None = None) -> int:
        """Mark what the actor was told until then as read; return how many were not.

        *until*: when the list was shown, so that what came since stays unread; None: now.
        """
        at = self._clock.now()
        last = at if until is None else min(until, at)
        return self._storage.write(
            actor.partition, lambda work: work.notices.mark_all_read(actor.partition, actor.name, last, at)
        )

    def task_opened(self, actor: Actor, *task_ids: str) -> None:
        """Mark what the actor was told of tasks as read: who looks at one or decides it needs no bell.

        Whoever has nothing unread costs one look at an index.
        """
        partition, at = actor.partition, self._clock.now()

        def mark(work: UnitOfWork) -> None:
            for task_id in task_ids:
                work.notices.mark_task_read(partition, actor.name, task_id, at)

        if not task_ids:
            return
        if self._storage.read(partition, lambda work: work.notices.unread(partition, actor.name, 1)):
            self._storage.write(partition, mark)

    def _own(self, actor: Actor, notice_id: str) -> Notice:
        def block(work: UnitOfWork) -> Notice | None:
            return work.notices.find(actor.partition, notice_id)

        found = self._storage.read(actor.partition, block)
        if found is None or found.recipient_id != actor.name or not found.in_inbox:
            raise NotFound("services.notice.not_found", code=NOT_FOUND, params={"id": notice_id})
        return found
