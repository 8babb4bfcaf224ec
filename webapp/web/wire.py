"""Scalars as the API writes them: instants with milliseconds, exact numbers (spec 11 Conventions)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

Instant = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""An instant as text: RFC 3339, UTC, milliseconds."""


def instant_text(at: datetime) -> str:
    """Return an instant as ``2026-11-30T09:15:00.000Z``; what is finer than a millisecond is cut off."""
    moment = at.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


def optional_instant(at: datetime | None) -> str | None:
    """Return an instant as text, or None."""
    return None if at is None else instant_text(at)
