"""What the API takes and answers for instances (spec 11 Shapes, 25 REST)."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import field

from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.model import InstanceStatus, NodeInstance, NodeStatus, WorkflowInstance
from webapp.engine.numbers import JsonObject
from webapp.messages.catalog import Catalog
from webapp.services.queries import BookmarkSummary, InstanceSummary
from webapp.web.api.shapes import Body, Fault, Shape, fault_shape
from webapp.web.i18n import Language
from webapp.web.wire import Instant, instant_text, optional_instant


class StartBody(Body, frozen=True, kw_only=True):
    """What to start: a definition's name (its latest published version, or the one given) or its id."""

    name: str | None = None
    definition_id: str | None = None
    version: int | None = None
    title: str | None = None
    variables: JsonObject = field(default_factory=dict)
    correlation_id: str | None = None
    reuse_policy: Literal["AllowDuplicate", "RejectDuplicate", "UseExisting"] = "AllowDuplicate"
    reuse_scope: Literal["partition", "definition"] = "partition"


class ReasonBody(Body, frozen=True, kw_only=True):
    """Why."""

    reason: str | None = None


class CascadeBody(ReasonBody, frozen=True, kw_only=True):
    """Why, and whether the instance's children are to follow."""

    cascade: bool = False


class RetryBody(ReasonBody, frozen=True, kw_only=True):
    """Why; *restart*: a failed sub-workflow is started anew; *force*: although the fault was compensated."""

    restart: bool = False
    force: bool = False


class InstanceListItem(Shape, frozen=True, kw_only=True):
    """An instance without its variables."""

    id: str
    definition_id: str
    definition_name: str
    definition_version: int
    title: str
    status: InstanceStatus
    correlation_id: str | None
    starter_id: str | None
    parent_instance_id: str | None
    root_instance_id: str | None
    created_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    fault: Fault | None
    fault_node_id: str | None
    cancellation_reason: str | None
    outcome: str | None
    revision: int


class Instance(InstanceListItem, frozen=True, kw_only=True):
    """An instance as it stands."""

    variables: JsonObject
    requested_by: str | None
    fault_node_instance_id: str | None
    scheduled_at: Instant | None
    suspended_by: str | None
    suspended_at: Instant | None
    suspension_reason: str | None


class NodeItem(Shape, frozen=True, kw_only=True):
    """One execution of a node."""

    id: str
    node_id: str
    name: str
    activity_type: str
    status: NodeStatus
    try_count: int
    started_at: Instant
    ended_at: Instant | None
    inputs: JsonObject
    outputs: JsonObject
    fault: Fault | None
    caused_by: list[str]
    via_transition_ids: list[str]
    sequence: int


class BookmarkItem(Shape, frozen=True, kw_only=True):
    """A waiting point."""

    id: str
    kind: BookmarkKind
    key: str | None
    node_id: str | None
    node_instance_id: str | None
    due_at: Instant | None
    available_at: Instant | None
    correlation_id: str | None
    created_at: Instant
    failures: int


class HistoryItem(Shape, frozen=True, kw_only=True):
    """One command in the audit trail."""

    id: str
    sequence: int
    at: Instant
    actor_id: str | None
    on_behalf_of: str | None
    action: str
    definition_id: str | None
    instance_id: str | None
    task_id: str | None
    node_id: str | None
    outcome: str | None
    comment: str | None
    reason: str | None
    request_id: str | None
    command_id: str | None
    before: JsonObject | None
    after: JsonObject | None


_COMMON = (
    "id", "definition_id", "definition_name", "definition_version", "title", "status", "correlation_id",
    "starter_id", "parent_instance_id", "root_instance_id", "fault_node_id", "cancellation_reason", "outcome",
    "revision",
)  # fmt: skip


def instance_shape(instance: WorkflowInstance, catalog: Catalog, lang: Language) -> Instance:
    """Return an instance as the API writes it."""
    return Instance(
        variables=instance.variables,
        requested_by=instance.requested_by,
        fault_node_instance_id=instance.fault_node_instance_id,
        scheduled_at=optional_instant(instance.scheduled_at),
        suspended_by=instance.suspended_by,
        suspended_at=optional_instant(instance.suspended_at),
        suspension_reason=instance.suspension_reason,
        **_common(instance, catalog, lang),
    )


def instance_item(summary: InstanceSummary, catalog: Catalog, lang: Language) -> InstanceListItem:
    """Return a row of the instance list as the API writes it."""
    return InstanceListItem(**_common(summary, catalog, lang))


def _common(source: WorkflowInstance | InstanceSummary, catalog: Catalog, lang: Language) -> dict[str, Any]:
    members = {name: getattr(source, name) for name in _COMMON}
    members.update(
        created_at=instant_text(source.created_at),
        started_at=optional_instant(source.started_at),
        ended_at=optional_instant(source.ended_at),
        fault=fault_shape(source.fault, catalog, lang),
    )
    return members


def node_shape(node: NodeInstance, catalog: Catalog, lang: Language) -> NodeItem:
    """Return one execution of a node as the API writes it."""
    return NodeItem(
        id=node.id,
        node_id=node.node_id,
        name=node.name,
        activity_type=node.activity_type,
        status=node.status,
        try_count=node.try_count,
        started_at=instant_text(node.started_at),
        ended_at=optional_instant(node.ended_at),
        inputs=node.inputs,
        outputs=node.outputs,
        fault=fault_shape(node.fault, catalog, lang),
        caused_by=node.caused_by,
        via_transition_ids=node.via_transition_ids,
        sequence=node.sequence,
    )


def bookmark_shape(bookmark: BookmarkSummary) -> BookmarkItem:
    """Return a waiting point as the API writes it."""
    return BookmarkItem(
        id=bookmark.id,
        kind=bookmark.kind,
        key=bookmark.key,
        node_id=bookmark.node_id,
        node_instance_id=bookmark.node_instance_id,
        due_at=optional_instant(bookmark.due_at),
        available_at=optional_instant(bookmark.available_at),
        correlation_id=bookmark.correlation_id,
        created_at=instant_text(bookmark.created_at),
        failures=bookmark.failures,
    )


def history_shape(entry: AuditEntry) -> HistoryItem:
    """Return one command of the trail as the API writes it."""
    rest = {name: getattr(entry, name) for name in HistoryItem.__struct_fields__ if name != "at"}
    return HistoryItem(at=instant_text(entry.at), **rest)
