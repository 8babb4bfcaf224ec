"""When a span of time is over, and when a schedule fires next, for a node of a wave (spec 4.8, 4.20, D32, D33)."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from webapp.engine.activities.api import ActivityFault
from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.errors import UNEXPECTED, Unexpected
from webapp.engine.numbers import JsonNumber, JsonValue
from webapp.engine.runtime.effects import WaveState
from webapp.engine.schedules import (
    NO_CALENDAR,
    CronError,
    UnknownZone,
    WorkingTime,
    duration_of,
    find_zone,
    instant_of,
    is_date,
    next_occurrence,
    parse_cron,
    parse_instant,
    time_later,
)

CALENDAR = "WorkCalendar"
TIME_ZONE = "TimeZone"


def later(
    wave: WaveState,
    node: CompiledNode | None,
    value: JsonValue,
    calendar: str | None = None,
    zone: str | None = None,
) -> datetime | None:
    """Return the instant at which a span from now on is over; None when the value is no span.

    The span is a number of seconds above 0 or a text such as ``P1D``. It counts inside the working hours of *calendar*,
    else of the node's own ``WorkCalendar``, else of the definition's; ``none`` stands for no calendar. Days and hours
    are those of the calendar's zone, else of *zone*, the node's ``TimeZone``, the installation's.

    :raises ActivityFault: there is no such calendar or zone.
    """
    span = duration_of(value)
    if span is None:
        return None
    name = calendar or _text(node, CALENDAR) or wave.compiled.definition.work_calendar
    if name is None or name == NO_CALENDAR:
        # Seconds alone need no zone: the usual case costs no look-up.
        return time_later(wave.now, span, zone_of(wave, node, zone) if span.days else UTC)
    hours = _calendar(wave, name)
    own = hours.time_zone
    return hours.after(wave.now, span, zone_of(wave, node, zone) if own is None else _zone(wave, own))


def instance_deadline(wave: WaveState, seconds: JsonNumber) -> datetime:
    """Return when an instance's time is over; it counts in the definition's calendar.

    :raises Unexpected: there is no such calendar any more.
    """
    try:
        return later(wave, None, seconds) or wave.now
    except ActivityFault as error:
        raise Unexpected(error.fault.key, params=error.fault.args) from error


def instant(wave: WaveState, node: CompiledNode | None, value: JsonValue, zone: str | None = None) -> datetime | None:
    """Return the instant a value names, a date being its midnight in the zone; None when it names none."""
    if not isinstance(value, str):
        return None
    if is_date(value):
        return instant_of(datetime.fromisoformat(value), zone_of(wave, node, zone))
    return parse_instant(value)


def next_firing(wave: WaveState, node: CompiledNode | None, cron: str, zone: str | None = None) -> datetime:
    """Return the first occurrence of a cron schedule after now. :raises ActivityFault: the text is refused."""
    try:
        schedule = parse_cron(cron)
        found = next_occurrence(schedule, zone_of(wave, node, zone), wave.now)
    except CronError as error:
        raise ActivityFault(error.key, code=UNEXPECTED, args=error.params) from error
    if found is None:
        raise ActivityFault("workflow.cron.never", code=UNEXPECTED, args={"years": 8})
    return found


def zone_of(wave: WaveState, node: CompiledNode | None, zone: str | None = None) -> tzinfo:
    """Return the zone named, else the node's ``TimeZone``, else the installation's. :raises ActivityFault: unknown."""
    return _zone(wave, zone or _text(node, TIME_ZONE))


def _zone(wave: WaveState, name: str | None) -> tzinfo:
    try:
        return find_zone(name or wave.kit.options.time_zone)
    except UnknownZone as error:
        raise ActivityFault("workflow.time_zone.unknown", code=UNEXPECTED, args={"name": error.name}) from error


def _calendar(wave: WaveState, name: str) -> WorkingTime:
    calendars = wave.kit.calendars
    found = None if calendars is None else calendars.find(wave.instance.tenant_id, name)
    if found is None:
        raise ActivityFault("workflow.calendar.unknown", code=UNEXPECTED, args={"name": name})
    return found


def _text(node: CompiledNode | None, name: str) -> str | None:
    value = None if node is None else node.properties.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str):
        raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": name, "type": "string"})
    return value.strip()
