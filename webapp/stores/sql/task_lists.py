"""Lists of open user tasks in SQL (spec 6.5, 6.7, 8.4): what is asked, and by which index it is found.

A list of certain people and groups goes by the inbox index, which holds all that such a list filters, sorts and
searches by. A list of all goes by the index of their order, and a keyword of two characters or more by the index of
keywords.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    case,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
)

from webapp.engine.ports.queries import TaskQuery
from webapp.stores.keywords import SEPARATOR, fold_keyword, keyword_bigrams
from webapp.stores.ordering import Order, task_order
from webapp.stores.rows import PRIORITIES
from webapp.stores.sql.database import Transaction
from webapp.stores.sql.dialects import Instant, among, contains, listed
from webapp.stores.sql.keyword_index import asked_words, has_words, is_common
from webapp.stores.sql.listing import Branch, Listing, gathering, walking
from webapp.stores.sql.queries import TASK, of_tenant
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET

SUMMARY = (
    "id",
    "instance_id",
    "node_id",
    "node_instance_id",
    "title",
    "instance_title",
    "definition_name",
    "definition_title",
    "key",
    "starter_id",
    "claimed_by",
    "correlation_id",
    "priority",
    "created_at",
    "task_due_at",
    "opened_at",
    "signers_done",
    "signers_total",
)
_NARROW = frozenset(["keys", "key", "p_instance_id", "p_instance_ids"])
"""Filters that leave so few rows that each is looked at."""


class Asked(NamedTuple):
    """What is asked of the list: the filters in use and their parameters."""

    filters: frozenset[str]
    parameters: dict[str, Any]


def asked_of(transaction: Transaction, tenant: bool, query: TaskQuery) -> Asked:
    """Return the filters of a query."""
    dialect = transaction.dialect
    keyword = fold_keyword(query.keyword)
    values: dict[str, Any] = {
        "p_definition_name": query.definition_name,
        "p_instance_id": query.instance_id,
        "p_instance_ids": None if query.instance_ids is None else listed(dialect, query.instance_ids),
        "p_keyword": keyword,
        "p_created_from": query.created_from,
        "p_created_to": query.created_to,
        "p_due_before": query.due_before,
    }
    values = {name: value for name, value in values.items() if value is not None}
    filters = set(values)
    by_people, more = _people(dialect, query)
    filters |= by_people
    values |= more
    words = keyword_bigrams(keyword or "")
    if words and not filters & _NARROW:
        asked = asked_words(dialect, words)
        if not is_common(transaction, _table(tenant), asked):
            filters.add("words")
            values["p_words"] = asked
    return Asked(frozenset(filters), values)


def _people(dialect: str, query: TaskQuery) -> tuple[set[str], dict[str, Any]]:
    """Return the filters by assignee: those of ``mine`` and of ``claimable``, or either; an exact one besides."""
    filters: set[str] = set()
    values: dict[str, Any] = {}
    lists = []
    if query.assignee is not None:
        filters.add("assignee")
        values["p_assignee"] = query.assignee
        lists.append({query.assignee: None})
    if query.mine is not None or query.claimable is not None:
        lists.append(dict.fromkeys([*_own(query), *(query.claimable or ())]))
    if query.mine is not None:
        filters.add("mine")
        values["p_mine"] = listed(dialect, _own(query))
        if any(limits for _, limits in query.stands_in):
            filters.add("limited")
            values |= _limits(dialect, query)
    if query.claimable is not None:
        filters.add("claimable")
        values["p_principals"] = listed(dialect, query.claimable)
        values["p_me"] = query.claimable[0] if query.claimable else ""
    if lists:
        keys = [key for key in lists[-1] if all(key in one for one in lists)]
        filters.add("key" if len(keys) == 1 else "keys")
        values |= {"p_key": keys[0]} if len(keys) == 1 else {"p_keys": listed(dialect, keys)}
    return filters, values


def _own(query: TaskQuery) -> list[str]:
    if not query.mine:
        return []
    return list(dict.fromkeys([query.mine[0], *(absent for absent, _ in query.stands_in)]))


def _limits(dialect: str, query: TaskQuery) -> dict[str, Any]:
    me = query.mine[0] if query.mine else ""
    whole = [me, *(absent for absent, limits in query.stands_in if not limits)]
    limited = [absent + SEPARATOR + name for absent, limits in query.stands_in for name in limits]
    return {"p_whole": listed(dialect, whole), "p_limited": listed(dialect, limited)}


def listing_of(dialect: str, tenant: bool, query: TaskQuery, asked: Asked) -> Listing:
    """Return the statements of the list."""
    return _listing(dialect, tenant, asked.filters, task_order(query.paging.sorts))


@lru_cache(maxsize=512)
def _listing(dialect: str, tenant: bool, filters: frozenset[str], order: tuple[Order, ...]) -> Listing:
    table = _table(tenant)
    shown = [table.c[name] for name in SUMMARY]
    conditions = _conditions(dialect, table, filters)
    if filters & {"keys", "p_keyword", "p_due_before", "p_instance_ids"}:
        return gathering(dialect, table, shown, conditions, order)
    return walking(table, shown, conditions, order, () if filters & _NARROW else _branches(table, order))


@lru_cache(maxsize=128)
def count_of(dialect: str, tenant: bool, filters: frozenset[str]) -> Select[*tuple[Any, ...]]:
    """Return the statement that counts the open tasks."""
    table = _table(tenant)
    return select(func.count()).select_from(table).where(*_conditions(dialect, table, filters))


def _table(tenant: bool) -> Table:
    return (TENANT_SET if tenant else PLATFORM_SET).bookmarks


def _branches(table: Table, order: tuple[Order, ...]) -> Sequence[Branch]:
    """Return the ranges of the indexes of all tasks that take turns in the order."""
    first, rest = order[0], order[1:]
    by_priority = [
        (table.c.priority == literal_column(str(rank)), tuple(item for item in order if item.column != "priority"))
        for rank in range(len(PRIORITIES))
    ]
    if first.column in ("created_at", "priority"):
        return [Branch(*one) for one in by_priority]
    if first.column == "task_due_at":
        dated = Branch(table.c.task_due_at.is_not(None), (Order(first.column, first.descending), *rest))
        undated = [
            Branch(and_(condition, table.c.task_due_at.is_(None)), tuple(o for o in some if o.column != "task_due_at"))
            for condition, some in by_priority
        ]
        return [dated, *undated]
    return ()


def _conditions(dialect: str, table: Table, filters: frozenset[str]) -> list[ColumnElement[bool]]:
    column = table.c
    text = {name: bindparam(name, type_=Text()) for name in ("p_key", "p_assignee", "p_instance_id")}
    known: dict[str, ColumnElement[bool] | None] = {
        "p_definition_name": column.definition_name == bindparam("p_definition_name"),
        "p_instance_id": column.instance_id == text["p_instance_id"],
        "p_instance_ids": among(dialect, column.instance_id, "p_instance_ids"),
        "p_created_from": column.created_at >= bindparam("p_created_from", type_=Instant()),
        "p_created_to": column.created_at < bindparam("p_created_to", type_=Instant()),
        "p_due_before": column.task_due_at < bindparam("p_due_before", type_=Instant()),
        "assignee": column.key == text["p_assignee"],
        "key": column.key == text["p_key"],
        "keys": among(dialect, column.key, "p_keys"),
        "words": has_words(dialect, table, "search_title", "search_instance_text"),
        "p_keyword": _has_keyword(table, by_inbox=bool(filters & {"key", "keys"})),
    }
    found = [known[name] for name in sorted(filters) if name in known]
    return [
        column.kind == TASK,
        column.instance_status == "Running",
        # A decision that can still be undone has decided the task for everybody (spec 6.7).
        column.available_at.is_(None),
        of_tenant(table),
        *(condition for condition in found if condition is not None),
        *_seen(dialect, table, filters),
    ]


def _has_keyword(table: Table, *, by_inbox: bool) -> ColumnElement[bool]:
    keyword = bindparam("p_keyword", type_=Text())
    if not by_inbox:
        return or_(contains(table.c.search_title, keyword), contains(table.c.search_instance_text, keyword))
    # A long text does not stand in the inbox index: only for its row is the row itself looked at.
    row = table.alias("full_text")
    in_row = or_(contains(row.c.search_title, keyword), contains(row.c.search_instance_text, keyword))
    looked_up = select(in_row).where(row.c.id == table.c.id).correlate(table).scalar_subquery()
    return func.coalesce(contains(table.c.search_brief, keyword), looked_up, false())


def _seen(dialect: str, table: Table, filters: frozenset[str]) -> list[ColumnElement[bool]]:
    """Return what the scopes show beside the key: mine what nobody else has claimed, claimable what nobody has."""
    column = table.c
    mine = [or_(column.claimed_by.is_(None), column.claimed_by == column.key)]
    if "limited" in filters:
        pair = column.key.concat(SEPARATOR).concat(column.definition_name)
        mine.append(or_(among(dialect, column.key, "p_whole"), among(dialect, pair, "p_limited")))
    me = bindparam("p_me", type_=Text())
    claimable = [column.claimed_by.is_(None), or_(column.claimable, column.key != me)]
    if {"mine", "claimable"} <= filters and "limited" not in filters:
        # What is mine is claimable for me too, unless I have it already.
        claimed_by_owner = and_(column.claimed_by == column.key, among(dialect, column.key, "p_mine"))
        return [or_(column.claimed_by.is_(None), claimed_by_owner)]
    if {"mine", "claimable"} <= filters:
        is_mine = and_(among(dialect, column.key, "p_mine"), *mine)
        # Not OR: a plan would look each half up by itself, and then in the rows.
        either = case((is_mine, true()), else_=and_(among(dialect, column.key, "p_principals"), *claimable))
        return [either == true()]
    if "mine" in filters:
        return mine
    return claimable if "claimable" in filters else []
