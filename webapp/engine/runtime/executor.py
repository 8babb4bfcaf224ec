"""The wave: takes items from the queue until it is empty or the instance no longer runs (spec 3.3 to 3.10)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from webapp.engine.activities.api import (
    ActivityOutcome,
    Compensation,
    Complete,
    EndInstance,
    Fault,
    ResumeInput,
    Suspend,
)
from webapp.engine.activities.compiled import CompiledNode
from webapp.engine.definitions.listeners import ENTER
from webapp.engine.errors import NOTFOUND_TYPE, UNEXPECTED, OperationCancelled, Unexpected
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.journal import EndReason, Event
from webapp.engine.instances.limits import MAX_KEY, MAX_OUTCOME
from webapp.engine.instances.model import OUTCOME, InstanceStatus, NodeInstance, NodeStatus, WorkflowFault
from webapp.engine.numbers import copy_json
from webapp.engine.ports.stores import StoreFailure
from webapp.engine.runtime import (
    background,
    children,
    compensation,
    ending,
    events,
    faults,
    listeners,
    loose_joins,
    outcomes,
    returned,
    routing,
    timeouts,
)
from webapp.engine.runtime.context import NodeContext
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.queue import BACK, LATE, Fresh, Item, Resumption, Retrial, Settlement
from webapp.engine.runtime.resubmission import way_back
from webapp.engine.runtime.variables import OutputsRefused
from webapp.engine.tasks.user_tasks import ACTOR, COMMENT, OUTCOME_BEFORE

TIMED_OUT = "__timeout"
ACCOMPANYING = (BookmarkKind.NODE_TIMEOUT, BookmarkKind.REMINDER)
"""Kinds that a node has beside what it waits for."""


class Executor:
    """Runs one wave."""

    def __init__(self, wave: WaveState, items: Iterable[Item]) -> None:
        self._wave = wave
        self._queue: deque[Item] = deque(items)
        # Told when all that followed has been told (spec 9.1).
        self._decisions: list[Event] = []

    def run(self) -> None:
        """Run until nothing is left to do, then settle what became of the instance."""
        wave, queue = self._wave, self._queue
        left = wave.kit.options.max_node_executions_per_burst
        while wave.instance.status is InstanceStatus.RUNNING:
            if not queue and not self._fire_at_rest():
                break
            if self._is_void(queue[0]):
                queue.popleft()
                continue
            if left == 0:
                maximum = wave.kit.options.max_node_executions_per_burst
                self._fault_instance(_fault("workflow.burst.exceeded", max=maximum), None)
                break
            left -= 1
            self._step(queue.popleft())
        if wave.kit.outcome_handlers and wave.instance.outcome is not None and ending.is_over(wave):
            self._tell_outcome()
        ending.finalize(wave)
        wave.events += self._decisions

    def _fire_at_rest(self) -> bool:
        """Let those Joins fire that nobody can come to any more; whether there were any (spec 3.20, 3.22)."""
        if self._wave.instance.loosened_joins:
            self._queue.extend(loose_joins.ready(self._wave))
        return bool(self._queue)

    def _tell_outcome(self) -> None:
        """Have the application take the result; its refusal is a fault of the End node (spec 3.10)."""
        failed = outcomes.tell(self._wave)
        if failed is not None:
            end, fault = failed
            node = self._node(end)
            if not node.node.continue_on_error:
                self._wave.take_back_result()
            self._fail(node, end, fault)

    def _is_void(self, item: Item) -> bool:
        """Whether an earlier item of this wave took away what this one was to consume."""
        bookmark = item.bookmark
        return bookmark is not None and bookmark.id not in self._wave.waits.open

    def _step(self, item: Item) -> None:
        if isinstance(item, Fresh):
            node_instance = self._wave.open_node(item.node, item.caused_by, item.via)
            if item.back:
                node_instance.state[BACK] = list(item.back)
            if item.late:
                node_instance.state[LATE] = list(item.late)
            if item.node.node.background or (item.node.effects and self._wave.command.batched):
                background.leave(self._wave, node_instance)
            else:
                self._guarded(item.node, node_instance, None)
        elif isinstance(item, Resumption):
            self._resume(item)
        elif isinstance(item, Settlement):
            self._settle(item)
        else:
            self._retry(item)

    def _resume(self, item: Resumption) -> None:
        bookmark = item.bookmark
        node_instance = self._present(bookmark.node_instance_id)
        inputs = item.inputs
        if bookmark.kind is BookmarkKind.NODE_TIMEOUT:
            inputs = {**inputs, TIMED_OUT: True}
        self._wave.waits.consume(bookmark)
        node_instance.status = NodeStatus.RUNNING
        node_instance.fault = None
        node_instance.inputs = inputs
        node = self._node(node_instance)
        before = copy_json(node_instance.state)
        self._guarded(node, node_instance, ResumeInput(bookmark=bookmark, inputs=inputs))
        if node_instance.status is NodeStatus.FAULTED:
            # What failed did not happen: an approval that overfilled the variables must not count for the others.
            node_instance.state = before

    def _settle(self, item: Settlement) -> None:
        node_instance = self._present(item.node_instance_id)
        node = self._node(node_instance)
        try:
            self._dispatch(node, node_instance, Complete(label=item.label), None)
        except routing.RoutingFault as error:
            self._fault_instance(error.fault, node_instance)
        if node.listeners:
            listeners.left(self._wave, node, node_instance)

    def _retry(self, item: Retrial) -> None:
        node_instance = self._present(item.node_instance_id)
        self._wave.clear_node(node_instance.id, EndReason.FAULTED)
        if item.bookmark is None and self._node(node_instance).node.background:
            background.leave_again(self._wave, node_instance)
            return
        node_instance.status = NodeStatus.RUNNING
        node_instance.try_count += 1
        node_instance.fault = None
        node_instance.ended_at = None
        children.forget(node_instance)
        self._guarded(self._node(node_instance), node_instance, None)

    def _present(self, node_instance_id: str | None) -> NodeInstance:
        found = self._wave.touch(node_instance_id)
        if found is None:
            raise Unexpected("workflow.node.missing", params={"id": node_instance_id})
        return found

    def _node(self, node_instance: NodeInstance) -> CompiledNode:
        node = self._wave.compiled.nodes.get(node_instance.node_id)
        if node is None:
            raise Unexpected("workflow.node.missing", params={"id": node_instance.node_id})
        return node

    def _guarded(self, node: CompiledNode, node_instance: NodeInstance, resume: ResumeInput | None) -> None:
        """Run a node; an exception of the engine's own faults the instance, with the node recorded (spec 3.3)."""
        wave = self._wave
        wave.node_event(events.NODE_EXECUTING, node_instance)
        if node.listeners and resume is None:
            listeners.hear(wave, node, node_instance, ENTER)
        if node.execute is None:
            args = {"type": node.node.activity_type}
            fault = WorkflowFault(code=NOTFOUND_TYPE, key="workflow.activity.unknown", args=args)
            outcome: ActivityOutcome = Fault(fault=fault)
            self._fault(node_instance, fault)
        else:
            with wave.callbacks.run():
                before = copy_json(node_instance.state) if node.is_custom else None
                outcome = self._call(node, node_instance, resume)
                if before is not None:
                    outcome = returned.checked(outcome, node_instance, before)
                self._settle_outcome(node, node_instance, outcome, resume)
        if node.listeners:
            listeners.left(wave, node, node_instance)
        if resume is not None and resume.bookmark.kind is BookmarkKind.USER_TASK:
            self._end_round(node_instance, resume, outcome)

    def _settle_outcome(
        self, node: CompiledNode, node_instance: NodeInstance, outcome: ActivityOutcome, resume: ResumeInput | None
    ) -> None:
        try:
            self._dispatch(node, node_instance, outcome, resume)
        except routing.RoutingFault as error:
            self._fault_instance(error.fault, node_instance)
        except (StoreFailure, OperationCancelled):
            raise
        except Exception as error:
            self._fault(node_instance, faults.bounded(faults.fault_of(error)))

    def _call(self, node: CompiledNode, node_instance: NodeInstance, resume: ResumeInput | None) -> ActivityOutcome:
        if resume is not None and resume.bookmark.kind is BookmarkKind.NODE_TIMEOUT:
            settled = timeouts.outcome_of(self._wave, node, node_instance)
            if settled is not None:
                return settled
        context = NodeContext(self._wave, node, node_instance)
        try:
            if resume is None:
                return node.execute(context)  # type: ignore[misc]  # the caller has seen that there is an activity
            if node.resume is not None:
                return node.resume(context, resume)
        except OperationCancelled as error:
            if context.cancellation.is_set:
                raise
            return Fault(fault=faults.fault_of(error))
        except StoreFailure:
            # Not the activity's fault: the transaction that it wanted to write in cannot be had, or is lost.
            raise
        except Exception as error:
            return Fault(fault=faults.fault_of(error))
        if resume.bookmark.kind is BookmarkKind.NODE_TIMEOUT:
            return Fault(fault=timeouts.timed_out(node))
        return Complete(outputs=resume.inputs)

    def _end_round(self, node_instance: NodeInstance, resume: ResumeInput, result: ActivityOutcome) -> None:
        """Write how the round of a consumed task ended: decided, made anew, or lost to a fault."""
        wave, tasks = self._wave, self._wave.tasks
        if isinstance(result, Suspend) and result.rebuilt:
            tasks.ended(resume.bookmark, EndReason.REBUILT)
        elif node_instance.status is NodeStatus.FAULTED:
            tasks.ended(resume.bookmark, EndReason.FAULTED)
        else:
            actor = _text(resume.inputs.get(ACTOR)) or resume.bookmark.key
            outcome, comment = _text(resume.inputs.get(OUTCOME)), _text(resume.inputs.get(COMMENT))
            tasks.decided(
                resume.bookmark,
                EndReason.COMPLETED,
                wave.command,
                actor_id=actor,
                outcome=outcome,
                comment=comment,
            )
            data = events.action_data(wave.instance, resume.bookmark, wave.command)
            data |= {ACTOR: actor, OUTCOME: outcome, COMMENT: comment}
            self._decisions.append(Event(topic=events.TASK_COMPLETED, data=data))

    def _dispatch(
        self, node: CompiledNode, node_instance: NodeInstance, outcome: object, resume: ResumeInput | None
    ) -> None:
        try:
            if isinstance(outcome, Complete):
                self._complete(node, node_instance, outcome, resume)
            elif isinstance(outcome, Suspend):
                self._suspend(node, node_instance, outcome, first=resume is None)
            elif isinstance(outcome, Fault):
                self._fail(node, node_instance, outcome.fault)
            elif isinstance(outcome, Compensation):
                compensation.run(self._wave, outcome.node_ids)
                self._complete(node, node_instance, Complete(), resume)
            elif isinstance(outcome, EndInstance):
                self._terminate(node_instance, outcome)
            else:
                self._fail(node, node_instance, _fault("workflow.activity.bad_outcome", type=type(outcome).__name__))
        except OutputsRefused as refused:
            self._fail(node, node_instance, _fault(refused.key, **refused.arguments))

    def _complete(
        self, node: CompiledNode, node_instance: NodeInstance, outcome: Complete, resume: ResumeInput | None
    ) -> None:
        wave, label = self._wave, outcome.label
        if label is not None and len(label) > MAX_OUTCOME:
            self._fail(node, node_instance, _fault("workflow.outcome.too_long", max=MAX_OUTCOME))
            return
        wave.variables.merge(outcome.outputs)
        node_instance.status = NodeStatus.COMPLETED
        node_instance.ended_at = wave.now
        node_instance.outputs = outcome.outputs
        if label is not None:
            node_instance.outputs = {**outcome.outputs, OUTCOME: label}
            if node_instance.state and wave.variables.scope[OUTCOME] is not None:
                node_instance.state[OUTCOME_BEFORE] = wave.variables.scope[OUTCOME]
            wave.variables.set_label(label)
        children.request(wave, node_instance, outcome.children, waits=False)
        timed_out = resume is not None and resume.bookmark.kind is BookmarkKind.NODE_TIMEOUT
        wave.clear_node(node_instance.id, EndReason.TIMEOUT if timed_out else EndReason.SIBLING)
        if outcome.result is not None:
            wave.set_result(outcome.result)
        wave.node_event(events.NODE_EXECUTED, node_instance)
        self._route(node, node_instance)

    def _route(self, node: CompiledNode, node_instance: NodeInstance) -> None:
        wave = self._wave
        back = way_back(wave.compiled, node_instance) if node_instance.state else None
        if back is not None:
            self._queue.append(back)
            return
        edges = routing.choose(node, wave.variables.scope)
        if wave.instance.loosened_joins:
            loose_joins.send(wave, self._queue, node_instance, edges)
        else:
            routing.send(wave.instance, self._queue, node_instance, edges)

    def _suspend(self, node: CompiledNode, node_instance: NodeInstance, outcome: Suspend, *, first: bool) -> None:
        wave = self._wave
        removed = outcome.removed_bookmark_ids
        kept = [bookmark for bookmark in wave.waits.of_node(node_instance.id) if bookmark.id not in removed]
        waiting = any(bookmark.kind not in ACCOMPANYING for bookmark in kept)
        if not waiting and not outcome.bookmarks:
            self._fail(node, node_instance, _fault("workflow.activity.no_bookmark", node=node.name))
            return
        if any(len(request.key or "") > MAX_KEY for request in outcome.bookmarks):
            self._fail(node, node_instance, _fault("workflow.bookmark.key_too_long", max=MAX_KEY))
            return
        wave.variables.merge(outcome.outputs)
        node_instance.status = NodeStatus.SUSPENDED
        children.request(wave, node_instance, outcome.children, waits=True)
        for bookmark_id in removed:
            if bookmark_id in wave.waits.open:
                wave.delete(wave.waits.open[bookmark_id], EndReason.REMOVED)
        for request in outcome.bookmarks:
            kept.append(wave.add_bookmark(node_instance, request))
        if outcome.signers_total is not None:
            self._show_progress(kept, outcome.signers_done or 0, outcome.signers_total)
        if first:
            timeouts.arm(wave, node, node_instance)
        wave.node_event(events.NODE_EXECUTED, node_instance)

    def _show_progress(self, bookmarks: list[Bookmark], done: int, total: int) -> None:
        for bookmark in bookmarks:
            shown = (bookmark.signers_done, bookmark.signers_total)
            if bookmark.kind is BookmarkKind.USER_TASK and shown != (done, total):
                own = self._wave.waits.change(bookmark)
                own.signers_done, own.signers_total = done, total

    def _terminate(self, node_instance: NodeInstance, outcome: EndInstance) -> None:
        wave = self._wave
        node_instance.status = NodeStatus.COMPLETED
        node_instance.ended_at = wave.now
        wave.clear_node(node_instance.id, EndReason.TERMINATED)
        wave.node_event(events.NODE_EXECUTED, node_instance)
        ending.terminate(wave, outcome.reason)

    def _fail(self, node: CompiledNode, node_instance: NodeInstance, fault: WorkflowFault) -> None:
        wave, fault = self._wave, faults.bounded(fault)
        wave.callbacks.undo()
        if faults.schedule_retry(wave, node, node_instance, fault):
            return
        if node.node.continue_on_error:
            faults.go_on(wave, node_instance, fault)
            self._route(node, node_instance)
            return
        self._fault(node_instance, fault)

    def _fault(self, node_instance: NodeInstance, fault: WorkflowFault) -> None:
        self._wave.callbacks.undo()
        faults.end_failed(self._wave, node_instance, fault)
        self._fault_instance(fault, node_instance)

    def _fault_instance(self, fault: WorkflowFault, node_instance: NodeInstance | None) -> None:
        ending.fault(self._wave, list(self._queue), fault, node_instance)
        self._queue.clear()


def _fault(key: str, **args: object) -> WorkflowFault:
    return WorkflowFault(code=UNEXPECTED, key=key, args=args)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
