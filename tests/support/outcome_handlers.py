"""A handler of outcomes that notes what it was told and fails on demand."""

from __future__ import annotations

from webapp.engine.ports.outcomes import OutcomeContext


class RecordingHandler:
    """Notes (own name, instance status, End node, outcome) in a list that several may share."""

    def __init__(self, name: str, told: list[tuple[str, str, str, str]]) -> None:
        self.name = name
        self.told = told
        self.fails = 0

    def handle(self, context: OutcomeContext) -> None:
        """Note, then fail as often as asked."""
        self.told.append((self.name, context.instance.status.value, context.node.id, context.outcome))
        if self.fails:
            self.fails -= 1
            raise RuntimeError(f"{self.name} does not take {context.outcome}")
