"""What a wave owes its instance's children and its parent: follow-ups, written with it (spec 3.13, 3.15, 3.22).

Nothing here touches another instance: each row becomes a command of its own after the commit.
"""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.activities.api import BookmarkRequest, ChildRequest
from webapp.engine.activities.subflows import CHILDREN, ENDS, FAULTED, RETRIES
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeInstance, NodeStatus
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime import timeouts
from webapp.engine.runtime.effects import WaveState

START_CHILD = "startChild"
CHILD_ENDED = "childEnded"
CASCADE = "cascade"
OPERATE_CHILD = "operateChild"
RETRY_CHILD = "retryChild"
RESTART_CHILD = "restartChild"
REATTACH_PARENT = "reattachParent"
RECHECK_CHILDREN = "recheckChildren"

CANCEL = "cancel"
TERMINATE = "terminate"

SPARED = "spared"
"""In what a cascade owes: the ids of the children that it leaves alone."""


def request(
    wave: WaveState, node_instance: NodeInstance, asked: Sequence[ChildRequest], *, waits: bool, lasting: bool = False
) -> None:
    """Mint the children's ids and owe their starts; *waits*: the node goes on when they have ended.

    *lasting*: they are started whatever has become of the instance, since they undo what it did.
    """
    if not asked:
        return
    wave.instance.has_children = True
    ids: list[str] = node_instance.state.setdefault(CHILDREN, [])
    for one in asked:
        child_id = wave.kit.ids.new()
        if one.replaces in ids:
            ids[ids.index(one.replaces)] = child_id
        else:
            ids.append(child_id)
        payload: JsonObject = {
            "nodeInstanceId": node_instance.id,
            "definitionName": one.definition_name,
            "version": one.version,
            "variables": one.variables,
            "waits": waits,
        }
        if lasting:
            payload["lasting"] = True
        # Found again by the child's id when the parent runs again and the child is not there.
        wave.owe(START_CHILD, child_id, payload, key=child_id)


def tell_parent(wave: WaveState) -> None:
    """Owe the parent the news that this child has ended."""
    instance = wave.instance
    if instance.parent_instance_id is not None:
        payload = {"nodeInstanceId": instance.parent_node_instance_id, "childInstanceId": instance.id}
        wave.owe(CHILD_ENDED, instance.parent_instance_id, payload)


def tell_parent_of_retry(wave: WaveState) -> None:
    """Owe the parent the news that this child is tried again: it may have failed because of it."""
    instance = wave.instance
    payload = {"nodeInstanceId": instance.parent_node_instance_id, "childInstanceId": instance.id}
    wave.owe(REATTACH_PARENT, instance.parent_instance_id, payload)


def cascade(wave: WaveState, operation: str, reason: str | None) -> None:
    """Owe every child that has not ended the same operation, those that nobody waits for included (spec 3.13).

    A cancel leaves those alone that undo something.

    *operation* is a name that the services know: ``cancel``, ``terminate``, ``suspend``, ``resume``.
    """
    if wave.instance.has_children:
        payload: JsonObject = {"operation": operation, "reason": reason, "actorId": wave.command.actor_id}
        spared = _undoing(wave) if operation == CANCEL else []
        wave.owe(CASCADE, wave.instance.id, {**payload, SPARED: spared} if spared else payload)


def _undoing(wave: WaveState) -> list[str]:
    """Return the children that were started to undo something: to cancel them would undo that (spec 3.14)."""
    undo = {node.node.compensate_with for node in wave.compiled.nodes.values()} - {None}
    return [child for one in wave.known_nodes() if one.node_id in undo for child in one.state.get(CHILDREN, ())]


def cancel_children(wave: WaveState, node_instance: NodeInstance, reason: str | None = None) -> None:
    """Owe the children that a node instance waits for their cancellation; the node does not wait any more."""
    ends = node_instance.state.get(ENDS, {})
    for child_id in node_instance.state.get(CHILDREN, ()):
        if child_id not in ends:
            payload: JsonObject = {
                "operation": CANCEL,
                "reason": reason,
                "actorId": wave.command.actor_id,
                "nodeInstanceId": node_instance.id,
            }
            wave.owe(OPERATE_CHILD, child_id, payload)


def recheck(wave: WaveState) -> None:
    """Owe a look at children whose end came while the instance could not take it: call it when it runs again."""
    if wave.instance.has_children:
        wave.owe(RECHECK_CHILDREN, wave.instance.id, {})


def forget(node_instance: NodeInstance) -> None:
    """Drop the children of the last run: what comes of them is not for the next one (spec 3.4)."""
    for name in (CHILDREN, ENDS, RETRIES):
        node_instance.state.pop(name, None)


def is_stopped_by_child(wave: WaveState) -> bool:
    """Whether the instance is Faulted because a child of it is, and would take up that child again."""
    instance = wave.instance
    if instance.status is not InstanceStatus.FAULTED or instance.fault is None or instance.fault.key != FAULTED:
        return False
    node_instance = wave.touch(instance.fault_node_instance_id)
    return node_instance is not None and bool(node_instance.state.get(CHILDREN))


def reattach(wave: WaveState, node_instance: NodeInstance, *, running: str | None = None) -> None:
    """Let a node wait for its children again, and hand the retry down to those that have not completed (spec 3.22).

    *running*: the child that is being retried already, and needs no order.
    """
    node_instance.status = NodeStatus.SUSPENDED
    node_instance.fault = None
    node_instance.ended_at = None
    wave.add_bookmark(node_instance, BookmarkRequest(kind=BookmarkKind.SUB_WORKFLOW, key=node_instance.id))
    node = wave.compiled.nodes.get(node_instance.node_id)
    if node is not None:
        timeouts.arm(wave, node, node_instance)
    ends: JsonObject = node_instance.state.get(ENDS, {})
    orders: JsonObject = {}
    for child_id in node_instance.state[CHILDREN]:
        if ends.get(child_id) != InstanceStatus.COMPLETED:
            ends.pop(child_id, None)
            if child_id != running:
                payload = {"nodeInstanceId": node_instance.id, "actorId": wave.command.actor_id}
                # News of the end that the order is about may still be on its way, and must not count.
                orders[child_id] = wave.owe(RETRY_CHILD, child_id, payload)
    node_instance.state[RETRIES] = orders
