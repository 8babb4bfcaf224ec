"""The facade of the engine: each method turns a command into a wave that a service stores (spec 3, 6)."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.assignees import BUILTIN_PROVIDERS, AssigneeProvider
from webapp.engine.clock import Clock, IdSource
from webapp.engine.definitions.model import WorkflowDefinition
from webapp.engine.errors import Problem
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.instances.requests import StartRequest
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.directory import Directory
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime import operations, task_operations
from webapp.engine.runtime.commands import Command, EngineOptions, Kit, Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.validation import validate_definition

__all__ = ["Command", "Engine", "EngineOptions", "Wave"]

_DEFAULTS = EngineOptions()


class Engine:
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
    ) -> None:
        self.registry = registry
        self.evaluator = evaluator
        self.assignee_providers = {provider.rule_type: provider for provider in assignee_providers}
        self.clock = clock
        self._kit = Kit(
            options=options, evaluator=evaluator, ids=ids, providers=self.assignee_providers, directory=directory
        )

    def compile(self, definition: WorkflowDefinition) -> CompiledDefinition:
        """Return a valid definition ready to run; worth keeping, since published content never changes."""
        return CompiledDefinition(definition, self.registry, self.evaluator)

    def validate(self, definition: WorkflowDefinition) -> list[Problem]:
        """Return every error and warning of a definition, with its place (spec 2.4); changes nothing."""
        return validate_definition(
            definition, registry=self.registry, evaluator=self.evaluator, providers=self.assignee_providers
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
        return operations.resume(wave, snapshot, bookmark_id, inputs, expected_key)

    def due(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, bookmark_ids: Sequence[str], command: Command
    ) -> Wave:
        """Run due bookmarks of one instance; push them back when it does not run; an empty wave when none is due."""
        return operations.due(self._wave(snapshot, compiled, command), bookmark_ids)

    def retry(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        *,
        reason: str | None = None,
    ) -> Wave:
        """Run the failed node of a Faulted instance again."""
        return operations.retry(self._wave(snapshot, compiled, command), reason)

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

    def _wave(self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command) -> WaveState:
        return WaveState(self._kit, compiled, snapshot.instance, command, self.clock.now(), snapshot=snapshot)
