"""Signers and policies as a table: what each change makes of them (spec 6.1, 6.7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.signers import Policy, Signer, SignerState, Verdict

P, W, A, R, X = (
    SignerState.PENDING,
    SignerState.WAITING,
    SignerState.APPROVED,
    SignerState.REJECTED,
    SignerState.REMOVED,
)


def people(*states: SignerState) -> list[Signer]:
    return [Signer(id=f"u{number}", state=state) for number, state in enumerate(states, 1)]


def states(signers: list[Signer]) -> list[SignerState]:
    return [signer.state for signer in signers]


@pytest.mark.parametrize(
    ("value", "policy"),
    [
        (None, Policy.ANY),
        ("Any", Policy.ANY),
        ("ALL", Policy.ALL),
        ("sequential", Policy.SEQUENTIAL),
        ("2", None),
        ("Any,All", None),
        ("Ratio", None),
        ("Countersign", None),
        ("", None),
        (2, None),
        (True, None),
        (["Any"], None),
    ],
)
def test_a_policy_is_read_by_its_name_only(value: object, policy: Policy | None) -> None:
    assert Policy.read(value) is policy


@pytest.mark.parametrize(
    ("policy", "opened", "after"),
    [
        (Policy.ANY, ("u1", "u2"), [P, P]),
        (Policy.ALL, ("u1", "u2"), [P, P]),
        (Policy.SEQUENTIAL, ("u1",), [P, W]),
    ],
)
def test_a_new_node_opens_what_its_policy_wants(
    policy: Policy, opened: tuple[str, ...], after: list[SignerState]
) -> None:
    signers, made = signing.begin(policy, ["u1", "u2"])
    assert (made, states(signers)) == (opened, after)


@pytest.mark.parametrize(
    ("policy", "before", "who", "verdict", "after"),
    [
        (Policy.ANY, [P, P], "u1", Verdict(label="approved"), [A, P]),
        (Policy.ANY, [P], "u1", Verdict(label="approved"), [A]),
        (Policy.ALL, [P, P], "u2", Verdict(), [P, A]),
        (Policy.ALL, [A, P], "u2", Verdict(label="approved"), [A, A]),
        (Policy.ALL, [X, P], "u2", Verdict(label="approved"), [X, A]),
        (Policy.SEQUENTIAL, [P, W, W], "u1", Verdict(opened=("u2",)), [A, P, W]),
        (Policy.SEQUENTIAL, [P, X, W], "u1", Verdict(opened=("u3",)), [A, X, P]),
        (Policy.SEQUENTIAL, [A, P], "u2", Verdict(label="approved"), [A, A]),
        (Policy.SEQUENTIAL, [A, P, X], "u2", Verdict(label="approved"), [A, A, X]),
    ],
)
def test_an_approval(
    policy: Policy, before: list[SignerState], who: str, verdict: Verdict, after: list[SignerState]
) -> None:
    signers = people(*before)
    assert signing.vote(policy, signers, who, "approved", "now") == verdict
    assert states(signers) == after
    voter = signing.find(signers, who)
    assert voter is not None
    assert (voter.outcome, voter.at) == ("approved", "now")


@pytest.mark.parametrize("policy", Policy)
@pytest.mark.parametrize("outcome", ["rejected", "Approved", "maybe"])
def test_any_other_outcome_is_a_verdict(policy: Policy, outcome: str) -> None:
    signers = people(P, P)
    assert signing.vote(policy, signers, "u1", outcome, "now") == Verdict(label=outcome)
    assert (signers[0].state, signers[0].outcome) == (R, outcome)


@pytest.mark.parametrize("state", [W, A, R, X])
def test_only_who_has_an_open_task_votes(state: SignerState) -> None:
    signers = people(state, P)
    assert signing.vote(Policy.ALL, signers, "u1", "approved", "now") is None
    assert states(signers) == [state, P]


def test_a_stranger_has_no_vote() -> None:
    assert signing.vote(Policy.ANY, people(P), "u9", "approved", "now") is None


@pytest.mark.parametrize(
    ("policy", "before", "opened", "after"),
    [
        (Policy.ANY, [P], ("u8", "u9"), [P, P, P]),
        (Policy.ALL, [A, P], ("u8", "u9"), [A, P, P, P]),
        (Policy.SEQUENTIAL, [P, W], (), [P, W, W, W]),
    ],
)
def test_signers_are_added_in_parallel(
    policy: Policy, before: list[SignerState], opened: tuple[str, ...], after: list[SignerState]
) -> None:
    signers = people(*before)
    assert signing.add(policy, signers, [" u8", "u9", "u8", "", "u1"]) == (["u8", "u9"], opened)
    assert states(signers) == after


def test_a_removed_signer_can_come_back() -> None:
    signers = people(X, P)
    assert signing.add(Policy.ALL, signers, ["u1"]) == (["u1"], ("u1",))
    assert states(signers) == [X, P, P]


def test_nobody_new_changes_nothing() -> None:
    signers = people(P, A)
    assert signing.add(Policy.ALL, signers, ["u2"]) == ([], ())
    assert states(signers) == [P, A]


def test_a_transfer_keeps_the_place() -> None:
    signers = people(P, W)
    assert signing.transfer(signers, "u1", "u9")
    assert [signer.id for signer in signers] == ["u9", "u2"]


@pytest.mark.parametrize("to", ["u1", "u2"])
def test_a_transfer_to_somebody_present_is_refused(to: str) -> None:
    signers = people(P, A)
    assert not signing.transfer(signers, "u1", to)


def test_a_transfer_to_somebody_removed_is_fine_and_of_a_stranger_changes_nobody() -> None:
    signers = people(P, X)
    assert signing.transfer(signers, "u1", "u2")
    assert signing.transfer(signers, "u9", "u8")
    assert [signer.id for signer in signers] == ["u2", "u2"]
    assert signing.find(signers, "u2") is signers[0]


def test_progress_counts_approvals_among_those_present() -> None:
    assert signing.progress(people(A, P, W, X, R)) == (1, 4)


def test_signers_survive_being_stored() -> None:
    state: dict[str, object] = {}
    signers = people(P, A)
    signers[1].outcome, signers[1].at = "approved", "2026-07-16T08:00:00.000Z"
    signing.store(state, signers)
    assert state["signers"] == [
        {"id": "u1", "state": "pending", "outcome": None, "at": None},
        {"id": "u2", "state": "approved", "outcome": "approved", "at": "2026-07-16T08:00:00.000Z"},
    ]
    assert signing.load(state) == signers
    assert signing.load({}) == []


@given(
    policy=st.sampled_from(Policy),
    count=st.integers(1, 6),
    votes=st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["approved", "rejected", "later"])), max_size=20),
    added=st.lists(st.integers(0, 8), max_size=4),
)
def test_a_node_always_has_an_open_task_until_it_is_decided(
    policy: Policy, count: int, votes: list[tuple[int, str]], added: list[int]
) -> None:
    signers, opened = signing.begin(policy, [f"u{number}" for number in range(count)])
    tasks = list(opened)
    for number, outcome in votes:
        if added:
            tasks += signing.add(policy, signers, [f"u{added.pop()}"])[1]
        who = tasks[number % len(tasks)]
        verdict = signing.vote(policy, signers, who, outcome, "now")
        assert verdict is not None
        tasks.remove(who)
        if verdict.label is not None:
            assert verdict.label == outcome
            return
        tasks += verdict.opened
        assert sorted(tasks) == sorted(signer.id for signer in signers if signer.state is P)
        assert tasks
        assert policy is not Policy.SEQUENTIAL or len(tasks) == 1
