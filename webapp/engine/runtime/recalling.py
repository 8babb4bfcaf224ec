"""Taking back: a person's own decision, and a starter's own request (spec 3.22, decision D31)."""

from __future__ import annotations

import msgspec

from webapp.engine.activities.reminders import reminders
from webapp.engine.builtin.user_task import DUE_AT
from webapp.engine.errors import CONFLICT_BOOKMARK, DENIED_ACTOR, NOTFOUND_BOOKMARK, Conflict, Denied, NotFound
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import EndReason, Event
from webapp.engine.instances.model import APPROVED, OUTCOME, InstanceStatus, NodeInstance, NodeStatus
from webapp.engine.runtime import events, operations, timeouts
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.context import NodeContext
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.lineage import Lineage
from webapp.engine.runtime.queue import LATE
from webapp.engine.runtime.returning import USER_TASK
from webapp.engine.runtime.task_changes import NodeTasks
from webapp.engine.runtime.undoing import undo
from webapp.engine.schedules import instant_text, parse_instant
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.policies import Policy
from webapp.engine.tasks.signers import Signer, SignerState
from webapp.engine.tasks.user_tasks import ACTOR, DECISION_MADE, HISTORY, OUTCOME_BEFORE, remember, undo_until

RECALLED = "__recalled"
"""In the state of an execution that a recall canceled: it had not been acted on."""

_OUTSIDE = frozenset(["Http", "PublishEvent", "ExternalTask", "SubWorkflow", "ForEach"])
"""Activities whose effect cannot be taken back by canceling what followed."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The decision that is taken back: whose task (``holder``), which round of it, on which execution."""

    task_id: str
    round: int
    holder: str
    node_instance_id: str


def recall(wave: WaveState, decision: Decision) -> Wave:
    """Take a decision back: the task is open again, variables stay, ``outcome`` gets its earlier value.

    Allowed while nobody has acted on what followed and nothing of it reached outside. The wave needs the history.

    :raises Conflict: the instance does not run, or somebody was faster.
    """
    status = wave.instance.status
    if status is not InstanceStatus.RUNNING:
        raise Conflict("workflow.task.not_running", code=CONFLICT_BOOKMARK, params={"status": status})
    node_instance = wave.touch(decision.node_instance_id)
    if node_instance is None:
        raise NotFound("workflow.task.not_found", code=NOTFOUND_BOOKMARK)
    if node_instance.status is NodeStatus.COMPLETED:
        _reopen(wave, node_instance)
    elif node_instance.status is not NodeStatus.SUSPENDED:
        raise _too_late()
    tasks = NodeTasks(wave, node_instance.id)
    signer = _take_back(tasks, decision)
    _note(wave, tasks, decision, signer)
    tasks.settle()
    task = tasks.task_of(signer)
    return wave.finish(wave.entry(task=task))


def withdraw(wave: WaveState, reason: str | None) -> Wave:
    """Cancel an instance as the one who started it, until somebody else has approved. The wave needs the history.

    :raises Denied: somebody else started it. :raises Conflict: the definition does not allow it, somebody has approved,
        or it has ended.
    """
    instance, actor = wave.instance, wave.command.actor_id
    if actor is None or actor not in (instance.starter_id, instance.requested_by):
        raise Denied("workflow.withdraw.not_starter", code=DENIED_ACTOR)
    if instance.status not in (InstanceStatus.RUNNING, InstanceStatus.SUSPENDED):
        raise Conflict("workflow.instance.ended", params={"status": instance.status})
    if not wave.compiled.definition.allow_withdraw:
        raise Conflict("workflow.withdraw.not_allowed")
    approved = any(_approved_by_another(execution, actor) for execution in wave.known_nodes())
    if approved or any(_about_to_approve(bookmark, actor) for bookmark in wave.waits.open.values()):
        raise Conflict("workflow.withdraw.approved")
    return operations.close(wave, reason, terminates=False)


def _approved_by_another(execution: NodeInstance, actor: str) -> bool:
    if execution.activity_type != USER_TASK:
        return False
    return any(
        signer.state is SignerState.APPROVED and actor not in (signer.id, signer.delegate)
        for signer in signing.load(execution.state)
    )


def _about_to_approve(bookmark: Bookmark, actor: str) -> bool:
    """Whether somebody else has approved, and can still undo it: to everybody the task is decided (spec 6.7)."""
    said = bookmark.payload.get(DECISION_MADE) if undo_until(bookmark) is not None else None
    return said is not None and said[OUTCOME] == APPROVED and said[ACTOR] != actor


def _reopen(wave: WaveState, node_instance: NodeInstance) -> None:
    """Let a completed node wait again: what followed it is taken back, if nobody has acted on it."""
    lineage = Lineage(wave.known_nodes())
    following = lineage.descendants([node_instance.id])[1:]
    standing = [one for one in following if not one.state.get(RECALLED)]
    if not all(_untouched(wave, one) or _without_trace(wave, one) for one in standing):
        raise _too_late()
    late = undo(wave, lineage, node_instance, EndReason.RECALLED)
    if late:
        node_instance.state[LATE] = late
    for execution in standing:
        own = wave.touch(execution.id) if execution.status is NodeStatus.SUSPENDED else None
        if own is not None:
            own.state[RECALLED] = True
    node_instance.status = NodeStatus.SUSPENDED
    node_instance.ended_at = None
    node_instance.outputs = {}
    _restore_outcome(wave, node_instance)
    _rearm(wave, node_instance)


def _untouched(wave: WaveState, execution: NodeInstance) -> bool:
    """Whether an execution is a user task that nobody has acted on."""
    if execution.activity_type != USER_TASK or execution.status is not NodeStatus.SUSPENDED:
        return False
    return not execution.state.get(HISTORY) and all(map(_is_new, wave.waits.of_node(execution.id)))


def _is_new(bookmark: Bookmark) -> bool:
    if bookmark.kind is not BookmarkKind.USER_TASK:
        return True
    return bookmark.round == 1 and bookmark.claimed_by is None and undo_until(bookmark) is None


def _without_trace(wave: WaveState, execution: NodeInstance) -> bool:
    """Whether an execution is over and left nothing outside of the instance."""
    if execution.status is not NodeStatus.COMPLETED or execution.activity_type in _OUTSIDE:
        return False
    if execution.activity_type == USER_TASK and signing.load(execution.state):
        return False
    node = wave.compiled.nodes.get(execution.node_id)
    return node is None or not node.effects


def _restore_outcome(wave: WaveState, node_instance: NodeInstance) -> None:
    before = node_instance.state.pop(OUTCOME_BEFORE, None)
    values = {name: value for name, value in wave.instance.variables.items() if name != OUTCOME}
    wave.replace_variables(values if before is None else {**values, OUTCOME: before})


def _rearm(wave: WaveState, node_instance: NodeInstance) -> None:
    """Arm the deadline and the reminders anew; what was overdue already is not told twice."""
    node = wave.compiled.nodes.get(node_instance.node_id)
    if node is None:
        return
    timeouts.arm(wave, node, node_instance)
    due = node_instance.state.get(DUE_AT)
    due_at = None if due is None else parse_instant(due)
    if due_at is not None and due_at <= wave.now:
        due_at = None
    for request in reminders(NodeContext(wave, node, node_instance), due_at):
        wave.add_bookmark(node_instance, request)


def _take_back(tasks: NodeTasks, decision: Decision) -> Signer:
    """Put the signer back to those who wait; refuse when others have signed because of the decision."""
    signer = signing.find(tasks.signers, decision.holder)
    if signer is None or signer.undecided or signer.state is SignerState.REMOVED:
        raise _too_late()
    depending = _after(tasks, signer)
    if any(not one.undecided or not _is_waiting(tasks, one) for one in depending):
        raise _too_late()
    open_ids = {one.key for one in tasks.open()}
    for one in tasks.signers:
        if one.state is SignerState.PENDING and one.holder not in open_ids:
            # Their tasks went when the node was decided; it is their turn again.
            one.state = SignerState.WAITING
    signer.state, signer.outcome, signer.at = SignerState.WAITING, None, None
    signer.task_id, signer.round = decision.task_id, decision.round
    return signer


def _after(tasks: NodeTasks, signer: Signer) -> list[Signer]:
    """Return those whose turn came because this one decided."""
    here = signing.present(tasks.signers)
    if tasks.rule.policy is Policy.SEQUENTIAL:
        at = next(index for index, one in enumerate(here) if one is signer)
        return here[at + 1 :]
    return [one for one in here if one.after == signer.id or (signer.before is not None and one.id == signer.before)]


def _is_waiting(tasks: NodeTasks, signer: Signer) -> bool:
    task = tasks.task_of(signer)
    return task is None or (task.claimed_by is None and undo_until(task) is None)


def _note(wave: WaveState, tasks: NodeTasks, decision: Decision, signer: Signer) -> None:
    remember(
        tasks.node_instance.state,
        action="recall",
        at=instant_text(wave.now),
        node_id=tasks.node_instance.node_id,
        actor_id=wave.command.actor_id,
    )
    data = {
        "taskId": decision.task_id,
        "instanceId": wave.instance.id,
        "nodeId": tasks.node_instance.node_id,
        "actorId": wave.command.actor_id,
        "onBehalfOf": wave.command.on_behalf_of,
        "asOperator": wave.command.as_operator,
    }
    wave.events.append(Event(topic=events.TASK_RECALLED, data=data))


def _too_late() -> Conflict:
    return Conflict("workflow.recall.too_late", code=CONFLICT_BOOKMARK)
