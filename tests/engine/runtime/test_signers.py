"""Signers at work: added before and after, removed, counted (spec 6.7)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.engine.harness import Run
from tests.engine.runtime.test_handovers import refusal, task
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus


def ratio(*assignees: str, threshold: Any) -> Run:
    return task(*assignees, policy="Ratio", CompletionThreshold=threshold)


def result(run: Run) -> tuple[InstanceStatus, object]:
    return run.instance.status, run.instance.variables.get("outcome")


def test_a_task_comes_back_under_its_id_when_those_before_have_signed() -> None:
    run = task("u1", "u2")
    first = run.task("u1")
    run.add(first, "u1", "u8", "u9", position="before")
    assert run.holders() == ["u2", "u8", "u9"]
    assert run.records[(first.id, 1)].end_reason is EndReason.REMOVED
    assert refusal(lambda: run.decide(first.id, "u1")).code == "WORKFLOW_NOTFOUND_003"
    run.approve("u8")
    assert run.holders() == ["u2", "u9"]
    run.approve("u9")
    back = run.task("u1")
    assert (back.id, back.round, back.signers_done, back.signers_total) == (first.id, 2, 2, 4)
    run.approve("u1")
    run.approve("u2")
    assert result(run) == (InstanceStatus.COMPLETED, "approved")
    assert run.records[(first.id, 2)].end_reason is EndReason.COMPLETED


def test_a_rejection_of_who_signs_before_ends_the_node() -> None:
    run = ratio("u1", "u2", "u3", threshold=Decimal("0.1"))
    run.add(run.task("u1"), "u1", "u9", position="before")
    run.approve("u9", "rejected")
    assert result(run) == (InstanceStatus.COMPLETED, "rejected")


def test_who_signs_after_gets_the_task_when_the_other_has_approved() -> None:
    run = task("u1", "u2", policy="Any")
    run.add(run.task("u1"), "u1", "u9", position="after")
    assert run.holders() == ["u1", "u2"]
    run.approve("u1")
    assert run.holders() == ["u2", "u9"]
    assert run.instance.status is InstanceStatus.RUNNING
    run.approve("u9")
    assert result(run) == (InstanceStatus.COMPLETED, "approved")


def test_added_signers_are_told_with_their_place_and_get_no_copies() -> None:
    run = task("u1", CcUserIds=["boss"])
    run.add(run.task("u1"), "u1", "u9", position="after", comment="please")
    data = run.events[-1].data
    assert (run.topics[-1], data["assignees"], data["position"]) == ("task.added", ["u9"], "after")
    run.approve("u1")
    created = [event.data for event in run.events if event.topic == "workflow.task.created"]
    assert [(data["assigneeId"], data["ccUserIds"]) for data in created] == [("u1", ["boss"]), ("u9", [])]


def test_two_thirds_of_three_are_two() -> None:
    run = ratio("u1", "u2", "u3", threshold="2 / 3")
    run.approve("u1", "rejected")
    run.approve("u2")
    assert run.instance.status is InstanceStatus.RUNNING
    run.approve("u3")
    assert result(run) == (InstanceStatus.COMPLETED, "approved")


@pytest.mark.parametrize("threshold", [None, 0, Decimal("1.01"), "'half'", "0 - 1"])
def test_a_ratio_without_a_usable_share_is_a_fault(threshold: object) -> None:
    run = ratio("u1", threshold=threshold)
    assert run.instance.fault is not None
    assert (run.instance.status, run.instance.fault.key) == (InstanceStatus.FAULTED, "workflow.task.threshold")


# --- remove ---------------------------------------------------------------------------------------


def test_who_added_a_signer_may_remove_them() -> None:
    run = task("u1", "u2")
    run.add(run.task("u1"), "u1", "u9")
    removed = run.task("u9")
    assert refusal(lambda: run.remove(removed, "u2", "u9")).code == "WORKFLOW_DENIED_001"
    run.remove(removed, "u1", " u9 ", comment="by mistake")
    assert run.holders() == ["u1", "u2"]
    assert {task.signers_total for task in run.tasks()} == {2}
    record = run.records[(removed.id, 1)]
    assert (record.end_reason, record.actor_id, record.comment) == (EndReason.REMOVED, "u1", "by mistake")
    assert (run.topics[-1], run.events[-1].data["assignees"]) == ("task.removed", ["u9"])
    assert run.audit[-1].action == "remove"
    assert run.node("ask").state["history"][-1]["target"] == ["u9"]


def test_a_signer_who_waits_for_a_turn_can_be_removed() -> None:
    run = task("u1", "u2", policy="Sequential")
    run.add(run.task("u1"), "u1", "u9")
    run.remove(run.task("u1"), "u1", "u9")
    run.approve("u1")
    run.approve("u2")
    assert result(run) == (InstanceStatus.COMPLETED, "approved")


def test_an_assignee_of_the_rules_is_removed_by_an_operator_only() -> None:
    run = task("u1", "u2", "u3")
    assert refusal(lambda: run.remove(run.task("u1"), "u1", "u2")).code == "WORKFLOW_DENIED_001"
    run.remove(run.task("u1"), "op", "u2", as_operator=True)
    assert run.holders() == ["u1", "u3"]
    assert run.events[-1].data["asOperator"] is True


def test_removing_the_last_who_has_not_approved_ends_the_node() -> None:
    run = task("u1", "u2")
    run.approve("u1")
    run.remove(run.task("u2"), "op", "u2", as_operator=True)
    assert result(run) == (InstanceStatus.COMPLETED, "approved")
    assert run.path == ["start", "ask", "done"]
    assert run.tasks() == []
    assert run.rounds()[-1] == ("u2", EndReason.REMOVED)


@pytest.mark.parametrize(
    ("names", "key"),
    [
        (["u1"], "workflow.task.not_removable"),  # has approved
        (["u9"], "workflow.task.not_removable"),  # was never there
        (["u2", "u9"], "workflow.task.not_removable"),
        ([" "], "workflow.input.blank"),
    ],
)
def test_who_cannot_be_removed(names: list[str], key: str) -> None:
    run = task("u1", "u2", "u3")
    run.approve("u1")
    error = refusal(lambda: run.remove(run.task("u2"), "op", *names, as_operator=True))
    assert (error.code, error.problems[0].path, error.problems[0].key) == ("WORKFLOW_VALIDATION_002", "assignees", key)
    assert run.holders() == ["u2", "u3"]


def test_the_last_signer_cannot_be_removed() -> None:
    run = task("u1", "u2")
    run.remove(run.task("u1"), "op", "u1", as_operator=True)
    error = refusal(lambda: run.remove(run.task("u2"), "op", "u2", as_operator=True))
    assert (error.code, error.problems[0].key) == ("WORKFLOW_VALIDATION_002", "workflow.task.last_signer")


def test_a_removed_signer_can_be_added_again() -> None:
    run = task("u1")
    run.add(run.task("u1"), "u1", "u9")
    run.remove(run.task("u9"), "u1", "u9")
    run.add(run.task("u1"), "u1", "u9")
    run.approve("u9")
    run.approve("u1")
    assert result(run) == (InstanceStatus.COMPLETED, "approved")
