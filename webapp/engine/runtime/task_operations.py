"""What people do with user tasks: decide, hand over, add signers (spec 6.2, 6.4, 6.7)."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.builtin.user_task import task_request
from webapp.engine.errors import CONFLICT_ASSIGNEE, CONFLICT_BOOKMARK, Conflict, InputInvalid, Problem
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import EndReason, Event
from webapp.engine.instances.limits import MAX_REMARK, MAX_SIGNERS, length_problems
from webapp.engine.instances.model import OUTCOME, NodeInstance
from webapp.engine.numbers import JsonObject, copy_json
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime import events
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.operations import check_resumable
from webapp.engine.runtime.queue import Resumption
from webapp.engine.schedules import instant_text
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.signers import Policy, Signer
from webapp.engine.tasks.user_tasks import (
    ACTOR,
    COMMENT,
    POLICY,
    check_action,
    check_decision,
    person_problems,
    remember,
    text_problems,
)

PARALLEL = "parallel"


def acting_for(command: Command) -> str | None:
    """Return the person whose task it must be: the one who acts, or the one they stand in for (decision D34)."""
    return command.on_behalf_of or command.actor_id


def complete(
    wave: WaveState,
    snapshot: InstanceSnapshot,
    task_id: str,
    *,
    outcome: str,
    comment: str | None,
    variables: JsonObject | None,
) -> Wave:
    """Decide a task (spec 6.2); the event of it comes last, after all that followed.

    :raises WorkflowError: the first check of spec 6.2 that fails.
    """
    command = wave.command
    bookmark = check_action(
        wave.waits.open.get(task_id),
        wave.instance.status,
        acting_for(command),
        problems=text_problems(outcome=outcome, comment=comment),
    )
    written = copy_json(variables or {})
    check_decision(bookmark.payload, outcome, comment, written)
    check_resumable(bookmark, snapshot)
    inputs = {**written, ACTOR: command.actor_id, OUTCOME: outcome, COMMENT: comment}
    Executor(wave, [Resumption(bookmark, inputs)]).run()
    return wave.finish(wave.entry(task=bookmark, outcome=outcome, comment=comment))


def transfer(wave: WaveState, task_id: str, *, to: str, comment: str | None) -> Wave:
    """Hand a task over: the same task, another assignee in the same place (spec 6.4).

    :raises Conflict: *to* is an assignee of the node already.
    """
    problems = [*person_problems("to", [to]), *length_problems(COMMENT, comment, MAX_REMARK)]
    bookmark = _open_task(wave, task_id, problems)
    to = to.strip()
    _refuse_disabled(wave, "to", [to])
    node_instance, signers = _signers(wave, bookmark)
    holder = bookmark.key or ""
    if not signing.transfer(signers, holder, to):
        raise _already(to)
    signing.store(node_instance.state, signers)
    _note(wave, node_instance, "transfer", comment, to)
    wave.tasks.decided(bookmark, EndReason.TRANSFERRED, wave.command, actor_id=wave.command.actor_id, comment=comment)
    own = wave.waits.change(bookmark)
    own.key, own.claimed_by, own.opened_at, own.claimable = to, None, None, False
    own.round += 1
    wave.tasks.opened(own)
    _tell(wave, events.TASK_TRANSFERRED, bookmark, {"from": holder, "target": to, COMMENT: comment})
    return wave.finish(wave.entry(task=own, comment=comment, details={"from": holder, "to": to}))


def add_signers(wave: WaveState, task_id: str, *, assignees: Sequence[str], position: str, comment: str | None) -> Wave:
    """Let more people sign beside those who do (spec 6.4).

    :raises InputInvalid: nobody named, or another position than ``parallel``.
    :raises Conflict: all of them are assignees of the node already.
    """
    problems = [*person_problems("assignees", assignees), *length_problems(COMMENT, comment, MAX_REMARK)]
    if position != PARALLEL:
        problems.append(Problem(path="position", key="workflow.task.position", params={"position": position}))
    bookmark = _open_task(wave, task_id, problems)
    _refuse_disabled(wave, "assignees", assignees)
    node_instance, signers = _signers(wave, bookmark)
    added, opened = signing.add(Policy(node_instance.state[POLICY]), signers, assignees)
    if not added:
        raise _already(assignees[0])
    if len(signers) > MAX_SIGNERS:
        raise InputInvalid("workflow.assignee.too_many", params={"max": MAX_SIGNERS}, path="assignees")
    signing.store(node_instance.state, signers)
    _note(wave, node_instance, "add", comment, added)
    for name in opened:
        wave.add_bookmark(node_instance, task_request(node_instance.state, name, copies=False))
    done, total = signing.progress(signers)
    for other in wave.waits.of_node(node_instance.id):
        if other.kind is BookmarkKind.USER_TASK:
            own = wave.waits.change(other)
            own.signers_done, own.signers_total = done, total
    _tell(wave, events.TASK_ADDED, bookmark, {"assignees": added, COMMENT: comment})
    return wave.finish(wave.entry(task=bookmark, comment=comment, details={"assignees": added}))


def _open_task(wave: WaveState, task_id: str, problems: list[Problem]) -> Bookmark:
    return check_action(
        wave.waits.open.get(task_id),
        wave.instance.status,
        acting_for(wave.command),
        operator=wave.command.as_operator,
        problems=problems,
    )


def _signers(wave: WaveState, bookmark: Bookmark) -> tuple[NodeInstance, list[Signer]]:
    node_instance = wave.touch(bookmark.node_instance_id)
    if node_instance is None:
        raise Conflict("workflow.bookmark.not_resumable", code=CONFLICT_BOOKMARK, params={"kind": bookmark.kind})
    return node_instance, signing.load(node_instance.state)


def _already(name: str) -> Conflict:
    return Conflict("workflow.task.already_assignee", code=CONFLICT_ASSIGNEE, params={"name": name.strip()})


def _refuse_disabled(wave: WaveState, path: str, names: Sequence[str]) -> None:
    directory = wave.kit.directory
    if directory is None:
        return
    gone = directory.disabled(wave.instance.tenant_id, [name.strip() for name in names])
    if gone:
        params = {"name": sorted(gone)[0]}
        raise InputInvalid("workflow.task.assignee_disabled", params=params, path=path)


def _note(
    wave: WaveState, node_instance: NodeInstance, action: str, comment: str | None, target: str | list[str]
) -> None:
    remember(
        node_instance.state,
        action=action,
        at=instant_text(wave.now),
        node_id=node_instance.node_id,
        actor_id=wave.command.actor_id,
        comment=comment,
        target=target,
    )


def _tell(wave: WaveState, topic: str, bookmark: Bookmark, facts: JsonObject) -> None:
    data = {**events.action_data(wave.instance, bookmark, wave.command), **facts}
    wave.events.append(Event(topic=topic, data=data))
