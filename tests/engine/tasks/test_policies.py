"""Policies as a table: four policies, eight actions, and what follows, worked out by hand from spec 6.7."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.clock import FakeClock
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.policies import Policy, Rule, Verdict, evaluate, is_threshold
from webapp.engine.tasks.signers import Position, Signer, SignerState

TWO_THIRDS = Decimal("0.6666666666666666666666666667")
"""What the expression 2 / 3 gives: rounded up at its 28th digit."""

ANY, ALL, SEQUENTIAL = (Rule(policy=policy) for policy in (Policy.ANY, Policy.ALL, Policy.SEQUENTIAL))
RATIO = Rule(policy=Policy.RATIO, threshold=TWO_THIRDS)
HALF = Rule(policy=Policy.RATIO, threshold=Decimal("0.5"))
LETTERS = {"pending": "P", "waiting": "W", "approved": "A", "rejected": "R", "removed": "X"}


def node(rule: Rule, count: int = 3) -> list[Signer]:
    signers = signing.create([f"u{number}" for number in range(1, count + 1)])
    evaluate(rule, signers)
    return signers


def act(rule: Rule, signers: list[Signer], action: str) -> Verdict:
    """Do what a line of the table says, for instance ``u1 approves``, ``+u9 before u1``, ``-u2``, ``u1 to u9``."""
    match action.split():
        case [who, "approves"]:
            assert signing.vote(signers, who, "approved", "now") is not None
        case [who, "rejects"]:
            assert signing.vote(signers, who, "rejected", "now") is not None
        case [who, "says", outcome]:
            assert signing.vote(signers, who, outcome, "now") is not None
        case [added, position, beside]:
            if position == "to":
                assert signing.transfer(signers, added, beside) is not None
            else:
                beside_signer = signing.find(signers, beside)
                assert signing.add(signers, [added[1:]], by=beside, position=Position(position), beside=beside_signer)
        case [removed]:
            leaving = signing.find(signers, removed[1:])
            assert leaving is not None
            signing.remove(signers, leaving)
        case _:
            raise AssertionError(action)
    return evaluate(rule, signers)


def shown(signers: list[Signer]) -> str:
    return " ".join(f"{signer.id}{LETTERS[signer.state]}" for signer in signers)


def opened(*names: str) -> Verdict:
    return Verdict(opened=names)


def ends(label: str) -> Verdict:
    return Verdict(label=label)


BACK = Verdict(opened=("u9",), withdrawn=("u1",))
NOTHING = Verdict()

TABLE: dict[str, list[tuple[Rule, Verdict, str]]] = {
    "u1 approves": [
        (ANY, ends("approved"), "u1A u2P u3P"),
        (ALL, NOTHING, "u1A u2P u3P"),
        (SEQUENTIAL, opened("u2"), "u1A u2P u3W"),
        (RATIO, NOTHING, "u1A u2P u3P"),
    ],
    "u1 rejects": [
        (ANY, ends("rejected"), "u1R u2P u3P"),
        (ALL, ends("rejected"), "u1R u2P u3P"),
        (SEQUENTIAL, ends("rejected"), "u1R u2W u3W"),
        (RATIO, NOTHING, "u1R u2P u3P"),
    ],
    "u1 says later": [
        (ANY, ends("later"), "u1R u2P u3P"),
        (ALL, ends("later"), "u1R u2P u3P"),
        (SEQUENTIAL, ends("later"), "u1R u2W u3W"),
        (RATIO, ends("later"), "u1R u2P u3P"),
    ],
    "+u9 parallel u1": [
        (ANY, opened("u9"), "u1P u2P u3P u9P"),
        (ALL, opened("u9"), "u1P u2P u3P u9P"),
        (SEQUENTIAL, NOTHING, "u1P u2W u3W u9W"),
        (RATIO, opened("u9"), "u1P u2P u3P u9P"),
    ],
    "+u9 before u1": [
        (ANY, BACK, "u9P u1W u2P u3P"),
        (ALL, BACK, "u9P u1W u2P u3P"),
        (SEQUENTIAL, BACK, "u9P u1W u2W u3W"),
        (RATIO, BACK, "u9P u1W u2P u3P"),
    ],
    "+u9 after u1": [
        (ANY, NOTHING, "u1P u9W u2P u3P"),
        (ALL, NOTHING, "u1P u9W u2P u3P"),
        (SEQUENTIAL, NOTHING, "u1P u9W u2W u3W"),
        (RATIO, NOTHING, "u1P u9W u2P u3P"),
    ],
    "-u1": [
        (ANY, NOTHING, "u1X u2P u3P"),
        (ALL, NOTHING, "u1X u2P u3P"),
        (SEQUENTIAL, opened("u2"), "u1X u2P u3W"),
        (RATIO, NOTHING, "u1X u2P u3P"),
    ],
    "u1 to u9": [
        (ANY, NOTHING, "u9P u2P u3P"),
        (ALL, NOTHING, "u9P u2P u3P"),
        (SEQUENTIAL, NOTHING, "u9P u2W u3W"),
        (RATIO, NOTHING, "u9P u2P u3P"),
    ],
}
CASES = [(action, *case) for action, cases in TABLE.items() for case in cases]


def test_the_table_is_four_policies_by_eight_actions() -> None:
    assert (len(TABLE), {len(cases) for cases in TABLE.values()}) == (8, {4})


@pytest.mark.parametrize(
    ("action", "rule", "verdict", "after"), CASES, ids=[f"{case[1].policy}: {case[0]}" for case in CASES]
)
def test_an_action(action: str, rule: Rule, verdict: Verdict, after: str) -> None:
    signers = node(rule)
    assert (act(rule, signers, action), shown(signers)) == (verdict, after)


@pytest.mark.parametrize(
    ("rule", "actions", "verdict", "after"),
    [
        # Who signs before somebody hands the task back; an approval of theirs decides nothing.
        (ANY, ["+u9 before u1", "u9 approves"], opened("u1"), "u9A u1P u2P u3P"),
        (ANY, ["+u9 before u1", "u9 approves", "u1 approves"], ends("approved"), "u9A u1A u2P u3P"),
        (ANY, ["+u9 before u1", "u2 approves"], ends("approved"), "u9P u1W u2A u3P"),
        (ALL, ["+u9 before u1", "u9 approves"], opened("u1"), "u9A u1P u2P u3P"),
        (ALL, ["+u9 before u1", "u9 rejects"], ends("rejected"), "u9R u1W u2P u3P"),
        (ALL, ["+u9 before u1", "-u9"], opened("u1"), "u9X u1P u2P u3P"),
        (ALL, ["+u9 before u1", "-u1", "u9 approves"], NOTHING, "u9A u1X u2P u3P"),
        (ALL, ["+u9 before u1", "u9 to u8", "u8 approves"], opened("u1"), "u8A u1P u2P u3P"),
        (SEQUENTIAL, ["+u9 before u1", "u9 approves"], opened("u1"), "u9A u1P u2W u3W"),
        (RATIO, ["+u9 before u1", "u9 rejects"], ends("rejected"), "u9R u1W u2P u3P"),
        # Two before one: it comes back when both have approved.
        (ALL, ["+u9 before u1", "+u8 before u9", "u8 approves"], opened("u9"), "u8A u9P u1W u2P u3P"),
        # Until who signs after has approved, the approval does not complete Any.
        (ANY, ["+u9 after u1", "u1 approves"], opened("u9"), "u1A u9P u2P u3P"),
        (ANY, ["+u9 after u1", "u1 approves", "u9 approves"], ends("approved"), "u1A u9A u2P u3P"),
        (ANY, ["+u9 after u1", "u1 approves", "-u9"], ends("approved"), "u1A u9X u2P u3P"),
        (ANY, ["+u9 after u1", "u1 approves", "u2 approves"], ends("approved"), "u1A u9P u2A u3P"),
        (ANY, ["+u9 after u1", "u1 to u8", "u8 approves"], opened("u9"), "u8A u9P u2P u3P"),
        (ANY, ["+u9 after u1", "-u1"], opened("u9"), "u1X u9P u2P u3P"),
        (ALL, ["+u9 after u1", "u2 approves", "u3 approves", "u1 approves"], opened("u9"), "u1A u9P u2A u3A"),
        (SEQUENTIAL, ["+u9 after u1", "u1 approves"], opened("u9"), "u1A u9P u2W u3W"),
        (RATIO, ["+u9 after u1", "u1 rejects"], opened("u9"), "u1R u9P u2P u3P"),
        # Removing may decide.
        (ALL, ["u1 approves", "u2 approves", "-u3"], ends("approved"), "u1A u2A u3X"),
        (SEQUENTIAL, ["u1 approves", "-u3", "-u2"], ends("approved"), "u1A u2X u3X"),
        (SEQUENTIAL, ["-u2", "u1 approves"], opened("u3"), "u1A u2X u3P"),
        # Ratio counts those who are there now: two thirds of 3, 2, 4, 5.
        (RATIO, ["u1 approves", "u2 approves"], ends("approved"), "u1A u2A u3P"),
        (RATIO, ["u1 rejects", "u2 rejects"], ends("rejected"), "u1R u2R u3P"),
        (RATIO, ["u1 rejects", "u2 approves"], NOTHING, "u1R u2A u3P"),
        (RATIO, ["u1 approves", "-u2"], NOTHING, "u1A u2X u3P"),
        (RATIO, ["u1 approves", "-u2", "u3 rejects"], ends("rejected"), "u1A u2X u3R"),
        (RATIO, ["u1 rejects", "-u2"], ends("rejected"), "u1R u2X u3P"),
        (RATIO, ["u1 rejects", "+u9 parallel u2"], opened("u9"), "u1R u2P u3P u9P"),
        (RATIO, ["u1 rejects", "+u9 parallel u2", "u2 rejects"], ends("rejected"), "u1R u2R u3P u9P"),
        (RATIO, ["u1 approves", "+u9 parallel u2", "u2 approves"], NOTHING, "u1A u2A u3P u9P"),
        (RATIO, ["u1 approves", "u2 to u9", "u9 approves"], ends("approved"), "u1A u9A u3P"),
        (HALF, ["u1 approves"], NOTHING, "u1A u2P u3P"),
        (HALF, ["u1 approves", "-u2"], ends("approved"), "u1A u2X u3P"),
    ],
)  # fmt: skip
def test_one_after_another(rule: Rule, actions: list[str], verdict: Verdict, after: str) -> None:
    signers = node(rule)
    for action in actions[:-1]:
        assert act(rule, signers, action).label is None, action
    assert (act(rule, signers, actions[-1]), shown(signers)) == (verdict, after)


@pytest.mark.parametrize(
    ("threshold", "count", "needed"),
    [
        ("0.5", 3, 2),
        ("0.5", 4, 2),
        ("2 / 3", 3, 2),
        ("2 / 3", 999, 666),
        ("1 / 3", 3, 1),
        ("2 / 7", 7, 2),
        ("0.6666", 3, 2),
        ("0.6667", 3, 3),
        ("0.34", 3, 2),
        ("0.1 + 0.2", 10, 3),
        ("0.7", 10, 7),
        ("0.01", 3, 1),
        ("1", 5, 5),
    ],
)
def test_exactly_so_many_approvals_are_enough(threshold: str, count: int, needed: int) -> None:
    value = ExpressionEvaluator(FakeClock()).compile(threshold).evaluate({})
    assert is_threshold(value)
    rule = Rule(policy=Policy.RATIO, threshold=value)
    signers = node(rule, count)
    for number in range(1, needed):
        assert act(rule, signers, f"u{number} approves") == NOTHING
    assert act(rule, signers, f"u{needed} approves") == ends("approved")


@pytest.mark.parametrize(
    ("value", "legal"), [(0, False), (1, True), (Decimal("0.001"), True), (Decimal("1.001"), False), ("1", False),
                         (True, False), (None, False)],
)  # fmt: skip
def test_a_threshold_is_above_0_and_at_most_1(value: Any, legal: bool) -> None:
    assert is_threshold(value) is legal


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        (None, Policy.ANY),
        ("Any", Policy.ANY),
        ("ALL", Policy.ALL),
        ("sequential", Policy.SEQUENTIAL),
        ("ratio", Policy.RATIO),
        ("2", None),
        ("Any,All", None),
        ("Countersign", None),
        ("", None),
        (2, None),
        (True, None),
        (["Any"], None),
    ],
)
def test_a_policy_is_read_by_its_name_only(value: object, policy: Policy | None) -> None:
    assert Policy.read(value) is policy


STEPS = st.tuples(
    st.sampled_from(["approves", "approves", "rejects", "says", "parallel", "before", "after", "-", "to"]),
    st.integers(0, 20),
)


@given(
    rule=st.sampled_from([ANY, ALL, SEQUENTIAL, RATIO, HALF]),
    count=st.integers(1, 5),
    steps=st.lists(STEPS, max_size=30),
)
def test_somebody_always_has_a_task_until_the_node_is_decided(
    rule: Rule, count: int, steps: list[tuple[str, int]]
) -> None:
    signers = node(rule, count)
    for number, (what, which) in enumerate(steps, 10):
        tasks = [signer for signer in signers if signer.state is SignerState.PENDING]
        assert tasks, shown(signers)
        if rule.policy is Policy.SEQUENTIAL:
            assert len(tasks) == 1
        who = tasks[which % len(tasks)].id
        match what:
            case "says":
                line = f"{who} says later"
            case "parallel" | "before" | "after":
                line = f"+u{number} {what} {who}"
            case "-":
                if len(signing.present(signers)) == 1:
                    continue
                line = f"-{who}"
            case "to":
                line = f"{who} to u{number}"
            case _:
                line = f"{who} {what}"
        if act(rule, signers, line).label is not None:
            return
