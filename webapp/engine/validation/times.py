"""Schedules, zones and calendars that a definition names (spec 2.4: 21; 3.22, D32, D33)."""

from __future__ import annotations

from webapp.engine.descriptors import CALENDAR, CRON, TIME_ZONE
from webapp.engine.numbers import JsonValue
from webapp.engine.schedules import NO_CALENDAR, check_cron, is_zone
from webapp.engine.validation import findings as keys
from webapp.engine.validation.findings import Findings
from webapp.engine.validation.subject import PropertyValue, Subject


def check_times(subject: Subject, findings: Findings) -> None:
    """Check every text that names a schedule, a zone or a calendar."""
    calendar = subject.definition.work_calendar
    if calendar is not None:
        _check_calendar(subject, None, "workCalendar", calendar, findings)
    for path, node in subject.each_node():
        for found in subject.properties(node, path):
            if isinstance(found.value, str) and found.value.strip():
                _check_property(subject, node.id, found, found.value, findings)


def _check_property(subject: Subject, node_id: str, found: PropertyValue, value: str, findings: Findings) -> None:
    if found.described.type == CRON:
        error = check_cron(value)
        if error is not None:
            findings.error(found.path, error.key, node_id, **error.params)
    elif found.described.type == TIME_ZONE:
        if not is_zone(value.strip()):
            findings.error(found.path, keys.TIME_ZONE_UNKNOWN, node_id, name=value)
    elif found.described.type == CALENDAR:
        _check_calendar(subject, node_id, found.path, value, findings)


def _check_calendar(subject: Subject, node_id: str | None, path: str, value: JsonValue, findings: Findings) -> None:
    """A calendar that is not known is an error only where all calendars are known."""
    name = value.strip() if isinstance(value, str) else ""
    if subject.calendars is not None and name != NO_CALENDAR and name not in subject.calendars:
        findings.error(path, keys.CALENDAR_UNKNOWN, node_id, name=name)
