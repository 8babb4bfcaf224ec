"""Health of the memory stores: always there, always at head."""

from __future__ import annotations


class MemoryMaintenance:
    """What ``/readyz`` asks the stores."""

    def reachable(self) -> bool:
        """Whether the database answers."""
        return True

    def at_head(self) -> bool:
        """Whether every migration has run."""
        return True
