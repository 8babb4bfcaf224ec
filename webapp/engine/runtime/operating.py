"""The half of the engine's facade that operators use: suspend, resume, terminate (spec 3.13, 3.20)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from webapp.engine.activities.compiled import CompiledDefinition
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.stores import InstanceSnapshot
from webapp.engine.runtime import jumping, migration, recalling, returning, suspension, variable_changes
from webapp.engine.runtime.commands import Command, Wave
from webapp.engine.runtime.effects import WaveState
from webapp.engine.runtime.jumping import Jump, JumpPlan
from webapp.engine.runtime.migration import Migration, MigrationPlan
from webapp.engine.runtime.recalling import Decision


class Operating:
    """What :class:`~webapp.engine.runtime.engine.Engine` offers to those who operate instances."""

    @abstractmethod
    def _wave(self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command) -> WaveState: ...

    def suspend(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        *,
        reason: str | None = None,
        cascade: bool = False,
    ) -> Wave:
        """Stop a Running instance where it stands, and with *cascade* its children."""
        return suspension.suspend(self._wave(snapshot, compiled, command), reason, cascade=cascade)

    def resume_instance(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        *,
        reason: str | None = None,
        cascade: bool = False,
    ) -> Wave:
        """Let a Suspended instance go on, and with *cascade* its children."""
        return suspension.resume(self._wave(snapshot, compiled, command), reason, cascade=cascade)

    def terminate(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command, *, reason: str | None = None
    ) -> Wave:
        """End an instance without compensation; an empty wave when it has ended already."""
        return suspension.terminate(self._wave(snapshot, compiled, command), reason)

    def return_task(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        task_id: str,
        *,
        to_node_id: str | None,
        comment: str | None,
        resubmit: str | None,
        command: Command,
    ) -> Wave:
        """Send a user task back to an earlier step; the snapshot must hold the history."""
        wave = self._wave(snapshot, compiled, command)
        return returning.return_task(wave, task_id, to_node_id=to_node_id, comment=comment, resubmit=resubmit)

    def return_targets(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, task_id: str, command: Command
    ) -> list[str]:
        """Return the ids of the steps that a task may be sent back to; the snapshot must hold the history."""
        found = returning.offered_targets(self._wave(snapshot, compiled, command), task_id)
        return [execution.node_id for execution in found]

    def jump(self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command, jump: Jump) -> Wave:
        """Move an instance to another step."""
        return jumping.run(self._wave(snapshot, compiled, command), jump)

    def plan_jump(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command, jump: Jump
    ) -> JumpPlan:
        """Return what a jump would take away; nothing changes."""
        return jumping.plan(self._wave(snapshot, compiled, command), jump)

    def migrate(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        target: CompiledDefinition,
        wanted: Migration,
    ) -> Wave:
        """Move an instance to another version of its definition."""
        return migration.run(self._wave(snapshot, compiled, command), target, wanted)

    def plan_migration(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        target: CompiledDefinition,
        wanted: Migration,
    ) -> MigrationPlan:
        """Return what a migration would do, and all that does not map; nothing changes."""
        return migration.plan(self._wave(snapshot, compiled, command), target, wanted)

    def update_variables(
        self,
        snapshot: InstanceSnapshot,
        compiled: CompiledDefinition,
        command: Command,
        values: JsonObject,
        removed: Sequence[str],
        *,
        reason: str | None = None,
    ) -> Wave:
        """Set and remove variables; nothing runs."""
        return variable_changes.update(self._wave(snapshot, compiled, command), values, removed, reason)

    def recall(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command, decision: Decision
    ) -> Wave:
        """Take a person's own decision back; the snapshot must hold the history."""
        return recalling.recall(self._wave(snapshot, compiled, command), decision)

    def withdraw(
        self, snapshot: InstanceSnapshot, compiled: CompiledDefinition, command: Command, *, reason: str | None = None
    ) -> Wave:
        """Cancel an instance as the one who started it; the snapshot must hold the history."""
        return recalling.withdraw(self._wave(snapshot, compiled, command), reason)
