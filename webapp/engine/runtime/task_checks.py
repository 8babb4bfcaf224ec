"""What every action on a task begins and ends with: may it be done, and who is told (spec 6.2, 6.4, 9.1)."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.errors import CONFLICT_ASSIGNEE, DENIED_PERMISSION, Conflict, Denied, InputInvalid, Problem
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import Event
from webapp.engine.instances.model import NodeInstance
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime import events
from webapp.engine.runtime.commands import Command
from webapp.engine.runtime.effects import WaveState
from webapp.engine.schedules import instant_text
from webapp.engine.tasks.user_tasks import check_action, remember


def acting_for(command: Command) -> str | None:
    """Return the person whose task it must be: the one who acts, or the one they stand in for (decision D34)."""
    return command.on_behalf_of or command.actor_id


def open_task(wave: WaveState, task_id: str, problems: list[Problem]) -> Bookmark:
    """Return the open task that the command may act on, after the checks of spec 6.2 in their order."""
    return check_action(
        wave.waits.open.get(task_id),
        wave.instance.status,
        acting_for(wave.command),
        operator=wave.command.as_operator,
        problems=problems,
    )


def already_there(name: str) -> Conflict:
    """Return the refusal of somebody who is on the task already."""
    return Conflict("workflow.task.already_assignee", code=CONFLICT_ASSIGNEE, params={"name": name.strip()})


def refuse_disabled(wave: WaveState, path: str, names: Sequence[str]) -> None:
    """Refuse accounts that are disabled. :raises InputInvalid: with the path."""
    directory = wave.kit.directory
    if directory is None:
        return
    gone = directory.disabled(wave.instance.tenant_id, [name.strip() for name in names])
    if gone:
        params = {"name": sorted(gone)[0]}
        raise InputInvalid("workflow.task.assignee_disabled", params=params, path=path)


def note(
    wave: WaveState, node_instance: NodeInstance, action: str, comment: str | None, target: str | list[str]
) -> None:
    """Keep what was done in the node's history."""
    remember(
        node_instance.state,
        action=action,
        at=instant_text(wave.now),
        node_id=node_instance.node_id,
        actor_id=wave.command.actor_id,
        on_behalf_of=wave.command.on_behalf_of,
        comment=comment,
        target=target,
    )


def tell(wave: WaveState, topic: str, bookmark: Bookmark, facts: JsonObject) -> None:
    """Queue the event of what a person did with a task."""
    data = {**events.action_data(wave.instance, bookmark, wave.command), **facts}
    wave.events.append(Event(topic=topic, data=data))


def check_allowed(wave: WaveState, bookmark: Bookmark, flag: str) -> None:
    """Refuse what the node does not allow its assignees (``AllowTransfer`` …); operators may do it all the same.

    :raises Denied: the flag is false.
    """
    node = wave.compiled.nodes.get(bookmark.node_id or "")
    if node is not None and node.properties.get(flag) is False and not wave.command.as_operator:
        raise Denied("workflow.task.not_allowed", code=DENIED_PERMISSION, params={"flag": flag})
