"""Signals that are kept for the first matching wait that begins in time (spec 3.22).

Nobody misses the other: who publishes stores first and looks for waits then; a wave that began a wait commits first
and looks for kept signals then. The one that takes a kept signal deletes it in the transaction that resumes the wait.
What a crash between the two leaves behind a follow-up finds.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta

from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import Conflict, NotFound
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import AuditEntry, FollowUp
from webapp.engine.ports.signals import SignalTaken, StoredSignal
from webapp.engine.ports.stores import InstanceSnapshot, Partition, UnitOfWork, WriteSet
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.engine import Engine
from webapp.services.commands import Commands
from webapp.services.definitions import Prepared
from webapp.services.follow_ups import FollowUpRunner
from webapp.services.settling import put_in_place
from webapp.services.storage import Storage

log = logging.getLogger("waypost.signals")

KEPT_SIGNAL = "keptSignal"
FIRST_LOOK_SECONDS = 5
LONGEST_PAUSE_SECONDS = 300
LOOK_AT = 100


class KeptSignals:
    """Brings kept signals and waits together."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        commands: Commands,
        follow_ups: FollowUpRunner,
        clock: Clock,
        ids: IdSource,
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._clock = clock
        self._ids = ids
        self._thread = threading.local()
        commands.listeners.append(self._committed)
        follow_ups.register(KEPT_SIGNAL, self._look_again)

    def keep(self, signal: StoredSignal, entry: AuditEntry) -> bool:
        """Store a signal, and give it to a wait that has begun meanwhile; True: one took it.

        The *entry* in the trail stays when the signal is taken: where the commit's answer was lost, it tells that the
        signal was kept and must not be stored once more.
        """
        partition = signal.tenant_id
        owed = self._follow_up(signal, FIRST_LOOK_SECONDS)

        def block(work: UnitOfWork) -> bool:
            work.signals.keep(partition, signal)
            work.apply(WriteSet(partition=partition, new_follow_ups=[owed], audit=[entry]))
            return True

        self._storage.write(partition, block, settled=lambda work: work.audit.holds(partition, entry.id) or None)
        return self._offer(signal)

    def _offer(self, signal: StoredSignal) -> bool:
        """Offer a kept signal to those who wait now, the oldest first; True: it is gone."""
        partition, now = signal.tenant_id, self._clock.now()
        found = self._storage.read(
            partition,
            lambda work: work.signals.targets(partition, signal.name, signal.correlation_id, now, LOOK_AT),
        )
        return any(self._give(signal, one.instance_id, one.bookmark_id) for one in found)

    def _give(self, signal: StoredSignal, instance_id: str, bookmark_id: str) -> bool:
        """Resume one wait with a kept signal; True: the signal is gone, by this or by another."""
        command = self._commands.system_command("signal")

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            return self._engine.signals.deliver(
                snapshot, prepared.compiled, bookmark_id, signal.payload, command, taken_signal_id=signal.id
            )

        try:
            self._commands.change(signal.tenant_id, instance_id, decide)
        except SignalTaken:
            return True
        except (NotFound, Conflict):
            return False
        return True

    # --- a wait begins ----------------------------------------------------------------------

    def _committed(self, wave: Wave) -> None:
        """Look for kept signals after a commit that began waits; costs one read, and only then."""
        begun = [one for one in wave.write_set.new_bookmarks if one.kind is BookmarkKind.SIGNAL]
        if not begun:
            return
        pending: deque[tuple[Partition, Sequence[Bookmark]]] | None = getattr(self._thread, "pending", None)
        if pending is not None:
            # What is given here may begin waits in turn: they are looked at in a loop, never recursively.
            pending.append((wave.write_set.partition, begun))
            return
        self._thread.pending = pending = deque([(wave.write_set.partition, begun)])
        try:
            while pending:
                self._look_for(*pending.popleft())
        finally:
            self._thread.pending = None

    def _look_for(self, partition: Partition, begun: Sequence[Bookmark]) -> None:
        names, now = sorted({one.key or "" for one in begun}), self._clock.now()
        kept = self._storage.read(partition, lambda work: work.signals.kept(partition, names, now))
        for signal in kept:
            for wait in begun:
                meant = wait.key == signal.name and signal.reaches(wait.correlation_id)
                if meant and wait.instance_id is not None and self._give(signal, wait.instance_id, wait.id):
                    break

    # --- what was missed --------------------------------------------------------------------

    def _look_again(self, owed: FollowUp) -> Sequence[FollowUp] | None:
        """Offer a kept signal again, ever more rarely, until it is taken or its time is over."""
        partition, signal_id = owed.tenant_id, str(owed.payload["signalId"])
        signal = self._storage.read(partition, lambda work: work.signals.find(partition, signal_id))
        if signal is None:
            return None
        if signal.expires_at <= self._clock.now():
            self._storage.write(partition, lambda work: work.signals.discard(partition, signal_id))
            return None
        if self._offer(signal):
            return None
        pause = min(float(owed.payload["pause"]) * 2, LONGEST_PAUSE_SECONDS)
        following = self._follow_up(signal, pause)
        self._storage.write(partition, lambda work: put_in_place(work, owed, [following]))
        return []

    def _follow_up(self, signal: StoredSignal, pause: float) -> FollowUp:
        now = self._clock.now()
        due_at: datetime = min(now + timedelta(seconds=pause), signal.expires_at)
        return FollowUp(
            id=self._ids.new(),
            tenant_id=signal.tenant_id,
            action=KEPT_SIGNAL,
            payload={"signalId": signal.id, "pause": pause},
            created_at=now,
            due_at=due_at,
        )
