"""How every command on an instance runs (spec 3.1, 3.11, 3.22): lease, one read, wave, one write, release, tell.

Nothing is written before the wave is over, so a slow activity holds the instance's lease and never the database's
write lock. The write is retried, the wave is not; only a wave without outside effects that lost to another writer runs
once more, from a fresh read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from webapp.accounts.model import Actor
from webapp.engine.cancellation import CancellationToken
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import CONFLICT_INSTANCE, Conflict, Unavailable, WorkflowError
from webapp.engine.instances.journal import Event, LogLine
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.ports import transactions
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.messaging import Publisher
from webapp.engine.ports.stores import InstanceSnapshot, Partition, RevisionConflict, StoreFailure, WriteSet
from webapp.engine.runtime.commands import Command, Wave
from webapp.services.access import instance_missing
from webapp.services.calendars import CalendarCopy
from webapp.services.callback_work import CallbackWork
from webapp.services.definitions import DefinitionCache, Prepared
from webapp.services.directory import AccountDirectory
from webapp.services.notice_copy import NoticeCopy
from webapp.services.outbox import Outbox
from webapp.services.scopes import Lease
from webapp.services.storage import Storage, unavailable

log = logging.getLogger("waypost.commands")
flow_log = logging.getLogger("waypost.flow")

FLOW_LEVELS = {
    "Trace": logging.DEBUG,
    "Debug": logging.DEBUG,
    "Information": logging.INFO,
    "Warning": logging.WARNING,
    "Error": logging.ERROR,
    "Critical": logging.CRITICAL,
}

Decide = Callable[[InstanceSnapshot, Prepared], Wave]
"""What a command does with an instance as it stands: no reads, no writes."""

LostRace = Callable[[], WorkflowError]


def scoped(partition: Partition) -> str:
    """Return the beginning of the names of a partition's leases: nothing for the platform.

    Whoever guesses an id of another partition must not meet its lease: that would tell that it is there.
    """
    return "" if partition is None else partition.replace("%", "%25").replace(":", "%3A") + ":"


def lease_name(instance_id: str, partition: Partition = None) -> str:
    """Return the name of an instance's lease."""
    return f"instance:{instance_id}" if partition is None else f"instance-of:{scoped(partition)}{instance_id}"


def changed_meanwhile() -> Conflict:
    """Return the refusal of an operation that lost to another writer."""
    return Conflict("services.instance.changed", code=CONFLICT_INSTANCE)


@dataclass(frozen=True, slots=True)
class _Run:
    """A command on an instance that is there already."""

    partition: Partition
    instance_id: str
    decide: Decide
    lost: LostRace
    history: bool
    beside: Callable[[], object] = lambda: None


class Commands:
    """Runs commands.

    ``settle`` (follow-ups), ``wake`` and ``expect`` (the poller) and ``left_to_send`` (the sender) hear of what they
    leave behind.
    """

    def __init__(
        self,
        *,
        storage: Storage,
        leases: Leases,
        publisher: Publisher,
        clock: Clock,
        ids: IdSource,
        definitions: DefinitionCache,
        directory: AccountDirectory,
        calendars: CalendarCopy,
        outbox: Outbox,
        notices: NoticeCopy,
        notify: Callable[[Wave], None],
    ) -> None:
        self._outbox = outbox
        self._notices = notices
        self.notify = notify
        """Adds to a wave's write set what people are told of it."""
        self._storage = storage
        self._leases = leases
        self._publisher = publisher
        self._clock = clock
        self._ids = ids
        self._definitions = definitions
        self._directory = directory
        self._calendars = calendars
        self.settle: Callable[[Wave], object] = lambda wave: None
        self.wake: Callable[[Partition], None] = lambda partition: None
        self.expect: Callable[[Partition, datetime], None] = lambda partition, at: None
        self.left_to_send: Callable[[Partition], None] = lambda partition: None
        self.listeners: list[Callable[[Wave], None]] = []
        """Told of every wave that was committed, lease released, before its follow-ups run."""

    def command(
        self, actor: Actor, action: str, *, as_operator: bool = False, cancellation: CancellationToken | None = None
    ) -> Command:
        """Return the mark of a new command: it goes to the audit trail and, with the write, to the instance's row."""
        return Command(
            id=self._ids.new(),
            action=action,
            actor_id=actor.name,
            as_operator=as_operator,
            request_id=actor.request_id,
            cancellation=cancellation,
        )

    def system_command(self, action: str, *, batched: bool = False) -> Command:
        """Return the mark of a command that nobody gave: the poller's or a follow-up's; *batched*: one of several."""
        return Command(id=self._ids.new(), action=action, actor_id=None, batched=batched)

    def ready(self) -> None:
        """Refuse where nothing can be written; read anew what waves look up and is older than a few seconds."""
        self._storage.require_writable()
        self._directory.refresh()
        self._calendars.refresh()
        self._notices.refresh()
        self._outbox.refresh()

    def start(self, build: Callable[[], Wave], *, settle: bool = True) -> Wave:
        """Run a new instance's first wave: it needs no lease, because nobody knows its id before the commit (3.22)."""
        self.ready()
        with CallbackWork(self._storage) as callbacks:
            with transactions.offered(callbacks.begin):
                wave = self._run_wave(build)
            self._store(wave, callbacks)
        self._told(wave, settle=settle)
        return wave

    def change(
        self,
        partition: Partition,
        instance_id: str,
        decide: Decide,
        *,
        lost: LostRace = changed_meanwhile,
        settle: bool = True,
        history: bool = False,
        beside: Callable[[], object] = lambda: None,
    ) -> Wave:
        """Run a command on an instance, waiting for its lease; *history*: it needs all node instances.

        *beside* is called under the lease before *decide*: it reads what else the command must know.

        :raises NotFound: there is no such instance in the partition.
        :raises LockTimeout: the lease was not to be had in time.
        :raises Conflict: made by *lost*: another writer was faster and the wave cannot be run again.
        """
        run = _Run(partition, instance_id, decide, lost, history, beside)
        return self._run(self._leases.hold, run, settle=settle)

    def attempt(self, partition: Partition, instance_id: str, decide: Decide, *, history: bool = False) -> Wave:
        """Run a command if the instance's lease is free at once. :raises LeaseHeld: it is not."""
        run = _Run(partition, instance_id, decide, changed_meanwhile, history)
        return self._run(self._leases.attempt, run, settle=True)

    def settle_afterwards(self, wave: Wave) -> None:
        """Run what a wave owes that was run with ``settle=False`` under another lease, now that this is let go."""
        scope = self._storage.scopes.current
        if scope is None:
            self._settle(wave)
        else:
            scope.afterwards(lambda: self._settle(wave))

    def as_it_stands(self, wave: Wave) -> WorkflowInstance:
        """Return a wave's instance after what it owed has run: children may have ended in the same call."""
        before = wave.instance
        if not (before.has_children and wave.write_set.new_follow_ups):
            return before
        partition = before.tenant_id
        try:
            found = self._storage.read(partition, lambda work: work.instances.find(partition, before.id))
        except Unavailable:
            # It is done all the same.
            return before
        return found or before

    def store(self, write_set: WriteSet, events: Sequence[Event] = ()) -> None:
        """Write what belongs to no instance, and tell of it."""
        partition = write_set.partition
        write_set.outbox = self._outbox.entries(partition, events)
        self._storage.write(partition, lambda work: work.apply(write_set))
        try:
            self._tell_poller(write_set)
            if events:
                self._publisher.publish(partition, events)
        except Exception:
            log.exception("somebody was not told of what belongs to no instance")

    def new_instance_id(self, partition: Partition) -> str | None:
        """Return the id that the next start in this scope must use, None when it may have any.

        A start whose request came with a key gets the same id when it is sent again after a crash, and with it the same
        effect keys (spec 3.22). Where such an instance exists, its answer has expired: then it is a new start.
        """
        scope = self._storage.scopes.current
        wanted = None if scope is None else scope.take_instance_id()
        if wanted is None or self._storage.read(partition, lambda work: work.instances.find(partition, wanted)):
            return None
        return wanted

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold a lease that is no instance's while the block runs; in a scope, to the end of its transaction."""
        with self._leased(self._leases.hold, name):
            yield

    @contextmanager
    def tried(self, name: str) -> Iterator[None]:
        """Hold a lease that is no instance's while the block runs, if it is free at once. :raises LeaseHeld: else."""
        with self._leased(self._leases.attempt, name):
            yield

    def _run(self, lease: Lease, run: _Run, *, settle: bool) -> Wave:
        self.ready()
        with self._leased(lease, lease_name(run.instance_id, run.partition)):
            wave = self._read_decide_store(run)
        self._told(wave, settle=settle)
        return wave

    @contextmanager
    def _leased(self, lease: Lease, name: str) -> Iterator[None]:
        scope = self._storage.scopes.current
        try:
            if scope is None:
                with lease(name):
                    yield
            else:
                scope.hold(name, lease)
                yield
        except StoreFailure as failure:
            raise unavailable(failure) from failure

    def _told(self, wave: Wave, *, settle: bool) -> None:
        """Tell of a wave after its commit: now, or at the end of the scope's transaction."""
        scope = self._storage.scopes.current
        if scope is None:
            self.tell(wave, settle=settle)
        else:
            scope.afterwards(lambda: self.tell(wave, settle=settle))

    def _read_decide_store(self, run: _Run, *, again: bool = True) -> Wave:
        snapshot, prepared = self._read(run.partition, run.instance_id, history=run.history)
        run.beside()
        with CallbackWork(self._storage) as callbacks:
            with transactions.offered(callbacks.begin):
                wave = self._run_wave(lambda: run.decide(snapshot, prepared))
            try:
                self._store(wave, callbacks)
            except RevisionConflict as conflict:
                log.warning("another writer changed instance %s under its lease", run.instance_id)
                if wave.outside_effects or callbacks.used or not again:
                    raise run.lost() from conflict
            else:
                return wave
        return self._read_decide_store(run, again=False)

    def _run_wave(self, decide: Callable[[], Wave]) -> Wave:
        try:
            return decide()
        except StoreFailure as failure:
            raise unavailable(failure) from failure

    def look(
        self, partition: Partition, instance_id: str, *, history: bool = False
    ) -> tuple[InstanceSnapshot, Prepared]:
        """Return what a command would work on, without its lease: for saying what it would do.

        :raises NotFound: there is no such instance in the partition.
        """
        self._directory.refresh()
        return self._read(partition, instance_id, history=history)

    def _read(self, partition: Partition, instance_id: str, *, history: bool) -> tuple[InstanceSnapshot, Prepared]:
        snapshot = self._storage.read(partition, lambda work: work.instances.snapshot(partition, instance_id))
        if snapshot is None:
            raise instance_missing(instance_id)
        prepared = self._definitions.get(partition, snapshot.instance.definition_id)
        if history or prepared.compiled.needs_history:
            found = self._storage.read(partition, lambda work: work.instances.history(partition, instance_id))
            present = {node.id for node in snapshot.node_instances}
            snapshot.history = [node for node in found if node.id not in present]
        return snapshot, prepared

    def _store(self, wave: Wave, callbacks: CallbackWork) -> None:
        write_set = wave.write_set
        if callbacks.used:
            self.prepare(wave)
            callbacks.store(write_set)
            return
        if write_set == WriteSet(partition=write_set.partition):
            # There was nothing to do, for instance a cancel of an instance that has ended.
            return
        self.prepare(wave)
        self._storage.write(write_set.partition, lambda work: work.apply(write_set))

    def prepare(self, wave: Wave) -> None:
        """Add to a wave's write set what is told of it: events that somebody subscribes to, and people's notices.

        :raises Exception: somebody could not be told, or a listener failed: then it must not be written (spec 10).
        """
        self._outbox.collect(wave)
        self.notify(wave)

    def tell(self, wave: Wave, *, settle: bool) -> None:
        """Tell of a wave that was committed, its lease released; *settle*: run what it owes."""
        for line in wave.log_lines:
            write_log_line(line)
        if wave.events:
            with _after_the_commit(wave, "its events were not published"):
                self._publisher.publish(wave.write_set.partition, wave.events)
        for listener in self.listeners:
            with _after_the_commit(wave, "somebody was not told of it"):
                listener(wave)
        if settle:
            self._settle(wave)
        with _after_the_commit(wave, "the poller was not told"):
            self._tell_poller(wave.write_set)

    def _settle(self, wave: Wave) -> None:
        if wave.write_set.new_follow_ups:
            with _after_the_commit(wave, "its follow-ups are left to the poller"):
                self.settle(wave)

    def _tell_poller(self, write_set: WriteSet) -> None:
        """Wake it for bookmarks that are due now, or say when the first of what was written will be due."""
        now = self._clock.now()
        written = (*write_set.new_bookmarks, *write_set.changed_bookmarks)
        times = [bookmark.due_at for bookmark in written if bookmark.due_at is not None]
        if times and min(times) <= now:
            self.wake(write_set.partition)
        later = [at for at in (*times, *(one.due_at for one in write_set.new_follow_ups)) if at > now]
        if later:
            self.expect(write_set.partition, min(later))
        if write_set.outbox or write_set.deliveries:
            self.left_to_send(write_set.partition)


@contextmanager
def _after_the_commit(wave: Wave, what: str) -> Iterator[None]:
    """Log a failure: what was committed stands, whether or not somebody could be told of it (spec 3.11)."""
    try:
        yield
    except Exception:
        log.exception("instance %s: %s", wave.instance.id, what)


def write_log_line(line: LogLine) -> None:
    """Write what a Log node said to the logger ``waypost.flow``, after the commit (spec 25)."""
    level = FLOW_LEVELS.get(line.level, logging.INFO)
    facts = {"instanceId": line.instance_id, "nodeId": line.node_id, "flowLevel": line.level}
    flow_log.log(level, "%s", line.message, extra=facts)
