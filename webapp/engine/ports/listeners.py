"""The port of listeners: an application hears of what a command did before it is written (spec 10, The chain)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from webapp.engine.instances.journal import Event
from webapp.engine.instances.model import WorkflowInstance


class Listener(Protocol):
    """Hears the events of a command between its wave and its write, in their order.

    It must not wait for anything long: the instance's lease is held. A command that lost to another writer is run
    again, and told again. What it raises is logged and raised again: the command fails, and nothing of it is written.
    """

    def heard(self, event: Event, instance: WorkflowInstance) -> None:
        """Take an event and a copy of its instance as the command leaves it."""


class Listeners(msgspec.Struct, frozen=True, kw_only=True):
    """Who hears what, in the order of registration.

    Of each event first ``task`` (``workflow.task.*``), then ``execution`` (``workflow.instance.*`` and
    ``workflow.node.*``), then ``workflow`` (all, the definitions' own among them).
    """

    task: Sequence[Listener] = ()
    execution: Sequence[Listener] = ()
    workflow: Sequence[Listener] = ()

    def of(self, topic: str) -> Sequence[Listener]:
        """Return who hears an event of that topic, in the order in which they do."""
        if topic.startswith("workflow.task."):
            return (*self.task, *self.workflow)
        if topic.startswith(("workflow.instance.", "workflow.node.")):
            return (*self.execution, *self.workflow)
        return self.workflow

    def __bool__(self) -> bool:
        """Whether anybody listens."""
        return bool(self.task or self.execution or self.workflow)
