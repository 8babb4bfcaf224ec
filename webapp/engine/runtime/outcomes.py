"""Telling the application an instance's result, before the instance ends (spec 3.10, decision D11)."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from webapp.engine.activities.compiled import END
from webapp.engine.cancellation import Cancellation, CancellationToken
from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.errors import OperationCancelled
from webapp.engine.instances.model import OUTCOME, NodeInstance, NodeStatus, WorkflowFault, WorkflowInstance
from webapp.engine.numbers import copy_json
from webapp.engine.ports.outcomes import OutcomeHandler
from webapp.engine.ports.stores import StoreFailure
from webapp.engine.ports.transactions import RunAlone
from webapp.engine.runtime import faults
from webapp.engine.runtime.effects import WaveState

_NEVER = Cancellation()


class HandlerContext:
    """What one handler sees."""

    def __init__(self, wave: WaveState, node: Node, handler: OutcomeHandler) -> None:
        self._wave = wave
        self._node = node
        self._effect_key = wave.effect(node.id) if getattr(handler, "effects", False) else None
        self._handler = type(handler).__name__

    @property
    def instance(self) -> WorkflowInstance:
        """A copy of the instance."""
        instance = self._wave.instance
        return structs.replace(instance, variables=copy_json(instance.variables))

    @property
    def definition(self) -> WorkflowDefinition:
        """The instance's definition."""
        return self._wave.compiled.definition

    @property
    def node(self) -> Node:
        """The End node."""
        return self._node

    @property
    def outcome(self) -> str:
        """The instance's result."""
        return self._wave.instance.outcome or ""

    @property
    def effect_key(self) -> str:
        """The key of this run's outside effect."""
        if self._effect_key is None:
            raise TypeError(f"{self._handler} has no effect_key: declare effects = True in its class")
        return self._effect_key

    @property
    def cancellation(self) -> CancellationToken:
        """Set when the caller does not wait any more."""
        return self._wave.command.cancellation or _NEVER

    def transaction(self) -> Any:
        """Return the connection of the wave's transaction."""
        return self._wave.callbacks.transaction()


def tell(wave: WaveState) -> tuple[NodeInstance, WorkflowFault] | None:
    """Run all handlers; return the End node instance that fails by it, and why. The instance must be about to end."""
    end = _last_end(wave)
    if end is None:
        # Nothing gave the outcome that is still there: it was told, or taken back, before.
        return None
    node = wave.compiled.nodes[end.node_id].node
    if wave.command.batched:
        raise RunAlone
    try:
        with wave.callbacks.run():
            for handler in wave.kit.outcome_handlers:
                handler.handle(HandlerContext(wave, node, handler))
    except StoreFailure:
        raise
    except Exception as error:
        token = wave.command.cancellation
        if isinstance(error, OperationCancelled) and token is not None and token.is_set:
            raise
        return wave.touch(end.id) or end, faults.fault_of(error)
    return None


def _last_end(wave: WaveState) -> NodeInstance | None:
    """Return the End that gave the instance its outcome; the wave knows the history when that may be long ago."""
    ends = [
        found
        for found in wave.known_nodes()
        if found.status is NodeStatus.COMPLETED
        and found.activity_type == END
        and found.outputs.get(OUTCOME) == wave.instance.outcome
        and found.node_id in wave.compiled.nodes
    ]
    if not ends:
        return None
    return max(ends, key=lambda found: (found.ended_at or found.started_at, found.sequence))
