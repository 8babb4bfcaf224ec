"""Commands on several instances that are written in one transaction, as the poller's are (spec 8.10).

Fifty waves in one commit cost a third of fifty commits. They share nothing but the transaction: each has the lease and
the revision check of its instance, its own line in the trail, its own events.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta

from webapp.engine.clock import Clock
from webapp.engine.errors import Unavailable
from webapp.engine.ports import transactions
from webapp.engine.ports.locks import LeaseHeld, Leases
from webapp.engine.ports.stores import InstanceSnapshot, Partition, StoreFailure, UnitOfWork, WriteSet
from webapp.engine.ports.transactions import RunAlone
from webapp.engine.runtime.commands import Wave
from webapp.services.commands import Commands, Decide, lease_name
from webapp.services.definitions import DefinitionCache
from webapp.services.storage import Storage, unavailable

log = logging.getLogger("waypost.commands")

LONGEST_SECONDS = 0.5
"""How long waves are run for one transaction: their instances' leases are held all the time."""

Result = Wave | Exception
"""The wave that was stored, or why none was."""


class JointCommands:
    """Runs what is due on several instances."""

    def __init__(
        self,
        *,
        commands: Commands,
        storage: Storage,
        leases: Leases,
        definitions: DefinitionCache,
        clock: Clock,
    ) -> None:
        self._commands = commands
        self._storage = storage
        self._leases = leases
        self._definitions = definitions
        self._clock = clock

    def attempt(self, partition: Partition, decisions: Mapping[str, Decide]) -> dict[str, Result]:
        """Run a command on each of these instances whose lease is free at once; return what became of each.

        ``LeaseHeld``: it was not free. ``RunAlone``: the command must be run by itself, because it needs more than a
        batch can give, or the batch took too long or could not be written; then nothing of it was. Else what running it
        raised. Not for scopes, whose transaction is not this one's alone.

        :raises Unavailable: the store cannot do it now.
        """
        self._commands.ready()
        try:
            with self._leases.attempt_many([lease_name(one, partition) for one in sorted(decisions)]) as held:
                free = {one: decide for one, decide in decisions.items() if lease_name(one, partition) in held}
                results = self._stored(partition, self._waves(partition, free))
        except StoreFailure as failure:
            raise unavailable(failure) from failure
        for result in results.values():
            if isinstance(result, Wave):
                self._commands.tell(result, settle=True)
        return {one: results[one] if one in results else LeaseHeld(one) for one in decisions}

    def _waves(self, partition: Partition, decisions: Mapping[str, Decide]) -> dict[str, Result]:
        ids = list(decisions)
        snapshots = self._storage.read(partition, lambda work: work.instances.snapshots(partition, ids))
        deadline = self._clock.now() + timedelta(seconds=LONGEST_SECONDS)
        results: dict[str, Result] = {}
        for instance_id, decide in decisions.items():
            snapshot = snapshots.get(instance_id)
            if snapshot is None or self._clock.now() > deadline:
                results[instance_id] = RunAlone()
            else:
                results[instance_id] = self._wave(partition, snapshot, decide)
        return results

    def _wave(self, partition: Partition, snapshot: InstanceSnapshot, decide: Decide) -> Result:
        offer = _NoTransaction()
        try:
            prepared = self._definitions.get(partition, snapshot.instance.definition_id)
            if prepared.compiled.needs_history:
                return RunAlone()
            with transactions.offered(offer.begin):
                wave = decide(snapshot, prepared)
        except Exception as error:
            return error
        # Whoever swallows every exception has swallowed this one, too.
        return RunAlone() if offer.wanted else wave

    def _stored(self, partition: Partition, results: dict[str, Result]) -> dict[str, Result]:
        waves = [result for result in results.values() if isinstance(result, Wave)]
        nothing = WriteSet(partition=partition)
        changing = [wave for wave in waves if wave.write_set != nothing]
        if self._is_written(partition, changing):
            return results
        return {one: RunAlone() if isinstance(result, Wave) else result for one, result in results.items()}

    def _is_written(self, partition: Partition, waves: Sequence[Wave]) -> bool:
        """Write the waves, all or none. :raises Unavailable: for a reason that passes."""
        if not waves:
            return True
        try:
            for wave in waves:
                self._commands.prepare(wave)
            write_sets = [wave.write_set for wave in waves]
            self._storage.write(partition, lambda work: work.apply_all(write_sets))
        except Unavailable as refused:
            if passes(refused):
                raise
            log.warning("a batch of %d commands was not written", len(waves), exc_info=True)
        except Exception:
            log.warning("a batch of %d commands was not written", len(waves), exc_info=True)
        else:
            return True
        return False


class _NoTransaction:
    """What a wave of a batch gets when it asks for a transaction."""

    def __init__(self) -> None:
        self.wanted = False

    def begin(self, partition: Partition) -> UnitOfWork:
        """Refuse."""
        self.wanted = True
        raise RunAlone


def passes(refused: Unavailable) -> bool:
    """Whether the store could not do it for a reason that has nothing to do with what was to be written."""
    return not isinstance(refused.__cause__, StoreFailure) or refused.__cause__.transient
