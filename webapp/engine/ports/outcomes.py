"""The port of outcome handlers: how an instance tells the application its result (spec 3.10, 14, decision D11)."""

from __future__ import annotations

from typing import Any, Protocol

from webapp.engine.cancellation import CancellationToken
from webapp.engine.definitions.model import Node, WorkflowDefinition
from webapp.engine.instances.model import WorkflowInstance


class OutcomeContext(Protocol):
    """What a handler sees of the instance that is about to end."""

    @property
    def instance(self) -> WorkflowInstance:
        """A copy of the instance, still Running."""

    @property
    def definition(self) -> WorkflowDefinition:
        """Its definition."""

    @property
    def node(self) -> Node:
        """The End node that gave the outcome: the last one, when there were several."""

    @property
    def outcome(self) -> str:
        """The instance's result."""

    @property
    def effect_key(self) -> str:
        """The key of this run's outside effect; only a handler with ``effects = True`` has one (3.22)."""

    @property
    def cancellation(self) -> CancellationToken:
        """Set when the caller does not wait any more."""

    def transaction(self) -> Any:
        """Return the connection of the wave's transaction, for the application's own tables."""


class OutcomeHandler(Protocol):
    """Registered by the application. One that changes the world outside says so with ``effects = True``.

    All handlers run once for each instance that ends by itself with an outcome, in the order of their registration,
    before it has ended. One that raises fails the End node: what all of them wrote is undone, and when that node
    is tried again, all run again.
    """

    def handle(self, context: OutcomeContext) -> None:
        """Take the result. Raising any exception is a fault of the End node."""
