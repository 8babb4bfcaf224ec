"""Sending a task back to an earlier step (spec 3.22, 6.4, decision D30)."""

from __future__ import annotations

from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.errors import CONFLICT_BOOKMARK, Conflict, InputInvalid, Problem
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import EndReason, Event
from webapp.engine.instances.limits import MAX_REMARK, blank_problems, length_problems
from webapp.engine.instances.model import OUTCOME, NodeInstance, NodeStatus
from webapp.engine.runtime import events
from webapp.engine.runtime.commands import Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.executor import Executor
from webapp.engine.runtime.lineage import Lineage
from webapp.engine.runtime.queue import LATE, Fresh
from webapp.engine.runtime.resubmission import way_of
from webapp.engine.runtime.task_checks import acting_for, check_allowed
from webapp.engine.runtime.undoing import cancel_executions, undo
from webapp.engine.schedules import instant_text
from webapp.engine.tasks.properties import ALLOW_RETURN, RESUBMIT, RETURN_TARGETS
from webapp.engine.tasks.user_tasks import COMMENT, check_action, remember

USER_TASK = "UserTask"
RETURNED = "returned"
DIRECT = "direct"
FLOW = "flow"


def return_task(
    wave: WaveState, task_id: str, *, to_node_id: str | None, comment: str | None, resubmit: str | None
) -> Wave:
    """Send a task back to an earlier step; that step's task is made anew, with new reminders and deadlines.

    ``flow``: all that came from the earlier step is taken back, and the flow runs on from there. ``direct``: only this
    step is, and its token comes straight back to it. The wave needs the history.

    :raises InputInvalid: no such step before this one, or one that this step is not sent back to.
    :raises Denied: this step is sent back to nobody, and no operator asks for it.
    """
    command = wave.command
    problems = [*blank_problems(COMMENT, comment), *length_problems(COMMENT, comment, MAX_REMARK)]
    if resubmit not in (None, DIRECT, FLOW):
        problems.append(Problem(path="resubmit", key="workflow.return.resubmit", params={"value": resubmit}))
    bookmark = check_action(wave.waits.open.get(task_id), wave.instance.status, acting_for(command), problems=problems)
    node_instance = wave.touch(bookmark.node_instance_id)
    node = None if node_instance is None else wave.compiled.nodes.get(node_instance.node_id)
    if node_instance is None or node is None:
        raise Conflict("workflow.bookmark.not_resumable", code=CONFLICT_BOOKMARK, params={"kind": bookmark.kind})
    check_allowed(wave, bookmark, ALLOW_RETURN)
    lineage = Lineage(wave.known_nodes())
    target = _target(wave, lineage, node, node_instance, to_node_id)
    direct = (resubmit or node.properties.get(RESUBMIT) or FLOW) == DIRECT
    _note(wave, bookmark, node_instance, target, comment)
    if direct:
        late = node_instance.state.get(LATE, [])
        cancel_executions(wave, [node_instance], EndReason.RETURNED)
    else:
        target = _drawn(lineage, node_instance, target)
        late = undo(wave, lineage, target, EndReason.RETURNED)
    wave.variables.set_label(RETURNED)
    token = _token(wave, target, node_instance, node if direct else None)
    token.late = late
    Executor(wave, [token]).run()
    details = {"toNodeId": target.node_id, "resubmit": DIRECT if direct else FLOW}
    return wave.finish(wave.entry(task=bookmark, outcome=RETURNED, comment=comment, details=details))


def offered_targets(wave: WaveState, task_id: str) -> list[NodeInstance]:
    """Return the executions that an open task may be sent back to; none where its step is sent back to nobody.

    The wave needs the history.
    """
    bookmark = wave.waits.open.get(task_id)
    node = None if bookmark is None else wave.compiled.nodes.get(bookmark.node_id or "")
    if bookmark is None or node is None or node.properties.get(ALLOW_RETURN) is False:
        return []
    return return_targets(wave, node, Lineage(wave.known_nodes()), bookmark.node_instance_id or "")


def return_targets(wave: WaveState, node: CompiledNode, lineage: Lineage, node_instance_id: str) -> list[NodeInstance]:
    """Return the executions a task of *node* may be sent back to, of each step the latest one, in their order.

    The node's ``ReturnTargets``; without them the user tasks that were completed on the way to it.
    """
    named = node.properties.get(RETURN_TARGETS) or None
    latest: dict[str, NodeInstance] = {}
    for execution in lineage.ancestors(node_instance_id):
        known = wave.compiled.nodes.get(execution.node_id)
        if known is None or known is wave.compiled.start or execution.status is not NodeStatus.COMPLETED:
            continue
        if known.id in named if named is not None else known.node.activity_type == USER_TASK:
            latest[known.id] = execution
    return list(latest.values())


def _drawn(lineage: Lineage, node_instance: NodeInstance, target: NodeInstance) -> NodeInstance:
    """Return the execution that the flow as it is drawn came from: not one that was asked directly, and answered.

    What came of such an answer is one branch; the flow that runs on from the step takes all of them with it.
    """
    earlier = [
        one
        for one in lineage.ancestors(node_instance.id)
        if one.node_id == target.node_id and one.status is NodeStatus.COMPLETED and not way_of(one)
    ]
    return earlier[-1] if earlier else target


def _target(
    wave: WaveState, lineage: Lineage, node: CompiledNode, node_instance: NodeInstance, to_node_id: str | None
) -> NodeInstance:
    offered = return_targets(wave, node, lineage, node_instance.id)
    if to_node_id is not None:
        for execution in offered:
            if execution.node_id == to_node_id:
                return execution
        params = {"nodeId": to_node_id, "known": [execution.node_id for execution in offered]}
        raise InputInvalid("workflow.return.target", path="toNodeId", params=params)
    people = [execution for execution in offered if execution.activity_type == USER_TASK] or offered
    if not people:
        raise InputInvalid("workflow.return.nowhere", path="toNodeId", params={"node": node.name})
    return max(people, key=lambda execution: (execution.ended_at or execution.started_at, execution.sequence))


def _note(
    wave: WaveState, bookmark: Bookmark, node_instance: NodeInstance, target: NodeInstance, comment: str | None
) -> None:
    command = wave.command
    remember(
        node_instance.state,
        action="return",
        at=instant_text(wave.now),
        node_id=node_instance.node_id,
        actor_id=command.actor_id,
        outcome=RETURNED,
        comment=comment,
        target=target.node_id,
    )
    wave.waits.consume(bookmark)
    wave.tasks.decided(
        bookmark, EndReason.RETURNED, command, actor_id=command.actor_id, outcome=RETURNED, comment=comment
    )
    data = events.action_data(wave.instance, bookmark, command)
    data |= {OUTCOME: RETURNED, COMMENT: comment, "toNodeId": target.node_id}
    wave.events.append(Event(topic=events.TASK_RETURNED, data=data))


def _token(wave: WaveState, target: NodeInstance, returned: NodeInstance, back_to: CompiledNode | None) -> Fresh:
    node = wave.compiled.nodes[target.node_id]
    if back_to is None:
        return Fresh(node, list(target.caused_by), list(target.via_transition_ids))
    # It is this step's token that goes there: what takes back this step's causes must find it.
    causes = list(dict.fromkeys([*target.caused_by, *returned.caused_by]))
    return Fresh(node, causes, list(target.via_transition_ids), [back_to.id, *way_of(returned)])
