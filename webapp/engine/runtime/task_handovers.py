"""Taking shared tasks and giving them back, lending a task, reminding people of it (spec 6.4, 6.7)."""

from __future__ import annotations

from collections.abc import Collection

from webapp.engine.errors import CONFLICT_ASSIGNEE, DENIED_ACTOR, Conflict, Denied, InputInvalid
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.limits import MAX_REMARK, length_problems
from webapp.engine.instances.model import OUTCOME
from webapp.engine.instances.principals import is_group
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime import events
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState, nothing_done
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
from webapp.engine.runtime.variables import OutputsRefused
from webapp.engine.schedules import instant_text
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.policies import Policy
from webapp.engine.tasks.properties import ALLOW_DELEGATE
from webapp.engine.tasks.signers import Signer
from webapp.engine.tasks.user_tasks import (
    COMMENT,
    DELEGATED_BY,
    LAST_URGED_AT,
    URGE_COUNT,
    check_running,
    check_task,
    check_undecided,
    claimed,
    extra_variables,
    person_problems,
    remember,
)


def claim(wave: WaveState, task_id: str, principals: Collection[str]) -> Wave:
    """Take a task that several may decide: a group's, or one of several under Any (spec 6.4, 6.7).

    *principals* are what an assignee key may be for the actor. A task that is the actor's alone, or claimed by the
    actor already, stays as it is.

    :raises Denied: the actor is no candidate. :raises Conflict: somebody else has claimed it.
    """
    me = acting_for(wave.command)
    bookmark = check_task(wave.waits.open.get(task_id), me)
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    signer = tasks.signer_of(bookmark)
    candidate = bookmark.key == me or bookmark.key in principals
    if bookmark.claimed_by not in (None, me) and (candidate or signer.group in principals):
        raise claimed(bookmark)
    if me is None or not candidate:
        raise Denied("workflow.task.not_assignee", code=DENIED_ACTOR)
    check_undecided(bookmark)
    check_running(bookmark, wave.instance.status)
    of_group = is_group(bookmark.key or "")
    shared = of_group or (tasks.rule.policy is Policy.ANY and len(signing.present(tasks.signers)) > 1)
    if bookmark.claimed_by == me or not shared:
        return nothing_done(wave.instance)
    if of_group and not signing.claim(tasks.signers, signer, me):
        raise already_there(me)
    note(wave, tasks.node_instance, "claim", None, me)
    own = tasks.hand(bookmark, me, EndReason.CLAIMED)
    tasks.mark_claimed(own, me)
    tasks.settle()
    tell(wave, events.TASK_CLAIMED, bookmark, {"from": bookmark.key, "claimedBy": me})
    return wave.finish(wave.entry(task=own, details={"from": bookmark.key}))


def release(wave: WaveState, task_id: str) -> Wave:
    """Give a claimed task back to all its candidates, or a delegated one to the person who lent it (spec 6.4, 6.7).

    A task that nobody has claimed stays as it is.

    :raises Denied: somebody else has claimed it, and the actor is no operator.
    """
    me = acting_for(wave.command)
    bookmark = check_task(wave.waits.open.get(task_id), me)
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    signer = tasks.signer_of(bookmark)
    if signer.delegate is None and bookmark.claimed_by is not None and bookmark.key != bookmark.claimed_by:
        # Under Any a claim stands on the tasks of all candidates; the round that ends is the claimer's.
        bookmark = next((one for one in tasks.open() if one.key == bookmark.claimed_by), bookmark)
        signer = tasks.signer_of(bookmark)
    holders = (bookmark.claimed_by, bookmark.key if bookmark.claimed_by is None else None)
    lender = signer.id if signer.delegate is not None else None
    if not wave.command.as_operator and me not in (*holders, lender):
        raise Denied("workflow.task.not_assignee", code=DENIED_ACTOR)
    check_undecided(bookmark)
    check_running(bookmark, wave.instance.status)
    if bookmark.claimed_by is None and signer.delegate is None:
        return nothing_done(wave.instance)
    own = _give_back(tasks, signer, bookmark)
    note(wave, tasks.node_instance, "release", None, own.key or "")
    tasks.settle()
    tell(wave, events.TASK_RELEASED, bookmark, {"from": bookmark.key, "target": own.key})
    return wave.finish(wave.entry(task=own, details={"from": bookmark.key, "to": own.key}))


def _give_back(tasks: NodeTasks, signer: Signer, bookmark: Bookmark) -> Bookmark:
    if signer.delegate is not None:
        signer.delegate = None
        own = tasks.hand(bookmark, signer.id, EndReason.RELEASED)
        _not_lent(own)
        return own
    tasks.mark_claimed(bookmark, None)
    signing.release(tasks.signers, signer)
    return tasks.hand(tasks.wave.waits.change(bookmark), signer.id, EndReason.RELEASED)


def delegate(wave: WaveState, task_id: str, *, to: str, comment: str | None) -> Wave:
    """Have somebody else handle a task; it comes back to the assignee for the decision.

    :raises Denied: not the assignee, or the node does not allow it.
    :raises Conflict: *to* is an assignee of the node already, or the task is lent as it is.
    """
    problems = [*person_problems("to", [to]), *length_problems(COMMENT, comment, MAX_REMARK)]
    bookmark = open_task(wave, task_id, problems)
    check_allowed(wave, bookmark, ALLOW_DELEGATE)
    to = to.strip()
    refuse_disabled(wave, "to", [to])
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    signer = tasks.signer_of(bookmark)
    if signer.delegate is not None:
        params = {"name": signer.id}
        raise Conflict("workflow.task.already_delegated", code=CONFLICT_ASSIGNEE, params=params)
    if signing.find(tasks.signers, to) is not None:
        raise already_there(to)
    signer.delegate = to
    note(wave, tasks.node_instance, "delegate", comment, to)
    own = tasks.hand(bookmark, to, EndReason.TRANSFERRED, comment=comment)
    own.payload = {**own.payload, DELEGATED_BY: signer.id}
    tasks.settle()
    tell(wave, events.TASK_DELEGATED, bookmark, {"from": signer.id, "target": to, COMMENT: comment})
    return wave.finish(wave.entry(task=own, comment=comment, details={"from": signer.id, "to": to}))


def hand_back(wave: WaveState, bookmark: Bookmark, *, outcome: str, comment: str | None, variables: JsonObject) -> Wave:
    """Take what a delegate says as advice: it is told and kept, and the task goes back to be decided."""
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    signer = tasks.signer_of(bookmark)
    holder, signer.delegate = signer.delegate, None
    try:
        wave.variables.merge(extra_variables(variables))
    except OutputsRefused as refused:
        raise InputInvalid(refused.key, params=refused.arguments, path="variables") from refused
    remember(
        tasks.node_instance.state,
        action="handle",
        at=instant_text(wave.now),
        node_id=tasks.node_instance.node_id,
        actor_id=wave.command.actor_id,
        on_behalf_of=wave.command.on_behalf_of,
        outcome=outcome,
        comment=comment,
        target=signer.id,
    )
    own = tasks.hand(bookmark, signer.id, EndReason.COMPLETED, outcome=outcome, comment=comment)
    _not_lent(own)
    tasks.settle()
    facts: JsonObject = {"from": holder, "target": signer.id, "handled": True, OUTCOME: outcome, COMMENT: comment}
    tell(wave, events.TASK_DELEGATED, bookmark, facts)
    return wave.finish(wave.entry(task=own, outcome=outcome, comment=comment, details={"to": signer.id}))


def urge(wave: WaveState, task_id: str, *, comment: str | None) -> Wave:
    """Remind everybody whom the node waits for; nothing changes but the counters (spec 6.4)."""
    problems = length_problems(COMMENT, comment, MAX_REMARK)
    bookmark = check_task(wave.waits.open.get(task_id), wave.command.actor_id, problems)
    check_running(bookmark, wave.instance.status)
    tasks = NodeTasks(wave, bookmark.node_instance_id)
    waiting = [one for one in tasks.open() if one.available_at is None]
    if not waiting:
        check_undecided(bookmark)
    at = instant_text(wave.now)
    for one in waiting:
        own = wave.waits.change(one)
        count = own.payload.get(URGE_COUNT, 0) + 1
        own.payload = {**own.payload, URGE_COUNT: count, LAST_URGED_AT: at}
        tell(wave, events.TASK_URGED, own, {"assigneeId": own.key, "count": count, COMMENT: comment})
    note(wave, tasks.node_instance, "urge", comment, [one.key or "" for one in waiting])
    return wave.finish(wave.entry(task=bookmark, comment=comment))


def _not_lent(own: Bookmark) -> None:
    own.payload = {name: value for name, value in own.payload.items() if name != DELEGATED_BY}
