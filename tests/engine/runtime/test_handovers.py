"""Handing tasks over and adding signers (spec 6.4, 6.7)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import START, edge, flow, node
from webapp.engine.errors import WorkflowError
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus


class Disabled:
    """A directory that knows only who is disabled."""

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def disabled(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        return self._names & frozenset(ids)

    def known(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        return frozenset(ids)

    def members(self, partition: str | None, principal: str) -> frozenset[str]:
        return frozenset()


def task(*assignees: str, policy: str = "All", world: World | None = None, **properties: Any) -> Run:
    given = {"Assignees": list(assignees), "CompletionPolicy": policy, **properties}
    nodes = [START, node("ask", "UserTask", given, timeout_seconds=3600), node("done", "Log")]
    return (world or World()).start(flow("ask", nodes, [edge("start", "ask"), edge("ask", "done")]))


def refusal(action: Callable[[], object]) -> WorkflowError:
    with pytest.raises(WorkflowError) as raised:
        action()
    return raised.value


# --- transfer -------------------------------------------------------------------------------------


def test_a_transfer_changes_the_assignee_and_keeps_the_task() -> None:
    run = task("u1", "u2", policy="Sequential")
    before = run.task("u1")
    before.opened_at = run.world.clock.now()
    run.transfer(before, "u1", " u9 ", "on holiday")
    after = run.task("u9")
    assert (after.id, after.round, after.opened_at, after.claimed_by) == (before.id, 2, None, None)
    assert run.path == ["start", "ask"]
    assert refusal(lambda: run.decide(before.id, "u1")).code == "WORKFLOW_DENIED_001"
    run.approve("u9")
    assert run.holders() == ["u2"]
    assert [signer["id"] for signer in run.node("ask").state["signers"]] == ["u9", "u2"]


def test_a_transfer_ends_the_round_and_opens_the_next() -> None:
    run = task("u1", Title="The task", Priority="urgent")
    run.world.clock.advance(5)
    opened = run.task("u1")
    run.transfer(opened, "u1", "u9", "on holiday")
    first, second = run.records[(opened.id, 1)], run.records[(opened.id, 2)]
    assert (first.assignee_id, first.end_reason, first.actor_id) == ("u1", EndReason.TRANSFERRED, "u1")
    assert (first.comment, first.outcome) == ("on holiday", None)
    assert (second.assignee_id, second.ended_at, second.title) == ("u9", None, "The task")
    assert (second.created_at, second.priority) == (run.world.clock.now(), first.priority)
    run.approve("u9")
    assert second.end_reason is EndReason.COMPLETED
    assert second.actor_id == "u9"


def test_a_transfer_is_told_and_remembered() -> None:
    run = task("u1").transfer(task("u1").task("u1"), "u1", "u9", "on holiday")
    assert run.topics[-1] == "task.transferred"
    data = run.events[-1].data
    assert (data["actorId"], data["from"], data["target"], data["comment"]) == ("u1", "u1", "u9", "on holiday")
    (entry,) = run.node("ask").state["history"]
    assert (entry["action"], entry["actorId"], entry["target"]) == ("transfer", "u1", "u9")
    line = run.audit[-1]
    assert (line.action, line.comment) == ("transfer", "on holiday")
    assert line.after is not None
    assert (line.after["from"], line.after["to"]) == ("u1", "u9")


@pytest.mark.parametrize("target", ["u2", "u1", " u2 "])
def test_a_transfer_to_somebody_on_the_node_is_refused(target: str) -> None:
    run = task("u1", "u2", policy="Sequential")
    error = refusal(lambda: run.transfer(run.task("u1"), "u1", target))
    assert (error.code, error.params) == ("WORKFLOW_CONFLICT_004", {"name": target.strip()})
    assert run.holders() == ["u1"]


@pytest.mark.parametrize(("target", "key"), [(" ", "workflow.input.blank"), ("u" * 129, "workflow.input.too_long")])
def test_a_transfer_needs_a_name(target: str, key: str) -> None:
    run = task("u1")
    error = refusal(lambda: run.transfer(run.task("u1"), "u1", target))
    assert [(problem.path, problem.key) for problem in error.problems] == [("to", key)]


def test_only_the_assignee_or_an_operator_may_transfer() -> None:
    run = task("u1")
    opened = run.task("u1")
    assert refusal(lambda: run.transfer(opened, "u2", "u9")).code == "WORKFLOW_DENIED_001"
    run.transfer(opened, "op", "u9", as_operator=True)
    record = run.records[(opened.id, 1)]
    assert (record.actor_id, record.as_operator) == ("op", True)
    assert run.events[-1].data["asOperator"] is True


def test_a_transfer_of_an_instance_that_does_not_run_is_refused() -> None:
    run = task("u1")
    run.instance.status = InstanceStatus.SUSPENDED
    assert refusal(lambda: run.transfer(run.task("u1"), "u1", "u9")).code == "WORKFLOW_CONFLICT_003"
    assert refusal(lambda: run.add(run.task("u1"), "u1", "u9")).code == "WORKFLOW_CONFLICT_003"


def test_a_transfer_counts_as_the_new_assignees_place_in_all() -> None:
    run = task("u1", "u2").transfer(task("u1", "u2").task("u1"), "u1", "u9")
    run.approve("u2").approve("u9")
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_transferred_bookmark_is_written_as_changed() -> None:
    run = task("u1")
    run.transfer(run.task("u1"), "u1", "u9")
    written = run.last.write_set
    assert [mark.key for mark in written.changed_bookmarks] == ["u9"]
    assert (written.new_bookmarks, written.deleted_bookmark_ids) == ([], [])
    assert [one.node_id for one in written.node_instances] == ["ask"]


def test_a_comment_beyond_its_length_is_refused() -> None:
    run = task("u1")
    for act in (
        lambda: run.transfer(run.task("u1"), "u1", "u9", "c" * 10_001),
        lambda: run.add(run.task("u1"), "u1", "u9", comment="c" * 10_001),
    ):
        assert refusal(act).problems[0].path == "comment"


# --- add ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["Any", "All"])
def test_added_signers_get_their_tasks_at_once_without_copies(policy: str) -> None:
    run = task("u1", policy=policy, CcUserIds=["cc"], FormData={"a": 1}, Title="T")
    del run.events[:]
    run.add(run.task("u1"), "u1", "u2", " u2 ", "", "u3", comment="need you")
    assert run.holders() == ["u1", "u2", "u3"]
    assert run.topics == ["task.created", "task.created", "task.added"]
    assert [event.data.get("ccUserIds") for event in run.events] == [[], [], None]
    assert run.task("u2").payload == {**run.task("u1").payload, "ccUserIds": []}
    assert run.copies == [(run.task("u1").id, "cc")]
    assert (run.events[-1].data["assignees"], run.events[-1].data["comment"]) == (["u2", "u3"], "need you")
    assert {(one.signers_done, one.signers_total) for one in run.tasks()} == {(0, 3)}


def test_all_waits_for_added_signers_too() -> None:
    run = task("u1")
    run.add(run.task("u1"), "u1", "u2").approve("u1")
    assert run.instance.status is InstanceStatus.RUNNING
    assert run.approve("u2").instance.status is InstanceStatus.COMPLETED


def test_in_sequence_added_signers_come_at_the_end() -> None:
    run = task("u1", "u2", policy="Sequential")
    run.add(run.task("u1"), "u1", "u3")
    assert run.holders() == ["u1"]
    assert run.task("u1").signers_total == 3
    run.approve("u1").approve("u2")
    assert run.holders() == ["u3"]
    assert run.approve("u3").instance.status is InstanceStatus.COMPLETED


def test_those_who_are_there_already_are_left_out() -> None:
    run = task("u1", "u2")
    run.add(run.task("u1"), "u1", "u2", "u3")
    assert run.holders() == ["u1", "u2", "u3"]
    error = refusal(lambda: run.add(run.task("u1"), "u1", "u2", "u3"))
    assert (error.code, error.params) == ("WORKFLOW_CONFLICT_004", {"name": "u2"})


def test_somebody_who_has_approved_is_on_the_node_still() -> None:
    run = task("u1", "u2").approve("u2")
    assert refusal(lambda: run.add(run.task("u1"), "u1", "u2")).code == "WORKFLOW_CONFLICT_004"


@pytest.mark.parametrize("names", [(), ("", " ")])
def test_adding_nobody_is_refused(names: tuple[str, ...]) -> None:
    run = task("u1")
    error = refusal(lambda: run.add(run.task("u1"), "u1", *names))
    assert [(problem.path, problem.key) for problem in error.problems] == [("assignees", "workflow.input.blank")]


@pytest.mark.parametrize("position", ["x", "Before", ""])
def test_there_are_three_positions(position: str) -> None:
    run = task("u1")
    error = refusal(lambda: run.add(run.task("u1"), "u1", "u2", position=position))
    assert [(problem.path, problem.key) for problem in error.problems] == [("position", "workflow.task.position")]


def test_no_more_than_a_thousand_sign() -> None:
    run = task(*(f"s{number}" for number in range(999)), policy="Sequential")
    run.add(run.task("s0"), "s0", "last")
    error = refusal(lambda: run.add(run.task("s0"), "s0", "one more"))
    assert [(problem.path, problem.key) for problem in error.problems] == [("assignees", "workflow.assignee.too_many")]


def test_only_the_assignee_may_add() -> None:
    run = task("u1")
    assert refusal(lambda: run.add(run.task("u1"), "u2", "u3")).code == "WORKFLOW_DENIED_001"


def test_an_addition_is_remembered() -> None:
    run = task("u1")
    run.add(run.task("u1"), "u1", "u2", comment="help")
    (entry,) = run.node("ask").state["history"]
    assert (entry["action"], entry["target"], entry["comment"]) == ("add", ["u2"], "help")
    assert run.audit[-1].after is not None
    assert run.audit[-1].after["assignees"] == ["u2"]


# --- disabled accounts ----------------------------------------------------------------------------


def test_a_disabled_account_gets_no_task_when_tasks_are_made() -> None:
    run = task("u1", "gone", world=World(directory=Disabled("gone")))
    assert run.holders() == ["u1"]
    assert run.task("u1").signers_total == 1


def test_a_disabled_account_is_refused_as_a_target() -> None:
    run = task("u1", world=World(directory=Disabled("gone")))
    for act, path in (
        (lambda: run.transfer(run.task("u1"), "u1", " gone "), "to"),
        (lambda: run.add(run.task("u1"), "u1", "u2", "gone"), "assignees"),
    ):
        error = refusal(act)
        assert (error.key, error.params) == ("workflow.task.assignee_disabled", {"name": "gone"})
        assert error.problems[0].path == path
    assert run.add(run.task("u1"), "u1", "u2").holders() == ["u1", "u2"]
