"""Decisions that can be undone for a moment: stored at once, carried out when their time is up (spec 6.7, Undo).

Until then the task is shown as decided to everybody and refuses every other action. What is left to do is a follow-up,
so a crash in between loses nothing.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from webapp.engine.errors import CONFLICT_BOOKMARK, DENIED_ACTOR, Conflict, Denied, WorkflowError
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.model import OUTCOME
from webapp.engine.numbers import JsonObject, copy_json
from webapp.engine.ports.external_tasks import LockChange
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState, nothing_done
from webapp.engine.runtime.task_checks import acting_for
from webapp.engine.runtime.task_operations import complete, decidable
from webapp.engine.schedules import instant_text, later
from webapp.engine.tasks.user_tasks import ACTOR, COMMENT, DECIDE_FAILED, DECISION_MADE, check_task

DECIDE = "decide"
ON_BEHALF_OF = "onBehalfOf"


def hold(
    wave: WaveState,
    snapshot: InstanceSnapshot,
    task_id: str,
    *,
    outcome: str,
    comment: str | None,
    variables: JsonObject | None,
    undo_seconds: int | Decimal,
) -> Wave:
    """Decide a task so that it can be undone for so many seconds; all that may be wrong with it is refused now.

    :raises WorkflowError: the first check of spec 6.2 that fails.
    """
    command, written = wave.command, copy_json(variables or {})
    bookmark = decidable(wave, snapshot, task_id, outcome=outcome, comment=comment, variables=written)
    until = later(wave.now, undo_seconds)
    said: JsonObject = {ACTOR: command.actor_id, ON_BEHALF_OF: command.on_behalf_of, OUTCOME: outcome, COMMENT: comment}
    payload: JsonObject = {
        **said, "variables": written, "taskId": task_id, "nodeId": bookmark.node_id, "requestId": command.request_id,
    }  # fmt: skip
    owed = wave.owe(DECIDE, wave.instance.id, payload, due_at=until)
    own = wave.waits.change(bookmark)
    own.available_at = until
    own.payload = {**own.payload, DECISION_MADE: {**said, "at": instant_text(wave.now), "followUpId": owed}}
    details: JsonObject = {"undoUntil": instant_text(until)}
    return _marked(wave.finish(wave.entry(task=own, outcome=outcome, comment=comment, details=details)), own)


def undo(wave: WaveState, task_id: str) -> Wave:
    """Take a pending decision back: the task is open again as it was.

    :raises Denied: somebody else decided. :raises Conflict: there is no decision to take back.
    """
    bookmark = check_task(wave.waits.open.get(task_id), wave.command.actor_id)
    decision = _decision(bookmark)
    if decision is None:
        if bookmark.key != acting_for(wave.command):
            raise Denied("workflow.task.not_assignee", code=DENIED_ACTOR)
        raise Conflict("workflow.task.nothing_to_undo", code=CONFLICT_BOOKMARK)
    if wave.command.actor_id not in (decision.get(ACTOR), decision.get(ON_BEHALF_OF)):
        raise Denied("workflow.task.not_assignee", code=DENIED_ACTOR)
    own = _reopen(wave, bookmark)
    done = wave.finish(wave.entry(task=own, outcome=decision.get(OUTCOME)))
    done.write_set.deleted_follow_up_ids.append(decision["followUpId"])
    return _marked(done, own)


def carry_out(wave: WaveState, snapshot: InstanceSnapshot, owed: FollowUp) -> Wave:
    """Carry a pending decision out; if that is not possible the trail says so and the task, if any, is open again.

    A decision that was undone leaves nothing to do: the wave is empty.
    """
    said = owed.payload
    bookmark = wave.waits.open.get(said["taskId"])
    decision = None if bookmark is None else _decision(bookmark)
    if bookmark is not None and (decision is None or decision.get("followUpId") != owed.id):
        return nothing_done(wave.instance)
    if bookmark is None:
        return _failed(wave, owed, "workflow.task.not_found")
    own = _reopen(wave, bookmark)
    try:
        done = complete(
            wave,
            snapshot,
            said["taskId"],
            outcome=said[OUTCOME],
            comment=said.get(COMMENT),
            variables=said.get("variables"),
        )
    except WorkflowError as refusal:
        return _marked(_failed(wave, owed, refusal.key), own)
    done.write_set.deleted_follow_up_ids.append(owed.id)
    return _marked(done, own)


def _failed(wave: WaveState, owed: FollowUp, key: str) -> Wave:
    said = owed.payload
    details: JsonObject = {"id": said.get(ON_BEHALF_OF) or said.get(ACTOR), OUTCOME: said.get(OUTCOME), "key": key}
    wave.remark(DECIDE_FAILED, said.get("nodeId") or "", details, comment=said.get(COMMENT))
    done = wave.finish(None)
    done.write_set.deleted_follow_up_ids.append(owed.id)
    return done


def _marked(wave: Wave, task: Bookmark) -> Wave:
    """Have the moment until which the decision can be undone written, or taken away, if the task is still there."""
    written = wave.write_set
    if task.id not in written.deleted_bookmark_ids:
        change = LockChange(
            bookmark_id=task.id, expected_token=None, worker_id=None, lock_token=None, available_at=task.available_at
        )
        written.lock_changes.append(change)
    return wave


def _decision(bookmark: Bookmark) -> dict[str, Any] | None:
    found = bookmark.payload.get(DECISION_MADE)
    return found if bookmark.available_at is not None and isinstance(found, dict) else None


def _reopen(wave: WaveState, bookmark: Bookmark) -> Bookmark:
    own = wave.waits.change(bookmark)
    own.available_at = None
    own.payload = {name: value for name, value in own.payload.items() if name != DECISION_MADE}
    return own
