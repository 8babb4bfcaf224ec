"""Batches: one operation on many instances, run by the poller in small steps (spec 11, 8.10).

Each item is a command of its own, stored together with the item's end, so that a crash neither loses nor repeats one.
Leases are only tried, in the order of the instances' ids, and never waited for: a busy instance has its turn in a later
step.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_OPERATE
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import Conflict, InputInvalid, NotFound, Unavailable, WorkflowError
from webapp.engine.instances.batches import Batch, BatchItem, BatchItemEnd, BatchItemStatus, BatchStatus
from webapp.engine.instances.limits import MAX_REMARK
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.locks import LeaseHeld
from webapp.engine.ports.partitions import PartitionDatabases, PolledDatabase, belonging
from webapp.engine.ports.queries import MAX_LIMIT, InstanceQuery, InstanceSummary, Page, Paging, check_page
from webapp.engine.ports.stores import WHOLE, InstanceSnapshot, Partition, UnitOfWork
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.faults import fault_of
from webapp.services.access import lacking, may_operate
from webapp.services.agenda import Agenda
from webapp.services.commands import Commands, scoped
from webapp.services.definitions import DefinitionCache, Prepared
from webapp.services.operations import BATCH_ACTIONS, OperationService
from webapp.services.storage import Storage, answered
from webapp.services.texts import check_text

log = logging.getLogger("waypost.batches")

MAX_ITEMS = 10_000
STEP = 20
"""How many items run before the batch is looked at again: so soon a pause takes effect."""

STEPS = 5
RUNNING_AT_ONCE = 20

_OPEN = (BatchStatus.RUNNING, BatchStatus.PAUSED)


class BatchService:
    """The use cases of batches."""

    def __init__(
        self,
        *,
        storage: Storage,
        commands: Commands,
        definitions: DefinitionCache,
        operations: OperationService,
        databases: PartitionDatabases,
        clock: Clock,
        ids: IdSource,
    ) -> None:
        self._databases = databases
        self._agenda = Agenda()
        self._storage = storage
        self._commands = commands
        self._definitions = definitions
        self._operations = operations
        self._clock = clock
        self._ids = ids

    # --- what people do -----------------------------------------------------------------------

    def create(
        self,
        actor: Actor,
        action: str,
        *,
        instance_ids: Sequence[str] | None = None,
        query: InstanceQuery | None = None,
        reason: str | None = None,
        parameters: JsonObject | None = None,
    ) -> Batch:
        """Make a batch over these instances, or over those that a query finds now; the poller runs it.

        :raises InputInvalid: an unknown action, none or too many instances, parameters that do not fit.
        :raises Denied: without ``instances:operate``, an instance of a definition that the actor does not own.
        """
        check_text("reason", reason, MAX_REMARK)
        if action not in BATCH_ACTIONS:
            params = {"value": action, "known": ", ".join(BATCH_ACTIONS)}
            raise InputInvalid("services.batch.action", path="action", params=params)
        self._operations.batch_act(action, reason, parameters or {})
        chosen = self._chosen(actor, instance_ids, query)
        batch = Batch(
            id=self._ids.new(),
            tenant_id=actor.partition,
            action=action,
            actor_id=actor.name,
            as_operator=actor.may(INSTANCES_OPERATE),
            reason=reason,
            parameters=parameters or {},
            total=len(chosen),
            created_at=self._clock.now(),
        )
        self._insert(batch, chosen)
        self._woken(actor.partition)
        return batch

    def _insert(self, batch: Batch, instance_ids: Sequence[str]) -> None:
        partition = batch.tenant_id

        def insert(work: UnitOfWork) -> Batch:
            work.batches.insert(partition, batch, instance_ids)
            return batch

        self._storage.write(partition, insert, settled=lambda work: work.batches.find(partition, batch.id))

    def get(self, actor: Actor, batch_id: str) -> Batch:
        """Return a batch to operators and to whoever made it."""
        batch = self._storage.read(actor.partition, lambda work: work.batches.find(actor.partition, batch_id))
        if batch is None or not (actor.may(INSTANCES_OPERATE) or batch.actor_id == actor.name):
            raise NotFound("services.batch.not_found", params={"id": batch_id})
        return batch

    def query(self, actor: Actor, paging: Paging = WHOLE) -> Page[Batch]:
        """Return the batches, newest first. :raises Denied: the actor is no operator."""
        if not actor.may(INSTANCES_OPERATE):
            raise lacking(INSTANCES_OPERATE)
        check_page("instances", paging, ())
        return self._storage.read(actor.partition, lambda work: work.batches.list(actor.partition, paging))

    def items(
        self, actor: Actor, batch_id: str, status: BatchItemStatus | None = None, paging: Paging = WHOLE
    ) -> Page[BatchItem]:
        """Return what has become of each instance of a batch."""
        self.get(actor, batch_id)
        check_page("instances", paging, ())
        return self._storage.read(
            actor.partition, lambda work: work.batches.items(actor.partition, batch_id, status, paging)
        )

    def pause(self, actor: Actor, batch_id: str) -> Batch:
        """Stop a running batch after the items at hand. :raises Conflict: it does not run."""
        return self._turn(actor, batch_id, BatchStatus.PAUSED, (BatchStatus.RUNNING,))

    def resume(self, actor: Actor, batch_id: str) -> Batch:
        """Let a paused batch go on. :raises Conflict: it is not paused."""
        batch = self._turn(actor, batch_id, BatchStatus.RUNNING, (BatchStatus.PAUSED,))
        self._woken(actor.partition)
        return batch

    def cancel(self, actor: Actor, batch_id: str) -> Batch:
        """End a batch; what is done stays done. :raises Conflict: it has ended."""
        return self._turn(actor, batch_id, BatchStatus.CANCELED, _OPEN)

    # --- what the poller does -----------------------------------------------------------------

    def run_due(self, stopping: Callable[[], bool] = lambda: False) -> int:
        """Run a step of every running batch; return how many items have ended."""
        platform, *separate = answered(self._databases.polled)
        ended = self._run_guarded(platform, stopping)
        for database in separate:
            now, entry = self._clock.now(), database.entry or ""
            if not stopping() and self._agenda.is_due(entry, now):
                self._agenda.begin(entry, now)
                ended += self._run_separate(database, stopping)
        return ended

    def _run_separate(self, database: PolledDatabase, stopping: Callable[[], bool]) -> int:
        """Run a step of the batches of a separate database; what is wrong with it stops no other's (8.10)."""
        try:
            with self._databases.glancing():
                return self._run_guarded(database, stopping)
        except Unavailable:
            # It is told once, by who found the database so, and shown on the operations page.
            log.debug("the batches of %s were left for a later step", database.entry, exc_info=True)
            return 0

    def _run_guarded(self, database: PolledDatabase, stopping: Callable[[], bool]) -> int:
        """Run a step of a database's batches; what is wrong, other than that it is away, is told and stops no other."""
        try:
            return self._run_batches(database, stopping)
        except Unavailable:
            raise
        except Exception:
            log.exception("the batches of %s were left for a later step", database.entry or "the platform")
            return 0

    def _run_batches(self, database: PolledDatabase, stopping: Callable[[], bool]) -> int:
        running = self._storage.read(database.entry, lambda work: work.batches.running(RUNNING_AT_ONCE))
        ended = 0
        for batch in running:
            if stopping():
                break
            if not belonging(self._databases, database, (batch.tenant_id,)):
                continue
            self._agenda.expect(database.entry, self._clock.now())
            try:
                with self._commands.tried(f"batch:{scoped(batch.tenant_id)}{batch.id}"):
                    ended += self._run(batch, stopping)
            except LeaseHeld:
                # Another process is at it.
                continue
            except Exception:
                log.exception("batch %s was left for a later step", batch.id)
        return ended

    def _run(self, batch: Batch, stopping: Callable[[], bool]) -> int:
        partition, ended, last = batch.tenant_id, 0, 0
        for _ in range(STEPS):
            current = self._storage.read(partition, lambda work: work.batches.find(partition, batch.id))
            if current is None or current.status is not BatchStatus.RUNNING or stopping():
                return ended
            items = self._pending(partition, batch.id, last, STEP)
            if not items:
                self._finish(partition, batch.id)
                return ended
            ended += sum(self._run_item(batch, item) for item in items)
            last = items[-1].sequence
        return ended

    def _woken(self, partition: Partition) -> None:
        self._agenda.expect(self._databases.entry_of(partition), self._clock.now())
        self._commands.wake(partition)

    def _pending(self, partition: Partition, batch_id: str, after: int, limit: int) -> Sequence[BatchItem]:
        return self._storage.read(partition, lambda work: work.batches.pending(partition, batch_id, after, limit))

    def _finish(self, partition: Partition, batch_id: str) -> None:
        if self._pending(partition, batch_id, 0, 1):
            # Their instances were busy: a later step tries them again.
            return
        now = self._clock.now()
        self._storage.write(
            partition,
            lambda work: work.batches.set_status(
                partition, batch_id, BatchStatus.COMPLETED, only_from=(BatchStatus.RUNNING,), ended_at=now
            ),
        )

    def _run_item(self, batch: Batch, item: BatchItem) -> bool:
        """Run one item; False when it is left for a later step."""
        act = self._operations.batch_act(batch.action, batch.reason, batch.parameters)
        command = msgspec.structs.replace(
            self._commands.system_command(batch.action), actor_id=batch.actor_id, as_operator=batch.as_operator
        )

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            wave = act(snapshot, prepared, command)
            wave.write_set.batch_ends = [self._end(item, BatchItemStatus.DONE)]
            return wave

        try:
            # What a migration renames is renamed in what is over, too.
            history = bool(batch.parameters.get("nodeMapping"))
            self._commands.attempt(batch.tenant_id, item.instance_id, decide, history=history)
        except (LeaseHeld, Unavailable):
            return False
        except Exception as error:
            if not isinstance(error, WorkflowError):
                # It would fail so each time: the others must not wait for ever.
                log.exception("batch %s: %s of instance %s failed", batch.id, batch.action, item.instance_id)
            fault = fault_of(error)
            problem: JsonObject = {"code": fault.code, "key": fault.key, "params": _plain(fault.args)}
            end = self._end(item, BatchItemStatus.FAILED, problem)
            self._storage.write(batch.tenant_id, lambda work: work.batches.end_items(batch.tenant_id, [end]))
        return True

    def _end(self, item: BatchItem, status: BatchItemStatus, problem: JsonObject | None = None) -> BatchItemEnd:
        return BatchItemEnd(
            batch_id=item.batch_id,
            sequence=item.sequence,
            status=status,
            ended_at=self._clock.now(),
            problem=problem,
        )

    # --- choosing -----------------------------------------------------------------------------

    def _chosen(self, actor: Actor, instance_ids: Sequence[str] | None, query: InstanceQuery | None) -> list[str]:
        if (instance_ids is None) == (query is None):
            raise InputInvalid("services.batch.which", path="ids")
        if instance_ids is not None:
            wanted = sorted(set(instance_ids))
            path = "ids"
        else:
            wanted = sorted(one.id for one in self._found(actor, query or InstanceQuery()))
            path = "query"
        if not 1 <= len(wanted) <= MAX_ITEMS:
            raise InputInvalid("services.batch.size", path=path, params={"max": MAX_ITEMS, "count": len(wanted)})
        if not actor.may(INSTANCES_OPERATE):
            self._require_owned(actor, wanted)
        return wanted

    def _require_owned(self, actor: Actor, instance_ids: Sequence[str]) -> None:
        found = self._found(actor, InstanceQuery(ids=tuple(instance_ids)))
        definitions = {one.definition_id for one in found}
        owned = all(
            may_operate(actor, self._definitions.get(actor.partition, definition_id).definition)
            for definition_id in definitions
        )
        if not owned or len(found) < len(instance_ids):
            raise lacking(INSTANCES_OPERATE)

    def _found(self, actor: Actor, query: InstanceQuery) -> list[InstanceSummary]:
        found: list[InstanceSummary] = []
        while len(found) <= MAX_ITEMS:
            paging = Paging(offset=len(found), limit=MAX_LIMIT)
            asked = msgspec.structs.replace(query, paging=paging)
            page = self._page(actor.partition, asked)
            found += page.items
            if len(found) >= page.total or not page.items:
                break
        return found

    def _page(self, partition: Partition, query: InstanceQuery) -> Page[InstanceSummary]:
        return self._storage.read(partition, lambda work: work.instances.list(partition, query))

    def _turn(self, actor: Actor, batch_id: str, status: BatchStatus, only_from: Sequence[BatchStatus]) -> Batch:
        self.get(actor, batch_id)
        ended = self._clock.now() if status is BatchStatus.CANCELED else None
        changed = self._storage.write(
            actor.partition,
            lambda work: work.batches.set_status(
                actor.partition, batch_id, status, only_from=only_from, ended_at=ended
            ),
            settled=lambda work: _is(work.batches.find(actor.partition, batch_id), status) or None,
        )
        batch = self.get(actor, batch_id)
        if not changed:
            raise Conflict("services.batch.status", params={"status": batch.status}, details={"status": batch.status})
        return batch


def _is(batch: Batch | None, status: BatchStatus) -> bool:
    return batch is not None and batch.status is status


def _plain(params: JsonObject) -> JsonObject:
    return {name: value if isinstance(value, str | int | bool) else str(value) for name, value in params.items()}
