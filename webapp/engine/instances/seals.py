"""The chain that seals the audit trail: what is hashed, and in which form (spec 13, Amendments: Audit).

Commands append rows without a number or a hash. One job numbers those that are committed, from 1 on in each partition,
without gaps, and gives each the hash of its own content and of the row before it. The hash of row *n* is

    SHA-256( UTF-8( hash of row n-1 ‖ LF ‖ canonical(row) ) ), in hexadecimal, small letters

where the row before the first one has the hash ``GENESIS``, and canonical(row) is one JSON array without blanks, with
characters beyond ASCII as they are, of the members, in this order: the text ``waypost-audit-1``, the number, id,
tenantId, sequence, at, actorId, onBehalfOf, action, definitionId, instanceId, taskId, nodeId, outcome, comment, reason,
requestId, commandId, before, after. ``at`` is ``YYYY-MM-DDTHH:MM:SS.ffffff+00:00``; ``before`` and ``after`` are the
texts that are stored, as texts; what is not set is null. So every database gives the same hash for the same row, and
anybody can check a chain with a dozen lines of a program of his own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

import msgspec

FORM = "waypost-audit-1"
"""Names what is hashed and how; another form would have another name."""

GENESIS = "0" * 64
"""What stands for the hash of the row before the first one."""


class TrailRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the trail as it is stored; ``seal_number`` and ``hash`` are None until it is sealed.

    ``at`` None: what stands there is no instant, because somebody has changed it.
    """

    id: str
    tenant_id: str | None = None
    sequence: int
    at: datetime | None
    actor_id: str | None
    on_behalf_of: str | None
    action: str
    definition_id: str | None
    instance_id: str | None
    task_id: str | None
    node_id: str | None
    outcome: str | None
    comment: str | None
    reason: str | None
    request_id: str | None
    command_id: str | None
    before: str | None
    after: str | None
    seal_number: int | None = None
    hash: str | None = None


class AuditHead(msgspec.Struct, frozen=True, kw_only=True):
    """How far a partition's chain had come at an instant (None: nobody can read it): the last row's number and hash."""

    seal_number: int
    hash: str
    at: datetime | None


class Seal(msgspec.Struct, frozen=True):
    """The number and the hash that a row gets."""

    id: str
    number: int
    hash: str


_MEMBERS = (
    "id", "tenant_id", "sequence", "at", "actor_id", "on_behalf_of", "action", "definition_id", "instance_id",
    "task_id", "node_id", "outcome", "comment", "reason", "request_id", "command_id", "before", "after",
)  # fmt: skip


def superfluous(heads: Sequence[AuditHead], before: datetime) -> list[int]:
    """Return the numbers of heads, given by number, that another one of the same day (UTC) follows, as far as old.

    Nothing is proved by them that the later one does not prove: what a chain led to then, it leads to still. The newest
    head of all is followed by none and stays, so does one that nobody can read.
    """
    return [
        one.seal_number
        for one, following in pairwise(heads)
        if _is_number(one.seal_number)
        and one.at is not None
        and following.at is not None
        and one.at < before
        and one.at.astimezone(UTC).date() == following.at.astimezone(UTC).date()
    ]


def _is_number(value: object) -> bool:
    """Whether a number stands where one was written: SQLite keeps whatever somebody puts there."""
    return isinstance(value, int)


def chain_hash(previous: str, number: int, row: TrailRow) -> str:
    """Return the hash of a row that has that number and follows a row with the hash *previous*.

    :raises ValueError: :raises TypeError: there is something in the row that was never written there.
    """
    if row.at is None:
        raise ValueError(f"row {row.id} has no instant")
    values = [FORM, number, *(getattr(row, name) for name in _MEMBERS)]
    values[2 + _MEMBERS.index("at")] = row.at.astimezone(UTC).isoformat(timespec="microseconds")
    canonical = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(f"{previous}\n{canonical}".encode()).hexdigest()


def seal_all(head: AuditHead | None, rows: list[TrailRow]) -> list[Seal]:
    """Return the seals of rows that follow *head* in this order."""
    number, previous = (0, GENESIS) if head is None else (head.seal_number, head.hash)
    seals = []
    for row in rows:
        number += 1
        previous = chain_hash(previous, number, row)
        seals.append(Seal(row.id, number, previous))
    return seals
