"""The definition model (spec 1.1 to 1.5, 1.16, 1.17): immutable values, camelCase on the wire."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from webapp.engine.numbers import JsonNumber, JsonObject, JsonValue

NAME_PATTERN = r"^[a-z0-9][a-z0-9._-]{0,127}$"
IDENTIFIER_PATTERN = r"^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$"
MAX_NODES = 2_000
MAX_DOCUMENT_BYTES = 2 * 1024 * 1024


class DefinitionStatus(StrEnum):
    """Where a definition stands in its life cycle (spec 2.1)."""

    DRAFT = "Draft"
    PUBLISHED = "Published"
    DISABLED = "Disabled"
    ARCHIVED = "Archived"

    @property
    def rank(self) -> int:
        """The number that lists sort by (decision D21)."""
        return list(DefinitionStatus).index(self)


class InstanceTimeoutAction(StrEnum):
    """What happens when an instance's time is over."""

    FAULT = "Fault"
    CANCEL = "Cancel"
    TERMINATE = "Terminate"


class NodeTimeoutAction(StrEnum):
    """What happens when a node has waited too long (decision D14)."""

    OUTCOME = "Outcome"
    FAULT = "Fault"
    ESCALATE = "Escalate"
    TRANSFER = "Transfer"
    APPROVE = "Approve"
    REJECT = "Reject"


class _Model(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class RetryPolicy(_Model, frozen=True, kw_only=True):
    """Automatic retry: attempts include the first run; the wait grows by ``backoff_factor`` (seconds)."""

    max_attempts: int = 1
    first_delay_seconds: JsonNumber = 10
    backoff_factor: JsonNumber = 2


class Node(_Model, frozen=True, kw_only=True):
    """One step: an activity type at its place in a definition; ``x`` and ``y`` are the drawing's."""

    id: str
    activity_type: str
    name: str = ""
    properties: JsonObject = {}
    retry_policy: RetryPolicy | None = None
    timeout_seconds: JsonNumber | None = None
    timeout_action: str | None = None
    timeout_target: list[str] | None = None
    continue_on_error: bool = False
    background: bool = False
    compensate_with: str | None = None
    listeners: list[JsonObject] = []
    note: str | None = None
    x: JsonNumber | None = None
    y: JsonNumber | None = None

    @property
    def label(self) -> str:
        """The name shown to people; a node without one shows its id."""
        return self.name or self.id


class Transition(_Model, frozen=True, kw_only=True):
    """An arrow between two nodes; a blank condition always holds, a default one only when no other does."""

    id: str
    source_node_id: str
    target_node_id: str
    name: str | None = None
    condition: str | None = None
    priority: int = 0
    is_default: bool = False
    waypoints: list[list[JsonNumber]] | None = None


class VariableDefinition(_Model, frozen=True, kw_only=True):
    """A start input: ``type`` (string, number, boolean, date, dateTime, object, array) is enforced when set."""

    name: str
    type: str | None = None
    title: str | None = None
    required: bool = False
    default_value: JsonValue = None
    description: str | None = None


class WorkflowDefinition(_Model, frozen=True, kw_only=True):
    """A process as drawn: one version of one name in one partition. Published content never changes (spec 2.2)."""

    id: str = ""
    tenant_id: str | None = None
    name: str
    version: int = 1
    revision: int = 0
    status: DefinitionStatus = DefinitionStatus.DRAFT
    display_name: str = ""
    description: str | None = None
    category: str | None = None
    nodes: list[Node] = []
    transitions: list[Transition] = []
    variables: list[VariableDefinition] = []
    timeout: JsonNumber | None = None
    timeout_action: InstanceTimeoutAction = InstanceTimeoutAction.FAULT
    compensate_on_cancel: bool = False
    compensate_on_fault: bool = False
    owners: list[str] = []
    startable_by: list[str] = []
    allow_withdraw: bool = True
    searchable_variables: list[str] = []
    priority: str | None = None
    work_calendar: str | None = None
    start_form: JsonObject | None = None
    extra_properties: JsonObject = {}
    created_at: datetime | None = None
    created_by: str | None = None
    updated_at: datetime | None = None
    updated_by: str | None = None
    published_at: datetime | None = None
    published_by: str | None = None
    publish_note: str | None = None

    @property
    def title(self) -> str:
        """The name shown to people."""
        return self.display_name or self.name


READ_ONLY_MEMBERS = frozenset(
    [
        "id",
        "tenantId",
        "version",
        "revision",
        "status",
        "createdAt",
        "createdBy",
        "updatedAt",
        "updatedBy",
        "publishedAt",
        "publishedBy",
        "publishNote",
    ]
)
"""Members of a definition document that only the catalog writes; ignored in a body (spec 11, Amendments)."""
