"""Work calendars: kept, changed, and answered from a copy in the process (spec 4.20, D33, 8.10)."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import ADMIN_USERS
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import (
    CONFLICT_DEFINITION,
    NOTFOUND_DEFINITION,
    Conflict,
    InputInvalid,
    NotFound,
    StaleRevision,
)
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.limits import MAX_TITLE, length_problems
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.calendars import CalendarStore, StoredCalendar
from webapp.engine.ports.stores import DuplicateRecord, Partition, RevisionConflict, StoreFailure
from webapp.engine.schedules import (
    NO_CALENDAR,
    WEEKDAYS,
    Holiday,
    WorkCalendar,
    WorkHours,
    WorkingTime,
    calendar_problems,
)
from webapp.services.access import require
from webapp.services.process_copies import ProcessCopy
from webapp.services.storage import Storage, answered, asked

log = logging.getLogger("waypost.calendars")

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,127}")


class _Copy(msgspec.Struct, frozen=True):
    """The calendars as they stood at one moment."""

    found: dict[tuple[Partition, str], WorkingTime]
    names: dict[Partition, frozenset[str]]


class CalendarCopy:
    """Implements the ``Calendars`` port over the calendar store; at most *seconds* old."""

    def __init__(self, calendars: CalendarStore, clock: Clock, seconds: float = 5) -> None:
        self._copy = ProcessCopy(lambda: _copy_of(calendars.all()), clock, seconds, _failed)

    def refresh(self) -> None:
        """Read the calendars again if the copy is too old; a failure keeps the copy that is there.

        Without a copy nothing is known of calendars: a step that needs one fails, others go on.
        """
        self._copy.refresh()

    def forget(self) -> None:
        """Make the next refresh read again: a calendar was changed in this process."""
        self._copy.forget()

    def find(self, partition: Partition, name: str) -> WorkingTime | None:
        """Return the calendar of that name, or None."""
        copy = self._copy.value
        return None if copy is None else copy.found.get((partition, name))

    def names(self, partition: Partition) -> frozenset[str] | None:
        """Return the names of the partition's calendars; None when nothing is known of them."""
        copy = self._copy.value
        return None if copy is None else copy.names.get(partition, frozenset())


def _failed(failure: StoreFailure, has_copy: bool) -> None:
    log.warning("the work calendars could not be read; the old copy is used", exc_info=failure)


def _copy_of(stored: Sequence[StoredCalendar]) -> _Copy:
    names: dict[Partition, set[str]] = {}
    for one in stored:
        names.setdefault(one.tenant_id, set()).add(one.calendar.name)
    return _Copy(
        found={(one.tenant_id, one.calendar.name): WorkingTime(one.calendar) for one in stored},
        names={partition: frozenset(found) for partition, found in names.items()},
    )


class CalendarService:
    """The use cases of calendars: any signed-in account may read them, administrators change them."""

    def __init__(
        self, *, calendars: CalendarStore, copy: CalendarCopy, storage: Storage, clock: Clock, ids: IdSource
    ) -> None:
        self._calendars = calendars
        self._copy = copy
        self._storage = storage
        self._clock = clock
        self._ids = ids

    def list(self, actor: Actor) -> Sequence[StoredCalendar]:
        """Return the partition's calendars by name."""
        return asked(lambda: self._calendars.list(actor.partition))

    def get(self, actor: Actor, name: str) -> StoredCalendar:
        """Return a calendar. :raises NotFound: the partition has none of that name."""
        found = asked(lambda: self._calendars.find(actor.partition, name))
        if found is None:
            raise NotFound("services.calendar.not_found", code=NOTFOUND_DEFINITION, params={"name": name})
        return found

    def create(self, actor: Actor, calendar: WorkCalendar) -> StoredCalendar:
        """Make a calendar. :raises Conflict: there is one of that name. :raises InputInvalid: with every reason."""
        require(actor, ADMIN_USERS)
        _check(calendar)
        stored = self._stored(actor, calendar, 1)
        try:
            answered(lambda: self._calendars.insert(stored))
        except DuplicateRecord as duplicate:
            raise Conflict(
                "services.calendar.taken", code=CONFLICT_DEFINITION, params={"name": calendar.name}
            ) from duplicate
        self._changed(actor, "createCalendar", None, stored)
        return stored

    def replace(self, actor: Actor, name: str, calendar: WorkCalendar, expected_revision: int) -> StoredCalendar:
        """Replace a calendar's content; what waits already keeps the time it was given.

        :raises StaleRevision: somebody saved it since it was read.
        """
        require(actor, ADMIN_USERS)
        wanted = msgspec.structs.replace(calendar, name=name)
        _check(wanted)
        found = self.get(actor, name)
        if found.revision != expected_revision:
            raise _stale(found)
        stored = self._stored(actor, wanted, found.revision + 1)
        try:
            answered(lambda: self._calendars.replace(stored, expected_revision))
        except RevisionConflict as conflict:
            raise _stale(self.get(actor, name)) from conflict
        self._changed(actor, "replaceCalendar", found, stored)
        return stored

    def delete(self, actor: Actor, name: str, expected_revision: int | None = None) -> None:
        """Delete a calendar; a step that still names it fails when it is reached."""
        require(actor, ADMIN_USERS)
        found = self.get(actor, name)
        if expected_revision is not None and found.revision != expected_revision:
            raise _stale(found)
        try:
            answered(lambda: self._calendars.delete(actor.partition, name, found.revision))
        except RevisionConflict as conflict:
            raise _stale(self.get(actor, name)) from conflict
        self._changed(actor, "deleteCalendar", found, None)

    def _changed(self, actor: Actor, action: str, before: StoredCalendar | None, after: StoredCalendar | None) -> None:
        """Have the copy read anew, and note the change in the partition's trail.

        Calendars are kept with the platform, the trail with the partition: they share no transaction (spec 8.10).
        """
        self._copy.forget()
        entry = AuditEntry(
            id=self._ids.new(),
            tenant_id=actor.partition,
            at=self._clock.now(),
            actor_id=actor.name,
            action=action,
            request_id=actor.request_id,
            before=_facts(before),
            after=_facts(after),
        )
        self._storage.note(entry)

    def _stored(self, actor: Actor, calendar: WorkCalendar, revision: int) -> StoredCalendar:
        named = msgspec.structs.replace(calendar, display_name=calendar.display_name.strip() or calendar.name)
        return StoredCalendar(
            tenant_id=actor.partition,
            revision=revision,
            updated_at=self._clock.now(),
            updated_by=actor.name,
            calendar=named,
        )


def _check(calendar: WorkCalendar) -> None:
    if not _NAME.fullmatch(calendar.name) or calendar.name == NO_CALENDAR:
        raise InputInvalid("services.calendar.name", path="name", params={"name": calendar.name, "none": NO_CALENDAR})
    problems = [
        *length_problems("displayName", calendar.display_name, MAX_TITLE),
        *(problem for one in calendar.holidays for problem in length_problems("holidays", one.name, MAX_TITLE)),
        *calendar_problems(calendar),
    ]
    if problems:
        raise InputInvalid("services.calendar.invalid", problems=problems)


def _facts(stored: StoredCalendar | None) -> JsonObject | None:
    if stored is None:
        return None
    facts: JsonObject = msgspec.to_builtins(stored.calendar)
    return {"revision": stored.revision, **facts}


def _stale(found: StoredCalendar) -> StaleRevision:
    details = {"revision": found.revision, "updatedBy": found.updated_by, "updatedAt": found.updated_at}
    return StaleRevision("services.calendar.stale", details=details)


__all__ = [
    "WEEKDAYS",
    "CalendarCopy",
    "CalendarService",
    "Holiday",
    "StoredCalendar",
    "WorkCalendar",
    "WorkHours",
]
