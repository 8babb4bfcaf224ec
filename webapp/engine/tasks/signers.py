"""The signers of a user task node: who decides, in which order, and what became of it (spec 6.7).

``after`` and ``before`` name another signer of the node: one who signs after X gets a task when X has decided; while
those sign who come before X, X waits. In Sequential the place in the list says it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from webapp.engine.instances.model import APPROVED
from webapp.engine.numbers import JsonObject

SIGNERS = "signers"


class Position(StrEnum):
    """Where added signers go, seen from the one beside whom they are added (decision D29)."""

    PARALLEL = "parallel"
    BEFORE = "before"
    AFTER = "after"


class SignerState(StrEnum):
    """pending: has an open task; waiting: gets one later; rejected: decided with any label but approved."""

    PENDING = "pending"
    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    REMOVED = "removed"


class Signer(msgspec.Struct, kw_only=True, rename="camel"):
    """One person (or group) in the node's ordered list, with what they decided and when (RFC 3339).

    ``delegate`` handles the task for the signer at present; ``group`` is what the signer claimed the task from. A
    withdrawn task comes back under ``task_id``, with a round above ``round``.
    """

    id: str
    state: SignerState
    outcome: str | None = None
    at: str | None = None
    after: str | None = None
    before: str | None = None
    added_by: str | None = None
    delegate: str | None = None
    group: str | None = None
    task_id: str | None = None
    round: int | None = None

    @property
    def holder(self) -> str:
        """Who has the task: the key of its bookmark."""
        return self.delegate or self.id

    @property
    def undecided(self) -> bool:
        """Whether the signer may still decide."""
        return self.state in (SignerState.PENDING, SignerState.WAITING)


_ALWAYS = ("id", "state", "outcome", "at")


def create(ids: Iterable[str], approved: Iterable[str] = (), at: str | None = None) -> list[Signer]:
    """Return the signers of a new node, all waiting but those taken as *approved*; the policy opens their tasks."""
    before = frozenset(approved)
    return [
        Signer(id=name, state=SignerState.APPROVED, outcome=APPROVED, at=at)
        if name in before
        else Signer(id=name, state=SignerState.WAITING)
        for name in ids
    ]


def vote(signers: Sequence[Signer], holder: str, outcome: str, at: str) -> Signer | None:
    """Record the decision of whoever has the task; None when *holder* has no open task."""
    signer = find(signers, holder)
    if signer is None or signer.state is not SignerState.PENDING:
        return None
    signer.outcome = outcome
    signer.at = at
    signer.state = SignerState.APPROVED if outcome == APPROVED else SignerState.REJECTED
    return signer


def add(
    signers: list[Signer],
    ids: Iterable[str],
    *,
    by: str | None,
    position: Position = Position.PARALLEL,
    beside: Signer | None = None,
) -> list[str]:
    """Add signers and return who is new; blank names and those who are on the node already are left out.

    ``parallel`` is the end of the list, ``before`` and ``after`` are next to *beside*.
    """
    there = {name for signer in present(signers) for name in (signer.id, signer.holder)}
    names = [name for name in dict.fromkeys(name.strip() for name in ids) if name and name not in there]
    side = None if beside is None or position is Position.PARALLEL else beside.id
    made = [
        Signer(
            id=name,
            state=SignerState.WAITING,
            after=side if position is Position.AFTER else None,
            before=side if position is Position.BEFORE else None,
            added_by=by,
        )
        for name in names
    ]
    at = len(signers)
    if side is not None:
        at = next(index for index, signer in enumerate(signers) if signer is beside) + (position is Position.AFTER)
    signers[at:at] = made
    return names


def remove(signers: Sequence[Signer], signer: Signer) -> None:
    """Take a signer off the node; those who were to sign before or after are held by nobody then."""
    signer.state = SignerState.REMOVED
    signer.delegate = None
    _rename(signers, signer.id, None)


def transfer(signers: Sequence[Signer], holder: str, to: str) -> Signer | None:
    """Put another person in the place of whoever has the task, relations and all; None when they are there already."""
    if find(signers, to) is not None:
        return None
    signer = find(signers, holder)
    if signer is None:
        return None
    if signer.delegate is not None:
        signer.delegate = to
        return signer
    _rename(signers, signer.id, to)
    signer.id = to
    return signer


def claim(signers: Sequence[Signer], signer: Signer, account: str) -> bool:
    """Put a member in the place of the group; False when that account is a signer of the node already."""
    if find(signers, account) is not None:
        return False
    group = signer.id
    _rename(signers, group, account)
    signer.id, signer.group = account, group
    return True


def release(signers: Sequence[Signer], signer: Signer) -> None:
    """Put the group back in the place of the member who claimed its task."""
    if signer.group is not None:
        _rename(signers, signer.id, signer.group)
        signer.id, signer.group = signer.group, None


def find(signers: Sequence[Signer], name: str) -> Signer | None:
    """Return the signer who is not removed and goes by that id or has that delegate, or None; ids compare ordinally."""
    for signer in signers:
        if name in (signer.id, signer.delegate) and signer.state is not SignerState.REMOVED:
            return signer
    return None


def present(signers: Iterable[Signer]) -> list[Signer]:
    """Return those who are not removed."""
    return [signer for signer in signers if signer.state is not SignerState.REMOVED]


def progress(signers: Sequence[Signer]) -> tuple[int, int]:
    """Return how many have approved and how many there are, the removed not counted."""
    here = present(signers)
    return sum(signer.state is SignerState.APPROVED for signer in here), len(here)


def load(state: JsonObject) -> list[Signer]:
    """Return the signers kept in a node instance's state."""
    return [msgspec.convert(item, Signer) for item in state.get(SIGNERS, ())]


def store(state: JsonObject, signers: Sequence[Signer]) -> None:
    """Keep the signers in a node instance's state; what most of them do not have takes no room."""
    state[SIGNERS] = [
        {name: value for name, value in msgspec.to_builtins(signer).items() if value is not None or name in _ALWAYS}
        for signer in signers
    ]


def _rename(signers: Iterable[Signer], old: str, new: str | None) -> None:
    for signer in signers:
        if signer.after == old:
            signer.after = new
        if signer.before == old:
            signer.before = new
