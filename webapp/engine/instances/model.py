"""Instance, node instance, fault and join state (spec 1.6, 1.7, 1.10, 1.11, 1.16, 1.17).

What a store hands out is a snapshot; only a wave changes one, in memory, and hands it back in a write set.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from webapp.engine.numbers import JsonObject

OUTCOME = "outcome"
LAST_ERROR = "lastError"
APPROVED = "approved"
REJECTED = "rejected"
TIMEOUT = "timeout"
ERROR = "error"


class InstanceStatus(StrEnum):
    """Running includes waiting on bookmarks; the last four are ended."""

    RUNNING = "Running"
    SUSPENDED = "Suspended"
    COMPLETED = "Completed"
    CANCELED = "Canceled"
    FAULTED = "Faulted"
    TERMINATED = "Terminated"

    @property
    def rank(self) -> int:
        """The number that lists sort by: 1 to 6 (spec 1.6, decision D21)."""
        return list(InstanceStatus).index(self) + 1

    @property
    def ended(self) -> bool:
        """Whether nothing runs any more; a Faulted instance may be retried all the same."""
        return self not in (InstanceStatus.RUNNING, InstanceStatus.SUSPENDED)


class NodeStatus(StrEnum):
    """The state of one node execution; Faulted may be waiting for a Retry bookmark."""

    RUNNING = "Running"
    SUSPENDED = "Suspended"
    COMPLETED = "Completed"
    CANCELED = "Canceled"
    FAULTED = "Faulted"
    COMPENSATED = "Compensated"

    @property
    def active(self) -> bool:
        """Whether the execution has not come to its end."""
        return self in (NodeStatus.RUNNING, NodeStatus.SUSPENDED)


class WorkflowFault(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Why something failed: no rendered text is stored, third-party text stands verbatim in ``args`` (spec 1.10)."""

    code: str
    key: str
    args: dict[str, Any] = {}
    inner: WorkflowFault | None = None


class JoinState(msgspec.Struct, kw_only=True, rename="camel"):
    """One join wave: which transitions have arrived, by which node instances, and whether the Join has fired.

    ``late``: the Joins that all who have arrived came too late for; what they become here is too late for them as well.
    """

    arrived: dict[str, list[str]] = {}
    fired: bool = False
    late: list[str] = []


class PendingToken(msgspec.Struct, kw_only=True, rename="camel"):
    """A token that a fault left in the queue; a retry takes it up again (spec 3.8, 25).

    ``back``: the nodes it goes straight back to. ``late``: the Joins it comes too late for, which swallow it.
    """

    node_id: str
    caused_by: list[str] = []
    via_transition_ids: list[str] = []
    back: list[str] = []
    late: list[str] = []


class WorkflowInstance(msgspec.Struct, kw_only=True, rename="camel"):
    """One run of a definition. ``revision`` guards every write; ``last_sequence`` numbers what the instance writes.

    ``loosened_joins``: Joins whose tokens were moved: they wait for those that can still come, not for all transitions.
    """

    id: str
    tenant_id: str | None = None
    revision: int = 0
    sequence: int = 0
    last_sequence: int = 0
    definition_id: str
    definition_name: str
    definition_version: int
    definition_title: str = ""
    title: str = ""
    status: InstanceStatus = InstanceStatus.RUNNING
    variables: JsonObject = {}
    join_states: dict[str, JoinState] = {}
    pending_tokens: list[PendingToken] = []
    loosened_joins: list[str] = []
    correlation_id: str | None = None
    starter_id: str | None = None
    requested_by: str | None = None
    parent_instance_id: str | None = None
    parent_node_instance_id: str | None = None
    root_instance_id: str = ""
    depth: int = 0
    has_children: bool = False
    """Whether a child was ever asked for: an operation then has to look for them."""
    retry_order: str | None = None
    """The parent's order that this child was last retried by; its end is told with it (spec 3.22)."""
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    fault: WorkflowFault | None = None
    fault_node_id: str | None = None
    fault_node_instance_id: str | None = None
    cancellation_reason: str | None = None
    suspended_by: str | None = None
    suspended_at: datetime | None = None
    suspension_reason: str | None = None
    outcome: str | None = None
    scheduled_at: datetime | None = None
    command_id: str | None = None


class NodeInstance(msgspec.Struct, kw_only=True, rename="camel"):
    """One execution of a node; a retry reuses the record. ``state`` is the activity's own, kept over a wait."""

    id: str
    tenant_id: str | None = None
    sequence: int = 0
    instance_id: str
    node_id: str
    name: str = ""
    activity_type: str = ""
    status: NodeStatus = NodeStatus.RUNNING
    try_count: int = 1
    started_at: datetime
    ended_at: datetime | None = None
    inputs: JsonObject = {}
    outputs: JsonObject = {}
    state: JsonObject = {}
    fault: WorkflowFault | None = None
    compensated_at: datetime | None = None
    caused_by: list[str] = []
    via_transition_ids: list[str] = []
