"""Lists and counters of instances in SQL (spec 8.3): what is asked, and by which index it is found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Text, bindparam, func, literal_column, select, union

from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.queries import InstanceQuery
from webapp.stores.keywords import fold_keyword, keyword_bigrams
from webapp.stores.ordering import Order, instance_order
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.dialects import Instant, among, contains, listed
from webapp.stores.sql.direct import UNPREPARED
from webapp.stores.sql.keyword_index import asked_words, has_words, is_common
from webapp.stores.sql.listing import Branch, Listing, gathering, walking
from webapp.stores.sql.queries import of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET, TableSet

SUMMARY = (
    "id",
    "definition_id",
    "definition_name",
    "definition_version",
    "title",
    "status",
    "correlation_id",
    "starter_id",
    "parent_instance_id",
    "root_instance_id",
    "created_at",
    "started_at",
    "ended_at",
    "fault",
    "fault_node_id",
    "cancellation_reason",
    "outcome",
    "revision",
)
_NARROW = frozenset(
    ["p_ids", "p_correlation_id", "p_correlation_ids", "p_parent_instance_id", "p_starter_id", "p_account"]
)
"""Filters that leave so few rows that each is looked at."""


class Asked(NamedTuple):
    """What is asked of the list: statuses, the other filters in use and their parameters."""

    statuses: tuple[InstanceStatus, ...]
    filters: frozenset[str]
    parameters: dict[str, Any]


def asked_of(transaction: Transaction, tenant: bool, query: InstanceQuery) -> Asked:
    """Return the filters of a query."""
    dialect = transaction.dialect
    keyword = fold_keyword(query.keyword)
    values: dict[str, Any] = {
        "p_ids": None if query.ids is None else listed(dialect, query.ids),
        "p_definition_name": query.definition_name,
        "p_definition_version": _version(query.definition_version),
        "p_definition_id": query.definition_id,
        "p_correlation_id": query.correlation_id,
        "p_correlation_ids": None if query.correlation_ids is None else listed(dialect, query.correlation_ids),
        "p_starter_id": query.starter_id,
        "p_parent_instance_id": query.parent_instance_id,
        "p_keyword": keyword,
        "p_created_from": query.created_from,
        "p_created_to": query.created_to,
        "p_ended_from": query.ended_from,
        "p_ended_to": query.ended_to,
        "p_account": query.readable_by,
    }
    values = {name: value for name, value in values.items() if value is not None}
    filters = {*values, *(["top"] if query.top_level_only else [])}
    words = keyword_bigrams(keyword or "")
    if words and not filters & _NARROW:
        asked = asked_words(dialect, words)
        if not is_common(transaction, (TENANT_SET if tenant else PLATFORM_SET).instances, asked):
            filters.add("words")
            values["p_words"] = asked
    statuses = tuple(status for status in InstanceStatus if status in query.statuses)
    return Asked(statuses, frozenset(filters), values)


def _version(version: int | None) -> int | None:
    """Return a number that the column can be compared with; none but those within bounds is ever found."""
    return None if version is None else min(max(version, 0), 2**31 - 1)


def listing_of(dialect: str, tenant: bool, query: InstanceQuery, asked: Asked) -> Listing:
    """Return the statements of the list."""
    return _listing(dialect, tenant, asked.statuses, asked.filters, instance_order(query.paging.sorts))


@lru_cache(maxsize=512)
def _listing(
    dialect: str,
    tenant: bool,
    statuses: tuple[InstanceStatus, ...],
    filters: frozenset[str],
    order: tuple[Order, ...],
) -> Listing:
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.instances
    shown = [table.c[name] for name in SUMMARY]
    conditions = [*_conditions(dialect, tables, filters), *_of_statuses(table, statuses)]
    if filters & {"p_keyword", "p_account", "p_ids", "p_correlation_ids"}:
        return gathering(dialect, table, shown, conditions, order)
    branches = () if filters & _NARROW else _branches(table, statuses, order)
    return walking(table, shown, conditions, order, branches)


@lru_cache(maxsize=128)
def counts_of(dialect: str, tenant: bool, filters: frozenset[str]) -> Select[*tuple[Any, ...]]:
    """Return the statement that counts by status."""
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.instances
    found = select(table.c.status, func.count()).where(*_conditions(dialect, tables, filters))
    return found.group_by(table.c.status).execution_options(**{UNPREPARED: "p_keyword" in filters})


def _word(status: InstanceStatus) -> ColumnElement[str]:
    # Spelled out, so that a plan knows how many there are.
    return literal_column(f"'{status.value}'")


def _of_statuses(table: Any, statuses: tuple[InstanceStatus, ...]) -> list[ColumnElement[bool]]:
    if not statuses:
        return []
    return [table.c.status == _word(statuses[0]) if len(statuses) == 1 else table.c.status.in_(map(_word, statuses))]


def _branches(table: Any, statuses: tuple[InstanceStatus, ...], order: tuple[Order, ...]) -> Sequence[Branch]:
    """Return the ranges of the indexes by status, or with an end and without, that take turns in the order."""
    first = order[0]
    if first.column == "ended_at":
        ended = Branch(table.c.ended_at.is_not(None), (Order("ended_at", first.descending), *order[1:]))
        return [ended, Branch(table.c.ended_at.is_(None), order[1:])]
    if first.column == "status_rank" or (first.column == "created_at" and len(statuses) > 1):
        rest = tuple(item for item in order if item.column != "status_rank")
        return [Branch(table.c.status == _word(status), rest) for status in statuses or tuple(InstanceStatus)]
    return ()


def _conditions(dialect: str, tables: TableSet, filters: frozenset[str]) -> list[ColumnElement[bool]]:
    column = tables.instances.c
    equal = ("definition_name", "definition_version", "definition_id", "correlation_id", "starter_id")
    known: dict[str, ColumnElement[bool] | None] = {
        f"p_{name}": column[name] == bindparam(f"p_{name}") for name in (*equal, "parent_instance_id")
    }
    known |= {
        "p_ids": among(dialect, column.id, "p_ids"),
        "p_correlation_ids": among(dialect, column.correlation_id, "p_correlation_ids"),
        "p_keyword": contains(column.search_text, bindparam("p_keyword", type_=Text())),
        "words": has_words(dialect, tables.instances, "search_text"),
        "p_created_from": column.created_at >= bindparam("p_created_from", type_=Instant()),
        "p_created_to": column.created_at < bindparam("p_created_to", type_=Instant()),
        "p_ended_from": column.ended_at >= bindparam("p_ended_from", type_=Instant()),
        "p_ended_to": column.ended_at < bindparam("p_ended_to", type_=Instant()),
        "p_account": readable(tables),
        "top": column.parent_instance_id.is_(None),
    }
    found = [known[name] for name in sorted(filters)]
    return [of_tenant(tables.instances), *(condition for condition in found if condition is not None)]


def readable(tables: TableSet) -> ColumnElement[bool]:
    """Return the condition that the account may read the instance: starter, assignee ever, copied (spec 6.7)."""
    instance, record, copy = tables.instances, tables.task_records, tables.task_copies
    account = bindparam("p_account", type_=Text())
    own = instance.alias("own")
    # One list of ids made from four indexes, so that the instances are not walked through.
    found = union(
        select(own.c.id).where(own.c.starter_id == account, of_tenant(own)),
        select(record.c.instance_id).where(record.c.assignee_id == account, of_tenant(record)),
        select(record.c.instance_id).where(record.c.actor_id == account, of_tenant(record)),
        select(copy.c.instance_id).where(copy.c.user_id == account, of_tenant(copy)),
    )
    return instance.c.id.in_(found)
