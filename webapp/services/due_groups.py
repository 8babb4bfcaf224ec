"""One group of due bookmarks: the wave they make together, and what a failure of it means (spec 3.12, 8.7, 8.10).

One bookmark's failure never stops the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

import msgspec

from webapp.engine.clock import Clock
from webapp.engine.errors import NOTFOUND_INSTANCE, Conflict, NotFound, Unavailable
from webapp.engine.instances.bookmarks import BookmarkKind, Lane
from webapp.engine.ports.locks import LeaseHeld
from webapp.engine.ports.queries import DueBookmark
from webapp.engine.ports.stores import Partition, WriteSet
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.engine import Engine
from webapp.services.commands import Commands, Decide
from webapp.services.follow_ups import retry_after
from webapp.services.joint_commands import JointCommands, passes
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage
from webapp.services.views import ProblemReport

log = logging.getLogger("waypost.poller")

DueHandler = Callable[[DueBookmark], None]
"""Carries out a claimed bookmark that belongs to no instance, in a transaction that deletes or re-arms its row.

Raising leaves the row for later: 1, 5, 25 seconds, then the long back-off. ``LeaseHeld`` leaves it to the next cycle.
"""


class Group(msgspec.Struct, frozen=True):
    """The claimed bookmarks of one instance and lane, in due order: they run together.

    Without an instance it is a single bookmark, of a definition.
    """

    partition: Partition
    instance_id: str | None
    due: tuple[DueBookmark, ...]
    alone: bool = False
    """Whether it was found that it cannot be one of a batch."""

    @property
    def joins(self) -> bool:
        """Whether it may be one of a batch: the waves of several instances written together."""
        return not (self.alone or self.background or self.instance_id is None)

    @property
    def bookmark_ids(self) -> list[str]:
        """The bookmarks' ids."""
        return [one.id for one in self.due]

    @property
    def background(self) -> bool:
        """Whether it runs a node in the background."""
        return self.due[0].lane is Lane.BACKGROUND


class Outcome(msgspec.Struct, kw_only=True):
    """What became of a group, or of several; ``left``: the bookmarks whose claims are to be given back.

    ``alone``: groups of a batch that nothing was done for yet, each to be run by itself.
    """

    resumed: int = 0
    left: list[str] = []
    failed: list[ProblemReport] = []
    alone: list[Group] = []


def groups_of(claimed: Sequence[DueBookmark]) -> list[Group]:
    """Return the claimed bookmarks by instance and lane, in the order of the earliest of each."""
    found: dict[tuple[object, ...], list[DueBookmark]] = {}
    for one in claimed:
        place = (one.id,) if one.instance_id is None else (one.tenant_id, one.instance_id, one.lane is Lane.BACKGROUND)
        found.setdefault(place, []).append(one)
    return [Group(members[0].tenant_id, members[0].instance_id, tuple(members)) for members in found.values()]


class DueRunner:
    """Runs groups; what belongs to no instance goes to the handler of its kind."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        commands: Commands,
        joint: JointCommands,
        clock: Clock,
        settings: ServiceSettings,
    ) -> None:
        self._joint = joint
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._clock = clock
        self._settings = settings
        self._handlers: dict[BookmarkKind, DueHandler] = {}

    def register(self, kind: BookmarkKind, handler: DueHandler) -> None:
        """Name the handler of bookmarks of that kind without an instance. :raises ValueError: there is one already."""
        if kind in self._handlers:
            raise ValueError(f"due bookmarks of the kind {kind.value!r} have a handler already")
        self._handlers[kind] = handler

    def run(self, group: Group) -> Outcome:
        """Run a group; nothing is raised."""
        try:
            return self._run(group)
        except Exception:
            # Even noting the failure failed: the others go on.
            log.exception("due bookmarks of instance %s were left", group.instance_id)
            return left(group)

    def run_together(self, groups: Sequence[Group]) -> Outcome:
        """Run groups of one partition that may join, their waves in one transaction; nothing is raised."""
        if len(groups) == 1:
            return self.run(groups[0])
        try:
            decisions = {
                group.instance_id: self._decision(group, batched=True) for group in groups if group.instance_id
            }
            results = self._joint.attempt(groups[0].partition, decisions)
        except Unavailable as unavailable:
            log.warning("due bookmarks of %d instances wait for the store: %s", len(groups), unavailable)
            return summed(left(group) for group in groups)
        except Exception:
            # One of them cannot even be read: alone the others are not stopped by it, and it is told which one it is.
            log.warning("due bookmarks of %d instances are run one by one", len(groups), exc_info=True)
            return Outcome(alone=[msgspec.structs.replace(group, alone=True) for group in groups])
        return summed(_joint_outcome(group, results[group.instance_id or ""]) for group in groups)

    def _run(self, group: Group) -> Outcome:
        try:
            if group.instance_id is None:
                self._handle(group.due[0])
                return Outcome(resumed=1)
            write_set = self._resume(group, group.instance_id).write_set
        except LeaseHeld:
            # Somebody works on the instance: the next cycle finds the bookmark, if it is still there.
            return left(group)
        except NotFound as missing:
            return self._forget(group) if missing.code == NOTFOUND_INSTANCE else self._failed(group, missing)
        except Conflict:
            return left(group)
        except Unavailable as unavailable:
            if not passes(unavailable):
                return self._failed(group, unavailable)
            log.warning("bookmarks of instance %s wait for the store: %s", group.instance_id, unavailable)
            return left(group)
        except Exception as error:
            return self._failed(group, error)
        return _stored(group, write_set)

    def _handle(self, due: DueBookmark) -> None:
        handler = self._handlers.get(due.kind)
        if handler is None:
            raise LookupError(f"nothing runs due bookmarks of the kind {due.kind.value!r} without an instance")
        handler(due)

    def _resume(self, group: Group, instance_id: str) -> Wave:
        return self._commands.attempt(group.partition, instance_id, self._decision(group, batched=False))

    def _decision(self, group: Group, *, batched: bool) -> Decide:
        command = self._commands.system_command("due", batched=batched)
        ids = group.bookmark_ids
        return lambda snapshot, prepared: self._engine.due(snapshot, prepared.compiled, ids, command)

    def _failed(self, group: Group, error: Exception) -> Outcome:
        if len(group.due) > 1:
            singles = [Group(group.partition, group.instance_id, (one,)) for one in group.due]
            return summed(self._run(single) for single in singles)
        bookmark = group.due[0]
        log.error("bookmark %s of instance %s failed", bookmark.id, group.instance_id, exc_info=error)
        self._put_off(bookmark)
        return Outcome(failed=[ProblemReport(id=bookmark.id, reason=str(error))])

    def _forget(self, group: Group) -> Outcome:
        """Delete the bookmarks of an instance that is gone (3.12)."""
        if group.instance_id is not None:
            ids = group.bookmark_ids
            self._storage.write(group.partition, lambda work: work.bookmarks.delete(group.partition, ids))
        return Outcome()

    def _put_off(self, bookmark: DueBookmark) -> None:
        """Have a bookmark wait; it is not read, because its document may be what cannot be read."""
        partition, failures = bookmark.tenant_id, bookmark.failures + 1
        due = self._clock.now() + retry_after(failures, self._settings.not_resumable_backoff_seconds)
        self._storage.write(partition, lambda work: work.bookmarks.push_back(partition, bookmark.id, due, failures))


def _stored(group: Group, write_set: WriteSet) -> Outcome:
    done = {*write_set.deleted_bookmark_ids, *(bookmark.id for bookmark in write_set.changed_bookmarks)}
    # What a fault left behind must not stay claimed: a retry may come at once.
    remaining = [one.id for one in group.due if one.id not in done]
    return Outcome(resumed=len(group.due) - len(remaining), left=remaining)


def _joint_outcome(group: Group, result: Wave | Exception) -> Outcome:
    if isinstance(result, Wave):
        return _stored(group, result.write_set)
    if isinstance(result, LeaseHeld):
        return left(group)
    # Whatever it was: by itself it does no harm to the others, and its failure is told as its own.
    return Outcome(alone=[msgspec.structs.replace(group, alone=True)])


def left(group: Group) -> Outcome:
    """Return the outcome of a group that was not run."""
    return Outcome(left=group.bookmark_ids)


def summed(outcomes: Iterable[Outcome]) -> Outcome:
    """Return what became of several groups together."""
    total = Outcome()
    for outcome in outcomes:
        total.resumed += outcome.resumed
        total.left = [*total.left, *outcome.left]
        total.failed = [*total.failed, *outcome.failed]
        total.alone = [*total.alone, *outcome.alone]
    return total
