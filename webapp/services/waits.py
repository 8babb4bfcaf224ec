"""What an instance waits for, as the monitor and a request's page tell it (spec 12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webapp.engine.definitions.model import Node, NodeTimeoutAction, WorkflowDefinition
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.model import OUTCOME, JoinState, NodeInstance
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.tokens import awaited
from webapp.engine.tasks.external_tasks import RETRIES
from webapp.engine.tasks.user_tasks import ACTOR, DECISION_MADE
from webapp.services.views import Wait

_REASON = "reason"


def waits_of(
    snapshot: InstanceSnapshot, definition: WorkflowDefinition, executions: Iterable[NodeInstance] = ()
) -> list[Wait]:
    """Return what the instance waits for: bookmarks, then joins with the branches that are missing."""
    nodes = {node.id: node for node in definition.nodes}
    tries = {execution.id: execution.try_count for execution in executions}
    waits = [_bookmark_wait(one, nodes, tries) for one in snapshot.bookmarks]
    open_joins = {node_id: join for node_id, join in snapshot.instance.join_states.items() if not join.fired}
    sources = {one.id: nodes[one.source_node_id].label for one in definition.transitions}
    for node_id, join in open_joins.items():
        expected = awaited(definition, snapshot, node_id)
        missing = [sources[one] for one in expected if one not in join.arrived]
        waits.append(_join_wait(nodes[node_id], join, len(expected), missing))
    return waits


def _join_wait(node: Node, join: JoinState, expected: int, missing: list[str]) -> Wait:
    return Wait(
        bookmark_id=None,
        kind="Join",
        node_id=node.id,
        node_name=node.label,
        arrived=len(join.arrived),
        expected=expected,
        missing=missing,
    )


def _bookmark_wait(bookmark: Bookmark, nodes: Mapping[str, Node], tries: Mapping[str, int]) -> Wait:
    node = nodes.get(bookmark.node_id or "")
    task = bookmark.kind is BookmarkKind.USER_TASK
    return Wait(
        bookmark_id=bookmark.id,
        kind=bookmark.kind,
        node_id=bookmark.node_id,
        node_name=node.label if node is not None else bookmark.node_id or "",
        title=bookmark.title,
        since=bookmark.created_at,
        due_at=bookmark.task_due_at if task else bookmark.due_at,
        failures=bookmark.failures,
        **_facts(bookmark, node, tries),
    )


def _facts(bookmark: Bookmark, node: Node | None, tries: Mapping[str, int]) -> dict[str, Any]:
    """Return what only this kind of wait has."""
    payload = bookmark.payload
    match bookmark.kind:
        case BookmarkKind.USER_TASK:
            return _task_facts(bookmark)
        case BookmarkKind.SIGNAL:
            return {"signal": bookmark.key}
        case BookmarkKind.EXTERNAL_TASK:
            held, left = bookmark.available_at, payload.get(RETRIES)
            return {"signal": bookmark.key, "worker": bookmark.worker_id, "held_until": held, "retries": left}
        case BookmarkKind.RETRY if payload.get(_REASON) is None:
            policy = node.retry_policy if node is not None else None
            attempt = tries.get(bookmark.node_instance_id or "", 0) + 1
            return {"attempt": attempt, "max_attempts": policy.max_attempts if policy is not None else None}
        case BookmarkKind.RETRY | BookmarkKind.REMINDER:
            return {_REASON: payload.get(_REASON)}
        case BookmarkKind.NODE_TIMEOUT:
            action = node.timeout_action if node is not None else None
            return {"action": action or NodeTimeoutAction.OUTCOME.value}
    return {}


def _task_facts(bookmark: Bookmark) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "who": bookmark.key,
        "claimable": bookmark.claimable,
        "claimed_by": bookmark.claimed_by,
    }
    decision = bookmark.payload.get(DECISION_MADE)
    if bookmark.available_at is not None and decision:
        facts.update(decided_by=decision.get(ACTOR), outcome=decision.get(OUTCOME), held_until=bookmark.available_at)
    return facts
