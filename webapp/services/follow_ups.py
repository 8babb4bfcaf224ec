"""Follow-ups: what one instance owes another, run after the commit as commands of their own (spec 3.22).

The thread that caused them runs them at once, one by one; the poller runs the rest, so a crash in between loses
nothing.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta

from webapp.engine.clock import Clock
from webapp.engine.instances.journal import FollowUp
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.stores import Partition
from webapp.engine.runtime.commands import Wave
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage

log = logging.getLogger("waypost.follow_ups")

Handler = Callable[[FollowUp], Wave | Sequence[FollowUp] | None]
"""Carries a follow-up out as a command that deletes its row in its own transaction; None: it was void.

A sequence: the row is gone already, and this is what came of it, stored.
It runs its command with ``settle=False``: what the command owes in turn is run here, in a loop, never recursively.
"""


class Postponed(Exception):
    """Raised by a handler whose target cannot take it now; the row is kept and pushed back, and nothing is wrong."""


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
        self.wake: Callable[[Partition], None] = lambda partition: None
        """Told when a call leaves follow-ups to the poller."""

    def register(self, action: str, handler: Handler) -> None:
        """Name the handler of an action. :raises ValueError: there is one already."""
        if action in self._handlers:
            raise ValueError(f"the follow-up action {action!r} has a handler already")
        self._handlers[action] = handler

    def run_own(self, wave: Wave) -> int:
        """Run what a committed wave owes, and what that owes in turn; return how many ran.

        Ends after 200 or after 5 seconds; the rest is the poller's.
        """
        return self._run(deque(wave.write_set.new_follow_ups))

    def run_one(self, owed: FollowUp) -> int:
        """Run a follow-up whose time has come, if nobody else does; return how many ran, with what it owed in turn."""
        return self._run(deque([owed]))

    def run_due(self, claimed: Sequence[FollowUp]) -> int:
        """Run claimed follow-ups, and what they owe in turn within the same bounds; return how many ran."""
        left: deque[FollowUp] = deque()
        for one in claimed:
            left.extend(self.run_claimed(one))
        return len(claimed) + self._run(left)

    def _run(self, queue: deque[FollowUp]) -> int:
        deadline = self._clock.now() + timedelta(seconds=self._settings.follow_up_seconds)
        done = 0
        while queue and done < self._settings.follow_ups_per_call and self._clock.now() <= deadline:
            owed = queue.popleft()
            if owed.due_at > self._clock.now():
                # Its time has not come: a decision that can still be undone, for instance.
                continue
            claimed = self._claim(owed)
            if claimed is None:
                continue
            queue.extend(self.run_claimed(claimed))
            done += 1
        for partition in {owed.tenant_id for owed in queue}:
            self.wake(partition)
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
        except Postponed:
            self._push_back(follow_up)
            return ()
        except Exception:
            log.exception("follow-up %s (%s) failed", follow_up.id, follow_up.action)
            self._push_back(follow_up)
            return ()
        return wave.write_set.new_follow_ups if isinstance(wave, Wave) else wave

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
