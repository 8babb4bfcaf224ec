"""How long texts may be, and how large an instance's variables (spec 1.17, 13). Longer is refused, never cut."""

from __future__ import annotations

from webapp.engine.errors import Problem
from webapp.engine.numbers import JsonValue

MAX_TITLE = 500
MAX_KEY = 200
MAX_CORRELATION = 200
MAX_ACCOUNT = 128
MAX_OUTCOME = 128
MAX_REMARK = 10_000
"""A reason or a comment."""

MAX_SIGNERS = 1_000
"""Signers of one user task node: each has a task, and each decision rewrites the progress shown on the others."""

MAX_VARIABLES_BYTES = 1024 * 1024
MAX_WAVE_BYTES = 16 * MAX_VARIABLES_BYTES
"""What the nodes of one wave may put out together: each keeps its own outputs, and all are one write."""


def length_problems(path: str, text: str | None, limit: int) -> list[Problem]:
    """Return the problem of a text that is longer than *limit*, or holds U+0000, which no store keeps (spec 25)."""
    if text is None:
        return []
    if len(text) > limit:
        return [Problem(path=path, key="workflow.input.too_long", params={"max": limit, "length": len(text)})]
    if "\x00" in text:
        return [Problem(path=path, key="workflow.input.nul")]
    return []


def holds_nul(value: JsonValue) -> bool:
    """Tell whether a text anywhere in a value holds U+0000."""
    if isinstance(value, str):
        return "\x00" in value
    if isinstance(value, dict):
        return any("\x00" in name or holds_nul(member) for name, member in value.items())
    return isinstance(value, list) and any(holds_nul(member) for member in value)


def blank_problems(path: str, text: str | None) -> list[Problem]:
    """Return the problem of a text that must not be blank."""
    return [] if text and text.strip() else [Problem(path=path, key="workflow.input.blank")]
