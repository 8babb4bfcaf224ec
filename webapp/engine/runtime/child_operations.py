"""The commands by which parents and children act upon one another, each a wave of its own (spec 3.15, 3.22)."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.activities.subflows import (
    CHILD_FAULT,
    CHILD_ID,
    CHILD_STATUS,
    CHILD_VARIABLES,
    CHILDREN,
    ENDS,
    RESTART,
    RETRIES,
)
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeInstance, WorkflowFault
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime import children, events, operations
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.effects import WaveState, nothing_done
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.queue import Item, Resumption


class ChildEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a child ended; ``fault`` of one that could not even be started says why.

    ``order``: the parent's order of a retry that this is the answer to.
    """

    child_id: str
    node_instance_id: str
    status: InstanceStatus
    variables: JsonObject = {}
    fault: WorkflowFault | None = None
    order: str | None = None


NewWave = Callable[[InstanceSnapshot, CompiledDefinition, Command], WaveState]


class ChildOperations:
    """What the follow-ups between instances do to the one they are for; the engine's own part for them."""

    def __init__(self, new_wave: NewWave) -> None:
        self._wave = new_wave

    def ended(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, end: ChildEnd, command: Command
    ) -> Wave | None:
        """Resume the node that waits for the child; an empty wave when nothing does.

        None: the instance cannot take the news now and must be told again later.
        """
        inputs: JsonObject = {
            CHILD_ID: end.child_id,
            CHILD_STATUS: end.status.value,
            CHILD_VARIABLES: end.variables,
            CHILD_FAULT: None if end.fault is None else events.fault_json(end.fault),
        }
        return self._resume(self._wave(snapshot, compiled, command), end, inputs)

    def restart(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, child: ChildEnd, command: Command
    ) -> Wave | None:
        """Have the node start a new child in the place of one that a retry cannot go on from."""
        inputs: JsonObject = {CHILD_ID: child.child_id, CHILD_STATUS: child.status.value, RESTART: True}
        return self._resume(self._wave(snapshot, compiled, command), child, inputs)

    def reattach(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, child: ChildEnd, command: Command
    ) -> Wave:
        """Let an instance that is Faulted because of this child wait for it again: the child is being retried."""
        wave = self._wave(snapshot, compiled, command)
        node_instance = wave.touch(child.node_instance_id)
        if (
            node_instance is None
            or wave.instance.fault_node_instance_id != node_instance.id
            or not children.is_stopped_by_child(wave)
            or child.child_id not in node_instance.state[CHILDREN]
        ):
            return nothing_done(snapshot.instance)
        return operations.retry(wave, None, running_child=child.child_id)

    def retry(self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command, order: str) -> Wave:
        """Retry a child by its parent's order: the parent waits for it already, so it is not told.

        One that runs (again) only notes the order, which its end will then answer.

        :raises Conflict: it can neither run on nor be retried.
        """
        wave = self._wave(snapshot, compiled, command)
        if wave.instance.status.ended:
            return operations.retry(wave, None, order=order)
        wave.instance.retry_order = order
        return wave.finish(None)

    def close(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        *,
        terminates: bool,
        reason: str | None,
    ) -> Wave:
        """Cancel or terminate a child that its parent does not want any more."""
        return operations.close(self._wave(snapshot, compiled, command), reason, terminates=terminates)

    def _resume(self, wave: WaveState, end: ChildEnd, inputs: JsonObject) -> Wave | None:
        bookmark = waiting_for(wave, end)
        if bookmark is None:
            # Nobody waits, or not any more: a retry that attaches the children again asks each how it stands.
            return nothing_done(wave.instance)
        if wave.instance.status is not InstanceStatus.RUNNING:
            return None
        node_instance = wave.touch(end.node_instance_id)
        if node_instance is not None and not _note(node_instance, end, restart=RESTART in inputs):
            return nothing_done(wave.instance)
        items: list[Item] = [Resumption(bookmark, inputs)]
        Executor(wave, items).run()
        return wave.finish(wave.entry())


def _note(node_instance: NodeInstance, end: ChildEnd, *, restart: bool) -> bool:
    """Note a child's end in the node's state; False when it does not count."""
    orders: JsonObject = node_instance.state.get(RETRIES, {})
    order = orders.get(end.child_id)
    if order is not None and end.order != order and end.status is not InstanceStatus.COMPLETED:
        # The end of before the retry that is on its way.
        return False
    orders.pop(end.child_id, None)
    if not restart:
        ends: JsonObject = node_instance.state.setdefault(ENDS, {})
        if ends.get(end.child_id) == end.status:
            # Told twice: by the child, and by a look at what was missed.
            return False
        ends[end.child_id] = end.status.value
    return True


def waiting_for(wave: WaveState, end: ChildEnd) -> Bookmark | None:
    """Return the bookmark that waits for the child, looked up anew each time; None when the child is not awaited."""
    node_instance = wave.touch(end.node_instance_id)
    if node_instance is None or end.child_id not in node_instance.state.get(CHILDREN, ()):
        return None
    return next(
        (one for one in wave.waits.of_node(node_instance.id) if one.kind is BookmarkKind.SUB_WORKFLOW),
        None,
    )
