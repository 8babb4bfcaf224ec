"""Shared tasks: claimed, released, lent, and their people reminded (spec 6.4, 6.7)."""

from __future__ import annotations

from webapp.accounts.model import Actor
from webapp.accounts.permissions import TASKS_ALL
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime.commands import Command, Wave
from webapp.services.access import not_assignee
from webapp.services.definitions import Prepared
from webapp.services.task_work import TaskWork
from webapp.services.views import TaskResult


class TaskSharing(TaskWork):
    """The use cases of tasks that go from hand to hand."""

    def claim(self, actor: Actor, task_id: str) -> TaskResult:
        """Take a task that several may decide; one's own again is as good (6.4).

        :raises Denied: no candidate. :raises Conflict: somebody else was faster: ``claimedBy`` is in the details.
        """

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.claim_task(
                snapshot, prepared.compiled, task_id, principals=actor.principals, command=command
            )

        return self._act(actor, task_id, "claim", act, operator=False)

    def release(self, actor: Actor, task_id: str) -> TaskResult:
        """Give a claimed or lent task back, as the one who has it, the one who lent it, or as operator (6.4, 6.7)."""

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.release_task(snapshot, prepared.compiled, task_id, command=command)

        return self._act(actor, task_id, "release", act, operator=True)

    def delegate(self, actor: Actor, task_id: str, to: str, comment: str | None = None) -> TaskResult:
        """Have somebody else handle a task, which then comes back for the decision."""

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            return self._engine.delegate_task(
                snapshot, prepared.compiled, task_id, to=to, comment=comment, command=command
            )

        return self._act(actor, task_id, "delegate", act, operator=False)

    def urge(self, actor: Actor, task_id: str, comment: str | None = None) -> TaskResult:
        """Remind everybody whom the task's step waits for, as starter, participant or operator (6.4).

        :raises Denied: the actor has no part in the request.
        """

        def act(snapshot: InstanceSnapshot, prepared: Prepared, command: Command) -> Wave:
            participant = actor.may(TASKS_ALL) or self._may_read(actor, snapshot.instance, prepared)
            if not participant:
                raise not_assignee()
            return self._engine.urge_task(snapshot, prepared.compiled, task_id, comment=comment, command=command)

        return self._act(actor, task_id, "urge", act, operator=True)
