"""The facade of the engine: each method turns a command into a wave that a service stores (spec 3, 6)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.assignees import BUILTIN_PROVIDERS, AssigneeProvider
from webapp.engine.clock import Clock, IdSource
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Problem
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.instances.journal import FollowUp
from webapp.engine.instances.requests import StartRequest
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.calendars import Calendars
from webapp.engine.ports.directory import Directory
from webapp.engine.ports.outcomes import OutcomeHandler
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime import due, operations, pending_decisions, task_handovers, task_operations
from webapp.engine.runtime.child_operations import ChildOperations
from webapp.engine.runtime.commands import Command, EngineOptions, Kit, Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.external_tasks import ExternalTaskOperations
from webapp.engine.runtime.operating import Operating
from webapp.engine.runtime.signals import SignalOperations
from webapp.engine.validation import validate_definition

__all__ = ["Command", "Engine", "EngineOptions", "Wave"]

_DEFAULTS = EngineOptions()


class Engine(Operating):
    """Runs waves in memory; one object serves all threads.

    A snapshot must have been read under the instance's lease. What is passed in is never changed; a refusal is raised
    before anything has happened.
    """

    def __init__(
        self,
        *,
        registry: ActivityRegistry,
        evaluator: ExpressionEvaluator,
        clock: Clock,
        ids: IdSource,
        options: EngineOptions = _DEFAULTS,
        assignee_providers: Sequence[AssigneeProvider] = BUILTIN_PROVIDERS,
        directory: Directory | None = None,
        outcome_handlers: Sequence[OutcomeHandler] = (),
        calendars: Calendars | None = None,
    ) -> None:
        self.registry = registry
        self.evaluator = evaluator
        self.assignee_providers = {provider.rule_type: provider for provider in assignee_providers}
        self.clock = clock
        self._kit = Kit(
            options=options,
            evaluator=evaluator,
            ids=ids,
            clock=clock,
            outcome_handlers=tuple(outcome_handlers),
            providers=self.assignee_providers,
            directory=directory,
            calendars=calendars,
        )
        self.children = ChildOperations(self._wave)
        """What parents and children do to one another."""
        self.external_tasks = ExternalTaskOperations(self._wave)
        """What worker programs do."""
        self.signals = SignalOperations(self._wave)
        """What becomes of waits when their signal comes."""

    def compile(self, definition: WorkflowDefinition) -> CompiledDefinition:
        """Return a valid definition ready to run; worth keeping, since published content never changes."""
        return CompiledDefinition(
            definition, self.registry, self.evaluator, tells_outcome=bool(self._kit.outcome_handlers)
        )

    def validate(self, definition: WorkflowDefinition, calendars: Collection[str] | None = None) -> list[Problem]:
        """Return every error and warning of a definition, with its place (spec 2.4); changes nothing.

        *calendars* are the names of the work calendars there are; without them a calendar is not judged.
        """
        return validate_definition(
            definition,
            registry=self.registry,
            evaluator=self.evaluator,
            providers=self.assignee_providers,
            calendars=calendars,
        )

    def start(
        self, compiled: CompiledDefinition, request: StartRequest, command: Command, partition: str | None
    ) -> Wave:
        """Start an instance in a partition; a first wave that faults is a started instance all the same."""
        return operations.start(self._kit, compiled, request, command, partition, self.clock.now())

    def resume(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        bookmark_id: str,
        inputs: JsonObject,
        command: Command,
        *,
        expected_key: str | None = None,
    ) -> Wave:
        """Resume a bookmark with inputs, whatever its kind (spec 3.16); a user task is not approved by it (6.3)."""
        wave = self._wave(snapshot, compiled, command)
        return due.resume(wave, snapshot, bookmark_id, inputs, expected_key)

    def due(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, bookmark_ids: Sequence[str], command: Command
    ) -> Wave:
        """Run due bookmarks of one instance; push them back when it does not run; an empty wave when none is due."""
        return due.due(self._wave(snapshot, compiled, command), bookmark_ids)

    def retry(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        *,
        reason: str | None = None,
        restart: bool = False,
        force: bool = False,
    ) -> Wave:
        """Run the failed node of a Faulted instance again.

        *restart*: with a new child instead of the failed one. *force*: although its fault was compensated.
        """
        return operations.retry(self._wave(snapshot, compiled, command), reason, restart=restart, force=force)

    def cancel(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        *,
        reason: str | None = None,
    ) -> Wave:
        """Cancel an instance; an empty wave when it has ended already."""
        return operations.cancel(self._wave(snapshot, compiled, command), reason)

    def complete_task(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        outcome: str,
        comment: str | None,
        variables: JsonObject | None,
        command: Command,
    ) -> Wave:
        """Decide a user task as the command's actor."""
        wave = self._wave(snapshot, compiled, command)
        return task_operations.complete(wave, snapshot, task_id, outcome=outcome, comment=comment, variables=variables)

    def transfer_task(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        to: str,
        comment: str | None,
        command: Command,
    ) -> Wave:
        """Hand a user task over to another person."""
        return task_operations.transfer(self._wave(snapshot, compiled, command), task_id, to=to, comment=comment)

    def add_signers(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        assignees: Sequence[str],
        position: str = task_operations.PARALLEL,
        comment: str | None,
        command: Command,
    ) -> Wave:
        """Let more people sign a user task."""
        wave = self._wave(snapshot, compiled, command)
        return task_operations.add_signers(wave, task_id, assignees=assignees, position=position, comment=comment)

    def hold_decision(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        outcome: str,
        comment: str | None,
        variables: JsonObject | None,
        undo_seconds: int | Decimal,
        command: Command,
    ) -> Wave:
        """Decide a user task so that it can be undone for so many seconds."""
        return pending_decisions.hold(
            self._wave(snapshot, compiled, command),
            snapshot,
            task_id,
            outcome=outcome,
            comment=comment,
            variables=variables,
            undo_seconds=undo_seconds,
        )

    def undo_decision(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, task_id: str, *, command: Command
    ) -> Wave:
        """Take a decision back that is not carried out yet."""
        return pending_decisions.undo(self._wave(snapshot, compiled, command), task_id)

    def carry_out_decision(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, owed: FollowUp, command: Command
    ) -> Wave:
        """Carry a pending decision out; an empty wave when it was undone."""
        return pending_decisions.carry_out(self._wave(snapshot, compiled, command), snapshot, owed)

    def claim_task(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        principals: Collection[str],
        command: Command,
    ) -> Wave:
        """Take a task that several may decide; *principals* are the actor's name and groups."""
        return task_handovers.claim(self._wave(snapshot, compiled, command), task_id, principals)

    def release_task(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, task_id: str, *, command: Command
    ) -> Wave:
        """Give a claimed or a delegated task back."""
        return task_handovers.release(self._wave(snapshot, compiled, command), task_id)

    def delegate_task(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        to: str,
        comment: str | None,
        command: Command,
    ) -> Wave:
        """Have somebody else handle a task, which then comes back."""
        return task_handovers.delegate(self._wave(snapshot, compiled, command), task_id, to=to, comment=comment)

    def urge_task(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        comment: str | None,
        command: Command,
    ) -> Wave:
        """Remind everybody whom a task's node waits for."""
        return task_handovers.urge(self._wave(snapshot, compiled, command), task_id, comment=comment)

    def remove_signers(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        assignees: Sequence[str],
        comment: str | None,
        command: Command,
    ) -> Wave:
        """Take people who have not decided off a user task."""
        wave = self._wave(snapshot, compiled, command)
        return task_operations.remove_signers(wave, task_id, assignees=assignees, comment=comment)

    def _wave(self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command) -> WaveState:
        return WaveState(self._kit, compiled, snapshot.instance, command, self.clock.now(), snapshot=snapshot)
