"""Follow-ups: what one instance owes another, run after the commit as commands of their own (spec 3.22).

The thread that caused them runs them at once, one by one; the poller runs the rest, so a crash in between loses
nothing.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from datetime import timedelta

from webapp.engine.clock import Clock
from webapp.engine.instances.journal import FollowUp
from webapp.engine.ports.locks import Leases
from webapp.engine.runtime.commands import Wave
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage

log = logging.getLogger("waypost.follow_ups")

Handler = Callable[[FollowUp], Wave | None]
"""Carries a follow-up out as a command that deletes its row in its own transaction; None: it was void.

It runs its command with ``settle=False``: what the command owes in turn is run here, in a loop, never recursively.
"""

RETRY_SECONDS = (1, 5, 25)


def retry_after(failures: int, backoff_seconds: float) -> timedelta:
    """Return how long to leave something alone that has failed so often: 1, 5, 25 seconds, then the long back-off."""
    short = RETRY_SECONDS[failures - 1] if failures <= len(RETRY_SECONDS) else backoff_seconds
    return timedelta(seconds=min(short, backoff_seconds))


class FollowUpRunner:
    """Runs follow-ups by their action; activities of later releases register their handlers here."""

    def __init__(self, *, storage: Storage, leases: Leases, clock: Clock, settings: ServiceSettings) -> None:
        self._storage = storage
        self._leases = leases
        self._clock = clock
        self._settings = settings
        self._handlers: dict[str, Handler] = {}

    def register(self, action: str, handler: Handler) -> None:
        """Name the handler of an action. :raises ValueError: there is one already."""
        if action in self._handlers:
            raise ValueError(f"the follow-up action {action!r} has a handler already")
        self._handlers[action] = handler

    def run_own(self, wave: Wave) -> int:
        """Run what a committed wave owes, and what that owes in turn; return how many ran.

        Ends after 200 or after 5 seconds; the rest is the poller's.
        """
        queue = deque(wave.write_set.new_follow_ups)
        deadline = self._clock.now() + timedelta(seconds=self._settings.follow_up_seconds)
        done = 0
        while queue and done < self._settings.follow_ups_per_call and self._clock.now() <= deadline:
            owed = queue.popleft()
            claimed = self._claim(owed)
            if claimed is None:
                continue
            queue.extend(self.run_claimed(claimed))
            done += 1
        return done

    def run_claimed(self, follow_up: FollowUp) -> Iterable[FollowUp]:
        """Run one claimed follow-up; return what it left behind. A failure leaves it for a later time."""
        handler = self._handlers.get(follow_up.action)
        try:
            if handler is None:
                raise LookupError(f"nothing runs follow-ups of the action {follow_up.action!r}")
            wave = handler(follow_up)
            if wave is None:
                self._storage.write(
                    follow_up.tenant_id, lambda work: work.follow_ups.delete(follow_up.tenant_id, follow_up.id)
                )
                return ()
        except Exception:
            log.exception("follow-up %s (%s) failed", follow_up.id, follow_up.action)
            self._push_back(follow_up)
            return ()
        return wave.write_set.new_follow_ups

    def _claim(self, owed: FollowUp) -> FollowUp | None:
        now = self._clock.now()
        token, until = self._leases.token(), now + self._settings.claim_time
        return self._storage.write(
            owed.tenant_id, lambda work: work.follow_ups.claim(owed.tenant_id, owed.id, now, token, until)
        )

    def _push_back(self, follow_up: FollowUp) -> None:
        failures = follow_up.failures + 1
        due = self._clock.now() + retry_after(failures, self._settings.not_resumable_backoff_seconds)
        self._storage.write(
            follow_up.tenant_id,
            lambda work: work.follow_ups.push_back(follow_up.tenant_id, follow_up.id, due, failures),
        )
