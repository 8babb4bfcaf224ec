"""Definitions in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    Text,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    literal_column,
    null,
    or_,
    select,
    update,
)

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.numbers import decode
from webapp.engine.ports.queries import DefinitionQuery, DefinitionSummary, Page
from webapp.engine.ports.stores import Partition, RevisionConflict
from webapp.stores import rows
from webapp.stores.keywords import SEPARATOR, fold_keyword
from webapp.stores.ordering import Order, definition_order
from webapp.stores.sql.database import Transaction, scope
from webapp.stores.sql.dialects import MARIADB, Instant, contains
from webapp.stores.sql.queries import by_key, of_tenant, order_by, total_of, window
from webapp.stores.sql.tables import PLATFORM_SET, SETS, TENANT_SET, TableSet

PUBLISHED: ColumnElement[str] = literal_column("'Published'")
MAX_VERSION = 2**31 - 1
"""What the column of versions can hold."""

SUMMARY = (
    "id",
    "name",
    "version",
    "revision",
    "display_name",
    "description",
    "category",
    "status",
    "created_at",
    "created_by",
    "updated_at",
    "updated_by",
    "published_at",
    "published_by",
)


class _Statements:
    """The statements over one set of tables, built once."""

    def __init__(self, tables: TableSet) -> None:
        table = tables.definitions
        summary = [table.c[name] for name in SUMMARY]
        named = by_key(table, "name")
        newest = table.c.version.desc()
        self.find = select(table.c.document).where(*by_key(table))
        self.header = select(*summary).where(*by_key(table))
        self.by_version = select(*summary).where(*named, table.c.version == bindparam("p_version"))
        # Spelled out, so that the index of published versions serves whatever their number.
        published = table.c.status == PUBLISHED
        self.latest_published = select(*summary).where(*named, published).order_by(newest).limit(1)
        self.highest = select(*summary).where(*named).order_by(newest).limit(1)
        self.max_version = select(func.max(table.c.version)).where(*named)
        self.insert = insert(table)
        at_revision = (*by_key(table), table.c.revision == bindparam("p_revision"))
        self.replace = update(table).where(*at_revision)
        self.delete = delete(table).where(*at_revision)
        self.exists = select(literal(1)).where(*by_key(table))
        self.categories = (
            select(table.c.category)
            .where(of_tenant(table), table.c.category.is_not(None), table.c.category != "")
            .distinct()
            .order_by(table.c.category)
        )


_STATEMENTS = {tables.tenant: _Statements(tables) for tables in SETS}


class SqlDefinitions:
    """The definition store."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    def find(self, partition: Partition, definition_id: str) -> WorkflowDefinition | None:
        """Return the definition, or None."""
        found = self._transaction.rows(_of(partition).find, scope(partition, p_id=definition_id))
        return decode(found[0][0], WorkflowDefinition) if found else None

    def header(self, partition: Partition, definition_id: str) -> DefinitionSummary | None:
        """Return the columns of the definition."""
        return self._summary(_of(partition).header, scope(partition, p_id=definition_id))

    def header_by_version(self, partition: Partition, name: str, version: int) -> DefinitionSummary | None:
        """Return the columns of that version of the name, or None."""
        if not 0 < version <= MAX_VERSION:
            # No version has such a number, and PostgreSQL refuses to compare an integer column with it.
            return None
        return self._summary(_of(partition).by_version, scope(partition, p_name=name, p_version=version))

    def latest_published(self, partition: Partition, name: str) -> DefinitionSummary | None:
        """Return the highest Published version, or None."""
        return self._summary(_of(partition).latest_published, scope(partition, p_name=name))

    def highest(self, partition: Partition, name: str) -> DefinitionSummary | None:
        """Return the highest version in any status, or None."""
        return self._summary(_of(partition).highest, scope(partition, p_name=name))

    def max_version(self, partition: Partition, name: str) -> int:
        """Return the highest version, 0 if there is none."""
        return self._transaction.read(_of(partition).max_version, scope(partition, p_name=name)).scalar() or 0

    def insert(self, partition: Partition, definition: WorkflowDefinition) -> None:
        """Insert a definition. :raises DuplicateRecord: id or (name, version) is taken."""
        rows.check_partition(partition, [definition])
        self._transaction.write(_of(partition).insert, _row(partition, definition))

    def replace(self, partition: Partition, definition: WorkflowDefinition, expected_revision: int) -> None:
        """Replace the row. :raises RevisionConflict: its revision is not the expected one."""
        rows.check_partition(partition, [definition])
        parameters = scope(partition, p_id=definition.id, p_revision=expected_revision)
        done = self._transaction.write(_of(partition).replace, {**_row(partition, definition), **parameters})
        if not done.rowcount:
            raise RevisionConflict(f"definition {definition.id} is not at revision {expected_revision}")

    def delete(self, partition: Partition, definition_id: str, expected_revision: int) -> None:
        """Delete the row. :raises RevisionConflict: its revision is not the expected one."""
        key = scope(partition, p_id=definition_id)
        done = self._transaction.write(_of(partition).delete, {**key, "p_revision": expected_revision})
        if not done.rowcount and self._transaction.read(_of(partition).exists, key).first() is not None:
            raise RevisionConflict(f"definition {definition_id} is not at revision {expected_revision}")

    def list(self, partition: Partition, query: DefinitionQuery) -> Page[DefinitionSummary]:
        """Return a page of summaries."""
        filters = _filters(query)
        principals = tuple(name for name in filters if name.startswith("p_principal_"))
        shape = (self._transaction.dialect, partition is not None, frozenset(filters), len(principals), query.latest)
        page, count = _list_statements(*shape, definition_order(query.paging.sorts))
        parameters = scope(partition, **filters)
        found = self._transaction.read(page, {**parameters, **window(query.paging)}).mappings().all()
        total = total_of(self._transaction, query.paging, len(found), count, parameters)
        items = [
            rows.definition_summary(
                dict(row), running_instances=row["running_instances"], draft_version=row["draft_version"]
            )
            for row in found
        ]
        return Page(items, total)

    def categories(self, partition: Partition) -> Sequence[str]:
        """Return the categories in use, sorted."""
        return self._transaction.read(_of(partition).categories, scope(partition)).scalars().all()

    def _summary(self, statement: Select[*tuple[Any, ...]], parameters: dict[str, Any]) -> DefinitionSummary | None:
        found = self._transaction.mappings(statement, parameters)
        return rows.definition_summary(found[0]) if found else None


def _of(partition: Partition) -> _Statements:
    return _STATEMENTS[partition is not None]


def _row(partition: Partition, definition: WorkflowDefinition) -> rows.Row:
    return rows.of_table(partition, rows.definition_row(definition))


def _filters(query: DefinitionQuery) -> dict[str, Any]:
    """Return the parameters of the filters in use; their names choose the conditions."""
    values: dict[str, Any] = {
        "p_keyword": fold_keyword(query.keyword),
        "p_name": query.name,
        "p_category": query.category,
        "p_status": None if query.status is None else query.status.value,
        "p_created_from": query.created_from,
        "p_created_to": query.created_to,
    }
    result = {name: value for name, value in values.items() if value is not None}
    if query.startable_for is not None:
        result["p_startable"] = "Published"
        for number, principal in enumerate(query.startable_for):
            result[f"p_principal_{number}"] = SEPARATOR + principal + SEPARATOR
    return result


@lru_cache(maxsize=256)
def _list_statements(
    dialect: str, tenant: bool, filters: frozenset[str], principals: int, latest: bool, order: tuple[Order, ...]
) -> tuple[Select[*tuple[Any, ...]], Select[*tuple[Any, ...]]]:
    tables = TENANT_SET if tenant else PLATFORM_SET
    table = tables.definitions
    conditions = [of_tenant(table), *_conditions(tables, filters, principals)]
    if latest:
        conditions.append(_is_latest(dialect, tables))
    drafts = table.alias("drafts")
    draft_version = (
        select(func.max(drafts.c.version))
        .where(drafts.c.name == table.c.name, drafts.c.status == "Draft", *_same_tenant(tables, drafts))
        .scalar_subquery()
    )
    page = (
        select(
            *(table.c[name] for name in SUMMARY),
            _running(tables, latest).label("running_instances"),
            (draft_version if latest else null()).label("draft_version"),
        )
        .where(*conditions)
        .order_by(*order_by(table, order))
        .limit(bindparam("p_limit"))
        .offset(bindparam("p_offset"))
    )
    return page, select(func.count()).select_from(table).where(*conditions)


def _conditions(tables: TableSet, filters: frozenset[str], principals: int) -> list[ColumnElement[bool]]:
    column = tables.definitions.c
    known: dict[str, ColumnElement[bool]] = {
        "p_keyword": contains(column.search_text, bindparam("p_keyword", type_=Text())),
        "p_name": column.name == bindparam("p_name"),
        "p_category": column.category == bindparam("p_category"),
        "p_status": column.status == bindparam("p_status"),
        "p_created_from": column.created_at >= bindparam("p_created_from", type_=Instant()),
        "p_created_to": column.created_at < bindparam("p_created_to", type_=Instant()),
        "p_startable": column.status == bindparam("p_startable"),
    }
    result = [known[name] for name in sorted(filters) if name in known]
    if "p_startable" in filters:
        named = (
            contains(column.startable_by, bindparam(f"p_principal_{number}", type_=Text()))
            for number in range(principals)
        )
        result.append(or_(column.startable_by.is_(None), *named))
    return result


def _same_tenant(tables: TableSet, other: Any) -> list[ColumnElement[bool]]:
    return [other.c.tenant_id == tables.definitions.c.tenant_id] if tables.tenant else []


def _running(tables: TableSet, latest: bool) -> ColumnElement[int]:
    definition = tables.definitions.c
    instance = tables.instances
    conditions = [instance.c.status == "Running", instance.c.definition_name == definition.name]
    if not latest:
        conditions.append(instance.c.definition_id == definition.id)
    return (
        select(func.count())
        .select_from(instance)
        .where(*conditions, *_same_tenant(tables, instance))
        .correlate(tables.definitions)
        .scalar_subquery()
    )


def _is_latest(dialect: str, tables: TableSet) -> ColumnElement[bool]:
    """Return the condition for a name's latest published version, else its highest."""
    if dialect == MARIADB:
        return _is_latest_ranked(tables)
    named, other = tables.definitions.alias("named"), tables.definitions.alias("other")
    first = select(func.min(named.c.name).label("name")).where(of_tenant(named)).cte("names", recursive=True)
    following = select(func.min(other.c.name)).where(other.c.name > first.c.name, of_tenant(other))
    # From one name to the next by the index, past all versions of each.
    names = first.union_all(select(following.scalar_subquery()).where(first.c.name.is_not(None)))
    version = tables.definitions.alias("version")
    of_name = select(version.c.id).where(version.c.name == names.c.name, of_tenant(version))
    newest = of_name.order_by(version.c.version.desc()).limit(1)
    published = newest.where(version.c.status == PUBLISHED).correlate(names).scalar_subquery()
    chosen = func.coalesce(published, newest.correlate(names).scalar_subquery())
    return tables.definitions.c.id.in_(select(chosen).where(names.c.name.is_not(None)))


def _is_latest_ranked(tables: TableSet) -> ColumnElement[bool]:
    """Do as ``_is_latest`` does, by all versions: MariaDB has no subqueries where a query goes on from itself."""
    table = tables.definitions.alias("versions")
    rank = (
        func.row_number()
        .over(
            partition_by=table.c.name,
            order_by=[case((table.c.status == "Published", 0), else_=1), table.c.version.desc()],
        )
        .label("place")
    )
    tenant = [table.c.tenant_id == bindparam("p_tenant")] if tables.tenant else []
    ranked = select(table.c.id, rank).where(*tenant).subquery("ranked")
    return tables.definitions.c.id.in_(select(ranked.c.id).where(ranked.c.place == 1))
