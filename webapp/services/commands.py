"""How every command on an instance runs (spec 3.1, 3.11, 3.22): lease, one read, wave, one write, release, tell.

Nothing is written before the wave is over, so a slow activity holds the instance's lease and never the database's
write lock. The write is retried, the wave is not; only a wave without outside effects that lost to another writer runs
once more, from a fresh read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from webapp.accounts.model import Actor
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import CONFLICT_INSTANCE, Conflict, WorkflowError
from webapp.engine.instances.journal import LogLine
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.messaging import Publisher
from webapp.engine.ports.stores import InstanceSnapshot, Partition, RevisionConflict, StoreFailure, WriteSet
from webapp.engine.runtime.commands import Command, Wave
from webapp.services.access import instance_missing
from webapp.services.definitions import DefinitionCache, Prepared
from webapp.services.directory import AccountDirectory
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


def lease_name(instance_id: str) -> str:
    """Return the name of an instance's lease."""
    return f"instance:{instance_id}"


def changed_meanwhile() -> Conflict:
    """Return the refusal of an operation that lost to another writer."""
    return Conflict("services.instance.changed", code=CONFLICT_INSTANCE)


class Commands:
    """Runs commands; ``settle`` (follow-ups) and ``wake`` (the poller) are told of what a command leaves behind."""

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
    ) -> None:
        self._storage = storage
        self._leases = leases
        self._publisher = publisher
        self._clock = clock
        self._ids = ids
        self._definitions = definitions
        self._directory = directory
        self.settle: Callable[[Wave], object] = lambda wave: None
        self.wake: Callable[[], None] = lambda: None

    def command(self, actor: Actor, action: str, *, as_operator: bool = False) -> Command:
        """Return the mark of a new command: it goes to the audit trail and, with the write, to the instance's row."""
        return Command(
            id=self._ids.new(),
            action=action,
            actor_id=actor.name,
            as_operator=as_operator,
            request_id=actor.request_id,
        )

    def system_command(self, action: str) -> Command:
        """Return the mark of a command that nobody gave: the poller's or a follow-up's."""
        return Command(id=self._ids.new(), action=action, actor_id=None)

    def start(self, build: Callable[[], Wave], *, settle: bool = True) -> Wave:
        """Run a new instance's first wave: it needs no lease, because nobody knows its id before the commit (3.22)."""
        self._directory.refresh()
        wave = build()
        self._store(wave)
        self._tell(wave, settle=settle)
        return wave

    def change(
        self,
        partition: Partition,
        instance_id: str,
        decide: Decide,
        *,
        lost: LostRace = changed_meanwhile,
        settle: bool = True,
    ) -> Wave:
        """Run a command on an instance, waiting for its lease.

        :raises NotFound: there is no such instance in the partition.
        :raises LockTimeout: the lease was not to be had in time.
        :raises Conflict: made by *lost*: another writer was faster and the wave cannot be run again.
        """
        return self._run(self._leases.hold(lease_name(instance_id)), partition, instance_id, decide, lost, settle)

    def attempt(
        self, partition: Partition, instance_id: str, decide: Decide, *, lost: LostRace = changed_meanwhile
    ) -> Wave:
        """Run a command if the instance's lease is free at once. :raises LeaseHeld: it is not."""
        return self._run(self._leases.attempt(lease_name(instance_id)), partition, instance_id, decide, lost, True)

    def locked(self, name: str) -> AbstractContextManager[None]:
        """Hold a lease that is no instance's while the block runs."""
        return self._translated(self._leases.hold(name))

    def _run(
        self,
        lease: AbstractContextManager[None],
        partition: Partition,
        instance_id: str,
        decide: Decide,
        lost: LostRace,
        settle: bool,
    ) -> Wave:
        self._directory.refresh()
        with self._translated(lease):
            wave = self._read_decide_store(partition, instance_id, decide, lost)
        self._tell(wave, settle=settle)
        return wave

    def _read_decide_store(
        self, partition: Partition, instance_id: str, decide: Decide, lost: LostRace, *, again: bool = True
    ) -> Wave:
        snapshot = self._storage.read(partition, lambda work: work.instances.snapshot(partition, instance_id))
        if snapshot is None:
            raise instance_missing(instance_id)
        wave = decide(snapshot, self._definitions.get(partition, snapshot.instance.definition_id))
        try:
            self._store(wave)
        except RevisionConflict as conflict:
            log.warning("another writer changed instance %s under its lease", instance_id)
            if wave.outside_effects or not again:
                raise lost() from conflict
            return self._read_decide_store(partition, instance_id, decide, lost, again=False)
        return wave

    def _store(self, wave: Wave) -> None:
        write_set = wave.write_set
        if write_set == WriteSet(partition=write_set.partition):
            # There was nothing to do, for instance a cancel of an instance that has ended.
            return
        self._storage.write(write_set.partition, lambda work: work.apply(write_set))

    @contextmanager
    def _translated(self, lease: AbstractContextManager[None]) -> Iterator[None]:
        try:
            with lease:
                yield
        except StoreFailure as failure:
            raise unavailable(failure) from failure

    def _tell(self, wave: Wave, *, settle: bool) -> None:
        for line in wave.log_lines:
            write_log_line(line)
        if wave.events:
            with _after_the_commit(wave, "its events were not published"):
                self._publisher.publish(wave.write_set.partition, wave.events)
        if settle and wave.write_set.new_follow_ups:
            with _after_the_commit(wave, "its follow-ups are left to the poller"):
                self.settle(wave)
        if self._is_due_now(wave):
            with _after_the_commit(wave, "the poller was not woken"):
                self.wake()

    def _is_due_now(self, wave: Wave) -> bool:
        now = self._clock.now()
        written = (*wave.write_set.new_bookmarks, *wave.write_set.changed_bookmarks)
        return any(bookmark.due_at is not None and bookmark.due_at <= now for bookmark in written)


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
