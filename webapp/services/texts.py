"""Bounds of the texts that people give with a command: longer is refused with its path, never cut (spec 1.17)."""

from __future__ import annotations

from webapp.engine.errors import InputInvalid
from webapp.engine.instances.limits import blank_problems, length_problems


def check_text(path: str, value: str | None, limit: int) -> None:
    """Refuse a text that is too long, or has U+0000, which no database keeps (spec 25)."""
    problems = length_problems(path, value, limit)
    if problems:
        raise InputInvalid("services.input.invalid", problems=problems)


def require_text(path: str, value: str | None, limit: int) -> str:
    """Return a text that must be there and not blank."""
    problems = [*blank_problems(path, value), *length_problems(path, value, limit)]
    if problems or value is None:
        raise InputInvalid("services.input.invalid", problems=problems)
    return value
