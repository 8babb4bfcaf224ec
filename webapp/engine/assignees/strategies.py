"""What a user task does when no rule finds anybody (spec 6.6, decision D14)."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from webapp.engine.numbers import JsonValue


class EmptyAssigneeStrategy(StrEnum):
    """Fault is the default; Skip and Reject complete the node, Starter and AssignTo find somebody else."""

    FAULT = "Fault"
    SKIP = "Skip"
    REJECT = "Reject"
    STARTER = "Starter"
    ASSIGN_TO = "AssignTo"

    @classmethod
    def read(cls, value: JsonValue) -> Self | None:
        """Return the strategy a property names, without case; absent is Fault, None is an unknown one."""
        if value is None:
            return cls("Fault")
        if isinstance(value, str):
            for member in cls:
                if member.value.lower() == value.lower():
                    return member
        return None
