"""When a node with several signers is decided, and whose turn it is (spec 6.1, 6.7, decision D28)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Self

import msgspec

from webapp.engine.instances.model import APPROVED, REJECTED
from webapp.engine.instances.principals import is_group
from webapp.engine.numbers import JsonNumber, JsonObject, JsonValue
from webapp.engine.tasks.signers import Signer, SignerState, present

POLICY = "policy"
THRESHOLD = "threshold"

# A quotient such as 2 / 3 is rounded at its 28th digit; that must not cost a vote, and 1,000 signers make it no larger.
_ROUNDING = Fraction(1, 10**24)


class Policy(StrEnum):
    """When a node with several signers is decided; any label but approved (in Ratio: and rejected) ends it at once."""

    ANY = "Any"
    ALL = "All"
    SEQUENTIAL = "Sequential"
    RATIO = "Ratio"

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


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A node's policy, with the share of approvals that Ratio asks for: 0 < threshold ≤ 1."""

    policy: Policy = Policy.ANY
    threshold: JsonNumber = 1

    @classmethod
    def of(cls, state: JsonObject) -> Self:
        """Return the rule that a node instance's state keeps."""
        return cls(policy=Policy(state[POLICY]), threshold=state.get(THRESHOLD, 1))


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a change: the label that ends the node, or whose task is created and whose is withdrawn."""

    label: str | None = None
    opened: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()


def is_threshold(value: JsonValue) -> bool:
    """Whether a value can be a share of approvals."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool) and 0 < value <= 1


def evaluate(rule: Rule, signers: Sequence[Signer]) -> Verdict:
    """Return what the policy makes of those who are not removed; their turns are noted in their states."""
    here = present(signers)
    label = _label(rule, here)
    return Verdict(label=label) if label is not None else _turns(rule, here)


def claimable(rule: Rule, count: int, signer: Signer) -> bool:
    """Whether a task can be claimed: it is a group's, or any one of several (*count* signers) decides (spec 6.7)."""
    return is_group(signer.holder) or (rule.policy is Policy.ANY and count > 1)


def _label(rule: Rule, here: Sequence[Signer]) -> str | None:
    for signer in here:
        # In Ratio a rejection is a vote, except of those who were to sign before somebody.
        vote = rule.policy is Policy.RATIO and signer.outcome == REJECTED and signer.before is None
        if signer.state is SignerState.REJECTED and not vote:
            return signer.outcome
    approvals = [signer for signer in here if signer.state is SignerState.APPROVED]
    match rule.policy:
        case Policy.ANY:
            # Who signs before somebody hands the task back to them, and decides nothing.
            ends = [signer for signer in approvals if signer.before is None]
            return APPROVED if any(_complete(signer, here) for signer in ends) else None
        case Policy.RATIO:
            return _ratio(rule, here, len(approvals))
        case _:
            return APPROVED if approvals and len(approvals) == len(here) else None


def _ratio(rule: Rule, here: Sequence[Signer], approvals: int) -> str | None:
    needed = Fraction(rule.threshold) * len(here) - _ROUNDING
    possible = approvals + sum(signer.undecided for signer in here)
    if approvals >= needed:
        return APPROVED
    return REJECTED if possible < needed else None


def _complete(signer: Signer, here: Sequence[Signer]) -> bool:
    """Whether a signer has approved, and all who were to sign after."""
    return signer.state is SignerState.APPROVED and all(
        _complete(other, here) for other in here if other.after == signer.id
    )


def _turns(rule: Rule, here: Sequence[Signer]) -> Verdict:
    opened, withdrawn = [], []
    for signer, turn in zip(here, _may_sign(rule, here), strict=True):
        if turn and signer.state is SignerState.WAITING:
            signer.state = SignerState.PENDING
            opened.append(signer.id)
        elif not turn and signer.state is SignerState.PENDING:
            signer.state = SignerState.WAITING
            withdrawn.append(signer.id)
    return Verdict(opened=tuple(opened), withdrawn=tuple(withdrawn))


def _may_sign(rule: Rule, here: Sequence[Signer]) -> list[bool]:
    if rule.policy is Policy.SEQUENTIAL:
        first = next((signer for signer in here if signer.undecided), None)
        return [signer is first for signer in here]
    held = {signer.before for signer in here if signer.state is not SignerState.APPROVED}
    undecided = {signer.id for signer in here if signer.undecided}
    return [signer.id not in held and signer.after not in undecided for signer in here]
