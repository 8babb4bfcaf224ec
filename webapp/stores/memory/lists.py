"""Sorting and paging of rows in memory, in the orders that SQL uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from webapp.engine.ports.queries import Page, Paging
from webapp.stores.ordering import Order
from webapp.stores.rows import Row

Item = TypeVar("Item")


def ordered(rows: Sequence[Row], order: Sequence[Order]) -> list[Row]:
    """Return the rows in that order."""
    result = list(rows)
    for item in reversed(order):
        result.sort(key=_key(item), reverse=item.descending)
    return result


def _key(item: Order) -> Callable[[Row], tuple[bool, Any]]:
    # A reversed sort puts large keys first, so the null flag is turned round with it.
    null_is_small = item.nulls_first != item.descending

    def key(row: Row) -> tuple[bool, Any]:
        value = row[item.column]
        if value is None:
            return (not null_is_small, 0)
        return (null_is_small, value)

    return key


def by_time(rows: Sequence[Row], column: str) -> list[Row]:
    """Return the rows by an instant, ties by sequence, then id."""
    return sorted(rows, key=lambda row: (row[column], row["sequence"], row.get("id") or row.get("task_id")))


def page(rows: Sequence[Row], paging: Paging, make: Callable[[Row], Item]) -> Page[Item]:
    """Return the window of ordered rows."""
    window = rows[paging.offset : paging.offset + paging.limit]
    return Page([make(row) for row in window], len(rows))


def within(value: Any, start: Any, end: Any) -> bool:
    """Whether the value lies in the range, from inclusive, to exclusive; null lies in none but the open one."""
    if start is None and end is None:
        return True
    return value is not None and (start is None or value >= start) and (end is None or value < end)
