"""The list of signers: who votes, is added, removed, put in somebody's place, and how it is kept (spec 6.4, 6.7)."""

from __future__ import annotations

import pytest

from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.signers import Position, Signer, SignerState

P, W, A, R, X = (
    SignerState.PENDING,
    SignerState.WAITING,
    SignerState.APPROVED,
    SignerState.REJECTED,
    SignerState.REMOVED,
)


def people(*states: SignerState) -> list[Signer]:
    return [Signer(id=f"u{number}", state=state) for number, state in enumerate(states, 1)]


def test_a_vote_is_noted() -> None:
    signers = people(P, P)
    voter = signing.vote(signers, "u2", "later", "now")
    assert voter is signers[1]
    assert (voter.state, voter.outcome, voter.at) == (R, "later", "now")


@pytest.mark.parametrize("state", [W, A, R, X])
def test_only_who_has_an_open_task_votes(state: SignerState) -> None:
    signers = people(state, P)
    assert signing.vote(signers, "u1", "approved", "now") is None
    assert [signer.state for signer in signers] == [state, P]


def test_a_stranger_has_no_vote() -> None:
    assert signing.vote(people(P), "u9", "approved", "now") is None


def test_blank_names_and_those_present_are_not_added() -> None:
    signers = people(P, A, X)
    assert signing.add(signers, [" u8", "u9", "u8", "", "u1", "u2", "u3"], by="u1") == ["u8", "u9", "u3"]
    assert [(signer.id, signer.added_by) for signer in signers[3:]] == [("u8", "u1"), ("u9", "u1"), ("u3", "u1")]


def test_added_signers_stand_beside_in_their_order() -> None:
    signers = people(P, P)
    signing.add(signers, ["u8", "u9"], by="u2", position=Position.BEFORE, beside=signers[1])
    assert [(signer.id, signer.before) for signer in signers] == [
        ("u1", None), ("u8", "u2"), ("u9", "u2"), ("u2", None),
    ]  # fmt: skip


def test_a_transfer_keeps_the_place() -> None:
    signers = people(P, W)
    assert signing.transfer(signers, "u1", "u9") is signers[0]
    assert [signer.id for signer in signers] == ["u9", "u2"]


@pytest.mark.parametrize("to", ["u1", "u2"])
def test_a_transfer_to_somebody_present_is_refused(to: str) -> None:
    assert signing.transfer(people(P, A), "u1", to) is None


def test_a_transfer_to_somebody_removed_is_fine_and_of_a_stranger_is_none() -> None:
    signers = people(P, X)
    assert signing.transfer(signers, "u1", "u2") is signers[0]
    assert signing.transfer(signers, "u9", "u8") is None
    assert [signer.id for signer in signers] == ["u2", "u2"]
    assert signing.find(signers, "u2") is signers[0]


def test_a_delegate_who_transfers_hands_over_the_errand_not_the_place() -> None:
    signers = people(P)
    signers[0].delegate = "u5"
    assert signing.transfer(signers, "u5", "u6") is signers[0]
    assert (signers[0].id, signers[0].holder) == ("u1", "u6")


def test_a_group_gives_its_place_to_the_member_who_claims_and_gets_it_back() -> None:
    signers = [Signer(id="role:hr", state=P), Signer(id="u2", state=W, after="role:hr")]
    assert signing.claim(signers, signers[0], "ann")
    assert (signers[0].id, signers[0].group, signers[1].after) == ("ann", "role:hr", "ann")
    signing.release(signers, signers[0])
    assert (signers[0].id, signers[0].group, signers[1].after) == ("role:hr", None, "role:hr")
    assert not signing.claim(signers, signers[0], "u2")


def test_progress_counts_approvals_among_those_present() -> None:
    assert signing.progress(people(A, P, W, X, R)) == (1, 4)


def test_signers_survive_being_stored() -> None:
    state: dict[str, object] = {}
    signers = people(P, A)
    signers[0].before, signers[0].task_id, signers[0].round = "u2", "t", 3
    signers[1].outcome, signers[1].at = "approved", "2026-07-16T08:00:00.000Z"
    signing.store(state, signers)
    assert state["signers"] == [
        {"id": "u1", "state": "pending", "outcome": None, "at": None, "before": "u2", "taskId": "t", "round": 3},
        {"id": "u2", "state": "approved", "outcome": "approved", "at": "2026-07-16T08:00:00.000Z"},
    ]
    assert signing.load(state) == signers
    assert signing.load({}) == []


def test_signers_taken_as_approved_need_no_task() -> None:
    made = signing.create(["u1", "u2"], approved=["u2"], at="now")
    assert [(signer.state, signer.outcome, signer.at) for signer in made] == [(W, None, None), (A, "approved", "now")]
