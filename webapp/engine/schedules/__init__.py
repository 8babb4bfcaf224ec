"""Time as people mean it (spec 3.8, 3.22, 4.8, 4.20, D32, D33): instants, durations, zones, cron, work calendars.

Nothing here asks for the time or for the zone of the process: both come in by argument, so that a schedule gives the
same instants wherever and whenever it is asked.
"""

from webapp.engine.schedules.calendars import (
    NO_CALENDAR,
    WEEKDAYS,
    Holiday,
    WorkCalendar,
    WorkHours,
    WorkingTime,
    calendar_problems,
    time_later,
)
from webapp.engine.schedules.cron import MACROS, CatchUp, Cron, CronError
from webapp.engine.schedules.durations import Duration, duration_of, is_duration, parse_duration
from webapp.engine.schedules.instants import (
    LONGEST_SECONDS,
    backoff,
    instant_text,
    is_date,
    is_instant,
    later,
    parse_instant,
    positive,
)
from webapp.engine.schedules.occurrences import (
    HORIZON_YEARS,
    check_cron,
    latest_occurrences,
    next_occurrence,
    occurrences,
    parse_cron,
)
from webapp.engine.schedules.zones import UnknownZone, find_zone, instant_of, is_zone

__all__ = [
    "HORIZON_YEARS",
    "LONGEST_SECONDS",
    "MACROS",
    "NO_CALENDAR",
    "WEEKDAYS",
    "CatchUp",
    "Cron",
    "CronError",
    "Duration",
    "Holiday",
    "UnknownZone",
    "WorkCalendar",
    "WorkHours",
    "WorkingTime",
    "backoff",
    "calendar_problems",
    "check_cron",
    "duration_of",
    "find_zone",
    "instant_of",
    "instant_text",
    "is_date",
    "is_duration",
    "is_instant",
    "is_zone",
    "later",
    "latest_occurrences",
    "next_occurrence",
    "occurrences",
    "parse_cron",
    "parse_duration",
    "parse_instant",
    "positive",
    "time_later",
]
