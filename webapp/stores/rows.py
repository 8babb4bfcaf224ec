"""Models to columns and columns to models: the one description of what a stored row holds, for both sets of stores.

A row is a dict whose keys are the column names of spec 25. The document column holds the whole model as JSON;
lists are answered from the other columns (spec 8.1, 25). The columns of a bookmark that the store may change without
rewriting its document (:data:`BOOKMARK_OVERLAY`) win over the document when it is read back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

from webapp.engine.definitions.model import DefinitionStatus, WorkflowDefinition
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Priority
from webapp.engine.instances.model import InstanceStatus, NodeInstance, WorkflowFault, WorkflowInstance
from webapp.engine.numbers import decode, encode
from webapp.engine.ports.purge import PURGEABLE
from webapp.engine.ports.queries import (
    BookmarkSummary,
    DefinitionSummary,
    DueBookmark,
    InstanceSummary,
    TaskSummary,
)
from webapp.engine.ports.stores import Partition
from webapp.stores.keywords import SEPARATOR, fold_field, join_fields, sort_key

Row = dict[str, Any]


def purgeable(roots: Iterable[InstanceStatus]) -> tuple[str, ...]:
    """Return the statuses that members of a purged tree may have: Faulted only where it was named (spec 8.10)."""
    return tuple(dict.fromkeys(status.value for status in (*PURGEABLE, *roots)))


LOCK_COLUMNS = ("available_at", "worker_id", "lock_token")
"""The lock of an external task: fetching writes it without a wave, so no wave's rewrite of the row may (spec 6.7)."""

BOOKMARK_OVERLAY = ("due_at", "original_due_at", "failures", "opened_at", *LOCK_COLUMNS)

INSTANCE_COLUMNS_OF_BOOKMARK = (
    "instance_title",
    "definition_name",
    "definition_title",
    "starter_id",
    "instance_status",
    "search_instance_text",
)
"""Columns of a bookmark that repeat its instance (spec 8.4, 25)."""

PRIORITIES = tuple(Priority)

Model = TypeVar("Model")


class Columns(Protocol):
    """A row that is read back: a dict, or what the driver hands out."""

    def __getitem__(self, name: str, /) -> Any:
        """Return a column."""

    def get(self, name: str, /) -> Any:
        """Return a column, None if the table has no such column."""


class _OfPartition(Protocol):
    @property
    def tenant_id(self) -> str | None:
        """The partition, None for the platform."""


def check_partition(partition: Partition, records: Iterable[_OfPartition]) -> None:
    """Refuse a record of another partition: a programming error (spec 8.1)."""
    for record in records:
        if record.tenant_id != partition:
            raise ValueError(
                f"{type(record).__name__} of partition {record.tenant_id!r} written to partition {partition!r}"
            )


def of_table(partition: Partition, row: Row) -> Row:
    """Return the row as its table takes it: the platform's tables have no tenant_id."""
    if partition is None:
        del row["tenant_id"]
    return row


def document(model: object) -> str:
    """Return the stored form of a model."""
    return encode(model).decode()


def json_or_none(value: object) -> str | None:
    """Return the stored form of a JSON value, null for None."""
    return None if value is None else encode(value).decode()


def pick(model_type: type[Model], row: Columns, **values: Any) -> Model:
    """Build a struct from the columns of the same names; *values* stand in for those that differ.

    Rows of the platform's tables have no tenant_id: that is partition None.
    """
    members = {
        name: row.get(name) if name == "tenant_id" else row[name]
        for name in model_type.__struct_fields__  # type: ignore[attr-defined]  # every model here is a Struct
        if name not in values
    }
    return model_type(**members, **values)


# --- definitions --------------------------------------------------------------------------------


def start_signal(definition: WorkflowDefinition) -> str | None:
    """Return the signal that starts the definition, if its Start names one (decision D24)."""
    for node in definition.nodes:
        if node.activity_type == "Start":
            name = node.properties.get("SignalName", node.properties.get("signalName"))
            return name if isinstance(name, str) and name.strip() else None
    return None


def principals_text(principals: Iterable[str]) -> str | None:
    """Return principals in one searchable column, each between separators; None for none."""
    names = [name.replace(SEPARATOR, "") for name in principals]
    return SEPARATOR + SEPARATOR.join(names) + SEPARATOR if names else None


def definition_row(definition: WorkflowDefinition) -> Row:
    """Return the columns of a definition."""
    return {
        "id": definition.id,
        "tenant_id": definition.tenant_id,
        "revision": definition.revision,
        "name": definition.name,
        "version": definition.version,
        "display_name": definition.title,
        "title_sort_key": sort_key(definition.title),
        "search_text": join_fields(definition.name, definition.title, definition.description),
        "description": definition.description,
        "category": definition.category,
        "startable_by": principals_text(definition.startable_by),
        "status": definition.status.value,
        "status_rank": definition.status.rank,
        "created_at": definition.created_at,
        "created_by": definition.created_by,
        "updated_at": definition.updated_at,
        "updated_by": definition.updated_by,
        "published_at": definition.published_at,
        "published_by": definition.published_by,
        "publish_note": definition.publish_note,
        "start_signal": start_signal(definition),
        "document": document(definition),
    }


def definition_summary(row: Columns, running_instances: int = 0, draft_version: int | None = None) -> DefinitionSummary:
    """Return the list row of a definition."""
    return pick(
        DefinitionSummary,
        row,
        status=DefinitionStatus(row["status"]),
        running_instances=running_instances,
        draft_version=draft_version,
    )


# --- instances ----------------------------------------------------------------------------------


def instance_row(instance: WorkflowInstance) -> Row:
    """Return the columns of an instance."""
    return {
        "id": instance.id,
        "tenant_id": instance.tenant_id,
        "revision": instance.revision,
        "sequence": instance.sequence,
        "last_sequence": instance.last_sequence,
        "definition_id": instance.definition_id,
        "definition_name": instance.definition_name,
        "definition_version": instance.definition_version,
        "title": instance.title,
        "title_sort_key": sort_key(instance.title),
        "search_text": join_fields(instance.title, instance.correlation_id),
        "status": instance.status.value,
        "status_rank": instance.status.rank,
        "correlation_id": instance.correlation_id,
        "starter_id": instance.starter_id,
        "requested_by": instance.requested_by,
        "parent_instance_id": instance.parent_instance_id,
        "parent_node_instance_id": instance.parent_node_instance_id,
        "root_instance_id": instance.root_instance_id or instance.id,
        "depth": instance.depth,
        "created_at": instance.created_at,
        "started_at": instance.started_at,
        "ended_at": instance.ended_at,
        "fault": json_or_none(instance.fault),
        "fault_node_id": instance.fault_node_id,
        "fault_node_instance_id": instance.fault_node_instance_id,
        "cancellation_reason": instance.cancellation_reason,
        "outcome": instance.outcome,
        "scheduled_at": instance.scheduled_at,
        "command_id": instance.command_id,
        "document": document(instance),
    }


def instance_summary(row: Columns) -> InstanceSummary:
    """Return the list row of an instance."""
    fault = row["fault"]
    return pick(
        InstanceSummary,
        row,
        status=InstanceStatus(row["status"]),
        fault=None if fault is None else decode(fault, WorkflowFault),
    )


def node_instance_row(node: NodeInstance) -> Row:
    """Return the columns of a node instance."""
    return {
        "id": node.id,
        "tenant_id": node.tenant_id,
        "sequence": node.sequence,
        "instance_id": node.instance_id,
        "node_id": node.node_id,
        "status": node.status.value,
        "started_at": node.started_at,
        "document": document(node),
    }


# --- bookmarks ----------------------------------------------------------------------------------


def instance_columns(instance: WorkflowInstance) -> Row:
    """Return what each bookmark row repeats of its instance, its correlation id included."""
    return {
        "instance_title": instance.title,
        "definition_name": instance.definition_name,
        "definition_title": instance.definition_title or instance.definition_name,
        "starter_id": instance.starter_id,
        "instance_status": instance.status.value,
        "search_instance_text": join_fields(instance.title, instance.correlation_id, instance.definition_name),
        "correlation_id": instance.correlation_id,
    }


_NO_INSTANCE: Row = dict.fromkeys((*INSTANCE_COLUMNS_OF_BOOKMARK, "correlation_id"))


def bookmark_row(bookmark: Bookmark, of_instance: Row | None) -> Row:
    """Return the columns of a bookmark; *of_instance* comes from :func:`instance_columns`.

    A user task without a correlation id of its own shows its instance's. A poller's claim ends with every rewrite;
    a worker's lock (LOCK_COLUMNS) does not: the row keeps the one it has.
    """
    repeated = of_instance or _NO_INSTANCE
    correlation = bookmark.correlation_id
    if correlation is None and bookmark.kind is BookmarkKind.USER_TASK:
        correlation = repeated["correlation_id"]
    return {
        **repeated,
        "id": bookmark.id,
        "tenant_id": bookmark.tenant_id,
        "sequence": bookmark.sequence,
        "instance_id": bookmark.instance_id,
        "root_instance_id": bookmark.root_instance_id or bookmark.instance_id,
        "node_id": bookmark.node_id,
        "node_instance_id": bookmark.node_instance_id,
        "kind": bookmark.kind.value,
        "key": bookmark.key,
        "correlation_id": correlation,
        "created_at": bookmark.created_at,
        "due_at": bookmark.due_at,
        "original_due_at": bookmark.original_due_at,
        "available_at": bookmark.available_at,
        "claim_token": None,
        "claimed_until": None,
        "failures": bookmark.failures,
        "worker_id": bookmark.worker_id,
        "lock_token": bookmark.lock_token,
        "task_due_at": bookmark.task_due_at,
        "priority": bookmark.priority.rank,
        "title": bookmark.title,
        "title_sort_key": sort_key(bookmark.title),
        "search_title": fold_field(bookmark.title),
        "claimed_by": bookmark.claimed_by,
        "claimable": bookmark.claimable,
        "signers_done": bookmark.signers_done,
        "signers_total": bookmark.signers_total,
        "opened_at": bookmark.opened_at,
        "document": document(bookmark),
    }


def bookmark_from(text: str, *overlay: Any) -> Bookmark:
    """Return a bookmark from its document and the columns that may have moved on since (BOOKMARK_OVERLAY)."""
    bookmark = decode(text, Bookmark)
    for name, value in zip(BOOKMARK_OVERLAY, overlay, strict=True):
        setattr(bookmark, name, value)
    return bookmark


def bookmark_summary(row: Columns) -> BookmarkSummary:
    """Return a waiting point without its payload."""
    return pick(BookmarkSummary, row, kind=BookmarkKind(row["kind"]))


def due_bookmark(row: Columns) -> DueBookmark:
    """Return a claimed bookmark."""
    return pick(DueBookmark, row, kind=BookmarkKind(row["kind"]))


def task_summary(row: Columns) -> TaskSummary:
    """Return the list row of an open user task."""
    return pick(
        TaskSummary,
        row,
        title=row["title"] or "",
        instance_title=row["instance_title"] or "",
        assignee_id=row["key"] or "",
        priority=PRIORITIES[row["priority"]],
        due_at=row["task_due_at"],
    )
