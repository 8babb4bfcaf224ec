"""Bounds of the texts that people give with a command: longer is refused with its path, never cut (spec 1.17)."""

from __future__ import annotations

from datetime import datetime

from webapp.engine.errors import InputInvalid
from webapp.engine.instances.limits import blank_problems, length_problems
from webapp.engine.schedules import parse_instant


def check_text(path: str, value: str | None, limit: int) -> None:
    """Refuse a text that is too long, or has U+0000, which no database keeps (spec 25)."""
    problems = length_problems(path, value, limit)
    if problems:
        raise InputInvalid("services.input.invalid", problems=problems)


def read_moment(path: str, text: str) -> datetime:
    """Return the RFC 3339 instant that a text is. :raises InputInvalid: it is none."""
    moment = parse_instant(text)
    if moment is None:
        raise InputInvalid("services.input.instant", path=path, params={"value": text[:80]})
    return moment


def require_text(path: str, value: str | None, limit: int) -> str:
    """Return a text that must be there and not blank."""
    problems = [*blank_problems(path, value), *length_problems(path, value, limit)]
    if problems or value is None:
        raise InputInvalid("services.input.invalid", problems=problems)
    return value
