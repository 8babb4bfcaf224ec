"""Signals: those who wait go on, those that start are started, the rest is done later (spec 3.17, 3.22)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from decimal import Decimal

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_OPERATE
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import CONFLICT_BOOKMARK, Conflict, InputInvalid, LockTimeout, NotFound, Problem
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import AuditEntry, FollowUp
from webapp.engine.instances.limits import MAX_CORRELATION, MAX_KEY, blank_problems, length_problems
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.instances.requests import check_document
from webapp.engine.numbers import JsonObject, decode, encode
from webapp.engine.ports.signals import SignalTarget, StoredSignal
from webapp.engine.ports.stores import InstanceSnapshot, Partition, UnitOfWork, WriteSet
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.engine import Engine
from webapp.engine.schedules import later
from webapp.services.access import instance_missing, lacking, owns
from webapp.services.commands import Commands
from webapp.services.definitions import DefinitionCache, Prepared
from webapp.services.follow_ups import FollowUpRunner, Postponed
from webapp.services.kept_signals import KeptSignals
from webapp.services.settings import ServiceSettings
from webapp.services.settling import put_in_place
from webapp.services.signal_starts import Signal, SignalStarts
from webapp.services.storage import Storage
from webapp.services.views import SignalResult

log = logging.getLogger("waypost.signals")

SIGNAL = "signal"
BATCH = 100
MAX_TTL_SECONDS = 365 * 24 * 3600

Number = int | Decimal


class Rest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is left of a broadcast: those behind ``after``, those that were busy, and whether definitions start too."""

    signal: Signal
    after: SignalTarget | None = None
    done: bool = False
    busy: list[SignalTarget] = []
    starts: bool = False


class _Delivered(msgspec.Struct, kw_only=True):
    resumed: int = 0
    permitted: int = 0
    busy: list[SignalTarget] = []
    left: list[SignalTarget] = []
    owed: list[FollowUp] = []


class SignalService:
    """Publishes signals."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        commands: Commands,
        definitions: DefinitionCache,
        follow_ups: FollowUpRunner,
        clock: Clock,
        ids: IdSource,
        settings: ServiceSettings,
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._definitions = definitions
        self._clock = clock
        self._ids = ids
        self._settings = settings
        self._starts = SignalStarts(engine=engine, storage=storage, commands=commands, definitions=definitions)
        self._kept = KeptSignals(
            engine=engine, storage=storage, commands=commands, follow_ups=follow_ups, clock=clock, ids=ids
        )
        follow_ups.register(SIGNAL, self._carry_on)

    def publish(
        self,
        actor: Actor,
        name: str,
        payload: JsonObject | None = None,
        correlation_id: str | None = None,
        ttl_seconds: Number = 0,
    ) -> SignalResult:
        """Resume those who wait for the signal, then start the definitions that it starts.

        Up to a hundred waits are resumed in this call, the others by follow-ups. *ttl_seconds*: when nobody waits and
        nothing starts, the signal is kept so long for the first matching wait.

        :raises Denied: the actor may operate no instance that it reaches; keeping one needs the permission itself.
        :raises InputInvalid: a name or a correlation id that is blank or too long, a payload that is too large.
        """
        written = payload if payload is not None else {}
        _check(name, written, correlation_id, ttl_seconds)
        if ttl_seconds > 0 and not actor.may(INSTANCES_OPERATE):
            raise lacking(INSTANCES_OPERATE)
        signal = Signal(
            name=name,
            payload=written,
            correlation_id=correlation_id or None,
            at=self._clock.now(),
            publisher=actor.name,
            owners=None if actor.may(INSTANCES_OPERATE) else actor.principals,
            request_id=actor.request_id,
        )
        if self._storage.scopes.current is not None:
            # Inside somebody's transaction no lease of an instance is taken: all of it follows the commit.
            return self._queue_all(actor, signal)
        return self._publish(actor, signal, ttl_seconds)

    def send_to(self, actor: Actor, instance_id: str, name: str, payload: JsonObject | None = None) -> WorkflowInstance:
        """Give a signal to the waits of one instance, whatever their correlation id; for operators.

        :raises NotFound: no such instance. :raises Denied: the actor may not operate it.
        :raises Conflict: nothing of it waits for that signal, or it does not run.
        """
        written = payload if payload is not None else {}
        _check(name, written, None, 0)
        partition = actor.partition

        def block(work: UnitOfWork) -> tuple[WorkflowInstance | None, list[str]]:
            waits = work.bookmarks.by_instance(partition, instance_id)
            ids = [one.id for one in waits if one.kind is BookmarkKind.SIGNAL and one.key == name]
            return work.instances.find(partition, instance_id), ids

        instance, waits = self._storage.read(partition, block)
        if instance is None:
            raise instance_missing(instance_id)
        definition = self._definitions.get(partition, instance.definition_id).definition
        if not actor.may(INSTANCES_OPERATE) and not owns(actor, definition):
            raise lacking(INSTANCES_OPERATE)
        wave: Wave | None = None
        for bookmark_id in waits:
            command = self._commands.command(actor, SIGNAL, as_operator=actor.may(INSTANCES_OPERATE))
            wave = self._deliver(partition, instance_id, bookmark_id, written, command) or wave
        if wave is None:
            params = {"name": name}
            raise Conflict("services.signal.nobody_waits", code=CONFLICT_BOOKMARK, params=params)
        return wave.instance

    # --- publishing -------------------------------------------------------------------------

    def _publish(self, actor: Actor, signal: Signal, ttl_seconds: Number) -> SignalResult:
        partition = actor.partition
        found, queued = self._first_targets(partition, signal)
        sent = self._deliver_all(partition, signal, found)
        late = [*sent.left, *sent.busy]
        if late:
            self._owe(partition, Rest(signal=signal, done=True, busy=late))
        started = self._starts.start(partition, signal)
        result = SignalResult(resumed=sent.resumed, started=len(started.instance_ids), queued=queued + len(late))
        if signal.owners is not None and not (sent.permitted or started.permitted):
            raise lacking(INSTANCES_OPERATE)
        reached = result.resumed or result.started or result.queued
        if started.refusal is not None and not reached:
            raise started.refusal
        if ttl_seconds > 0 and not reached:
            return self._keep(partition, signal, ttl_seconds)
        return result

    def _first_targets(self, partition: Partition, signal: Signal) -> tuple[list[SignalTarget], int]:
        """Return the first hundred who wait; the others are owed at once, before anything is done."""
        found = list(self._targets(partition, signal, None, BATCH + 1))
        if len(found) <= BATCH:
            return found, 0
        found = found[:BATCH]
        others = self._storage.read(
            partition,
            lambda work: work.signals.count_targets(
                partition, signal.name, signal.correlation_id, signal.at, found[-1]
            ),
        )
        self._owe(partition, Rest(signal=signal, after=found[-1]))
        return found, others

    def _queue_all(self, actor: Actor, signal: Signal) -> SignalResult:
        partition = actor.partition

        def block(work: UnitOfWork) -> int:
            waiting = work.signals.count_targets(partition, signal.name, signal.correlation_id, signal.at)
            return waiting + len(work.signals.starts(partition, signal.name))

        queued = self._storage.read(partition, block)
        if queued:
            self._owe(partition, Rest(signal=signal, starts=True))
        return SignalResult(resumed=0, started=0, queued=queued)

    def _keep(self, partition: Partition, signal: Signal, ttl_seconds: Number) -> SignalResult:
        """Store the signal, then look once more: a wait that began in between has not seen it stored."""
        stored = StoredSignal(
            id=self._ids.new(),
            tenant_id=partition,
            name=signal.name,
            correlation_id=signal.correlation_id,
            payload=signal.payload,
            created_at=signal.at,
            expires_at=later(signal.at, ttl_seconds),
        )
        resumed = self._kept.keep(stored, self._entry_of(signal, stored))
        return SignalResult(resumed=int(resumed), started=0, queued=0, kept=not resumed)

    def _entry_of(self, signal: Signal, stored: StoredSignal) -> AuditEntry:
        return AuditEntry(
            id=self._ids.new(),
            tenant_id=stored.tenant_id,
            at=signal.at,
            actor_id=signal.publisher,
            action="keepSignal",
            request_id=signal.request_id,
            after={"signal": signal.name, "correlationId": signal.correlation_id, "signalId": stored.id},
        )

    # --- delivering -------------------------------------------------------------------------

    def _targets(
        self, partition: Partition, signal: Signal, after: SignalTarget | None, limit: int
    ) -> Sequence[SignalTarget]:
        return self._storage.read(
            partition,
            lambda work: work.signals.targets(partition, signal.name, signal.correlation_id, signal.at, limit, after),
        )

    def _deliver_all(
        self, partition: Partition, signal: Signal, targets: Iterable[SignalTarget], *, settle: bool = True
    ) -> _Delivered:
        """Resume each wait by a command of its own; after some seconds the others are left."""
        result = _Delivered()
        deadline = self._clock.now() + timedelta(seconds=self._settings.follow_up_seconds)
        for target in targets:
            if self._clock.now() > deadline:
                result.left.append(target)
                continue
            permitted = _Permission(signal)
            try:
                wave = self._deliver(
                    partition,
                    target.instance_id,
                    target.bookmark_id,
                    signal.payload,
                    self._command(signal),
                    permitted,
                    settle=settle,
                )
            except LockTimeout:
                result.busy.append(target)
                continue
            if wave is not None:
                result.resumed += 1
                result.owed += [] if settle else wave.write_set.new_follow_ups
            result.permitted += permitted.given
        return result

    def _deliver(
        self,
        partition: Partition,
        instance_id: str,
        bookmark_id: str,
        payload: JsonObject,
        command: Command,
        permitted: Callable[[Prepared], None] = lambda prepared: None,
        *,
        settle: bool = True,
    ) -> Wave | None:
        """Resume one wait; None: it was resumed already, or its instance does not run, or is another's."""

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            permitted(prepared)
            return self._engine.signals.deliver(snapshot, prepared.compiled, bookmark_id, payload, command)

        try:
            return self._commands.change(partition, instance_id, decide, lost=_busy, settle=settle)
        except (NotFound, Conflict, _Foreign):
            return None

    def _command(self, signal: Signal) -> Command:
        command = self._commands.system_command(SIGNAL)
        return msgspec.structs.replace(
            command, actor_id=signal.publisher, request_id=signal.request_id, as_operator=signal.owners is None
        )

    # --- follow-ups -------------------------------------------------------------------------

    def _owe(self, partition: Partition, rest: Rest) -> None:
        owed = self._follow_up(partition, rest)
        self._storage.write(partition, lambda work: work.apply(WriteSet(partition=partition, new_follow_ups=[owed])))
        self._commands.wake(partition)

    def _follow_up(self, partition: Partition, rest: Rest) -> FollowUp:
        now = self._clock.now()
        return FollowUp(
            id=self._ids.new(),
            tenant_id=partition,
            action=SIGNAL,
            payload=decode(encode(rest), JsonObject),
            created_at=now,
            due_at=now,
        )

    def _carry_on(self, owed: FollowUp) -> Sequence[FollowUp]:
        """Resume the next hundred, and owe what is left then."""
        rest = decode(encode(owed.payload), Rest)
        partition, signal = owed.tenant_id, rest.signal
        page = [] if rest.done else list(self._targets(partition, signal, rest.after, BATCH))
        sent = self._deliver_all(partition, signal, [*rest.busy, *page], settle=False)
        late = [*sent.left, *sent.busy]
        done = rest.done or len(page) < BATCH
        following = []
        if late or not done:
            if done and not sent.resumed:
                # Everybody who is left is busy: later.
                raise Postponed
            after = page[-1] if page else rest.after
            left = Rest(signal=signal, after=after, done=done, busy=late, starts=rest.starts)
            following = [self._follow_up(partition, left)]
        elif rest.starts:
            self._starts.start(partition, signal, seed=owed.id)
        self._storage.write(partition, lambda work: put_in_place(work, owed, following))
        return [*sent.owed, *following]


def _busy() -> LockTimeout:
    """What a wave that lost to other writers means here: the wait is there still, and gets the signal later."""
    return LockTimeout("services.signal.busy")


class _Foreign(Exception):
    """The instance's definition is not the publisher's."""


class _Permission:
    """Lets a publisher who may not operate everything reach what it owns."""

    def __init__(self, signal: Signal) -> None:
        self._signal = signal
        self.given = signal.owners is None

    def __call__(self, prepared: Prepared) -> None:
        """Refuse what is another's. :raises _Foreign: it is."""
        if not self._signal.may_reach(prepared.definition.owners):
            raise _Foreign
        self.given = True


def _check(name: str, payload: JsonObject, correlation_id: str | None, ttl_seconds: Number) -> None:
    problems = [
        *blank_problems("name", name),
        *length_problems("name", name, MAX_KEY),
        *length_problems("correlationId", correlation_id, MAX_CORRELATION),
    ]
    if not 0 <= ttl_seconds <= MAX_TTL_SECONDS:
        problems.append(Problem(path="ttlSeconds", key="services.signal.ttl", params={"max": MAX_TTL_SECONDS}))
    if problems:
        raise InputInvalid("services.input.invalid", problems=problems)
    check_document(payload, "payload")
