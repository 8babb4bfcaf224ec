"""What notices are made of: a wave seen as a transition (spec 10)."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.notifications.recipients import Transition
from webapp.engine.runtime.commands import Wave
from webapp.engine.tasks.user_tasks import DECIDE_FAILED


def transition_of(wave: Wave, definition: WorkflowDefinition) -> Transition:
    """Return what a wave that did something tells people of."""
    write_set, command = wave.write_set, wave.command
    return Transition(
        instance=wave.instance,
        definition=definition,
        events=wave.events,
        made=_tasks(write_set.new_bookmarks),
        changed=_tasks(write_set.changed_bookmarks),
        tries={node.id: node.try_count for node in write_set.node_instances},
        node_messages=wave.node_messages,
        refused=[entry for entry in write_set.audit if entry.action == DECIDE_FAILED],
        actor_id=None if command is None else command.actor_id,
        action="" if command is None else command.action,
    )


def _tasks(bookmarks: Sequence[Bookmark]) -> dict[str, Bookmark]:
    return {one.id: one for one in bookmarks if one.kind is BookmarkKind.USER_TASK}
