"""Queries and the summaries they answer with: filters, whitelisted sorts, paging (spec 8.2 to 8.4).

Every filter left at its default does not filter. Time ranges: from inclusive, to exclusive. Keywords are matched
as spec 8.5 says: trimmed, folded, ordinal, inside one field. Sorting out of the whitelist, a bad limit or offset are
refused by :func:`check_page`, never at construction (spec 3.21).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Generic, TypeVar

import msgspec

from webapp.engine.definitions.model import DefinitionStatus
from webapp.engine.errors import InputInvalid, Problem
from webapp.engine.instances.bookmarks import BookmarkKind, Lane, Priority, lane_of
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, WorkflowFault

Item = TypeVar("Item")

MAX_LIMIT = 1_000
DEFAULT_LIMIT = 100
MAX_CORRELATION_IDS = 1_000

DEFINITION_SORTS = ("name", "title", "version", "status", "createdAt", "publishedAt")
INSTANCE_SORTS = ("createdAt", "endedAt", "status", "definitionName", "title")
TASK_SORTS = ("createdAt", "dueAt", "priority", "title", "definitionName")
MAX_SORTS = {"definitions": 6, "instances": 5, "tasks": 5}


class Sort(msgspec.Struct, frozen=True):
    """One sort item: a whitelisted field and its direction."""

    field: str
    descending: bool = False


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """A page of a list and the number of all that match."""

    items: list[Item]
    total: int


class Paging(msgspec.Struct, frozen=True, kw_only=True):
    """Order and window of a list; a repeated sort field counts once, the first time."""

    sorts: tuple[Sort, ...] = ()
    offset: int = 0
    limit: int = DEFAULT_LIMIT


class DefinitionQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of the definition list; ``latest`` gives one row a name (its latest published, else highest version).

    ``published_only`` with ``startable_for`` (the principals of an account) is the start catalogue.
    """

    keyword: str | None = None
    name: str | None = None
    category: str | None = None
    status: DefinitionStatus | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    latest: bool = False
    startable_for: tuple[str, ...] | None = None
    paging: Paging = Paging()


class DefinitionSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row of the definition list, read from columns only."""

    id: str
    name: str
    version: int
    revision: int
    display_name: str
    description: str | None = None
    category: str | None = None
    status: DefinitionStatus
    created_at: datetime
    created_by: str | None = None
    updated_at: datetime | None = None
    updated_by: str | None = None
    published_at: datetime | None = None
    published_by: str | None = None
    running_instances: int = 0
    draft_version: int | None = None


class InstanceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of the instance list. Empty ``statuses``: no filter; empty ``correlation_ids``: matches nothing.

    ``readable_by`` limits the rows to those that account may read without ``instances:read``: its own starts, tasks
    it has or had, copies it got (spec 6.7).
    """

    ids: tuple[str, ...] | None = None
    statuses: tuple[InstanceStatus, ...] = ()
    definition_name: str | None = None
    definition_version: int | None = None
    definition_id: str | None = None
    correlation_id: str | None = None
    correlation_ids: tuple[str, ...] | None = None
    starter_id: str | None = None
    parent_instance_id: str | None = None
    top_level_only: bool = False
    keyword: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    ended_from: datetime | None = None
    ended_to: datetime | None = None
    readable_by: str | None = None
    paging: Paging = Paging()


class InstanceSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row of the instance list, read from columns only: no variables."""

    id: str
    definition_id: str
    definition_name: str
    definition_version: int
    title: str
    status: InstanceStatus
    correlation_id: str | None = None
    starter_id: str | None = None
    parent_instance_id: str | None = None
    root_instance_id: str | None = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    fault: WorkflowFault | None = None
    fault_node_id: str | None = None
    cancellation_reason: str | None = None
    outcome: str | None = None
    revision: int


class TaskQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of the list of open user tasks of running instances.

    ``mine`` and ``claimable`` take the principals of an account (login name first, then ``role:…``,
    ``department:…``); see spec 6.7 for what each shows. ``stands_in`` widens ``mine`` by those for whom the
    account is the substitute: a name and the workflows it is limited to, none for all. With both, a task that either
    shows is listed once. A decided task whose decision
    can still be undone is in no list. ``assignee`` is an exact key. An empty ``instance_ids`` matches nothing.
    """

    mine: tuple[str, ...] | None = None
    stands_in: tuple[tuple[str, tuple[str, ...]], ...] = ()
    claimable: tuple[str, ...] | None = None
    assignee: str | None = None
    definition_name: str | None = None
    instance_id: str | None = None
    instance_ids: tuple[str, ...] | None = None
    keyword: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    due_before: datetime | None = None
    paging: Paging = Paging()


class TaskSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row of a task list, read from columns only."""

    id: str
    instance_id: str
    node_id: str
    node_instance_id: str
    title: str
    instance_title: str
    definition_name: str
    definition_title: str
    assignee_id: str
    starter_id: str | None = None
    claimed_by: str | None = None
    correlation_id: str | None = None
    priority: Priority
    created_at: datetime
    due_at: datetime | None = None
    opened_at: datetime | None = None
    signers_done: int = 0
    signers_total: int = 0


class DoneTaskSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A row of a list of ended task rounds."""

    id: str
    round: int
    instance_id: str
    node_id: str
    title: str
    instance_title: str
    definition_name: str
    definition_title: str
    assignee_id: str
    actor_id: str | None = None
    starter_id: str | None = None
    outcome: str | None = None
    comment: str | None = None
    created_at: datetime
    ended_at: datetime
    end_reason: EndReason


class BookmarkSummary(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A waiting point without its payload."""

    id: str
    kind: BookmarkKind
    key: str | None = None
    node_id: str | None = None
    node_instance_id: str | None = None
    due_at: datetime | None = None
    available_at: datetime | None = None
    correlation_id: str | None = None
    created_at: datetime
    failures: int = 0


class DueBookmark(msgspec.Struct, frozen=True, kw_only=True):
    """A due bookmark that this poller has claimed."""

    id: str
    tenant_id: str | None
    instance_id: str | None
    kind: BookmarkKind
    key: str | None
    due_at: datetime
    failures: int = 0

    @property
    def lane(self) -> Lane | None:
        """Who runs it."""
        return lane_of(self.kind, self.key)


def check_page(list_name: str, paging: Paging, whitelist: Sequence[str]) -> None:
    """Refuse a limit, an offset, a sort field or a number of sort fields out of range (VALIDATION_002)."""
    problems = []
    if not 1 <= paging.limit <= MAX_LIMIT:
        problems.append(
            Problem(path="limit", key="workflow.query.limit", params={"value": paging.limit, "max": MAX_LIMIT})
        )
    if paging.offset < 0:
        problems.append(Problem(path="offset", key="workflow.query.offset", params={"value": paging.offset}))
    if len(paging.sorts) > MAX_SORTS[list_name]:
        params: Mapping[str, int] = {"count": len(paging.sorts), "max": MAX_SORTS[list_name]}
        problems.append(Problem(path="sort", key="workflow.query.sort_count", params=dict(params)))
    for sort in paging.sorts:
        if sort.field not in whitelist:
            known = ", ".join(whitelist)
            problems.append(
                Problem(path="sort", key="workflow.query.sort_field", params={"field": sort.field, "known": known})
            )
    if problems:
        raise InputInvalid("workflow.query.invalid", problems=problems)
