"""The poller's use cases: run what is due, free the claims of dead processes, throw away what is too old (8.7, 8.10).

Claim, commit, then work: a claim binds only pollers and is dropped with the row. One bookmark's failure never stops
the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import groupby

import msgspec

from webapp.accounts.ports import AccountStore
from webapp.engine.clock import Clock
from webapp.engine.errors import NOTFOUND_INSTANCE, Conflict, NotFound, Unavailable
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.ports.locks import LeaseHeld, Leases
from webapp.engine.ports.queries import DueBookmark
from webapp.engine.ports.stores import Partition, UnitOfWork
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.engine import Engine
from webapp.services.commands import Commands
from webapp.services.follow_ups import FollowUpRunner, retry_after
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage
from webapp.services.views import PollReport, ProblemReport

log = logging.getLogger("waypost.poller")

POLLED_KINDS = (BookmarkKind.TIMER, BookmarkKind.NODE_TIMEOUT, BookmarkKind.RETRY, BookmarkKind.INSTANCE_TIMEOUT)
POLLER_ROWS = "poller:"
MAX_ROUNDS = 100
"""Full batches that one poll takes one after the other, so that stopping never waits long."""

RunAll = Callable[[Callable[["Group"], "Outcome"], Iterable["Group"]], Iterable["Outcome"]]


class Group(msgspec.Struct, frozen=True):
    """The claimed bookmarks of one instance, in due order: they run together."""

    partition: Partition
    instance_id: str
    due: tuple[DueBookmark, ...]

    @property
    def bookmark_ids(self) -> list[str]:
        """The bookmarks' ids."""
        return [one.id for one in self.due]


class Outcome(msgspec.Struct, kw_only=True):
    """What became of a group."""

    resumed: int = 0
    left: int = 0
    failed: list[ProblemReport] = []


class HousekeepingService:
    """What the poller calls, once each time."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        leases: Leases,
        commands: Commands,
        follow_ups: FollowUpRunner,
        accounts: AccountStore,
        clock: Clock,
        settings: ServiceSettings,
    ) -> None:
        self._accounts = accounts
        self._engine = engine
        self._storage = storage
        self._leases = leases
        self._commands = commands
        self._follow_ups = follow_ups
        self._clock = clock
        self._settings = settings
        # A token is HolderId/host key/pid/process start/uuid: all but the last names this process.
        self._process = leases.token().rpartition("/")[0]

    def on_due_now(self, wake: Callable[[], None]) -> None:
        """Have *wake* called after each commit that leaves something due at once (spec 8.10)."""
        self._commands.wake = wake

    def poll_once(self, run_all: RunAll = map, stopping: Callable[[], bool] = lambda: False) -> PollReport:
        """Run the bookmarks and follow-ups that are due; *run_all* may be a thread pool's ``map``."""

        def run(group: Group) -> Outcome:
            try:
                # At the end of the process only the waves at hand are finished; other claims are given back.
                return _left(group) if stopping() else self._run_group(group)
            except Exception:
                # Even noting the failure failed: the others go on.
                log.exception("bookmarks of instance %s were left", group.instance_id)
                return _left(group)

        report, unfinished = PollReport(), list[str]()
        try:
            for _ in range(MAX_ROUNDS):
                token = self._leases.token()
                claimed = self._claim(token)
                outcomes = list(run_all(run, _groups(claimed)))
                report = _added(report, len(claimed), outcomes)
                if any(outcome.left for outcome in outcomes):
                    unfinished.append(token)
                # A batch that was not full has left nothing to claim.
                if len(claimed) < self._settings.poll_batch_size or stopping():
                    break
        finally:
            self._give_back(unfinished)
        return msgspec.structs.replace(report, follow_ups=self._run_follow_ups())

    def recover(self) -> int:
        """Free the claims of processes of this host that are gone; return how many (spec 8.10, 25)."""
        tokens = self._storage.read(None, lambda work: work.bookmarks.claim_tokens())
        gone = [token for token in tokens if self._leases.is_gone(token)]
        if not gone:
            return 0

        def free(work: UnitOfWork) -> int:
            return sum(work.bookmarks.release_claims(one) + work.follow_ups.release_claims(one) for one in gone)

        freed = self._storage.write(None, free)
        log.info("freed %d claims of processes that are gone", freed)
        return freed

    def housekeep(self, stopping: Callable[[], bool] = lambda: False) -> int:
        """Delete what is over its time in every partition; return the number of instances (spec 3.20).

        Stored answers go after a day, ended instances after ``retention_days``, if that is not 0.
        """
        return sum(self._tidy(partition, stopping) for partition in self._partitions())

    def _partitions(self) -> list[Partition]:
        return [None, *(tenant.id for tenant in self._accounts.tenants() if tenant.enabled)]

    def _tidy(self, partition: Partition, stopping: Callable[[], bool]) -> int:
        now = self._clock.now()
        answers = now - timedelta(hours=self._settings.idempotency_hours)
        self._storage.write(partition, lambda work: work.idempotency.purge(partition, answers))
        if not self._settings.retention_days:
            return 0
        cutoff, size = now - timedelta(days=self._settings.retention_days), self._settings.purge_batch_size
        total, purged = 0, size
        # A short transaction each, so that nobody waits long for the database's one writer.
        while purged >= size and not stopping():
            purged = self._storage.write(partition, lambda work: work.instances.purge(partition, cutoff, size))
            total += purged
        if total:
            log.info("purged %d instances that ended before %s", total, cutoff.isoformat())
        return total

    def beat(self) -> None:
        """Say that this process's poller lives, until two beats are missed."""
        self._leases.beat(f"{POLLER_ROWS}{self._process}", self._clock.now() + self._settings.claim_time)

    def poller_live(self) -> bool:
        """Whether some process's poller lives (``/readyz``)."""
        return self._leases.live(POLLER_ROWS, self._clock.now())

    def _claim(self, token: str) -> Sequence[DueBookmark]:
        now = self._clock.now()
        # Most polls find nothing: they must not take the write lock that SQLite has but one of.
        if not self._storage.read(None, lambda work: work.bookmarks.any_due(now, POLLED_KINDS)):
            return ()
        until = now + self._settings.claim_time
        return self._storage.write(
            None,
            lambda work: work.bookmarks.claim_due(now, self._settings.poll_batch_size, token, until, POLLED_KINDS),
        )

    def _give_back(self, tokens: Sequence[str]) -> None:
        """Free what still stands of these claims, after the last batch: a busy instance must not hide the others."""
        if not tokens:
            return
        try:
            self._storage.write(None, lambda work: sum(work.bookmarks.release_claims(token) for token in tokens))
        except Unavailable:
            log.warning("claims were not given back and run out by themselves", exc_info=True)

    def _run_group(self, group: Group) -> Outcome:
        try:
            write_set = self._resume(group).write_set
        except LeaseHeld:
            # Somebody works on the instance: the next cycle finds the bookmark, if it is still there.
            return _left(group)
        except NotFound as missing:
            return self._forget(group) if missing.code == NOTFOUND_INSTANCE else self._failed(group, missing)
        except Conflict:
            return _left(group)
        except Unavailable as unavailable:
            log.warning("bookmarks of instance %s wait for the store: %s", group.instance_id, unavailable)
            return _left(group)
        except Exception as error:
            return self._failed(group, error)
        done = {*write_set.deleted_bookmark_ids, *(bookmark.id for bookmark in write_set.changed_bookmarks)}
        # What a fault left behind must not stay claimed: a retry may come at once.
        left = sum(one.id not in done for one in group.due)
        return Outcome(resumed=len(group.due) - left, left=left)

    def _resume(self, group: Group) -> Wave:
        command = self._commands.system_command("due")
        return self._commands.attempt(
            group.partition,
            group.instance_id,
            lambda snapshot, prepared: self._engine.due(snapshot, prepared.compiled, group.bookmark_ids, command),
        )

    def _failed(self, group: Group, error: Exception) -> Outcome:
        if len(group.due) > 1:
            singles = [Group(group.partition, group.instance_id, (one,)) for one in group.due]
            return _summed(self._run_group(single) for single in singles)
        bookmark = group.due[0]
        log.error("bookmark %s of instance %s failed", bookmark.id, group.instance_id, exc_info=error)
        self._put_off(group.partition, bookmark.id)
        return Outcome(failed=[ProblemReport(id=bookmark.id, reason=str(error))])

    def _forget(self, group: Group) -> Outcome:
        """Delete the bookmarks of an instance that is gone (3.12)."""
        self._storage.write(group.partition, lambda work: work.bookmarks.delete(group.partition, group.bookmark_ids))
        return Outcome()

    def _put_off(self, partition: Partition, bookmark_id: str) -> None:
        now = self._clock.now()

        def block(work: UnitOfWork) -> None:
            bookmark = work.bookmarks.find(partition, bookmark_id)
            if bookmark is not None:
                failures = bookmark.failures + 1
                due = now + retry_after(failures, self._settings.not_resumable_backoff_seconds)
                work.bookmarks.push_back(partition, bookmark_id, due, failures)

        self._storage.write(partition, block)

    def _run_follow_ups(self) -> int:
        now = self._clock.now()
        if not self._storage.read(None, lambda work: work.follow_ups.any_due(now)):
            return 0
        token, until = self._leases.token(), now + self._settings.claim_time
        claimed = self._storage.write(
            None, lambda work: work.follow_ups.claim_due(now, self._settings.poll_batch_size, token, until)
        )
        for follow_up in claimed:
            self._follow_ups.run_claimed(follow_up)
        return len(claimed)


def _groups(claimed: Sequence[DueBookmark]) -> list[Group]:
    def place(one: DueBookmark) -> tuple[str, str]:
        return (one.tenant_id or "", one.instance_id or "")

    # A stable sort: inside an instance the due order stays.
    return [
        Group(members[0].tenant_id, instance_id, tuple(members))
        for (_, instance_id), found in groupby(sorted(claimed, key=place), key=place)
        if (members := list(found)) and instance_id
    ]


def _left(group: Group) -> Outcome:
    return Outcome(left=len(group.due))


def _summed(outcomes: Iterable[Outcome]) -> Outcome:
    total = Outcome()
    for outcome in outcomes:
        total.resumed += outcome.resumed
        total.left += outcome.left
        total.failed = [*total.failed, *outcome.failed]
    return total


def _added(report: PollReport, claimed: int, outcomes: Sequence[Outcome]) -> PollReport:
    total = _summed(outcomes)
    return msgspec.structs.replace(
        report,
        claimed=report.claimed + claimed,
        resumed=report.resumed + total.resumed,
        left=report.left + total.left,
        failed=[*report.failed, *total.failed],
    )
