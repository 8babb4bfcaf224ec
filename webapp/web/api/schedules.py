"""Schedules: their next times, the timer of a definition, and what became of its due times (spec 3.22, D32)."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec

from webapp.engine.errors import InputInvalid
from webapp.engine.instances.journal import FiringStatus, TimerFiring
from webapp.engine.instances.model import WorkflowFault
from webapp.messages.catalog import Catalog
from webapp.web.api.query import Unreadable, Window, read_instant
from webapp.web.api.query import paging as paging_of
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import Body, Fault, ListOf, Shape, fault_shape
from webapp.web.i18n import Language
from webapp.web.wire import Instant, instant_text, optional_instant

section = Section("Schedules")


class NextBody(Body, frozen=True, kw_only=True):
    """Which times are asked for: a cron text, where it is meant, how many, and after which instant (now)."""

    cron: str
    time_zone: str | None = None
    count: int = 5
    after: Instant | None = None


class Occurrence(Shape, frozen=True, kw_only=True):
    """A time of a schedule: the instant, and what the clock on the wall shows then."""

    at: Instant
    local: str


class NextTimes(Shape, frozen=True, kw_only=True):
    """The next times of a schedule."""

    time_zone: str
    occurrences: list[Occurrence]


class Timer(Shape, frozen=True, kw_only=True):
    """The timer of a definition's name; ``armed`` false: it has none, all else is null.

    ``scheduledAt`` is the due time it stands for: an earlier one than ``nextAt`` while a failed start is tried again.
    """

    armed: bool
    cron: str | None
    time_zone: str | None
    catch_up: str | None
    next_at: Instant | None
    scheduled_at: Instant | None
    failures: int


class Firing(Shape, frozen=True, kw_only=True):
    """What became of one due time."""

    scheduled_at: Instant
    fired_at: Instant
    status: FiringStatus
    instance_id: str | None
    failures: int
    fault: Fault | None


@section.call("POST", "/schedules/next", body=NextBody, answers={200: NextTimes})
def next_times(call: Call[NextBody, None]) -> Reply:
    """Return the next times of a schedule; a text that is none is refused with its reason."""
    body = call.body
    after = _instant(body.after)
    found = call.services.schedules.next_firings(call.actor, body.cron, body.time_zone, body.count, after)
    zone = ZoneInfo(found.time_zone)
    times = [
        Occurrence(at=instant_text(one), local=one.astimezone(zone).isoformat(timespec="seconds"))
        for one in found.instants
    ]
    return Reply(value=NextTimes(time_zone=found.time_zone, occurrences=times))


@section.call("GET", "/definitions/<id>/timer", answers={200: Timer}, refuses=(404,))
def get_timer(call: Call[None, None], id: str) -> Reply:
    """Return when the definition's name is started next by its schedule."""
    state = call.services.timers.state(call.actor, id)
    return Reply(
        value=Timer(
            armed=state is not None,
            cron=None if state is None else state.cron,
            time_zone=None if state is None else state.time_zone,
            catch_up=None if state is None else state.catch_up.value,
            next_at=optional_instant(None if state is None else state.next_at),
            scheduled_at=optional_instant(None if state is None else state.scheduled_at),
            failures=0 if state is None else state.failures,
        )
    )


@section.call("GET", "/definitions/<id>/firings", query=Window, answers={200: ListOf[Firing]}, refuses=(404,))
def list_firings(call: Call[None, Window], id: str) -> Reply:
    """List what became of the due times of the definition's name, the latest first; kept for 400 days."""
    page = call.services.timers.firings(call.actor, id, paging_of(call.query))
    items = [_shape(firing, call.catalog, call.lang) for firing in page.items]
    return Reply(value=ListOf(items=items, total=page.total))


def _instant(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return read_instant(text)
    except Unreadable as error:
        raise InputInvalid(error.key, path="after", params={**error.params, "value": text[:80]}) from error


def _shape(firing: TimerFiring, catalog: Catalog, lang: Language) -> Firing:
    fault = None if firing.fault is None else msgspec.convert(firing.fault, WorkflowFault)
    return Firing(
        scheduled_at=instant_text(firing.scheduled_at),
        fired_at=instant_text(firing.fired_at),
        status=firing.status,
        instance_id=firing.instance_id,
        failures=firing.failures,
        fault=fault_shape(fault, catalog, lang),
    )
