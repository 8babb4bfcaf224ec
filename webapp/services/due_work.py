"""The poller's work: claim what is due while threads are free, run it, give back what was left (spec 8.7, 8.10).

Claim, commit, then work: a claim binds only pollers and is dropped with the row. A slow wave keeps its own thread busy
and nothing else: the others go on claiming. What cannot be begun within a poll's interval is given back, so that
another process may take it. Groups that wait together are run together: their waves are written in one transaction.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from webapp.accounts.tenants import TenantDirectory
from webapp.engine.clock import Clock
from webapp.engine.errors import LockTimeout, Unavailable
from webapp.engine.instances.bookmarks import Lane
from webapp.engine.instances.journal import FollowUp
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.partitions import PartitionDatabases, PolledDatabase
from webapp.engine.ports.queries import DueBookmark
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.services.agenda import Agenda
from webapp.services.database_visits import DatabaseVisits, Glance
from webapp.services.due_groups import DueRunner, Group, Outcome, groups_of, summed
from webapp.services.due_jobs import Due, Job, Together, Visit, is_slow, joining, name_of
from webapp.services.follow_ups import FollowUpRunner
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage, asked
from webapp.services.views import PollReport

log = logging.getLogger("waypost.poller")

TURN_ROWS = "polling:"
"""The leases of pollers that claim in turns, one for each database; ``poller:`` are the rows of those that live."""


class Crew(Protocol):
    """The threads that run what is due."""

    @property
    def size(self) -> int:
        """How many jobs may run at once."""

    def start(self, job: Callable[[], None]) -> None:
        """Run a job, now or in a thread."""

    def wait(self, seconds: float) -> bool:
        """Wait until a job has ended, or somebody nudges, or the time is over; False: only a job has ended."""


class Alone:
    """The calling thread, which runs each job at once."""

    size = 1

    def start(self, job: Callable[[], None]) -> None:
        """Run the job."""
        job()

    def wait(self, seconds: float) -> bool:
        """Nothing runs elsewhere."""
        return False


class DueWork:
    """Runs the due bookmarks of some lanes, and the follow-ups."""

    def __init__(
        self,
        *,
        storage: Storage,
        leases: Leases,
        runner: DueRunner,
        follow_ups: FollowUpRunner,
        tenants: TenantDirectory,
        databases: PartitionDatabases,
        clock: Clock,
        settings: ServiceSettings,
    ) -> None:
        self.storage = storage
        self.leases = leases
        self.runner = runner
        self.follow_ups = follow_ups
        self.clock = clock
        self.settings = settings
        self.tenants = tenants
        self.databases = databases
        self.visits = DatabaseVisits(
            databases=databases, leases=leases, clock=clock, settings=settings, rows=TURN_ROWS, log=log
        )
        self.agendas = {lane: Agenda() for lane in Lane}
        self.strangers: dict[Partition, frozenset[Partition]] = {}
        """Partitions with rows in a database they do not belong to, by what opens it."""

    def run(
        self,
        lanes: Sequence[Lane],
        crew: Crew,
        stopping: Callable[[], bool],
        *,
        follow_ups: bool = False,
    ) -> PollReport:
        """Run all that is due and becomes due meanwhile; return when nothing is left to claim and nothing runs.

        At the end of the process only the waves at hand are finished; other claims are given back.
        """
        return _Shift(self, lanes, crew, stopping, follow_ups=follow_ups).work()

    def expect(self, partition: Partition, at: datetime) -> None:
        """Have the partition's database looked into when something of it is due."""
        entry = self.databases.entry_of(partition)
        for agenda in self.agendas.values():
            agenda.expect(entry, at)

    def without(self, database: PolledDatabase) -> frozenset[Partition]:
        """Return the partitions whose rows in a database are not to be run. :raises Unavailable: they are not known."""
        disabled, entry = asked(self.tenants.disabled), database.entry
        strangers = self.strangers.get(entry, frozenset())
        # A tenant that is new was a stranger as long as this process had not heard of it.
        return disabled | database.without | {one for one in strangers if self.databases.entry_of(one) != entry}

    def recover(self, entry: Partition = None) -> int:
        """Free the claims of processes of this host that are gone in one database; return how many (8.10, 25)."""
        tokens = self.storage.read(entry, lambda work: work.bookmarks.claim_tokens())
        gone = [token for token in tokens if self.leases.is_gone(token)]
        if not gone:
            return 0

        def free(work: UnitOfWork) -> int:
            return sum(work.bookmarks.release_claims(one) + work.follow_ups.release_claims(one) for one in gone)

        freed = self.storage.write(entry, free)
        log.info("freed %d claims of processes that are gone", freed)
        return freed

    def visit(self, visit: Visit, stopping: Callable[[], bool]) -> PollReport:
        """Run what is due in a separate database, for a few seconds at most; nothing is raised."""

        def work(over: Callable[[], bool]) -> PollReport:
            shift = _Shift(
                self,
                (visit.lane,),
                Alone(),
                lambda: stopping() or over(),
                follow_ups=visit.follow_ups,
                database=visit.database,
            )
            return shift.work()

        agenda, seconds = self.agendas[visit.lane], self.settings.follow_up_seconds
        done = self.visits.visit(agenda, visit.entry, seconds, lambda now: self._look(visit, now), work)
        return PollReport() if done is None else done

    def _look(self, visit: Visit, now: datetime) -> Glance:
        """Return whether something is due in a separate database, else when."""
        if visit.lane is Lane.POLLER:
            self.recover(visit.entry)
        without, lanes = self.without(visit.database), (visit.lane,)

        def look(work: UnitOfWork) -> Glance:
            if work.bookmarks.any_due(now, lanes, without):
                return Glance(True)
            if visit.follow_ups and work.follow_ups.any_due(now, without):
                return Glance(True)
            times = [work.bookmarks.next_due(lanes, without)]
            if visit.follow_ups:
                times.append(work.follow_ups.next_due(without))
            return Glance(False, min((at for at in times if at is not None), default=None))

        return self.storage.read(visit.entry, look)


class _Strangers(Exception):
    """Undoes a claim of rows of partitions that do not belong to the database."""

    def __init__(self, tenants: frozenset[Partition]) -> None:
        self.tenants = tenants
        super().__init__(f"rows of {sorted(map(str, tenants))}")


class _End(NamedTuple):
    """What became of a job: of a group, how many follow-ups ran, or what a visit did."""

    names: tuple[str, ...]
    outcome: Outcome
    followed: int = 0
    visit: PollReport | None = None


class _Shift:
    """One run of the work: what is claimed, what runs, what was left."""

    def __init__(
        self,
        work: DueWork,
        lanes: Sequence[Lane],
        crew: Crew,
        stopping: Callable[[], bool],
        *,
        follow_ups: bool,
        database: PolledDatabase | None = None,
    ) -> None:
        self._work = work
        self._database = database
        self._entry = None if database is None else database.entry
        self._lanes = tuple(lanes)
        self._crew = crew
        self._stopping = stopping
        self._with_follow_ups = follow_ups
        self._token = work.leases.token()
        self._waiting: deque[Due] = deque()
        self._slow: deque[Due] = deque()
        self._visits: deque[Due] = deque()
        self._planned: set[str] = set()
        self._running: dict[tuple[str, ...], Job] = {}
        self._busy: set[str] = set()
        # Filled by the threads of the crew; appending is atomic.
        self._finished: deque[_End] = deque()
        self._left: list[str] = []
        self._look = True
        self._heavy: frozenset[Partition] = frozenset()
        self._interval = timedelta(seconds=work.settings.poll_interval_seconds)
        self._quiet_since = self._gave_back_at = work.clock.now()
        self._total = Outcome()
        self._claimed = self._followed = self._left_elsewhere = 0

    def work(self) -> PollReport:
        try:
            while self._turn():
                pass
        finally:
            self._end()
        return PollReport(
            claimed=self._claimed,
            resumed=self._total.resumed,
            left=len(self._total.left) + self._left_elsewhere,
            failed=self._total.failed,
            follow_ups=self._followed,
        )

    def _turn(self) -> bool:
        """Take over, begin, claim or wait; False: all is done."""
        self._collect()
        if not self._stopping():
            self._begin()
            self._give_back()
            if self._look and len(self._running) < self._crew.size:
                self._look = self._claim_guarded()
                return True
        if not self._running:
            return False
        if self._crew.wait(self._work.settings.poll_interval_seconds):
            self._look = True
        return True

    # --- running ----------------------------------------------------------------------------

    def _collect(self) -> None:
        """Take over what has ended."""
        while self._finished:
            end = self._finished.popleft()
            del self._running[end.names]
            self._busy.difference_update(end.names)
            self._quiet_since = self._work.clock.now()
            self._followed += end.followed
            self._left += end.outcome.left
            self._waiting.extendleft(reversed(end.outcome.alone))
            self._total = summed((self._total, end.outcome))
            if end.visit is not None:
                if Lane.WORKFLOW_TIMER not in self._lanes:
                    self._planned.difference_update(end.names)
                self._claimed += end.visit.claimed
                self._left_elsewhere += end.visit.left

    def _begin(self) -> None:
        """Start what waits and may begin; the rest keeps its order."""
        for queue in (self._visits, self._waiting, self._slow):
            passed: deque[Due] = deque()
            while queue and len(self._running) < self._crew.size and not self._stopping():
                due = queue.popleft()
                if not self._may_begin(due):
                    passed.append(due)
                elif isinstance(due, Group):
                    self._start(Together((due, *(joining(due, queue, self._busy) if due.joins else ()))))
                else:
                    self._start(due)
            queue.extendleft(reversed(passed))

    def _may_begin(self, due: Due) -> bool:
        """Whether its instance is not busy.

        At most half of the threads run nodes in the background, and one is kept for the platform's own database.
        """
        return (
            not (is_slow(due) and self._slow_running >= self._most_slow)
            and not (isinstance(due, Visit) and self._visiting >= max(1, self._crew.size - 1))
            and name_of(due) not in self._busy
        )

    @property
    def _most_slow(self) -> int:
        return max(1, self._crew.size // 2)

    @property
    def _slow_running(self) -> int:
        return sum(is_slow(job) for job in self._running.values())

    @property
    def _visiting(self) -> int:
        return sum(isinstance(job, Visit) for job in self._running.values())

    def _start(self, job: Job) -> None:
        names = tuple(name_of(one) for one in (job.groups if isinstance(job, Together) else (job,)))
        self._running[names] = job
        self._busy.update(names)

        def run() -> None:
            end = _End(names, Outcome())
            try:
                end = self._done(names, job)
            finally:
                self._finished.append(end)

        self._crew.start(run)
        # A crew of one has ended it already.
        self._collect()

    def _done(self, names: tuple[str, ...], job: Job) -> _End:
        if isinstance(job, Together):
            return _End(names, self._work.runner.run_together(job.groups))
        if isinstance(job, Visit):
            report = self._work.visit(job, self._stopping)
            outcome = Outcome(resumed=report.resumed, failed=list(report.failed))
            return _End(names, outcome, report.follow_ups, report)
        return _End(names, Outcome(), self._work.follow_ups.run_due([job]))

    # --- claiming ---------------------------------------------------------------------------

    def _lanes_with_room(self) -> tuple[Lane, ...]:
        if not self._slow and self._slow_running < self._most_slow:
            return self._lanes
        return tuple(lane for lane in self._lanes if lane is not Lane.BACKGROUND)

    def _claim_guarded(self) -> bool:
        try:
            return self._claim()
        except (Unavailable, LockTimeout):
            if not self._running:
                raise
            log.warning("nothing could be claimed while other waves run", exc_info=True)
            return False
        except Exception:
            if not (self._running or self._visits):
                raise
            # Such as a row that cannot be read: it stops no other database's work.
            log.exception("nothing could be claimed in the database of %s", self._entry or "the platform")
            return False

    def _claim(self) -> bool:
        """Claim what is due; True: there may be more, because a claim was full."""
        now, size = self._work.clock.now(), self._work.settings.poll_batch_size
        database = self._database
        if database is None:
            database, *separate = asked(self._work.databases.polled)
            self._plan_visits(separate, now)
        without = self._work.without(database)
        due = self._claim_bookmarks(now, size, without)
        self._claimed += len(due)
        for group in groups_of(due):
            (self._slow if group.background else self._waiting).append(group)
        owed = self._claim_follow_ups(now, size, without) if self._with_follow_ups else ()
        self._waiting.extend(owed)
        self._quiet_since = self._work.clock.now()
        return size in (len(due), len(owed))

    def _plan_visits(self, separate: Iterable[PolledDatabase], now: datetime) -> None:
        """Have each separate database visited whose time has come, for each lane apart."""
        for database in separate:
            for lane in self._lanes:
                visit = Visit(database, lane, self._with_follow_ups and lane is Lane.POLLER)
                name = name_of(visit)
                # Reminders have a pace of their own: who runs them looks everywhere, once.
                once = lane is Lane.WORKFLOW_TIMER
                if name in self._planned or not (once or self._work.agendas[lane].is_due(visit.entry, now)):
                    continue
                self._planned.add(name)
                self._visits.append(visit)

    def _claim_bookmarks(self, now: datetime, size: int, without: Collection[Partition]) -> Sequence[DueBookmark]:
        lanes, until = self._lanes_with_room(), now + self._work.settings.claim_time
        storage, token = self._work.storage, self._token
        # Most polls find nothing: they must not take the write lock that SQLite has but one of.
        if not lanes or not storage.read(self._entry, lambda work: work.bookmarks.any_due(now, lanes, without)):
            return ()

        def claim(work: UnitOfWork) -> list[DueBookmark]:
            # Who filled the last claim comes after the others: a flood of one partition must not hide them.
            others = {*without, *self._heavy}
            found = list(work.bookmarks.claim_due(now, size, token, until, lanes, others))
            if self._heavy and len(found) < size:
                found += work.bookmarks.claim_due(now, size - len(found), token, until, lanes, without)
            return found

        with self._work.visits.turn(self._entry):
            found = storage.write(self._entry, claim)
        due = self._own(found)
        counts = Counter(one.tenant_id for one in due)
        self._heavy = frozenset(one for one, count in counts.items() if 2 * count > size and len(due) == size)
        return due

    def _claim_follow_ups(self, now: datetime, size: int, without: Collection[Partition]) -> Sequence[FollowUp]:
        storage, token, until = self._work.storage, self._token, now + self._work.settings.claim_time
        if not storage.read(self._entry, lambda work: work.follow_ups.any_due(now, without)):
            return ()

        def claim(work: UnitOfWork) -> Sequence[FollowUp]:
            found = work.follow_ups.claim_due(now, size, token, until, without)
            strange = self._strange(found)
            if strange:
                # Nothing of it is committed: no claim has to be given back.
                raise _Strangers(strange)
            return found

        with self._work.visits.turn(self._entry):
            try:
                return storage.write(self._entry, claim)
            except _Strangers as met:
                strangers = met.tenants
        self._leave_alone(strangers)
        return self._claim_follow_ups(now, size, {*without, *strangers})

    def _own(self, found: list[DueBookmark]) -> list[DueBookmark]:
        """Return what belongs to this database, and give back for good what belongs to another."""
        tenants = self._strange(found)
        if not tenants:
            return found
        self._leave_alone(tenants)
        ids = [one.id for one in found if one.tenant_id in tenants]
        self._freed(lambda work: work.bookmarks.give_back(self._token, ids))
        return [one for one in found if one.tenant_id not in tenants]

    def _strange(self, found: Iterable[DueBookmark | FollowUp]) -> frozenset[Partition]:
        """Return the partitions of these rows that do not belong to this database."""
        entry_of = self._work.databases.entry_of
        return frozenset(one for one in {row.tenant_id for row in found} if entry_of(one) != self._entry)

    def _leave_alone(self, tenants: frozenset[Partition]) -> None:
        log.warning("the database of %s has rows of %s, which are left alone", self._entry or "the platform", tenants)
        self._work.strangers[self._entry] = self._work.strangers.get(self._entry, frozenset()) | tenants

    # --- giving back ------------------------------------------------------------------------

    def _give_back(self) -> None:
        """Free what was left, an interval later; and what cannot begin because nothing ends: others may be idle."""
        now, ids = self._work.clock.now(), list[str]()
        if now - self._gave_back_at >= self._interval:
            ids, self._left, self._gave_back_at = self._left, [], now
        if now - self._quiet_since >= self._interval:
            ids += [one for job in (*self._waiting, *self._slow) if isinstance(job, Group) for one in job.bookmark_ids]
            self._waiting = deque(job for job in self._waiting if not isinstance(job, Group))
            self._slow.clear()
            self._quiet_since = now
        if ids:
            self._freed(lambda work: work.bookmarks.give_back(self._token, ids))

    def _end(self) -> None:
        """Free what still stands of the claims; busy instances are tried again in the next cycle."""
        unbegun = [one for job in (*self._waiting, *self._slow) if isinstance(job, Group) for one in job.bookmark_ids]
        self._total.left = [*self._total.left, *unbegun]
        if self._left or unbegun or self._waiting:
            token = self._token
            self._freed(lambda work: work.bookmarks.release_claims(token) + work.follow_ups.release_claims(token))

    def _freed(self, free: Callable[[UnitOfWork], int]) -> None:
        try:
            self._work.storage.write(self._entry, free)
        except Unavailable:
            log.warning("claims were not given back and run out by themselves", exc_info=True)
