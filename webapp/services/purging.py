"""Deleting what is over, a little at a time (spec 3.20, 8.10): nobody who works at the same time waits for it.

A run goes through the partitions in turns of one short transaction each. How many rows a transaction deletes follows
from how long the last one took, and after each comes a pause that is longer than it, so that others have the database
most of the time. One process at a time runs, by lease; what it was at when it was stopped or killed goes on with the
next run, because each transaction leaves whole trees, or marks that tell what hangs loose.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import structs

from webapp.engine.clock import Clock, IdSource
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.locks import LeaseHeld, Leases
from webapp.engine.ports.purge import (
    PURGEABLE,
    PurgeBacklog,
    Purged,
    PurgePick,
    PurgePlace,
    PurgeRun,
    PurgeTree,
    PurgeWish,
    TreeSize,
)
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.services.sealing import thin_heads
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage

log = logging.getLogger("waypost.purge")

PURGE_LEASE = "housekeeping"
SLICE_SECONDS = 60.0
"""How long a process keeps the lease in one go; leases are not renewed for ever."""
COUNTED = 10_000
"""How far the backlog is counted."""
TREES_AT_ONCE = 300
MARKED_ROWS = 5_000
"""How many rows hang on the trees that one transaction marks, about."""
CLEAR_SECONDS = 3.0

Stopping = Callable[[], bool]


class Pace:
    """How many rows the next transaction may delete, and how long to pause after the last one.

    *seconds*: how long a transaction should take. It is at work a fifth of the time at most.
    """

    LEAST_ROWS = 100
    SHORTEST_PAUSE = 0.005

    def __init__(self, most_rows: int, seconds: float) -> None:
        self._most = most_rows
        self._least = min(self.LEAST_ROWS, most_rows)
        self._seconds = seconds
        self.rows = min(most_rows, 2 * self.LEAST_ROWS)

    def after(self, seconds: float) -> float:
        """Return the pause after a transaction that took so long."""
        if seconds > self._seconds:
            self.rows = max(self._least, int(self.rows * max(0.5, self._seconds / seconds)))
        elif seconds < self._seconds / 2:
            self.rows = min(self._most, self.rows + self.rows // 4)
        return max(self.SHORTEST_PAUSE, 4 * seconds)


class PurgeState(PurgeBacklog, frozen=True, kw_only=True):
    """What waits to be purged in a partition, and its last run: ``run.ended_at`` None: it goes on, or was cut off.

    ``retention_days`` 0: nothing is purged by age, and no tree waits.
    """

    partition: Partition
    retention_days: float
    run: PurgeRun | None


class PurgeService:
    """What housekeeping, the command of operators and the operations page call."""

    def __init__(
        self,
        *,
        storage: Storage,
        leases: Leases,
        clock: Clock,
        ids: IdSource,
        settings: ServiceSettings,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._storage = storage
        self._leases = leases
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._pause = pause

    def run(self, partitions: Sequence[Partition], stopping: Stopping) -> int:
        """Delete what is over in these partitions and return the number of instances; another process at it: 0."""
        work = _Run(self, partitions)
        while work.turns and not stopping():
            try:
                with self._leases.attempt(PURGE_LEASE):
                    work.go_on(stopping, time.monotonic() + SLICE_SECONDS)
            except LeaseHeld:
                break
        return work.instances

    def purge(self, partition: Partition, wish: PurgeWish, limit: int, entry: Callable[[int], AuditEntry]) -> int:
        """Purge up to *limit* trees at once and return the number of instances; *entry* tells the trail of it.

        One transaction takes them out of every list and leaves marks; what hangs on them is deleted after its commit, a
        few seconds long by this call and then by housekeeping.
        """
        trees, now = self._gather(partition, wish, limit), self._clock.now()
        told: list[tuple[int, str]] = []

        def take(work: UnitOfWork) -> int:
            done = work.purges.take(partition, trees, wish, now)
            if done.instances:
                told[:] = [(done.instances, (made := entry(done.instances)).id)]
                work.audit.append(partition, [made])
            return done.instances

        def settled(work: UnitOfWork) -> int | None:
            return told[0][0] if told and work.audit.holds(partition, told[0][1]) else None

        purged = self._storage.write(partition, take, settled=settled) if trees else 0
        scope = self._storage.scopes.current
        if purged and scope is not None:
            scope.afterwards(lambda: self._clear(partition))
        elif purged:
            self._clear(partition)
        return purged

    def _gather(self, partition: Partition, wish: PurgeWish, limit: int) -> list[PurgeTree]:
        """Look for trees until there are so many, or as many as one transaction should mark."""
        found: list[PurgeTree] = []
        place: PurgePlace | None = None
        while len(found) < limit and sum(tree.rows for tree in found) < MARKED_ROWS:
            pick = self._pick(partition, wish, MARKED_ROWS, place, limit - len(found))
            found += (_as_marked(tree) for tree in pick.trees)
            place = pick.place
            if place is None:
                break
        return found

    def _clear(self, partition: Partition) -> None:
        """Delete what hangs on marked instances for a few seconds; the marks are there for whoever goes on."""
        until = time.monotonic() + CLEAR_SECONDS
        try:
            for _ in self._marked(partition):
                if time.monotonic() > until:
                    break
        except Exception:
            # The purge itself is committed, whatever happens to the rest.
            log.exception("what hangs on purged instances is left to housekeeping", extra={"partition": partition})

    def state(self, partition: Partition) -> PurgeState:
        """Return what waits and how far the last run has come; three queries by index, counted up to 10,000."""
        days, wish = self._settings.retention_days, self.wish(self._clock.now())

        def ask(work: UnitOfWork) -> PurgeState:
            waits = work.purges.backlog(partition, wish, COUNTED)
            return PurgeState(
                partition=partition,
                retention_days=days,
                trees=waits.trees if days else 0,
                oldest=waits.oldest if days else None,
                marked=waits.marked,
                run=work.purges.last_run(partition),
            )

        return self._storage.read(partition, ask)

    def wish(self, now: datetime) -> PurgeWish:
        """Return what retention says."""
        faulted = [InstanceStatus.FAULTED] if self._settings.retention_includes_faulted else []
        before = now - timedelta(days=self._settings.retention_days)
        return PurgeWish(before=before, statuses=(*PURGEABLE, *faulted))

    def steps(self, partition: Partition) -> Iterator[Purged]:
        """Delete what is over in a partition, a transaction at a time; rest after each as long as it says."""
        yield from self._aged(partition)
        marked, retained = self._marked(partition), self._retained(partition)
        # By turns, so that one huge tree does not keep the others waiting.
        parts = deque([marked, retained])
        while parts:
            part = parts.popleft()
            done = next(part, None)
            if done is not None:
                parts.append(part)
                yield done
        # What the last trees have left.
        yield from self._marked(partition)

    def _aged(self, partition: Partition) -> Iterator[Purged]:
        """Forget answers, firings, kept signals, batches, notices and deliveries that are too old, most old heads too.

        Deliveries that stand aside behind nothing are put back among the due ones.
        """
        now, settings, pace = self._clock.now(), self._settings, self._new_pace()
        for kind, age in (
            (_answers, timedelta(hours=settings.idempotency_hours)),
            (_firings, timedelta(days=settings.firing_days)),
            (_signals, timedelta()),
            (_batches, timedelta(days=settings.batch_days)),
            (_notices, timedelta(days=settings.notice_days)),
            (_heads, timedelta(days=settings.head_days)),
            (_stranded, timedelta()),
            *self._sent(),
        ):
            yield from self._forgotten(partition, kind(partition, now - age), pace)

    def _sent(self) -> Sequence[tuple[Callable[[Partition, datetime], Forget], timedelta]]:
        """Return how settled deliveries are forgotten, unless they are kept for ever."""
        days = self._settings.delivery_retention_days
        return [(_deliveries, timedelta(days=days))] if days else []

    def _forgotten(self, partition: Partition, forget: Forget, pace: Pace) -> Iterator[Purged]:
        rows, done = 0, Purged()
        while done.rows >= rows:
            rows = pace.rows
            done = self._write(partition, pace, _bounded(forget, rows))
            if done.rows:
                yield done

    def _marked(self, partition: Partition) -> Iterator[Purged]:
        """Delete what hangs on instances that are marked."""
        if not self._storage.read(partition, lambda work: work.purges.backlog(partition, _NOTHING, 1)).marked:
            return
        pace = self._new_pace()

        def sweep(work: UnitOfWork) -> Purged:
            return work.purges.sweep(partition, pace.rows, self._clock.now())

        while (done := self._write(partition, pace, sweep)).rows:
            yield done

    def _retained(self, partition: Partition) -> Iterator[Purged]:
        """Delete trees that ended longer ago than they are to be kept."""
        if not self._settings.retention_days:
            return
        wish, pace = self.wish(self._clock.now()), self._new_pace()
        run, place = self._begun(partition, wish), None
        while True:
            pick = self._pick(partition, wish, self._settings.purge_rows, place)
            trees = deque(pick.trees)
            while trees:
                done, run = self._take(partition, _fitting(trees, pace.rows), wish, run, pace)
                yield done
            place = pick.place
            if place is None:
                break
        self._end(partition, run)

    def _take(
        self, partition: Partition, trees: Sequence[PurgeTree], wish: PurgeWish, run: PurgeRun, pace: Pace
    ) -> tuple[Purged, PurgeRun]:
        """Take trees, and note in the same transaction how far the run has come."""
        now, moved, done = self._clock.now(), run, Purged()

        def take(work: UnitOfWork) -> Purged:
            nonlocal moved, done
            moved, done = run, work.purges.take(partition, trees, wish, now)
            if done.instances:
                moved = _moved(run, done, now)
                work.purges.note(partition, moved)
            return done

        def settled(work: UnitOfWork) -> Purged | None:
            # The trees are gone by then: taken once more they would count for nothing.
            return done if done.instances and work.purges.last_run(partition) == moved else None

        return self._write(partition, pace, take, settled=settled), moved

    def _pick(
        self, partition: Partition, wish: PurgeWish, rows: int, place: PurgePlace | None, trees: int = TREES_AT_ONCE
    ) -> PurgePick:
        return self._storage.read(
            partition, lambda work: work.purges.pick(partition, wish, trees=trees, rows=rows, after=place)
        )

    def _begun(self, partition: Partition, wish: PurgeWish) -> PurgeRun:
        """Return the run that was cut off, or a new one."""
        last = self._storage.read(partition, lambda work: work.purges.last_run(partition))
        now = self._clock.now()
        if last is not None and last.ended_at is None:
            return structs.replace(last, ended_before=wish.before)
        return PurgeRun(started_at=now, moved_at=now, ended_before=wish.before)

    def _end(self, partition: Partition, run: PurgeRun) -> None:
        """Note that the run has ended; what it has deleted goes into the trail."""
        if not run.instances:
            return
        entry_id, now = self._ids.new(), self._clock.now()

        def end(work: UnitOfWork) -> None:
            work.purges.note(partition, structs.replace(run, moved_at=now, ended_at=now))
            if not work.audit.holds(partition, entry_id):
                work.audit.append(partition, [_entry(entry_id, partition, run, now)])

        self._storage.write(partition, end)
        log.info(
            "purged %d instances that ended before %s", run.instances, run.ended_before.isoformat(),
            extra={"partition": partition},
        )  # fmt: skip

    def _new_pace(self) -> Pace:
        return Pace(self._settings.purge_rows, self._settings.purge_seconds)

    def _write(
        self,
        partition: Partition,
        pace: Pace,
        block: Callable[[UnitOfWork], Purged],
        *,
        settled: Callable[[UnitOfWork], Purged | None] | None = None,
    ) -> Purged:
        """Write, and rest. What counts is how long the transaction was open, not how long it waited for its turn."""
        began = 0.0

        def timed(work: UnitOfWork) -> Purged:
            nonlocal began
            began = time.monotonic()
            return block(work)

        done = self._storage.write(partition, timed, settled=settled)
        rest = pace.after(time.monotonic() - began)
        if done.rows:
            self._pause(rest)
        return done


class _Run:
    """A run through partitions, cut into slices."""

    def __init__(self, purges: PurgeService, partitions: Sequence[Partition]) -> None:
        self.turns = deque((partition, purges.steps(partition)) for partition in partitions)
        self.instances = 0

    def go_on(self, stopping: Stopping, until: float) -> None:
        """Do what there is to do, each partition a transaction in turn, until it is time to stop."""
        while self.turns and not stopping() and time.monotonic() < until:
            partition, steps = self.turns.popleft()
            try:
                done = next(steps, None)
            except Exception:
                # Whatever it is, the other partitions go on, and this one comes again with the next run.
                log.exception("a partition could not be purged", extra={"partition": partition})
                continue
            if done is not None:
                self.instances += done.instances
                self.turns.append((partition, steps))


_NOTHING = PurgeWish(before=datetime.fromisoformat("1970-01-01T00:00:00+00:00"), statuses=())


def _fitting(trees: deque[PurgeTree], rows: int) -> list[PurgeTree]:
    """Take the next trees off that a transaction of so many rows takes: one at least."""
    found = [trees.popleft()]
    used = found[0].rows
    while trees and used + trees[0].rows <= rows:
        used += trees[0].rows
        found.append(trees.popleft())
    return found


def _as_marked(tree: PurgeTree) -> PurgeTree:
    """Return a whole tree as one that is only marked for now."""
    return tree if tree.size is not TreeSize.WHOLE else PurgeTree(tree.root_id, TreeSize.MARKED, tree.rows)


def _moved(run: PurgeRun, done: Purged, now: datetime) -> PurgeRun:
    return structs.replace(
        run, moved_at=now, instances=run.instances + done.instances, removed_rows=run.removed_rows + done.rows
    )


def _entry(entry_id: str, partition: Partition, run: PurgeRun, now: datetime) -> AuditEntry:
    return AuditEntry(
        id=entry_id,
        tenant_id=partition,
        at=now,
        action="purge",
        command_id=entry_id,
        after={"purged": run.instances, "endedBefore": run.ended_before.isoformat()},
    )


Forget = Callable[[UnitOfWork, int], int]
"""Deletes at most so many rows that are too old, and returns how many."""


def _answers(partition: Partition, before: datetime) -> Forget:
    return lambda work, rows: work.idempotency.purge(partition, before, rows)


def _firings(partition: Partition, before: datetime) -> Forget:
    return lambda work, rows: work.timer_firings.purge(partition, before, rows)


def _signals(partition: Partition, before: datetime) -> Forget:
    return lambda work, rows: work.signals.purge(partition, before, rows)


def _batches(partition: Partition, before: datetime) -> Forget:
    return lambda work, rows: work.batches.purge(partition, before, rows)


def _notices(partition: Partition, before: datetime) -> Forget:
    return lambda work, rows: work.notices.purge(partition, before, rows)


def _heads(partition: Partition, before: datetime) -> Forget:
    return lambda work, rows: thin_heads(partition, before, work, rows)


def _stranded(partition: Partition, before: datetime) -> Forget:
    return lambda work, rows: work.deliveries.put_back_stranded(partition, rows)


def _deliveries(partition: Partition, before: datetime) -> Forget:
    return lambda work, rows: work.deliveries.purge(partition, before, rows)


def _bounded(forget: Forget, rows: int) -> Callable[[UnitOfWork], Purged]:
    return lambda work: Purged(0, forget(work, rows))
