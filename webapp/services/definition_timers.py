"""Timers of definitions: a workflow that starts on a schedule (spec 2.1, 3.18, 3.22, D32).

There is one timer a published name, a bookmark without an instance, armed in the transaction that publishes. When it
is due, one transaction notes the firing, starts the instance and arms the timer again: the key (partition, name, due
time) lets each due time fire once, ever.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from uuid import UUID, uuid5

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import DEFINITIONS_READ
from webapp.engine.clock import Clock, next_sequence
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Unavailable
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import Event, FiringStatus, TimerFiring
from webapp.engine.instances.requests import StartRequest
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.locks import LeaseHeld
from webapp.engine.ports.queries import DueBookmark, Page, Paging, check_page
from webapp.engine.ports.stores import WHOLE, DuplicateRecord, Partition, UnitOfWork, WriteSet
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.engine import Engine
from webapp.engine.runtime.events import TIMER_FAILED
from webapp.engine.runtime.faults import fault_of
from webapp.engine.schedules import CatchUp, CronError, UnknownZone, instant_text
from webapp.services.access import require
from webapp.services.commands import Commands
from webapp.services.definition_rules import stored_definition
from webapp.services.definitions import DefinitionCache
from webapp.services.schedules import Trigger, trigger_of
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage

log = logging.getLogger("waypost.timers")

RETRIES = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=25))
"""When a start that failed is tried again; after the last the firing is recorded as failed."""

MISSED_AFTER = timedelta(minutes=1)
"""What is later than this was missed: only ``Skip`` asks."""

MAX_CAUGHT_UP = 100

_TIMERS = UUID("3b6d4f2e-5a0c-5f7b-9c43-8a1d0f6e2b97")


class TimerState(msgspec.Struct, frozen=True, kw_only=True):
    """A name's timer as it stands: when it fires next; ``failures`` of the start it is trying again."""

    cron: str
    time_zone: str
    catch_up: CatchUp
    next_at: datetime
    scheduled_at: datetime
    failures: int = 0


def timer_id(partition: Partition, name: str) -> str:
    """Return the id of a name's timer: always the same one, so that there can never be two."""
    return str(uuid5(_TIMERS, f"{partition or ''}\0{name}"))


class DefinitionTimers:
    """Arms, fires and tells of the timers of definitions."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        commands: Commands,
        definitions: DefinitionCache,
        clock: Clock,
        settings: ServiceSettings,
    ) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._definitions = definitions
        self._clock = clock
        self._zone = settings.time_zone

    def changing(self, partition: Partition, name: str) -> AbstractContextManager[None]:
        """Keep the name's timer from firing while the block changes what is published under the name."""
        return self._commands.locked(_lease(timer_id(partition, name)))

    def follow(self, work: UnitOfWork, changed: WorkflowDefinition) -> None:
        """Arm, replace or remove the timer of a definition's name, as its latest published version now wants it.

        In the transaction that changed the definition. A timer whose schedule is the same is left alone.
        """
        partition, name = changed.tenant_id, changed.name
        header = work.definitions.latest_published(partition, name)
        latest = None
        if header is not None:
            latest = changed if header.id == changed.id else work.definitions.find(partition, header.id)
        armed = work.bookmarks.find(partition, timer_id(partition, name))
        trigger = None if latest is None else trigger_of(latest)
        if armed is not None and trigger is not None and Trigger.read(armed.payload) == trigger:
            return
        wanted = None if trigger is None else self._armed(work, partition, name, trigger)
        if wanted is not None:
            work.apply(WriteSet(partition=partition, new_bookmarks=[wanted]))
        elif armed is not None:
            work.bookmarks.delete(partition, [armed.id])

    def fire(self, due: DueBookmark) -> None:
        """Run a claimed timer: start its workflow for the due time, or for those that were missed.

        :raises LeaseHeld: the definition is being changed. :raises Unavailable: the store cannot be reached.
        """
        started: list[Wave] = []
        with self._commands.tried(_lease(due.id)):
            for _ in range(MAX_CAUGHT_UP):
                if not self._fire_next(due.tenant_id, due.id, started):
                    break
        for wave in started:
            self._commands.settle_afterwards(wave)

    def firings(self, actor: Actor, definition_id: str, paging: Paging = WHOLE) -> Page[TimerFiring]:
        """Return what became of the due times of the definition's name, the latest first."""
        require(actor, DEFINITIONS_READ)
        check_page("instances", paging, ())

        def block(work: UnitOfWork) -> Page[TimerFiring]:
            definition = stored_definition(work, actor.partition, definition_id)
            return work.timer_firings.list(actor.partition, definition.name, paging)

        return self._storage.read(actor.partition, block)

    def state(self, actor: Actor, definition_id: str) -> TimerState | None:
        """Return the timer of the definition's name, None when it has none."""
        require(actor, DEFINITIONS_READ)

        def block(work: UnitOfWork) -> Bookmark | None:
            definition = stored_definition(work, actor.partition, definition_id)
            return work.bookmarks.find(actor.partition, timer_id(actor.partition, definition.name))

        armed = self._storage.read(actor.partition, block)
        if armed is None or armed.due_at is None:
            return None
        trigger = Trigger.read(armed.payload)
        return TimerState(
            cron=trigger.cron,
            time_zone=trigger.time_zone or self._zone,
            catch_up=trigger.catch_up,
            next_at=armed.due_at,
            scheduled_at=_scheduled(armed, armed.due_at),
            failures=armed.failures,
        )

    def _armed(self, work: UnitOfWork, partition: Partition, name: str, trigger: Trigger) -> Bookmark | None:
        now = self._clock.now()
        last = work.timer_firings.last_scheduled(partition, name)
        try:
            due = trigger.next(now if last is None else max(now, last), self._zone)
        except (CronError, UnknownZone):
            # Published before such a schedule was refused.
            log.warning("the schedule of %s cannot be read: %s", name, trigger.cron)
            return None
        return None if due is None else _bookmark(partition, name, trigger, now, due)

    def _fire_next(self, partition: Partition, bookmark_id: str, started: list[Wave]) -> bool:
        """Deal with one due time; True when the next one is due as well. What was started is added to *started*."""
        now = self._clock.now()
        armed = self._storage.read(partition, lambda work: work.bookmarks.find(partition, bookmark_id))
        if armed is None or armed.due_at is None or armed.due_at > now or armed.key is None:
            return False
        name, trigger = armed.key, Trigger.read(armed.payload)
        header = self._storage.read(partition, lambda work: work.definitions.latest_published(partition, name))
        if header is None:
            self._storage.write(partition, lambda work: work.bookmarks.delete(partition, [bookmark_id]))
            return False
        definition = self._definitions.get(partition, header.id).definition
        if trigger_of(definition) != trigger:
            self._storage.write(partition, lambda work: self.follow(work, definition))
            return False
        scheduled = _scheduled(armed, armed.due_at)
        if armed.failures == 0:
            chosen = trigger.chosen(scheduled, now, self._zone, MAX_CAUGHT_UP)
            if trigger.catch_up is CatchUp.SKIP and now - chosen > MISSED_AFTER:
                return self._settle(armed, trigger, _firing(armed, chosen, FiringStatus.SKIPPED, now), now)
            scheduled = chosen
        following = trigger.next(scheduled, self._zone)
        try:
            started.append(self._start(armed, header.id, scheduled, following, now))
        except DuplicateRecord:
            log.warning("%s was started for %s before", name, scheduled.isoformat())
            return self._settle(armed, trigger, None, now, after=scheduled)
        except (LeaseHeld, Unavailable):
            raise
        except Exception as error:
            return self._failed(armed, trigger, scheduled, error)
        return following is not None and following <= now

    def _start(
        self, armed: Bookmark, definition_id: str, scheduled: datetime, following: datetime | None, now: datetime
    ) -> Wave:
        partition = armed.tenant_id

        def build() -> Wave:
            prepared = self._definitions.startable(partition, definition_id)
            request = StartRequest(scheduled_at=scheduled)
            command = self._commands.system_command("start")
            wave = self._engine.start(prepared.compiled, request, command, partition)
            firing = _firing(armed, scheduled, FiringStatus.STARTED, now, instance_id=wave.instance.id)
            wave.write_set.timer_firings.append(firing)
            _rearm(wave.write_set, armed, following)
            return wave

        return self._commands.start(build, settle=False)

    def _failed(self, armed: Bookmark, trigger: Trigger, scheduled: datetime, error: Exception) -> bool:
        now, failures = self._clock.now(), armed.failures + 1
        if failures > len(RETRIES):
            log.error("%s could not be started for %s", armed.key, scheduled.isoformat(), exc_info=error)
            fault: JsonObject = msgspec.to_builtins(fault_of(error))
            firing = _firing(armed, scheduled, FiringStatus.FAILED, now, failures=failures, fault=fault)
            data: JsonObject = {
                "definitionName": firing.definition_name,
                "scheduledAt": instant_text(scheduled),
                "failures": failures,
                "fault": fault,
            }
            return self._settle(armed, trigger, firing, now, told=(Event(topic=TIMER_FAILED, data=data),))
        log.warning("%s could not be started and will be tried again", armed.key, exc_info=error)
        again = msgspec.structs.replace(
            armed, due_at=now + RETRIES[failures - 1], original_due_at=scheduled, failures=failures
        )
        write_set = WriteSet(partition=armed.tenant_id, changed_bookmarks=[again])
        self._storage.write(armed.tenant_id, lambda work: work.apply(write_set))
        return False

    def _settle(
        self,
        armed: Bookmark,
        trigger: Trigger,
        firing: TimerFiring | None,
        now: datetime,
        after: datetime | None = None,
        told: Sequence[Event] = (),
    ) -> bool:
        """Note a due time that starts nothing, and go on with the next; True when that is due as well."""
        reached = firing.scheduled_at if firing is not None else after or now
        following = trigger.next(reached, self._zone)
        write_set = WriteSet(partition=armed.tenant_id, timer_firings=[] if firing is None else [firing])
        _rearm(write_set, armed, following)
        try:
            self._commands.store(write_set, told)
        except DuplicateRecord:
            # It was dealt with before: what is left is the timer.
            write_set.timer_firings = []
            self._storage.write(armed.tenant_id, lambda work: work.apply(write_set))
        return following is not None and following <= now


def _lease(bookmark_id: str) -> str:
    return f"definition-timer:{bookmark_id}"


def _scheduled(armed: Bookmark, due_at: datetime) -> datetime:
    """Return the due time that the timer stands for: a start that is tried again keeps its own."""
    return armed.original_due_at or due_at


def _bookmark(partition: Partition, name: str, trigger: Trigger, now: datetime, due: datetime) -> Bookmark:
    return Bookmark(
        id=timer_id(partition, name),
        tenant_id=partition,
        sequence=next_sequence(0, now),
        kind=BookmarkKind.DEFINITION_TIMER,
        key=name,
        payload=trigger.payload(),
        created_at=now,
        due_at=due,
    )


def _rearm(write_set: WriteSet, armed: Bookmark, due: datetime | None) -> None:
    if due is None:
        write_set.deleted_bookmark_ids.append(armed.id)
    else:
        again = msgspec.structs.replace(armed, due_at=due, original_due_at=None, failures=0)
        write_set.changed_bookmarks.append(again)


def _firing(
    armed: Bookmark,
    scheduled: datetime,
    status: FiringStatus,
    now: datetime,
    *,
    instance_id: str | None = None,
    failures: int | None = None,
    fault: JsonObject | None = None,
) -> TimerFiring:
    return TimerFiring(
        tenant_id=armed.tenant_id,
        definition_name=armed.key or "",
        scheduled_at=scheduled,
        instance_id=instance_id,
        status=status,
        fired_at=now,
        failures=armed.failures if failures is None else failures,
        fault=fault,
    )
