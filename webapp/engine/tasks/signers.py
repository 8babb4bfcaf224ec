"""The signers of a user task node: their states, and what a policy makes of them after every change (spec 6.1, 6.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Self

import msgspec

from webapp.engine.instances.model import APPROVED
from webapp.engine.numbers import JsonObject, JsonValue


class Policy(StrEnum):
    """When a node with several signers is decided; one veto ends it under each of these."""

    ANY = "Any"
    ALL = "All"
    SEQUENTIAL = "Sequential"

    @classmethod
    def read(cls, value: JsonValue) -> Self | None:
        """Return the policy a property names, without case; absent is Any, None is an unknown one, never a weaker."""
        if value is None:
            return cls("Any")
        if isinstance(value, str):
            for member in cls:
                if member.value.lower() == value.lower():
                    return member
        return None


class SignerState(StrEnum):
    """pending: has an open task; waiting: gets one later; rejected: ended the node with any label but approved."""

    PENDING = "pending"
    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"
    REMOVED = "removed"


class Signer(msgspec.Struct, kw_only=True, rename="camel"):
    """One person in the node's ordered list, with what they decided and when (RFC 3339)."""

    id: str
    state: SignerState
    outcome: str | None = None
    at: str | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a change: the label that ends the node, or the signers whose tasks are to be created."""

    label: str | None = None
    opened: tuple[str, ...] = ()


def begin(policy: Policy, ids: Iterable[str]) -> tuple[list[Signer], tuple[str, ...]]:
    """Return the signers of a new node and whose tasks exist at once: all, or the first in Sequential."""
    signers = [Signer(id=signer_id, state=SignerState.WAITING) for signer_id in ids]
    return signers, _open(signers if policy is not Policy.SEQUENTIAL else signers[:1])


def vote(policy: Policy, signers: Sequence[Signer], signer_id: str, outcome: str, at: str) -> Verdict | None:
    """Record a decision and evaluate the policy; None when *signer_id* has no open task."""
    signer = find(signers, signer_id)
    if signer is None or signer.state is not SignerState.PENDING:
        return None
    signer.outcome = outcome
    signer.at = at
    if outcome != APPROVED:
        signer.state = SignerState.REJECTED
        return Verdict(label=outcome)
    signer.state = SignerState.APPROVED
    return evaluate(policy, signers)


def evaluate(policy: Policy, signers: Sequence[Signer]) -> Verdict:
    """Return what the policy makes of those who are not removed."""
    present = [signer for signer in signers if signer.state is not SignerState.REMOVED]
    approved = [signer for signer in present if signer.state is SignerState.APPROVED]
    if approved and (policy is Policy.ANY or len(approved) == len(present)):
        return Verdict(label=APPROVED)
    if policy is Policy.SEQUENTIAL:
        return Verdict(opened=_open_next(present))
    return Verdict(opened=_open([signer for signer in present if signer.state is SignerState.WAITING]))


def add(policy: Policy, signers: list[Signer], ids: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Add signers in parallel: at the end of the list (spec 6.4); return who is new and whose tasks exist at once."""
    present = {signer.id for signer in signers if signer.state is not SignerState.REMOVED}
    added = [name for name in dict.fromkeys(name.strip() for name in ids) if name and name not in present]
    signers += [Signer(id=name, state=SignerState.WAITING) for name in added]
    return added, evaluate(policy, signers).opened


def transfer(signers: Sequence[Signer], signer_id: str, to: str) -> bool:
    """Put another person in a signer's place; False when they are on the node already (spec 6.4)."""
    if any(signer.id == to and signer.state is not SignerState.REMOVED for signer in signers):
        return False
    signer = find(signers, signer_id)
    if signer is not None:
        signer.id = to
    return True


def find(signers: Sequence[Signer], signer_id: str) -> Signer | None:
    """Return the signer of that id that is not removed, or None; ids compare ordinally."""
    for signer in signers:
        if signer.id == signer_id and signer.state is not SignerState.REMOVED:
            return signer
    return None


def progress(signers: Sequence[Signer]) -> tuple[int, int]:
    """Return how many have approved and how many there are, the removed not counted."""
    present = [signer for signer in signers if signer.state is not SignerState.REMOVED]
    return sum(signer.state is SignerState.APPROVED for signer in present), len(present)


def load(state: JsonObject) -> list[Signer]:
    """Return the signers kept in a node instance's state."""
    return [msgspec.convert(item, Signer) for item in state.get("signers", ())]


def store(state: JsonObject, signers: Sequence[Signer]) -> None:
    """Keep the signers in a node instance's state."""
    state["signers"] = [
        {"id": signer.id, "state": signer.state.value, "outcome": signer.outcome, "at": signer.at} for signer in signers
    ]


def _open_next(present: Sequence[Signer]) -> tuple[str, ...]:
    undecided = [signer for signer in present if signer.state is not SignerState.APPROVED]
    return _open(signer for signer in undecided[:1] if signer.state is SignerState.WAITING)


def _open(signers: Iterable[Signer]) -> tuple[str, ...]:
    opened = []
    for signer in signers:
        signer.state = SignerState.PENDING
        opened.append(signer.id)
    return tuple(opened)
