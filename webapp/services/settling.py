"""Commands that settle a follow-up: each deletes its row in its own transaction, and may leave others (spec 3.22)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from webapp.engine.activities.subflows import CHILDREN
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import NOTFOUND_INSTANCE, NotFound
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import NodeInstance
from webapp.engine.ports.stores import InstanceSnapshot, UnitOfWork, WriteSet
from webapp.engine.runtime.children import START_CHILD
from webapp.engine.runtime.commands import Wave
from webapp.services.commands import Commands
from webapp.services.definitions import Prepared
from webapp.services.storage import Storage


class Settling:
    """How a handler settles the follow-up it was given."""

    def __init__(self, *, storage: Storage, commands: Commands, clock: Clock, ids: IdSource) -> None:
        self._storage = storage
        self._commands = commands
        self._clock = clock
        self._ids = ids

    def change(
        self,
        owed: FollowUp,
        instance_id: str | None,
        decide: Callable[[InstanceSnapshot, Prepared], Wave],
        *,
        beside: Callable[[], object] = lambda: None,
    ) -> Wave | Sequence[FollowUp]:
        """Run a command that deletes the follow-up in its own transaction; void when the instance is not there."""

        def done(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            wave = decide(snapshot, prepared)
            wave.write_set.deleted_follow_up_ids = [owed.id]
            return wave

        try:
            return self._commands.change(owed.tenant_id, instance_id or "", done, settle=False, beside=beside)
        except NotFound as missing:
            if missing.code != NOTFOUND_INSTANCE:
                raise
            return self.done(owed)

    def done(self, owed: FollowUp) -> Sequence[FollowUp]:
        """Delete a follow-up that has nothing left to do."""
        return self.replace(owed, [])

    def replace(self, owed: FollowUp, made: list[FollowUp]) -> Sequence[FollowUp]:
        """Put others in the place of a follow-up, and return them."""
        self._storage.write(owed.tenant_id, lambda work: put_in_place(work, owed, made))
        return made

    def follow_up(self, cause: FollowUp, action: str, target: str | None, **payload: object) -> FollowUp:
        """Return a new follow-up, due now, between the same instances as its cause."""
        now = self._clock.now()
        return FollowUp(
            id=self._ids.new(),
            tenant_id=cause.tenant_id,
            action=action,
            source_instance_id=cause.source_instance_id,
            target_instance_id=target,
            payload=payload,
            created_at=now,
            due_at=now,
        )

    def start_of(self, cause: FollowUp, child_id: str) -> FollowUp:
        """Return the start of a child, which may have been pushed back, to be run now if it is there still."""
        return msgspec.structs.replace(self.follow_up(cause, START_CHILD, child_id), id=child_id)


def put_in_place(work: UnitOfWork, owed: FollowUp, made: list[FollowUp]) -> None:
    """Store follow-ups in the place of another one, once.

    When that one is gone they were stored before, by a commit whose answer was lost, and may even have been run.
    """
    if work.follow_ups.delete(owed.tenant_id, owed.id):
        work.apply(WriteSet(partition=owed.tenant_id, new_follow_ups=made))


def snapshot_of(work: UnitOfWork, instance_id: str | None, owed: FollowUp) -> InstanceSnapshot | None:
    """Return an instance of the follow-up's partition as a wave sees it."""
    return work.instances.snapshot(owed.tenant_id, instance_id or "")


def awaited(parent: InstanceSnapshot) -> dict[str, NodeInstance]:
    """Return the node instances that wait for children, by the children's ids."""
    waiting = {one.node_instance_id for one in parent.bookmarks if one.kind is BookmarkKind.SUB_WORKFLOW}
    nodes = (node for node in parent.node_instances if node.id in waiting)
    return {child_id: node for node in nodes for child_id in node.state.get(CHILDREN, ())}
