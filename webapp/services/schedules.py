"""Schedules of definitions: what their Start says, which time comes next, and the list of the next ones (spec 3.22)."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from webapp.accounts.model import Actor
from webapp.engine.clock import Clock
from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.errors import InputInvalid
from webapp.engine.numbers import JsonObject, JsonValue
from webapp.engine.schedules import (
    CatchUp,
    CronError,
    UnknownZone,
    find_zone,
    latest_occurrences,
    next_occurrence,
    occurrences,
    parse_cron,
)
from webapp.services.settings import ServiceSettings

MAX_NEXT = 100
MIN_YEAR, MAX_YEAR = 1_900, 9_000
"""Outside of them the calendar of ``datetime`` may have no room for a zone, or for the years until the next time."""


class Trigger(NamedTuple):
    """The schedule of a Start. Two that are equal are the same timer."""

    cron: str
    time_zone: str | None
    catch_up: CatchUp

    @classmethod
    def read(cls, payload: JsonObject) -> Trigger:
        """Return what a timer's bookmark keeps."""
        zone = payload.get("timeZone")
        return cls(str(payload.get("cron", "")), zone, CatchUp.read(payload.get("catchUp")) or CatchUp.ONE)

    def payload(self) -> JsonObject:
        """Return what a timer's bookmark keeps of it."""
        return {"cron": self.cron, "timeZone": self.time_zone, "catchUp": self.catch_up.value}

    def next(self, after: datetime, default_zone: str) -> datetime | None:
        """Return the first due time after an instant."""
        return next_occurrence(parse_cron(self.cron), self._zone(default_zone), after)

    def chosen(self, armed: datetime, now: datetime, default_zone: str, most: int) -> datetime:
        """Return the due time to fire for, of that which the timer was armed for and those missed since.

        ``All``: the earliest of the last *most*; else the latest.
        """
        count = most if self.catch_up is CatchUp.ALL else 1
        missed = latest_occurrences(parse_cron(self.cron), self._zone(default_zone), armed, now, count)
        if self.catch_up is CatchUp.ALL:
            return missed[0] if len(missed) >= most else armed
        return missed[-1] if missed else armed

    def _zone(self, default_zone: str) -> ZoneInfo:
        return find_zone(self.time_zone or default_zone)


def trigger_of(definition: WorkflowDefinition) -> Trigger | None:
    """Return the schedule that a definition's Start names, None when it names none."""
    start = next((node for node in definition.nodes if node.activity_type == "Start"), None)
    if start is None:
        return None
    cron, zone = _text(start, "Cron"), _text(start, "TimeZone")
    choice = CatchUp.read(_value(start, "CatchUp")) or CatchUp.ONE
    return None if cron is None else Trigger(cron, zone, choice)


def _value(node: Node, name: str) -> JsonValue:
    found = node.properties.get(name)
    return node.properties.get(name[0].lower() + name[1:]) if found is None else found


def _text(node: Node, name: str) -> str | None:
    value = _value(node, name)
    return value.strip() or None if isinstance(value, str) else None


class NextFirings(NamedTuple):
    """The next due times of a schedule, as instants, and the zone they were computed in."""

    time_zone: str
    instants: list[datetime]


class ScheduleService:
    """What the designer asks about schedules."""

    def __init__(self, *, clock: Clock, settings: ServiceSettings) -> None:
        self._clock = clock
        self._zone = settings.time_zone

    def next_firings(
        self, actor: Actor, cron: str, zone: str | None = None, count: int = 5, after: datetime | None = None
    ) -> NextFirings:
        """Return the next *count* due times of a cron schedule, after now or another instant.

        Any signed-in account may ask. :raises InputInvalid: the text is no schedule, with the reason, or no such zone.
        """
        if not 1 <= count <= MAX_NEXT:
            raise InputInvalid(
                "services.schedule.count", path="count", params={"value": count, "min": 1, "max": MAX_NEXT}
            )
        name = (zone or "").strip() or self._zone
        try:
            schedule, found = parse_cron(cron), find_zone(name)
            start = after or self._clock.now()
            if not MIN_YEAR <= start.year <= MAX_YEAR:
                raise InputInvalid("services.schedule.after", path="after", params={"min": MIN_YEAR, "max": MAX_YEAR})
            return NextFirings(name, list(islice(occurrences(schedule, found, start), count)))
        except CronError as error:
            raise InputInvalid(error.key, path="cron", params=error.params) from error
        except UnknownZone as error:
            raise InputInvalid("workflow.time_zone.unknown", path="timeZone", params={"name": error.name}) from error
