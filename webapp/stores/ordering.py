"""The orders of lists (spec 8.2, 8.3, 25): sort items, then tie-breakers, each column once; nulls have one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from webapp.engine.ports.queries import Sort


class Order(msgspec.Struct, frozen=True):
    """One column of an order; ``nulls_first`` says where its nulls stand."""

    column: str
    descending: bool = False
    nulls_first: bool = True
    nullable: bool = False


_DEFINITION_COLUMNS = {
    "name": "name",
    "title": "title_sort_key",
    "version": "version",
    "status": "status_rank",
    "createdAt": "created_at",
    "publishedAt": "published_at",
}
_INSTANCE_COLUMNS = {
    "createdAt": "created_at",
    "endedAt": "ended_at",
    "status": "status_rank",
    "definitionName": "definition_name",
    "title": "title_sort_key",
}
_TASK_COLUMNS = {
    "createdAt": "created_at",
    "dueAt": "task_due_at",
    "priority": "priority",
    "title": "title_sort_key",
    "definitionName": "definition_name",
}
_NULLABLE = frozenset(["ended_at", "published_at", "task_due_at"])


def _items(sorts: Sequence[Sort], columns: Mapping[str, str]) -> list[Order]:
    return [_order(columns[sort.field], sort.descending) for sort in sorts]


def _order(column: str, descending: bool) -> Order:
    # Null due dates stand after every date in both directions; other nulls are smallest.
    nulls_first = False if column == "task_due_at" else not descending
    return Order(column, descending, nulls_first, column in _NULLABLE)


def _once(orders: Sequence[Order]) -> tuple[Order, ...]:
    first: dict[str, Order] = {}
    for order in orders:
        first.setdefault(order.column, order)
    return tuple(first.values())


def definition_order(sorts: Sequence[Sort]) -> tuple[Order, ...]:
    """Return the sort items, then name ascending, version descending, id ascending."""
    ties = [Order("name"), Order("version", True), Order("id")]
    return _once([*_items(sorts, _DEFINITION_COLUMNS), *ties])


def instance_order(sorts: Sequence[Sort]) -> tuple[Order, ...]:
    """Return the sort items, then createdAt, sequence and id, descending unless createdAt was asked ascending."""
    items = _once(_items(sorts, _INSTANCE_COLUMNS))
    descending = next((item.descending for item in items if item.column == "created_at"), True)
    ties = [Order("created_at", True), Order("sequence", descending), Order("id", descending)]
    return _once([*items, *ties])


def task_order(sorts: Sequence[Sort]) -> tuple[Order, ...]:
    """Return the sort items, then createdAt, sequence and id ascending."""
    return _once([*_items(sorts, _TASK_COLUMNS), Order("created_at"), Order("sequence"), Order("id")])


DONE_ORDER = (Order("ended_at", True), Order("sequence", True), Order("task_id", True), Order("round", True))
"""Ended rounds: newest end first."""

NEWEST_FIRST = (Order("created_at", True), Order("sequence", True), Order("id", True))
"""Notices and deliveries."""
