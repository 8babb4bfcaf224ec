"""When a node has waited too long: its deadline, and what that does instead of the usual outcome (spec 3.12, D14)."""

from __future__ import annotations

from webapp.engine.activities.api import ActivityOutcome, BookmarkRequest, Complete, Fault
from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.definitions.model import NodeTimeoutAction
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import SLOW_TIMEOUT_KEYS, Bookmark, BookmarkKind
from webapp.engine.instances.model import APPROVED, REJECTED, NodeInstance, WorkflowFault
from webapp.engine.runtime import due_times
from webapp.engine.runtime.effects import WaveState
from webapp.engine.schedules import instant_text
from webapp.engine.tasks.user_tasks import remember

_LABELS = {NodeTimeoutAction.APPROVE.value: APPROVED, NodeTimeoutAction.REJECT.value: REJECTED}


def arm(wave: WaveState, node: CompiledNode, node_instance: NodeInstance) -> None:
    """Arm the node's time limit, if it has one: the key tells which lane claims it."""
    seconds = node.node.timeout_seconds
    if seconds is None or seconds <= 0:
        return
    due_at = due_times.later(wave, node, seconds)
    wave.add_bookmark(node_instance, BookmarkRequest(kind=BookmarkKind.NODE_TIMEOUT, key=lane_key(node), due_at=due_at))


def lane_key(node: CompiledNode) -> str | None:
    """Return the key of the node's time limit, by which its lane is known."""
    action = node.node.timeout_action
    return action if action in SLOW_TIMEOUT_KEYS else None


def changes_signers(bookmark: Bookmark) -> bool:
    """Whether it is a timeout that changes whose task it is, and leaves the node where it stands."""
    return bookmark.kind is BookmarkKind.NODE_TIMEOUT and bookmark.key in SLOW_TIMEOUT_KEYS


def outcome_of(wave: WaveState, node: CompiledNode, node_instance: NodeInstance) -> ActivityOutcome | None:
    """Return how the timeout ends the node by the node's own action; None: as its activity says."""
    action = node.node.timeout_action
    if action == NodeTimeoutAction.FAULT:
        return Fault(fault=timed_out(node))
    label = _LABELS.get(action or "")
    if label is None:
        return None
    remember(
        node_instance.state,
        action="complete",
        at=instant_text(wave.now),
        node_id=node_instance.node_id,
        actor_id=None,
        outcome=label,
    )
    return Complete(label=label)


def timed_out(node: CompiledNode) -> WorkflowFault:
    """Return the fault of a node that waited too long."""
    return WorkflowFault(code=UNEXPECTED, key="workflow.node.timed_out", args={"node": node.name})
