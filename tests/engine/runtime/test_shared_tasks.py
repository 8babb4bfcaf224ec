"""Tasks that several may take: claimed, released, lent, urged; groups and their members (spec 6.4, 6.7)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from tests.engine.harness import Run, World
from tests.engine.runtime.test_handovers import refusal, task
from tests.support.flows import END, START, flow, node
from webapp.engine.instances.bookmarks import Bookmark
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus

HR = "role:hr"


class Staff:
    """A directory: who is in which group."""

    def __init__(self, **groups: Collection[str]) -> None:
        self._groups = {f"role:{name}": frozenset(people) for name, people in groups.items()}

    def disabled(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        return frozenset()

    def known(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        return frozenset(ids)

    def members(self, partition: str | None, principal: str) -> frozenset[str]:
        return self._groups.get(principal, frozenset())


def by_rules(*rules: dict[str, Any], **properties: Any) -> Run:
    world = World(directory=Staff(hr=["bob", "ann"], boss=["eve"]))
    given = {"AssigneeRules": list(rules), **properties}
    return world.start(flow("ask", [START, node("ask", "UserTask", given), END]))


def group(policy: str = "Any", *more: str) -> Run:
    return by_rules({"type": "User", "values": [HR, *more], "claimable": True}, CompletionPolicy=policy)


def signers(run: Run) -> list[tuple[str, str]]:
    return [(signer["id"], signer["state"]) for signer in run.node("ask").state["signers"]]


def claims(run: Run) -> list[tuple[str | None, str | None]]:
    return [(task.key, task.claimed_by) for task in run.tasks()]


# --- groups ---------------------------------------------------------------------------------------


def test_a_group_stands_for_its_members_by_name() -> None:
    rules = [{"type": "User", "values": ["zoe", HR, "bob"]}, {"type": "User", "values": ["role:nobody"]}]
    assert by_rules(*rules).holders() == ["zoe", "ann", "bob"]


def test_a_claimable_group_is_one_task_with_its_key() -> None:
    run = group()
    assert [(task.key, task.claimable, task.claimed_by) for task in run.tasks()] == [(HR, True, None)]
    assert refusal(lambda: run.decide(run.task(HR), "ann")).code == "WORKFLOW_DENIED_001"


def test_fallback_people_may_be_a_group() -> None:
    run = by_rules({"type": "User", "values": ["role:none"]}, EmptyAssigneeStrategy="AssignTo", FallbackAssignees=[HR])
    assert run.holders() == ["ann", "bob"]


def test_a_member_takes_the_groups_place_and_gives_it_back() -> None:
    run = group("All", "u2")
    shared = run.task(HR)
    run.claim(shared, "ann", HR)
    assert claims(run) == [("ann", "ann"), ("u2", None)]
    assert run.task("ann").id == shared.id
    assert signers(run) == [("ann", "pending"), ("u2", "pending")]
    assert refusal(lambda: run.claim(shared, "bob", HR)).code == "WORKFLOW_CONFLICT_004"
    assert refusal(lambda: run.claim(shared, "bob", HR)).details == {"claimedBy": "ann"}
    assert refusal(lambda: run.release(shared, "bob")).code == "WORKFLOW_DENIED_001"
    run.release(shared, "ann")
    assert claims(run) == [(HR, None), ("u2", None)]
    assert run.task(HR).claimable
    run.claim(shared, "bob", HR)
    run.approve("bob")
    run.approve("u2")
    assert run.instance.status is InstanceStatus.COMPLETED
    rounds = [(record.round, record.assignee_id, record.end_reason, record.actor_id)
              for (task_id, _), record in sorted(run.records.items()) if task_id == shared.id]  # fmt: skip
    assert rounds == [
        (1, HR, EndReason.CLAIMED, "ann"),
        (2, "ann", EndReason.RELEASED, "ann"),
        (3, HR, EndReason.CLAIMED, "bob"),
        (4, "bob", EndReason.COMPLETED, "bob"),
    ]


def test_only_members_may_claim() -> None:
    run = group()
    assert refusal(lambda: run.claim(run.task(HR), "eve", "role:boss")).code == "WORKFLOW_DENIED_001"
    assert refusal(lambda: run.claim("gone", "ann", HR)).code == "WORKFLOW_NOTFOUND_003"


def test_a_member_who_signs_already_cannot_take_the_groups_place() -> None:
    run = group("All", "ann")
    assert refusal(lambda: run.claim(run.task(HR), "ann", HR)).code == "WORKFLOW_CONFLICT_004"


# --- claims under Any -----------------------------------------------------------------------------


def test_a_claim_keeps_the_other_candidates_out_until_it_is_released() -> None:
    run = task("u1", "u2", "u3", policy="Any")
    assert [one.claimable for one in run.tasks()] == [True, True, True]
    run.claim(run.task("u1"), "u1")
    assert claims(run) == [("u1", "u1"), ("u2", "u1"), ("u3", "u1")]
    theirs = run.task("u2")
    for act in (
        lambda: run.decide(theirs, "u2"),
        lambda: run.transfer(theirs, "u2", "u9"),
        lambda: run.claim(theirs, "u2"),
        lambda: run.delegate(theirs, "u2", "u9"),
        lambda: run.add(theirs, "u2", "u9"),
    ):
        assert refusal(act).code == "WORKFLOW_CONFLICT_004"
    assert refusal(lambda: run.release(theirs, "u2")).code == "WORKFLOW_DENIED_001"
    run.release(theirs, "u1")
    assert {claimed_by for _, claimed_by in claims(run)} == {None}
    assert run.records[(run.task("u1").id, 2)].end_reason is EndReason.RELEASED
    run.approve("u2")
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_claim_of_ones_own_again_changes_nothing() -> None:
    run = task("u1", "u2", policy="Any").claim(task("u1", "u2", policy="Any").task("u1"), "u1")
    revision, told = run.instance.revision, len(run.events)
    run.claim(run.task("u1"), "u1")
    assert (run.instance.revision, len(run.events)) == (revision, told)


@pytest.mark.parametrize(("policy", "people"), [("All", 2), ("Sequential", 2), ("Any", 1)])
def test_a_task_that_is_ones_own_anyway_is_not_claimed(policy: str, people: int) -> None:
    run = task(*[f"u{number}" for number in range(1, people + 1)], policy=policy)
    run.claim(run.task("u1"), "u1")
    run.release(run.task("u1"), "u1")
    assert {claimed_by for _, claimed_by in claims(run)} == {None}
    assert run.instance.revision == 1


def test_an_operator_releases_what_somebody_else_holds() -> None:
    run = task("u1", "u2", policy="Any")
    run.claim(run.task("u1"), "u1")
    run.release(run.task("u1"), "op", as_operator=True)
    assert {claimed_by for _, claimed_by in claims(run)} == {None}


def test_the_claim_goes_where_the_task_goes() -> None:
    run = task("u1", "u2", policy="Any")
    run.claim(run.task("u1"), "u1")
    run.transfer(run.task("u1"), "u1", "u9")
    assert claims(run) == [("u9", "u9"), ("u2", "u9")]
    run.add(run.task("u9"), "u9", "u8")
    assert claims(run) == [("u9", "u9"), ("u2", "u9"), ("u8", "u9")]
    run.remove(run.task("u9"), "op", "u9", as_operator=True)
    assert claims(run) == [("u2", None), ("u8", None)]
    run.remove(run.task("u2"), "op", "u2", as_operator=True)
    assert [one.claimable for one in run.tasks()] == [False]


def test_claim_and_release_are_told() -> None:
    run = group()
    run.claim(run.task(HR), "ann", HR)
    data = run.events[-1].data
    assert (run.topics[-1], data["actorId"], data["from"], data["claimedBy"]) == ("task.claimed", "ann", HR, "ann")
    run.release(run.task("ann"), "ann")
    data = run.events[-1].data
    assert (run.topics[-1], data["from"], data["target"]) == ("task.released", "ann", HR)
    assert [line.action for line in run.audit] == ["start", "claim", "release"]
    assert [entry["action"] for entry in run.node("ask").state["history"]] == ["claim", "release"]


# --- delegate -------------------------------------------------------------------------------------


def test_a_delegate_handles_the_task_and_it_comes_back_for_the_decision() -> None:
    run = task("u1", "u2")
    lent = run.task("u1")
    run.delegate(lent, "u1", " u9 ", "have a look")
    assert run.holders() == ["u9", "u2"]
    assert run.task("u9").id == lent.id
    assert refusal(lambda: run.decide(lent, "u1")).code == "WORKFLOW_DENIED_001"
    run.decide(lent, "u9", "rejected", comment="too dear", variables={"checked": True})
    assert run.instance.status is InstanceStatus.RUNNING
    assert run.instance.variables["checked"] is True
    assert "outcome" not in run.instance.variables
    assert signers(run) == [("u1", "pending"), ("u2", "pending")]
    back = run.records[(lent.id, 2)]
    assert (back.assignee_id, back.outcome, back.comment, back.end_reason) == (
        "u9", "rejected", "too dear", EndReason.COMPLETED,
    )  # fmt: skip
    run.approve("u1")
    run.approve("u2")
    assert run.instance.variables["outcome"] == "approved"
    told = [event.data for event in run.events if event.topic == "workflow.task.delegated"]
    assert [(data["from"], data["target"], data.get("outcome")) for data in told] == [
        ("u1", "u9", None), ("u9", "u1", "rejected"),
    ]  # fmt: skip


def test_a_task_is_lent_once_and_to_nobody_who_signs() -> None:
    run = task("u1", "u2")
    assert refusal(lambda: run.delegate(run.task("u1"), "u1", "u2")).code == "WORKFLOW_CONFLICT_004"
    run.delegate(run.task("u1"), "u1", "u9")
    error = refusal(lambda: run.delegate(run.task("u9"), "u9", "u8"))
    assert (error.code, error.key) == ("WORKFLOW_CONFLICT_004", "workflow.task.already_delegated")
    assert refusal(lambda: run.delegate(run.task("u2"), "u2", "u9")).code == "WORKFLOW_CONFLICT_004"


@pytest.mark.parametrize("who", ["u1", "u9"])
def test_lender_and_delegate_may_take_or_give_it_back(who: str) -> None:
    run = task("u1", "u2")
    run.delegate(run.task("u1"), "u1", "u9")
    run.release(run.task("u9"), who)
    assert run.holders() == ["u1", "u2"]
    run.approve("u1")
    assert signers(run)[0] == ("u1", "approved")


def test_a_claimed_task_can_be_lent() -> None:
    run = task("u1", "u2", policy="Any")
    run.claim(run.task("u1"), "u1")
    run.delegate(run.task("u1"), "u1", "u9")
    assert claims(run) == [("u9", "u9"), ("u2", "u9")]
    run.approve("u9")
    assert claims(run) == [("u1", "u1"), ("u2", "u1")]
    run.approve("u1")
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_delegate_may_ask_somebody_before_and_hand_the_errand_on() -> None:
    run = task("u1")
    run.delegate(run.task("u1"), "u1", "u9")
    run.add(run.task("u9"), "u9", "u7", position="before")
    assert run.holders() == ["u7"]
    run.approve("u7")
    assert run.holders() == ["u9"]
    run.transfer(run.task("u9"), "u9", "u8")
    run.approve("u8")
    assert run.holders() == ["u1"]


# --- what a node allows ---------------------------------------------------------------------------


def test_a_node_may_forbid_what_its_assignees_do_but_not_what_operators_do() -> None:
    run = task("u1", "u2", AllowTransfer=False, AllowDelegate=False, AllowAddSigners=False)
    mine = run.task("u1")
    for act in (
        lambda: run.transfer(mine, "u1", "u9"),
        lambda: run.delegate(mine, "u1", "u9"),
        lambda: run.add(mine, "u1", "u9"),
    ):
        error = refusal(act)
        assert (error.code, error.key) == ("ACCESS_DENIED_001", "workflow.task.not_allowed")
    run.transfer(mine, "op", "u9", as_operator=True)
    assert run.holders() == ["u9", "u2"]


# --- urge -----------------------------------------------------------------------------------------


def counted(one: Bookmark) -> tuple[str | None, object, object]:
    return one.key, one.payload.get("urgeCount"), one.payload.get("lastUrgedAt")


def test_everybody_whom_the_node_waits_for_is_reminded() -> None:
    run = task("u1", "u2", "u3")
    run.approve("u2")
    run.urge(run.task("u1"), "starter", "please")
    run.world.clock.advance(60)
    run.urge(run.task("u3"), "u1")
    last = "2026-07-16T08:01:00.000Z"
    assert [counted(one) for one in run.tasks()] == [("u1", 2, last), ("u3", 2, last)]
    told = [event.data for event in run.events if event.topic == "workflow.task.urged"]
    assert [(data["assigneeId"], data["actorId"], data["count"], data["comment"]) for data in told] == [
        ("u1", "starter", 1, "please"), ("u3", "starter", 1, "please"), ("u1", "u1", 2, None), ("u3", "u1", 2, None),
    ]  # fmt: skip
    assert run.audit[-1].action == "urge"


# --- earlier people -------------------------------------------------------------------------------


def two_steps(second: dict[str, Any], first: dict[str, Any] | None = None) -> Run:
    nodes = [START, node("one", "UserTask", first or {"Assignees": ["u1", "u2"], "CompletionPolicy": "All"}),
             node("log", "Log"), node("two", "UserTask", second), END]  # fmt: skip
    return World().start(flow("two", nodes))


def test_completed_by_is_who_completed_the_node_last() -> None:
    run = two_steps({"AssigneeRules": [{"type": "CompletedBy", "values": ["one"]}]})
    run.approve("u2")
    run.approve("u1")
    assert run.holders() == ["u1"]


def test_a_substitutes_decision_counts_as_that_of_the_absent() -> None:
    run = two_steps({"AssigneeRules": [{"type": "CompletedBy", "values": ["one"]}]}, {"Assignees": ["u1"]})
    run.decide(run.task("u1"), "deputy", on_behalf_of="u1")
    assert run.holders() == ["u1"]


@pytest.mark.parametrize("values", [["two"], ["log"], ["gone"]])
def test_a_node_that_nobody_completed_gives_nobody(values: list[str]) -> None:
    rules = {"AssigneeRules": [{"type": "CompletedBy", "values": values}], "EmptyAssigneeStrategy": "Starter"}
    run = two_steps(rules, {"Assignees": ["u1"]})
    run.approve("u1")
    assert run.holders() == ["starter"]


def test_an_earlier_approval_counts_again_and_the_trail_says_so() -> None:
    run = two_steps({"Assignees": ["u2", "u3"], "CompletionPolicy": "All", "SkipIfAlreadyApproved": True})
    run.approve("u1")
    run.approve("u2")
    assert run.holders() == ["u3"]
    (line,) = [line for line in run.audit if line.action == "autoApproved"]
    assert (line.actor_id, line.node_id, line.after) == (None, "two", {"id": "u2"})
    run.approve("u3")
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_node_whose_signers_have_all_approved_before_waits_for_nobody() -> None:
    run = two_steps({"Assignees": ["u1", "u2"], "CompletionPolicy": "All", "SkipIfAlreadyApproved": True})
    run.approve("u1")
    run.approve("u2")
    assert run.path == ["start", "one", "log", "two", "end"]
    assert run.instance.variables["outcome"] == "approved"
