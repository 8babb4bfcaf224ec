"""Which of our statements PostgreSQL would answer by looking through a whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from tests.bench.hand_lists import Hand

LARGE = ("instances", "bookmarks", "node_instances", "task_records", "audit", "definitions")


def scanned(hand: Hand, calls: Sequence[Callable[[], Any]]) -> list[str]:
    """Make the calls and return the large tables that a plan of theirs scans from end to end, each once."""
    if not hand.is_server:
        return []
    seen: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        seen.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        for call in calls:
            call()
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    found = {
        table
        for statement, parameters in seen
        if statement.lstrip().upper().startswith(("SELECT", "WITH"))
        for table in _scans(hand.explain(statement, parameters)[0]["Plan"])
    }
    return sorted(found)


def _scans(plan: dict[str, Any]) -> Iterator[str]:
    if plan["Node Type"].endswith("Seq Scan") and plan["Relation Name"].removeprefix("platform_") in LARGE:
        yield plan["Relation Name"]
    for inner in plan.get("Plans", ()):
        yield from _scans(inner)
