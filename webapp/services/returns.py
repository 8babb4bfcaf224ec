"""Taking steps back: return a task, recall a decision, withdraw a request (spec 3.22, 6.4, 6.7, D30, D31)."""

from __future__ import annotations

from collections.abc import Callable

from webapp.accounts.model import Actor
from webapp.engine.errors import CONFLICT_BOOKMARK, NOTFOUND_BOOKMARK, Conflict, NotFound, WorkflowError
from webapp.engine.instances.journal import EndReason, TaskRecord
from webapp.engine.instances.limits import MAX_REMARK
from webapp.engine.instances.model import WorkflowInstance
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.engine import Engine
from webapp.engine.runtime.recalling import Decision
from webapp.services.access import not_assignee
from webapp.services.commands import Commands
from webapp.services.definitions import Prepared
from webapp.services.inbox import InboxService
from webapp.services.storage import Storage
from webapp.services.texts import check_text
from webapp.services.views import ReturnTarget, TaskDetail, TaskResult


class ReturnService:
    """The use cases that undo what people have done."""

    def __init__(self, *, engine: Engine, storage: Storage, commands: Commands, inbox: InboxService) -> None:
        self._engine = engine
        self._storage = storage
        self._commands = commands
        self._inbox = inbox

    def return_task(
        self,
        actor: Actor,
        task_id: str,
        *,
        comment: str | None,
        to_node_id: str | None = None,
        resubmit: str | None = None,
    ) -> TaskResult:
        """Send a task back to an earlier step, by default to the task that was completed last before it (3.22).

        *resubmit*: ``direct`` brings it straight back afterwards, ``flow`` lets the flow run on from there; None: what
        the step says.

        :raises InputInvalid: no comment, or no such earlier step. :raises Denied: the step allows no return.
        """

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.return_task(
                snapshot,
                prepared.compiled,
                task_id,
                to_node_id=to_node_id,
                comment=comment,
                resubmit=resubmit,
                command=command,
            )

        return self._inbox.act(actor, task_id, "return", act, history=True)

    def return_targets(self, actor: Actor, task: TaskDetail) -> list[ReturnTarget]:
        """Return the earlier steps that an open task of the actor may be sent back to, in their order."""
        if task.status != "open" or not task.rights.complete:
            return []
        snapshot, prepared = self._commands.look(actor.partition, task.instance_id, history=True)
        command = self._commands.command(actor, "return")
        labels = {node.id: node.label for node in prepared.definition.nodes}
        ids = self._engine.return_targets(snapshot, prepared.compiled, task.id, command)
        return [ReturnTarget(node_id=node_id, node_name=labels[node_id]) for node_id in ids]

    def may_recall(self, actor: Actor, task: TaskDetail) -> bool:
        """Whether :meth:`recall` would work now."""
        if task.end_reason is not EndReason.COMPLETED or task.completed_by != actor.name:
            return False
        last = self._storage.read(actor.partition, lambda work: work.task_records.latest(actor.partition, task.id))
        if last is None:
            return False
        snapshot, prepared = self._commands.look(actor.partition, task.instance_id, history=True)
        command = self._commands.command(actor, "recall")
        return _works(lambda: self._engine.recall(snapshot, prepared.compiled, command, _decided(actor, last)))

    def may_withdraw(self, actor: Actor, instance: WorkflowInstance) -> bool:
        """Whether :meth:`withdraw` would work now."""
        if instance.status.ended or actor.name not in (instance.starter_id, instance.requested_by):
            return False
        snapshot, prepared = self._commands.look(actor.partition, instance.id, history=True)
        command = self._commands.command(actor, "withdraw")
        return _works(lambda: self._engine.withdraw(snapshot, prepared.compiled, command))

    def recall(self, actor: Actor, task_id: str) -> TaskResult:
        """Take an own decision back while nobody has acted on what followed; the task is open again (D31).

        :raises Denied: it was somebody else's decision. :raises Conflict: there is none, or it is too late.
        """
        last = self._storage.read(actor.partition, lambda work: work.task_records.latest(actor.partition, task_id))
        if last is None:
            raise NotFound("workflow.task.not_found", code=NOTFOUND_BOOKMARK, params={"id": task_id})
        decision = _decided(actor, last)
        command = self._commands.command(actor, "recall")

        def decide(snapshot: InstanceSnapshot, prepared: Prepared) -> Wave:
            return self._engine.recall(snapshot, prepared.compiled, command, decision)

        wave = self._commands.change(actor.partition, last.instance_id, decide, lost=_too_late, history=True)
        task = self._inbox.get(actor, task_id)
        return TaskResult(task=task, instance_id=wave.instance.id, instance_status=wave.instance.status)

    def withdraw(self, actor: Actor, instance_id: str, reason: str | None = None) -> WorkflowInstance:
        """Cancel an own request until somebody else has approved it (D31).

        :raises Denied: somebody else started it. :raises Conflict: it is not allowed, or not any more.
        """
        check_text("reason", reason, MAX_REMARK)
        command = self._commands.command(actor, "withdraw")
        wave = self._commands.change(
            actor.partition,
            instance_id,
            lambda snapshot, prepared: self._engine.withdraw(snapshot, prepared.compiled, command, reason=reason),
            history=True,
        )
        return wave.instance


def _works(run: Callable[[], Wave]) -> bool:
    """Whether a wave, which is not stored, would not be refused."""
    try:
        run()
    except WorkflowError:
        return False
    return True


def _decided(actor: Actor, last: TaskRecord) -> Decision:
    if last.ended_at is None:
        raise not_assignee() if last.assignee_id != actor.name else _too_late()
    if last.actor_id != actor.name:
        raise not_assignee()
    if last.end_reason is not EndReason.COMPLETED:
        raise _too_late()
    return Decision(
        task_id=last.task_id, round=last.round, holder=last.assignee_id, node_instance_id=last.node_instance_id
    )


def _too_late() -> Conflict:
    return Conflict("workflow.recall.too_late", code=CONFLICT_BOOKMARK)
