"""Deciding user tasks: policies, refusals in their order, rebuilt tasks, records, events (spec 6.1 to 6.3, 9.1)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import START, edge, flow, node
from webapp.engine.errors import WorkflowError
from webapp.engine.instances.bookmarks import BookmarkKind, Priority
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject


def task(*assignees: str, policy: str | None = None, settings: JsonObject | None = None, **properties: Any) -> Run:
    """Start → UserTask → accepted, denied or other."""
    if policy is not None:
        properties["CompletionPolicy"] = policy
    properties.setdefault("Assignees", list(assignees))
    nodes = [
        START,
        node("ask", "UserTask", properties, name="Ask", **(settings or {})),
        node("accepted", "Log"),
        node("denied", "Log"),
        node("other", "Log"),
    ]
    edges = [
        edge("start", "ask"),
        edge("ask", "accepted", "outcome == 'approved'"),
        edge("ask", "denied", "outcome == 'rejected'"),
        edge("ask", "other", is_default=True),
    ]
    return World().start(flow("ask", nodes, edges), {"billNo": "B001"}, title="A bill", correlation_id="C-1")


def refusal(action: Callable[[], object]) -> WorkflowError:
    with pytest.raises(WorkflowError) as raised:
        action()
    return raised.value


# --- policies -------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [None, "Any", "any", "ANY"])
def test_any_is_decided_by_the_first_approval(policy: str | None) -> None:
    run = task("u1", "u2", policy=policy)
    assert run.holders() == ["u1", "u2"]
    run.approve("u1")
    assert run.path[-1] == "accepted"
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.rounds() == [("u1", EndReason.COMPLETED), ("u2", EndReason.SIBLING)]


def test_all_waits_for_every_approval() -> None:
    run = task("u1", "u2", policy="All").approve("u1")
    assert run.instance.status is InstanceStatus.RUNNING
    assert run.node("ask").status is NodeStatus.SUSPENDED
    assert run.holders() == ["u2"]
    assert "outcome" not in run.instance.variables
    run.approve("u2")
    assert run.path[-1] == "accepted"


def test_sequential_makes_one_task_after_the_other() -> None:
    run = task("u1", "u2", "u3", policy="Sequential")
    for name in ("u1", "u2", "u3"):
        assert run.holders() == [name]
        run.approve(name)
    assert run.path[-1] == "accepted"
    assert run.rounds() == [(name, EndReason.COMPLETED) for name in ("u1", "u2", "u3")]


@pytest.mark.parametrize("policy", ["Any", "All", "Sequential"])
@pytest.mark.parametrize(
    ("outcome", "way"), [("rejected", "denied"), ("revise", "other"), ("Approved", "other"), ("approved ", "other")]
)
def test_any_other_outcome_ends_the_node_at_once(policy: str, outcome: str, way: str) -> None:
    run = task("u1", "u2", policy=policy).approve("u1", outcome)
    assert run.path[-1] == way
    assert run.instance.variables["outcome"] == outcome
    assert run.tasks() == []


def test_a_veto_in_all_discards_the_approvals_before_it() -> None:
    run = task("u1", "u2", "u3", policy="All").approve("u3").approve("u1", "rejected")
    assert run.path[-1] == "denied"
    assert run.rounds() == [
        ("u1", EndReason.COMPLETED),
        ("u2", EndReason.SIBLING),
        ("u3", EndReason.COMPLETED),
    ]


def test_progress_is_shown_on_the_open_tasks() -> None:
    run = task("u1", "u2", "u3", policy="All", settings={"timeout_seconds": 60})
    assert {(one.signers_done, one.signers_total) for one in run.tasks()} == {(0, 3)}
    run.approve("u1")
    assert {(one.signers_done, one.signers_total) for one in run.tasks()} == {(1, 3)}
    assert len(run.last.write_set.changed_bookmarks) == 2
    assert run.only(BookmarkKind.NODE_TIMEOUT).signers_total == 0


def test_progress_in_sequence_is_shown_on_the_next_task() -> None:
    run = task("u1", "u2", policy="Sequential").approve("u1")
    assert (run.task("u2").signers_done, run.task("u2").signers_total) == (1, 2)


# --- what a decision writes -----------------------------------------------------------------------


def test_variables_of_a_decision_become_the_instances() -> None:
    run = task("u1", policy="All").approve("u1", variables={"amount": 5, "note": {"a": [1]}}, comment="fine")
    assert run.instance.variables == {"billNo": "B001", "amount": 5, "note": {"a": [1]}, "outcome": "approved"}
    assert run.node("ask").outputs == {"amount": 5, "note": {"a": [1]}, "outcome": "approved"}
    assert run.node("ask").inputs == {
        "actorId": "u1",
        "outcome": "approved",
        "comment": "fine",
        "amount": 5,
        "note": {"a": [1]},
    }


def test_variables_of_an_intermediate_decision_are_merged_at_once() -> None:
    run = task("u1", "u2", policy="All").approve("u1", variables={"seen": True})
    assert run.instance.variables["seen"] is True
    assert run.instance.status is InstanceStatus.RUNNING


def test_the_caller_keeps_its_own_variables() -> None:
    variables = {"list": [1]}
    run = task("u1").approve("u1", variables=variables)
    run.last.instance.variables["list"].append(2)
    assert variables == {"list": [1]}


def test_the_record_of_a_round_tells_who_decided_what() -> None:
    run = task("u1", Title="Bill {{billNo}}", Priority="high", DueInSeconds=60)
    opened = run.task("u1")
    run.world.clock.advance(9)
    run.approve("u1", "rejected", comment="too much")
    (record,) = run.records.values()
    assert (record.task_id, record.round, record.assignee_id) == (opened.id, 1, "u1")
    assert (record.actor_id, record.outcome, record.comment) == ("u1", "rejected", "too much")
    assert (record.title, record.instance_title, record.definition_title) == ("Bill B001", "A bill", "Ask")
    assert (record.definition_name, record.starter_id, record.correlation_id) == ("ask", "starter", "C-1")
    assert (record.node_id, record.node_instance_id) == ("ask", run.node("ask").id)
    assert (record.priority, record.task_due_at) == (Priority.HIGH, record.created_at + timedelta(seconds=60))
    assert record.ended_at == record.created_at + timedelta(seconds=9)
    assert (record.on_behalf_of, record.as_operator) == (None, False)


def test_a_substitute_decides_for_the_one_whose_task_it_is() -> None:
    run = task("u1").approve("u1", on_behalf_of=None)
    assert run.path[-1] == "accepted"
    run = task("boss")
    run.decide(run.task("boss"), "deputy", on_behalf_of="boss")
    (record,) = run.records.values()
    assert (record.actor_id, record.on_behalf_of) == ("deputy", "boss")
    assert run.node("ask").state["history"][0]["actorId"] == "deputy"
    assert run.events[-1].data["onBehalfOf"] == "boss"
    assert run.audit[-1].on_behalf_of == "boss"


def test_the_trail_names_the_task_the_outcome_and_the_comment() -> None:
    run = task("u1")
    opened = run.task("u1")
    run.approve("u1", comment="fine")
    line = run.audit[-1]
    assert (line.action, line.actor_id, line.task_id, line.node_id) == ("complete", "u1", opened.id, "ask")
    assert (line.outcome, line.comment) == ("approved", "fine")


def test_the_nodes_history_remembers_every_decision() -> None:
    run = task("u1", "u2", policy="All").approve("u1", comment="ok").approve("u2", "rejected")
    assert run.node("ask").state["history"] == [
        {
            "action": "complete",
            "at": "2026-07-16T08:00:00.000Z",
            "nodeId": "ask",
            "actorId": actor,
            "outcome": outcome,
            "comment": comment,
        }
        for actor, outcome, comment in (("u1", "approved", "ok"), ("u2", "rejected", None))
    ]


def test_events_of_a_wait_and_its_decision_come_in_order() -> None:
    run = task("u1", CcUserIds=["cc1", "cc2"])
    assert run.topics == [
        "instance.started",
        "node.executing(start)",
        "node.executed(start)",
        "node.executing(ask)",
        "task.created",
        "node.executed(ask)",
    ]
    created = run.events[4].data
    assert (created["assigneeId"], created["ccUserIds"], created["taskId"]) == ("u1", ["cc1", "cc2"], run.task("u1").id)
    del run.events[:]
    run.approve("u1", comment="ok")
    assert run.topics == [
        "node.executing(ask)",
        "node.executed(ask)",
        "node.executing(accepted)",
        "node.executed(accepted)",
        "instance.completed",
        "task.completed",
    ]
    completed = run.events[-1].data
    assert (completed["actorId"], completed["outcome"], completed["comment"]) == ("u1", "approved", "ok")
    assert (completed["instanceId"], completed["nodeId"]) == (run.instance.id, "ask")


def test_copied_users_get_a_row_for_each_task() -> None:
    run = task("u1", "u2", CcUserIds=["cc1"])
    assert run.copies == [(one.id, "cc1") for one in run.tasks()]


def test_tasks_made_and_ended_in_one_wave_have_ended_records() -> None:
    nodes = [START, node("ask", "UserTask", {"Assignees": ["u"]}), node("stop", "Terminate")]
    run = World().start(flow("brief", nodes, [edge("start", "ask"), edge("start", "stop")]))
    (record,) = run.records.values()
    assert (record.end_reason, record.ended_at) == (EndReason.TERMINATED, record.created_at)
    assert run.last.write_set.task_ends == []
    assert run.last.write_set.deleted_bookmark_ids == []


@pytest.mark.parametrize(("end", "reason"), [("cancel", EndReason.CANCELED), ("timeout", EndReason.TIMEOUT)])
def test_records_tell_why_a_task_ended_without_a_decision(end: str, reason: EndReason) -> None:
    run = task("u1", settings={"timeout_seconds": 60})
    run.world.clock.advance(60)
    (run.cancel if end == "cancel" else run.due)()
    assert run.rounds() == [("u1", reason)]


# --- refusals, in the order of spec 6.2 -----------------------------------------------------------


def everything_wrong(run: Run, *, actor: str = "u1", outcome: str = "maybe") -> WorkflowError:
    return refusal(lambda: run.decide(run.tasks()[0], actor, outcome, variables={"outcome": 1}))


def test_blank_arguments_come_first() -> None:
    run = task("u1", AllowedOutcomes=["approved"])
    for actor, outcome, paths in (
        (" ", "approved", ["actorId"]),
        ("u1", "", ["outcome"]),
        ("", " ", ["actorId", "outcome"]),
    ):
        error = everything_wrong(run, actor=actor, outcome=outcome)
        assert error.code == "WORKFLOW_VALIDATION_002"
        assert [problem.path for problem in error.problems] == paths
        assert {problem.key for problem in error.problems} == {"workflow.input.blank"}


def test_texts_beyond_their_length_are_refused_with_their_path() -> None:
    run = task("u1")
    error = refusal(lambda: run.approve("u1", "o" * 129, comment="c" * 10_001))
    assert [(problem.path, problem.params) for problem in error.problems] == [
        ("outcome", {"max": 128, "length": 129}),
        ("comment", {"max": 10_000, "length": 10_001}),
    ]
    assert refusal(lambda: run.approve("u1", comment="a\x00")).problems[0].key == "workflow.input.nul"


def test_a_task_that_is_not_there_is_not_found() -> None:
    run = task("u1", settings={"timeout_seconds": 60})
    for missing in ("no such id", run.only(BookmarkKind.NODE_TIMEOUT).id):
        error = refusal(lambda missing=missing: run.decide(missing, "u1"))  # type: ignore[misc]  # bound at once
        assert error.code == "WORKFLOW_NOTFOUND_003"


def test_then_comes_whose_task_it_is() -> None:
    run = task("u1", AllowedOutcomes=["approved"])
    run.instance.status = InstanceStatus.SUSPENDED
    assert everything_wrong(run, actor="U1").code == "WORKFLOW_DENIED_001"
    assert refusal(lambda: run.decide(run.task("u1"), "op", as_operator=True)).code == "WORKFLOW_DENIED_001"


def test_then_who_has_claimed_it() -> None:
    run = task("u1", AllowedOutcomes=["approved"])
    run.instance.status = InstanceStatus.SUSPENDED
    run.task("u1").claimed_by = "u2"
    error = everything_wrong(run)
    assert (error.code, error.details) == ("WORKFLOW_CONFLICT_004", {"claimedBy": "u2"})


def test_a_task_claimed_by_oneself_is_decided() -> None:
    run = task("u1")
    run.task("u1").claimed_by = "u1"
    assert run.approve("u1").path[-1] == "accepted"


def test_then_whether_the_instance_runs() -> None:
    run = task("u1", AllowedOutcomes=["approved"])
    run.instance.status = InstanceStatus.SUSPENDED
    assert everything_wrong(run).code == "WORKFLOW_CONFLICT_003"


def test_then_whether_the_outcome_is_allowed_and_the_variables_are() -> None:
    error = everything_wrong(task("u1", AllowedOutcomes=["approved", "rejected"]))
    assert error.code == "WORKFLOW_VALIDATION_002"
    assert [(problem.path, problem.key) for problem in error.problems] == [
        ("outcome", "workflow.task.outcome_not_allowed"),
        ("variables.outcome", "workflow.task.variable_reserved"),
    ]
    assert error.problems[0].params == {"outcome": "maybe", "allowed": ["approved", "rejected"]}


def test_a_task_whose_node_instance_is_gone_is_a_conflict() -> None:
    run = task("u1")
    run.nodes.clear()
    assert refusal(lambda: run.approve("u1")).code == "WORKFLOW_CONFLICT_003"
    assert refusal(lambda: run.transfer(run.task("u1"), "u1", "u2")).code == "WORKFLOW_CONFLICT_003"


@pytest.mark.parametrize("name", ["outcome", "lastError", "actorId", "comment", "__timeout", "__x"])
def test_reserved_names_are_refused(name: str) -> None:
    error = refusal(lambda: task("u1").approve("u1", variables={name: 1}))
    assert [problem.path for problem in error.problems] == [f"variables.{name}"]


def test_writable_variables_limit_what_a_decision_writes() -> None:
    run = task("u1", WritableVariables=["amount"])
    error = refusal(lambda: run.approve("u1", variables={"amount": 1, "billNo": "x"}))
    assert [(problem.path, problem.key) for problem in error.problems] == [
        ("variables.billNo", "workflow.task.variable_not_writable")
    ]
    assert run.approve("u1", variables={"amount": 1}).instance.variables["amount"] == 1


def test_an_empty_list_of_writable_variables_allows_none() -> None:
    assert refusal(lambda: task("u1", WritableVariables=[]).approve("u1", variables={"x": 1})).problems


@pytest.mark.parametrize("comment", [None, "", "  "])
def test_an_outcome_may_need_a_comment(comment: str | None) -> None:
    run = task("u1", CommentRequired=["rejected"])
    error = refusal(lambda: run.approve("u1", "rejected", comment=comment))
    assert [(problem.path, problem.key) for problem in error.problems] == [
        ("comment", "workflow.task.comment_required")
    ]
    assert run.approve("u1", "rejected", comment="because").path[-1] == "denied"


def test_an_outcome_that_needs_none_is_decided_without() -> None:
    assert task("u1", CommentRequired=["rejected"]).approve("u1").path[-1] == "accepted"


def test_variables_of_a_decision_beyond_a_mebibyte_are_too_large() -> None:
    error = refusal(lambda: task("u1").approve("u1", variables={"x": "t" * 1024 * 1024}))
    assert (error.code, error.problems[0].path) == ("REQUEST_TOOLARGE_001", "variables")


def test_a_decision_that_overfills_the_instance_faults_its_node_and_is_no_decision() -> None:
    run = task("u1", "u2", policy="All", settings={"retry_policy": {"maxAttempts": 2, "firstDelaySeconds": 1}})
    run.instance.variables["big"] = "t" * 1_000_000
    run.approve("u1", variables={"x": "t" * 100_000})
    assert run.node("ask").fault is not None
    assert run.node("ask").fault.key == "workflow.variables.too_large"
    assert run.rounds() == [("u1", EndReason.FAULTED), ("u2", None)]
    assert "task.completed" not in run.topics
    run.world.clock.advance(1)
    run.due()
    assert run.holders() == ["u1", "u2"]
    assert run.rounds()[1:] == [("u2", EndReason.FAULTED), ("u1", None), ("u2", None)]


def test_an_approval_that_faulted_its_node_does_not_count_for_the_others() -> None:
    run = task("u1", "u2", policy="All", settings={"retry_policy": {"maxAttempts": 2, "firstDelaySeconds": 1}})
    run.instance.variables["big"] = "t" * 1_000_000
    run.approve("u1", variables={"x": "t" * 100_000}).approve("u2")
    assert run.node("ask").status is NodeStatus.SUSPENDED
    assert "outcome" not in run.instance.variables
    assert [signer["state"] for signer in run.node("ask").state["signers"]] == ["pending", "approved"]
    run.world.clock.advance(1)
    run.due()
    assert run.holders() == ["u1", "u2"]


# --- fail closed (spec 6.3) -----------------------------------------------------------------------


@pytest.mark.parametrize("inputs", [{}, {"outcome": None}, {"outcome": " "}, {"outcome": 5}, {"outcome": "maybe"}])
def test_a_bare_resume_does_not_approve_but_makes_the_task_anew(inputs: JsonObject) -> None:
    run = task("u1", "u2", policy="All", AllowedOutcomes=["approved"], CcUserIds=["cc"], Title="Bill {{billNo}}")
    run.approve("u2")
    before = run.task("u1")
    del run.events[:]
    run.resume(before, {**inputs, "x": 1})
    after = run.task("u1")
    assert after.id != before.id
    assert (after.payload, after.title, after.priority) == (before.payload, "Bill B001", before.priority)
    assert (after.signers_done, after.signers_total) == (1, 2)
    assert run.instance.status is InstanceStatus.RUNNING
    assert run.node("ask").status is NodeStatus.SUSPENDED
    assert "x" not in run.instance.variables
    assert run.topics == ["node.executing(ask)", "task.created", "node.executed(ask)"]
    assert run.events[1].data["ccUserIds"] == ["cc"]
    assert run.rounds()[0] == ("u1", EndReason.REBUILT)
    assert run.approve("u1").path[-1] == "accepted"


def test_a_raw_resume_with_a_decision_counts_and_is_told() -> None:
    run = task("u1")
    run.resume(run.task("u1"), {"outcome": "approved", "actorId": "robot", "comment": "auto", "__x": 1, "ok": True})
    assert run.path[-1] == "accepted"
    assert run.instance.variables == {"billNo": "B001", "ok": True, "outcome": "approved"}
    assert run.topics[-1] == "task.completed"
    assert (run.events[-1].data["actorId"], run.events[-1].data["comment"]) == ("robot", "auto")
    (record,) = run.records.values()
    assert (record.actor_id, record.comment) == ("robot", "auto")


def test_a_raw_resume_without_an_actor_is_the_holders() -> None:
    run = task("u1")
    run.resume(run.task("u1"), {"outcome": "approved", "comment": 5})
    (record,) = run.records.values()
    assert (record.actor_id, record.comment) == ("u1", None)
    assert run.node("ask").state["history"][0]["actorId"] == "u1"


def test_a_task_whose_holder_is_no_signer_is_a_fault() -> None:
    run = task("u1")
    run.node("ask").state["signers"] = []
    run.approve("u1")
    assert run.instance.fault is not None
    assert (run.instance.fault.key, run.instance.fault.args) == ("workflow.task.not_signer", {"id": "u1"})


def test_a_timeout_is_the_label_timeout_even_when_some_have_approved() -> None:
    run = task("u1", "u2", policy="All", settings={"timeout_seconds": 3600}).approve("u1")
    assert run.only(BookmarkKind.NODE_TIMEOUT).due_at == run.world.clock.now() + timedelta(seconds=3600)
    run.world.clock.advance(3600)
    run.due()
    assert run.path[-1] == "other"
    assert run.instance.variables["outcome"] == "timeout"
    assert run.bookmarks == {}
    entry = run.node("ask").state["history"][-1]
    assert (entry["actorId"], entry["outcome"]) == (None, "timeout")
    assert run.rounds() == [("u1", EndReason.COMPLETED), ("u2", EndReason.TIMEOUT)]
    assert run.topics.count("task.completed") == 1


def test_a_retry_by_hand_makes_new_tasks() -> None:
    nodes = [START, node("ask", "UserTask", {"Assignees": ["u1"]}), node("next", "Log")]
    run = World().start(flow("stuck", nodes, [edge("start", "ask"), edge("ask", "next", "outcome == 'yes'")]))
    run.approve("u1")
    assert run.instance.status is InstanceStatus.FAULTED
    run.retry()
    assert run.holders() == ["u1"]
    assert run.node("ask").try_count == 2
    assert run.approve("u1", "yes").path[-1] == "next"
