"""Work calendars: which hours count (spec 4.20, D33)."""

from __future__ import annotations

from msgspec import field

from webapp.services.calendars import WEEKDAYS, Holiday, StoredCalendar, WorkCalendar, WorkHours
from webapp.web.api.query import Window
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, ListOf, Shape
from webapp.web.wire import Instant, instant_text

section = Section("Calendars")
PATH = "/api/v1/calendars"


class Hours(Body, frozen=True, kw_only=True):
    """A span of a day, ``HH:MM`` each; ``24:00`` is the day's end."""

    start: str = field(name="from")
    end: str = field(name="to")


class WeeklyHours(Body, frozen=True, kw_only=True):
    """The hours of each day of the week; a day without any is free."""

    monday: list[Hours] = field(default_factory=list)
    tuesday: list[Hours] = field(default_factory=list)
    wednesday: list[Hours] = field(default_factory=list)
    thursday: list[Hours] = field(default_factory=list)
    friday: list[Hours] = field(default_factory=list)
    saturday: list[Hours] = field(default_factory=list)
    sunday: list[Hours] = field(default_factory=list)


class HolidayItem(Body, frozen=True, kw_only=True):
    """A day that differs: without hours nobody works."""

    date: str
    name: str = ""
    hours: list[Hours] = field(default_factory=list)


class CalendarContent(Body, frozen=True, kw_only=True):
    """What a calendar says: hours by day of the week, days that differ, and where the hours are meant."""

    display_name: str = ""
    time_zone: str | None = None
    weekly_hours: WeeklyHours
    holidays: list[HolidayItem] = field(default_factory=list)


class CalendarBody(CalendarContent, frozen=True, kw_only=True):
    """A new calendar."""

    name: str


class Calendar(Shape, frozen=True, kw_only=True):
    """A calendar as it is kept."""

    name: str
    display_name: str
    time_zone: str | None
    weekly_hours: WeeklyHours
    holidays: list[HolidayItem]
    revision: int
    updated_at: Instant
    updated_by: str | None


@section.call("GET", "/calendars", query=Window, answers={200: ListOf[Calendar]})
def list_calendars(call: Call[None, Window]) -> Reply:
    """List the calendars by name."""
    found = call.services.calendars.list(call.actor)
    shown = found[call.query.offset : call.query.offset + call.query.limit]
    return Reply(value=ListOf(items=[_shape(stored) for stored in shown], total=len(found)))


@section.call(
    "POST", "/calendars", body=CalendarBody, answers={201: Calendar}, refuses=(409,), sends_revision=True
)  # fmt: skip
def create_calendar(call: Call[CalendarBody, None]) -> Reply:
    """Make a calendar."""
    stored = call.services.calendars.create(call.actor, _model(call.body, call.body.name))
    return Reply(value=_shape(stored), status=201, location=f"{PATH}/{stored.calendar.name}", revision=stored.revision)


@section.call("GET", "/calendars/<name>", answers={200: Calendar}, refuses=(404,), sends_revision=True)
def get_calendar(call: Call[None, None], name: str) -> Reply:
    """Return a calendar."""
    return _told(call.services.calendars.get(call.actor, name))


@section.call(
    "PUT", "/calendars/<name>", body=CalendarContent, answers={200: Calendar},
    refuses=(404, 412, 428), if_match="required", sends_revision=True,
)  # fmt: skip
def replace_calendar(call: Call[CalendarContent, None], name: str) -> Reply:
    """Replace a calendar whose revision is the one that was read; what waits already keeps its time."""
    return _told(call.services.calendars.replace(call.actor, name, _model(call.body, name), call.revision_read))


@section.call("DELETE", "/calendars/<name>", answers={204: None}, refuses=(404, 412), if_match="optional")
def delete_calendar(call: Call[None, None], name: str) -> Reply:
    """Delete a calendar; a step that names it fails when it is reached."""
    call.services.calendars.delete(call.actor, name, call.expected_revision)
    return Reply(status=204)


def _told(stored: StoredCalendar) -> Reply:
    return Reply(value=_shape(stored), revision=stored.revision)


def _model(body: CalendarContent, name: str) -> WorkCalendar:
    return WorkCalendar(
        name=name,
        display_name=body.display_name,
        time_zone=body.time_zone,
        weekly_hours={day: _hours(getattr(body.weekly_hours, day)) for day in WEEKDAYS},
        holidays=[Holiday(date=one.date, name=one.name, hours=_hours(one.hours)) for one in body.holidays],
    )


def _hours(hours: list[Hours]) -> list[WorkHours]:
    return [WorkHours(start=one.start, end=one.end) for one in hours]


def _shape(stored: StoredCalendar) -> Calendar:
    calendar = stored.calendar
    return Calendar(
        name=calendar.name,
        display_name=calendar.display_name,
        time_zone=calendar.time_zone,
        weekly_hours=WeeklyHours(**{day: _shown(hours) for day, hours in calendar.weekly_hours.items()}),
        holidays=[HolidayItem(date=one.date, name=one.name, hours=_shown(one.hours)) for one in calendar.holidays],
        revision=stored.revision,
        updated_at=instant_text(stored.updated_at),
        updated_by=stored.updated_by,
    )


def _shown(hours: list[WorkHours]) -> list[Hours]:
    return [Hours(start=one.start, end=one.end) for one in hours]
