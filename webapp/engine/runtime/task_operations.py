"""What people do with user tasks: decide, hand over, add signers (spec 6.2, 6.4, 6.7)."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.errors import DENIED_ACTOR, Denied, InputInvalid, Problem
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.limits import MAX_REMARK, MAX_SIGNERS, length_problems
from webapp.engine.instances.model import OUTCOME
from webapp.engine.numbers import JsonObject, copy_json
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime import events, task_handovers
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.operations import check_resumable
from webapp.engine.runtime.queue import Resumption
from webapp.engine.runtime.task_changes import NodeTasks
from webapp.engine.runtime.task_checks import (
    acting_for,
    already_there,
    check_allowed,
    note,
    open_task,
    refuse_disabled,
    tell,
)
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.properties import ALLOW_ADD_SIGNERS, ALLOW_TRANSFER, FORM
from webapp.engine.tasks.signers import Position, Signer
from webapp.engine.tasks.user_tasks import (
    ACTOR,
    COMMENT,
    DELEGATED_BY,
    check_action,
    check_decision,
    check_running,
    check_task,
    check_undecided,
    person_problems,
    text_problems,
)

PARALLEL = Position.PARALLEL.value


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
    written = copy_json(variables or {})
    bookmark = decidable(wave, snapshot, task_id, outcome=outcome, comment=comment, variables=written)
    if DELEGATED_BY in bookmark.payload:
        return task_handovers.hand_back(wave, bookmark, outcome=outcome, comment=comment, variables=written)
    inputs = {**written, ACTOR: command.actor_id, OUTCOME: outcome, COMMENT: comment}
    Executor(wave, [Resumption(bookmark, inputs)]).run()
    return wave.finish(wave.entry(task=bookmark, outcome=outcome, comment=comment))


def decidable(
    wave: WaveState,
    snapshot: InstanceSnapshot,
    task_id: str,
    *,
    outcome: str,
    comment: str | None,
    variables: JsonObject,
) -> Bookmark:
    """Return the open task if it may be decided so. :raises WorkflowError: the first check of spec 6.2 that fails."""
    bookmark = check_action(
        wave.waits.open.get(task_id),
        wave.instance.status,
        acting_for(wave.command),
        problems=text_problems(outcome=outcome, comment=comment),
    )
    node = wave.compiled.nodes.get(bookmark.node_id or "")
    form = None if node is None else node.properties.get(FORM)
    check_decision(
        bookmark.payload,
        outcome,
        comment,
        variables,
        form=form if isinstance(form, dict) else None,
        present=wave.variables.values,
    )
    check_resumable(bookmark, snapshot)
    return bookmark


def transfer(wave: WaveState, task_id: str, *, to: str, comment: str | None) -> Wave:
    """Hand a task over: the same task, another assignee in the same place (spec 6.4).

    :raises Conflict: *to* is an assignee of the node already.
    """
    problems = [*person_problems("to", [to]), *length_problems(COMMENT, comment, MAX_REMARK)]
    bookmark = open_task(wave, task_id, problems)
    check_allowed(wave, bookmark, ALLOW_TRANSFER)
    to = to.strip()
    refuse_disabled(wave, "to", [to])
    holder = bookmark.key or ""
    own = hand_over(wave, bookmark, to, comment)
    return wave.finish(wave.entry(task=own, comment=comment, details={"from": holder, "to": to}))


def hand_over(wave: WaveState, bookmark: Bookmark, to: str, comment: str | None = None) -> Bookmark:
    """Transfer an open task as whoever gives the command, a person or the system; nobody's right to it is asked.

    :raises Conflict: *to* is an assignee of the node already.
    """
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    holder = bookmark.key or ""
    if signing.transfer(tasks.signers, holder, to) is None:
        raise already_there(to)
    note(wave, tasks.node_instance, "transfer", comment, to)
    own = tasks.hand(bookmark, to, EndReason.TRANSFERRED, comment=comment)
    tasks.settle()
    tell(wave, events.TASK_TRANSFERRED, bookmark, {"from": holder, "target": to, COMMENT: comment})
    return own


def add_signers(wave: WaveState, task_id: str, *, assignees: Sequence[str], position: str, comment: str | None) -> Wave:
    """Let more people sign: beside those who do, before the task's assignee, or after (spec 6.4, 6.7).

    :raises InputInvalid: nobody named, or an unknown position.
    :raises Conflict: all of them are assignees of the node already.
    """
    problems = [*person_problems("assignees", assignees), *length_problems(COMMENT, comment, MAX_REMARK)]
    if position not in Position.__members__.values():
        problems.append(Problem(path="position", key="workflow.task.position", params={"position": position}))
    bookmark = open_task(wave, task_id, problems)
    check_allowed(wave, bookmark, ALLOW_ADD_SIGNERS)
    refuse_disabled(wave, "assignees", assignees)
    added = more_signers(wave, bookmark, assignees, Position(position), comment)
    details: JsonObject = {"assignees": added, "position": position}
    return wave.finish(wave.entry(task=bookmark, comment=comment, details=details))


def more_signers(
    wave: WaveState,
    bookmark: Bookmark,
    assignees: Sequence[str],
    position: Position = Position.PARALLEL,
    comment: str | None = None,
) -> list[str]:
    """Add signers beside an open task as whoever gives the command, a person or the system; return who is new.

    :raises Conflict: all of them are assignees of the node already. :raises InputInvalid: too many signers.
    """
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    beside = tasks.signer_of(bookmark)
    added = signing.add(tasks.signers, assignees, by=wave.command.actor_id, position=position, beside=beside)
    if not added:
        raise already_there(assignees[0])
    if len(tasks.signers) > MAX_SIGNERS:
        raise InputInvalid("workflow.assignee.too_many", params={"max": MAX_SIGNERS}, path="assignees")
    note(wave, tasks.node_instance, "add", comment, added)
    tasks.settle()
    tell(wave, events.TASK_ADDED, bookmark, {"assignees": added, "position": position, COMMENT: comment})
    return added


def remove_signers(wave: WaveState, task_id: str, *, assignees: Sequence[str], comment: str | None) -> Wave:
    """Take people off a task who have not decided, as the one who added them or as operator (spec 6.7, D29).

    What is left may decide the node: the policy is evaluated again.

    :raises InputInvalid: one of them is not on the node or has decided, or nobody would be left.
    :raises Denied: somebody else added one of them.
    """
    problems = [*person_problems("assignees", assignees), *length_problems(COMMENT, comment, MAX_REMARK)]
    bookmark = check_task(wave.waits.open.get(task_id), wave.command.actor_id, problems)
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    leaving = _leaving(wave, tasks, assignees)
    check_running(bookmark, wave.instance.status)
    for signer in leaving:
        task = tasks.task_of(signer)
        if task is not None:
            check_undecided(task)
            actor = wave.command.actor_id
            wave.tasks.decided(task, EndReason.REMOVED, wave.command, actor_id=actor, comment=comment)
            wave.waits.consume(task)
        signing.remove(tasks.signers, signer)
    names = [signer.id for signer in leaving]
    note(wave, tasks.node_instance, "remove", comment, names)
    tasks.settle()
    tell(wave, events.TASK_REMOVED, bookmark, {"assignees": names, COMMENT: comment})
    return wave.finish(wave.entry(task=bookmark, comment=comment, details={"assignees": names}))


def _leaving(wave: WaveState, tasks: NodeTasks, names: Sequence[str]) -> list[Signer]:
    command, leaving, problems = wave.command, [], []
    for name in dict.fromkeys(name.strip() for name in names if name.strip()):
        signer = next((one for one in signing.present(tasks.signers) if one.id == name), None)
        if signer is None or not signer.undecided:
            problems.append(Problem(path="assignees", key="workflow.task.not_removable", params={"name": name}))
            continue
        if not command.as_operator and (signer.added_by is None or signer.added_by != command.actor_id):
            raise Denied("workflow.task.not_added_by_you", code=DENIED_ACTOR, params={"name": name})
        leaving.append(signer)
    if not problems and len(leaving) == len(signing.present(tasks.signers)):
        problems.append(Problem(path="assignees", key="workflow.task.last_signer"))
    if problems:
        raise InputInvalid("workflow.task.invalid", problems=problems)
    return leaving
