"""What stands in a partition's trail, for tests that look at what a change leaves there."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from tests.support.engine import Installation
from webapp.engine.ports.stores import Partition


class Noted(NamedTuple):
    """An entry: who did what, under which request, and what was before and after."""

    action: str
    actor_id: str | None
    request_id: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None


def trail(house: Installation, partition: Partition, *actions: str) -> list[Noted]:
    """Return the entries with one of these actions, in their order."""
    house.services.sealing.seal()
    return [
        Noted(row.action, row.actor_id, row.request_id, _read(row.before), _read(row.after))
        for row in house.services.audit.rows(partition, 0)
        if row.action in actions
    ]


def _read(text: str | None) -> dict[str, Any] | None:
    found: dict[str, Any] | None = None if text is None else json.loads(text)
    return found
