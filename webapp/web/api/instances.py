"""Instances: start, watch, cancel, retry (spec 11, Instances)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from webapp.engine.instances.model import InstanceStatus, WorkflowInstance
from webapp.services.queries import InstanceQuery
from webapp.web.api.instance_shapes import (
    BookmarkItem,
    HistoryItem,
    Instance,
    InstanceListItem,
    NodeItem,
    ReasonBody,
    RetryBody,
    StartBody,
    bookmark_shape,
    history_shape,
    instance_item,
    instance_shape,
    node_shape,
)
from webapp.web.api.query import Keyword, SortedWindow, Window, paging
from webapp.web.api.routing import Call, Reply, Section
from webapp.web.api.shapes import ListOf

section = Section("Instances")
PATH = "/api/v1/instances"


class _Which(SortedWindow, frozen=True, kw_only=True, rename="camel"):
    definition_name: str | None = None
    correlation_id: tuple[str, ...] | None = None
    top_level_only: bool = False
    starter_id: str | None = None
    parent_id: str | None = None
    keyword: Keyword | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    ended_from: datetime | None = None
    ended_to: datetime | None = None


class CountFilter(_Which, frozen=True, kw_only=True, rename="camel"):
    """Filters of the counts: those of the list without the status."""


class InstanceFilter(_Which, frozen=True, kw_only=True, rename="camel"):
    """Filters of the instance list; ``status`` and ``correlationId`` may be repeated."""

    status: tuple[InstanceStatus, ...] = ()


@section.call(
    "POST", "/instances", body=StartBody, answers={201: Instance, 200: Instance},
    refuses=(404, 409),
)  # fmt: skip
def start_instance(call: Call[StartBody, None]) -> Reply:
    """Start an instance and run it until it waits: 201; 200 when an unfinished one was reused."""
    wanted = call.body
    result = call.services.instances.start(
        call.actor,
        name=wanted.name,
        definition_id=wanted.definition_id,
        version=wanted.version,
        title=wanted.title,
        variables=wanted.variables,
        correlation_id=wanted.correlation_id,
        reuse_policy=wanted.reuse_policy,
        reuse_scope=wanted.reuse_scope,
    )
    instance = result.instance
    return Reply(
        value=instance_shape(instance, call.catalog, call.lang),
        status=201 if result.created else 200,
        location=f"{PATH}/{instance.id}",
        revision=instance.revision,
    )


@section.call("GET", "/instances", query=InstanceFilter, answers={200: ListOf[InstanceListItem]})
def list_instances(call: Call[None, InstanceFilter]) -> Reply:
    """List the instances that the caller may read."""
    page = call.services.instances.query(call.actor, _query(call.query, call.query.status))
    items = [instance_item(item, call.catalog, call.lang) for item in page.items]
    return Reply(value=ListOf(items=items, total=page.total))


@section.call("GET", "/instances/counts", query=CountFilter, answers={200: dict[str, int]})
def count_instances(call: Call[None, CountFilter]) -> Reply:
    """Count by status what the list would show under the same filters."""
    counts = call.services.instances.counts(call.actor, _query(call.query, ()))
    return Reply(value={status.value: counts.get(status.value, 0) for status in InstanceStatus})


@section.call("GET", "/instances/<id>", answers={200: Instance}, refuses=(404,), sends_revision=True)
def get_instance(call: Call[None, None], id: str) -> Reply:
    """Return the instance as it stands."""
    return _instance(call, call.services.instances.get(call.actor, id))


@section.call("GET", "/instances/<id>/nodes", query=Window, answers={200: ListOf[NodeItem]}, refuses=(404,))
def list_nodes(call: Call[None, Window], id: str) -> Reply:
    """List the executions of nodes in the order they began."""
    page = call.services.instances.nodes(call.actor, id, paging(call.query))
    return Reply(
        value=ListOf(items=[node_shape(node, call.catalog, call.lang) for node in page.items], total=page.total)
    )


@section.call("GET", "/instances/<id>/bookmarks", query=Window, answers={200: ListOf[BookmarkItem]}, refuses=(404,))
def list_bookmarks(call: Call[None, Window], id: str) -> Reply:
    """List what the instance waits for, without payloads."""
    page = call.services.instances.bookmarks(call.actor, id, paging(call.query))
    return Reply(value=ListOf(items=[bookmark_shape(bookmark) for bookmark in page.items], total=page.total))


@section.call(
    "GET", "/instances/<id>/history", query=Window, answers={200: ListOf[HistoryItem]},
    refuses=(404,),
)  # fmt: skip
def list_history(call: Call[None, Window], id: str) -> Reply:
    """List the audit trail, oldest first."""
    page = call.services.instances.history(call.actor, id, paging(call.query))
    return Reply(value=ListOf(items=[history_shape(entry) for entry in page.items], total=page.total))


@section.call(
    "POST", "/instances/<id>/cancel", body=ReasonBody, body_required=False,
    answers={200: Instance}, refuses=(404, 409), sends_revision=True,
)  # fmt: skip
def cancel_instance(call: Call[ReasonBody, None], id: str) -> Reply:
    """Cancel what runs; what has ended otherwise stays as it is."""
    return _instance(call, call.services.instances.cancel(call.actor, id, reason=call.body.reason))


@section.call(
    "POST", "/instances/<id>/retry", body=RetryBody, body_required=False,
    answers={200: Instance}, refuses=(404, 409), sends_revision=True,
)  # fmt: skip
def retry_instance(call: Call[RetryBody, None], id: str) -> Reply:
    """Run the node that failed again, or the sub-workflow that it failed with, and go on from there."""
    body = call.body
    retry = call.services.instances.retry
    return _instance(call, retry(call.actor, id, reason=body.reason, restart=body.restart, force=body.force))


def _instance(call: Call[Any, Any], instance: WorkflowInstance) -> Reply:
    return Reply(value=instance_shape(instance, call.catalog, call.lang), revision=instance.revision)


def _query(wanted: _Which, statuses: tuple[InstanceStatus, ...]) -> InstanceQuery:
    correlation_ids = wanted.correlation_id
    if correlation_ids is not None:
        # An empty correlationId= adds nothing to the set; alone it makes a set that matches nothing (spec 11).
        correlation_ids = tuple(text for text in correlation_ids if text)
    return InstanceQuery(
        statuses=statuses,
        definition_name=wanted.definition_name,
        correlation_ids=correlation_ids,
        starter_id=wanted.starter_id,
        parent_instance_id=wanted.parent_id,
        top_level_only=wanted.top_level_only,
        keyword=wanted.keyword,
        created_from=wanted.created_from,
        created_to=wanted.created_to,
        ended_from=wanted.ended_from,
        ended_to=wanted.ended_to,
        paging=paging(wanted),
    )
