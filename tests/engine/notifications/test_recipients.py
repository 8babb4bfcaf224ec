"""Who is told what of each event: the table of spec 10, on real waves."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from tests.engine.harness import Run, World
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.notifications.model import EventType, NoticeType, Severity
from webapp.engine.notifications.recipients import Telling, tellings
from webapp.engine.runtime.transitions import transition_of

GROUPS = {"role:buyer": ["ben", "bea"]}
ACCOUNTS = {"starter", "operator", "u1", "u2", "u3", "u9", "boss", "eve"}


class People:
    """Everybody whom the tests know."""

    def __init__(self, applicant: str | None = "starter") -> None:
        self._applicant = applicant

    def members(self, group: str) -> Collection[str]:
        return GROUPS.get(group, ())

    def known(self, names: Collection[str]) -> Collection[str]:
        return ACCOUNTS.intersection(names)

    def applicant(self) -> str | None:
        return self._applicant


class Buyers:
    """A directory of the groups."""

    def disabled(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        return frozenset()

    def known(self, partition: str | None, ids: Collection[str]) -> frozenset[str]:
        return frozenset(ids)

    def members(self, partition: str | None, principal: str) -> frozenset[str]:
        return frozenset(GROUPS.get(principal, ()))


def told(run: Run, applicant: str | None = "starter") -> list[Telling]:
    definition = run.last.definition
    assert definition is not None
    return tellings(transition_of(run.last, definition), People(applicant))


def pairs(run: Run, applicant: str | None = "starter") -> list[tuple[str, str]]:
    return [(one.event_type.value, one.recipient_id) for one in told(run, applicant)]


def ask(*assignees: str, world: World | None = None, then: bool = False, **properties: Any) -> Run:
    settings = {key: properties.pop(key) for key in list(properties) if key[0].islower()}
    asked = node(
        "ask",
        "UserTask",
        {"Assignees": list(assignees), "CompletionPolicy": "All", "Title": "Sign", **properties},
        **settings,
    )
    nodes = [START, asked, *([node("next", "UserTask", {"Assignees": ["u9"]})] if then else []), END]
    return (world or World()).start(flow("leave", nodes), correlation_id="c-1")


# --- tasks ----------------------------------------------------------------------------------------


def test_each_assignee_is_told_of_the_task_of_their_own() -> None:
    run = ask("u1", "u2")
    first, second = told(run)
    assert (first.event_type, first.type, first.severity) == (
        EventType.TASK_CREATED,
        NoticeType.APPROVAL,
        Severity.INFO,
    )
    assert [(one.recipient_id, one.task_id, one.origin, one.occurrence) for one in (first, second)] == [
        ("u1", run.task("u1").id, run.task("u1").id, 1),
        ("u2", run.task("u2").id, run.task("u2").id, 1),
    ]
    assert first.node_id == "ask"
    assert first.names == {
        "title": "Sign",
        "instanceTitle": "Leave",
        "definition": "Leave",
        "businessKey": "c-1",
        "starter": "starter",
        "assignee": "u1",
        "dueAt": None,
    }


def test_a_task_of_a_group_is_told_to_those_who_may_take_it() -> None:
    rules = [{"type": "User", "values": ["role:buyer"], "claimable": True}]
    asked = node("ask", "UserTask", {"AssigneeRules": rules})
    run = World(directory=Buyers()).start(flow("leave", [START, asked, END]))
    assert pairs(run) == [("TaskCreated", "bea"), ("TaskCreated", "ben")]
    assert len({one.task_id for one in told(run)}) == 1
    run.claim(run.task("role:buyer"), "ben", "role:buyer")
    assert told(run) == []


@pytest.mark.parametrize(
    ("priority", "severity"),
    [("urgent", Severity.ERROR), ("high", Severity.WARNING), ("normal", Severity.INFO), ("low", Severity.INFO)],
)
def test_the_priority_makes_the_severity(priority: str, severity: Severity) -> None:
    run = ask("u1", Priority=priority)
    assert [one.severity for one in told(run)] == [severity]
    run.approve("u1")
    assert told(run)[0].event_type is EventType.TASK_COMPLETED
    assert told(run)[0].severity is severity


def test_the_definitions_priority_makes_that_of_the_instances_end() -> None:
    document = flow("leave", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END], priority="high")
    run = World().start(document)
    run.approve("u1")
    assert [(one.event_type.value, one.severity) for one in told(run)] == [
        ("TaskCompleted", Severity.WARNING),
        ("InstanceCompleted", Severity.WARNING),
    ]


def test_a_task_that_is_gone_when_the_wave_ends_is_told_to_nobody() -> None:
    run = ask("u1", "u2", CompletionPolicy="Sequential", then=True)
    assert pairs(run) == [("TaskCreated", "u1")]
    run.operate("terminate", reason=None)
    assert pairs(run) == [("InstanceTerminated", "starter")]


def test_a_transfer_is_told_to_the_new_assignee_with_what_was_said() -> None:
    run = ask("u1")
    task = run.task("u1")
    run.transfer(task, "u1", "u9", "on holiday")
    (one,) = told(run)
    assert (one.event_type, one.recipient_id, one.origin, one.occurrence) == (
        EventType.TASK_TRANSFERRED,
        "u9",
        task.id,
        2,
    )
    assert (one.names["actor"], one.names["comment"], one.names["assignee"]) == ("u1", "on holiday", "u9")
    run.transfer(run.task("u9"), "u9", "u1")
    run.transfer(run.task("u1"), "u1", "u9")
    assert [(one.recipient_id, one.occurrence) for one in told(run)] == [("u9", 4)]


def test_a_task_that_is_lent_is_told_to_who_has_it_and_then_to_whom_it_comes_back() -> None:
    run = ask("u1")
    run.delegate(run.task("u1"), "u1", "u9")
    assert pairs(run) == [("TaskTransferred", "u9")]
    run.approve("u9", comment="fine with me")
    assert pairs(run) == [("TaskTransferred", "u1")]
    assert told(run)[0].names["comment"] == "fine with me"


def test_added_signers_are_told_once_those_with_a_task_can_go_to_it() -> None:
    run = ask("u1", CompletionPolicy="Sequential")
    run.add(run.task("u1"), "u1", "u2", comment="look, too")
    (beside,) = told(run)
    assert (beside.event_type, beside.recipient_id) == (EventType.TASK_ADDED, "u2")
    run = ask("u1")
    run.add(run.task("u1"), "u1", "u2")
    (beside,) = told(run)
    assert (beside.event_type, beside.task_id) == (EventType.TASK_ADDED, run.task("u2").id)
    run.add(run.task("u1"), "u1", "u3", position="after")
    (after,) = told(run)
    assert (after.event_type, after.recipient_id, after.task_id) == (EventType.TASK_ADDED, "u3", None)
    run.approve("u1")
    assert ("TaskCreated", "u3") in pairs(run)


def test_who_is_added_again_is_told_again() -> None:
    run = ask("u1")
    run.add(run.task("u1"), "u1", "u3", position="after")
    (first,) = told(run)
    run.remove(run.task("u1"), "u1", "u3")
    assert told(run) == []
    run.add(run.task("u1"), "u1", "u3", position="after")
    (second,) = told(run)
    assert (first.origin, first.recipient_id) == (second.origin, second.recipient_id)
    assert first.occurrence != second.occurrence


def test_a_task_sent_back_is_told_to_who_has_the_earlier_step_again() -> None:
    run = ask("u1", then=True)
    run.approve("u1")
    run.send_back("u9", comment="a receipt is missing")
    (one,) = told(run)
    assert (one.event_type, one.recipient_id, one.task_id) == (EventType.TASK_RETURNED, "u1", run.task("u1").id)
    assert one.names["comment"] == "a receipt is missing"


def test_urging_reminding_and_being_late_are_told_to_the_assignees_by_their_number() -> None:
    run = ask("u1", "u2", RemindEverySeconds=60, DueInSeconds=150)
    ids = {name: f"{run.task(name).id}/1" for name in ("u1", "u2")}
    for count in (1, 2):
        run.urge(run.task("u1"), "starter", "please")
        assert [(one.event_type.value, one.recipient_id, one.origin, one.occurrence) for one in told(run)] == [
            ("TaskUrged", name, ids[name], count) for name in ("u1", "u2")
        ]
    assert told(run)[0].names["count"] == "2"
    run.approve("u2")
    for count in (1, 2):
        run.world.clock.advance(60)
        run.due()
        assert [(one.event_type.value, one.recipient_id, one.occurrence) for one in told(run)] == [
            ("TaskReminder", "u1", count)
        ]
    run.world.clock.advance(30)
    run.due()
    (late,) = told(run)
    assert (late.event_type, late.recipient_id, late.names["dueAt"]) == (
        EventType.TASK_OVERDUE,
        "u1",
        "2026-07-16T08:02:30.000Z",
    )


def test_a_task_that_somebody_has_taken_urges_nobody_else() -> None:
    run = ask("u1", "u2", CompletionPolicy="Any")
    run.claim(run.task("u1"), "u1")
    run.urge(run.task("u1"), "starter")
    assert pairs(run) == [("TaskUrged", "u1")]


def test_an_escalation_is_told_to_the_assignees_and_once_to_each_target() -> None:
    run = ask("u1", "u2", timeout_seconds=60, timeout_action="Escalate", timeout_target=["boss", "u2"])
    run.world.clock.advance(60)
    run.due()
    assert pairs(run) == [("TaskEscalated", "u1"), ("TaskEscalated", "boss"), ("TaskEscalated", "u2")]
    boss = told(run)[1]
    assert boss.task_id == run.task("boss").id


def test_a_task_handed_over_by_its_timeout_is_told_to_the_target() -> None:
    run = ask("u1", timeout_seconds=60, timeout_action="Transfer", timeout_target=["boss"])
    run.world.clock.advance(60)
    run.due()
    assert pairs(run) == [("TaskTransferred", "boss")]


def test_a_decision_is_told_to_the_applicant_but_not_their_own() -> None:
    run = ask("u1", "starter", then=True)
    task = run.task("u1")
    run.approve("u1", comment="fine")
    (one,) = told(run)
    assert (one.event_type, one.type, one.recipient_id, one.origin, one.task_id) == (
        EventType.TASK_COMPLETED,
        NoticeType.APPROVAL,
        "starter",
        task.id,
        None,
    )
    assert (one.names["outcome"], one.names["actor"], one.names["comment"]) == ("approved", "u1", "fine")
    run.approve("starter")
    assert pairs(run) == [("TaskCreated", "u9")]


def test_copies_are_told_once_a_step() -> None:
    run = ask("u1", "u2", CcUserIds=["eve", "u9"])
    copies = [one for one in told(run) if one.event_type is EventType.CARBON_COPY]
    assert [(one.recipient_id, one.type, one.task_id) for one in copies] == [
        ("eve", NoticeType.TODO, None),
        ("u9", NoticeType.TODO, None),
    ]
    assert {one.origin for one in copies} == {run.node("ask").id}


def test_who_is_mentioned_is_told_but_not_by_themselves_and_only_if_known() -> None:
    run = ask("u1", then=True)
    run.approve("u1", comment="@eve and @nobody, see @u1; thanks @eve")
    assert pairs(run) == [("TaskCreated", "u9"), ("TaskCompleted", "starter"), ("Mention", "eve")]
    mention = told(run)[-1]
    assert (mention.type, mention.names["actor"], mention.names["comment"]) == (
        NoticeType.TODO,
        "u1",
        "@eve and @nobody, see @u1; thanks @eve",
    )


# --- instances ------------------------------------------------------------------------------------


def test_the_end_is_told_to_the_applicant() -> None:
    run = ask("u1")
    run.approve("u1")
    decided, completed = told(run)
    assert (completed.event_type, completed.type, completed.recipient_id) == (
        EventType.INSTANCE_COMPLETED,
        NoticeType.BUSINESS,
        "starter",
    )
    assert (completed.origin, completed.occurrence) == (run.instance.id, run.instance.revision)
    assert decided.event_type is EventType.TASK_COMPLETED
    assert pairs(run, applicant="eve") == [("TaskCompleted", "eve"), ("InstanceCompleted", "eve")]
    assert pairs(run, applicant=None) == []


def test_a_request_that_ends_rejected_is_told_as_that() -> None:
    asked = node("ask", "UserTask", {"Assignees": ["u1"]})
    no = node("no", "End", {"Outcome": "rejected"})
    yes = node("yes", "End", {"Outcome": "approved"})
    edges = [
        edge("start", "ask"),
        edge("ask", "no", 'outcome == "rejected"'),
        edge("ask", "yes", 'outcome == "approved"'),
    ]
    for label, event_type in (("rejected", "InstanceRejected"), ("approved", "InstanceCompleted")):
        run = World().start(flow("leave", [START, asked, no, yes], edges))
        run.approve("u1", label)
        assert pairs(run) == [("TaskCompleted", "starter"), (event_type, "starter")]
        assert told(run)[1].names["outcome"] == label


def test_a_cancel_is_told_to_the_applicant_unless_it_was_theirs() -> None:
    run = ask("u1")
    run.cancel("changed my mind")
    assert told(run) == []
    run = ask("u1")
    run.operate("cancel", actor="operator", reason="not allowed")
    (one,) = told(run)
    assert (one.event_type, one.recipient_id) == (EventType.INSTANCE_CANCELED, "starter")
    assert (one.names["actor"], one.names["reason"]) == ("operator", "not allowed")


def test_a_terminate_node_is_told_to_whoever_started_it() -> None:
    run = World().start(flow("leave", [START, node("stop", "Terminate", {"Reason": "closed"})]))
    assert run.instance.status is InstanceStatus.TERMINATED
    assert pairs(run) == [("InstanceTerminated", "starter")]


def test_a_fault_is_told_to_the_applicant_and_the_owners_and_again_after_a_retry() -> None:
    document = flow(
        "leave",
        [START, node("sum", "SetVariable", {"Expressions": {"x": "1 / 0"}}), END],
        owners=["u9", "role:buyer", "starter"],
    )
    run = World().start(document)
    assert run.instance.status is InstanceStatus.FAULTED
    assert pairs(run) == [("InstanceFaulted", name) for name in ("starter", "u9", "bea", "ben")]
    (first, *_) = told(run)
    assert (first.names["node"], first.names["fault"]) == ("sum", "WORKFLOW_VALIDATION_003")
    run.retry()
    (second, *_) = told(run)
    assert (second.event_type, second.recipient_id) == (EventType.INSTANCE_FAULTED, "starter")
    assert first.occurrence != second.occurrence


def test_a_part_of_a_request_tells_the_applicant_nothing_of_its_end() -> None:
    document = flow("part", [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END], owners=["u9"])
    run = World().start(document, parent_instance_id="whole", parent_node_instance_id="n", root_instance_id="whole")
    run.approve("u1")
    assert pairs(run) == [("TaskCompleted", "starter")]


# --- listeners of nodes ---------------------------------------------------------------------------


def listening(*listeners: dict[str, Any]) -> dict[str, Any]:
    values = {"Values": {"total": 7}}
    return flow("leave", [START, node("sum", "SetVariable", values, listeners=list(listeners)), END])


def test_a_nodes_listeners_tell_those_whom_the_variable_names() -> None:
    document = listening(
        {"type": "notification", "on": "enter", "expression": "Sum begins"},
        {"type": "notification", "on": "leave", "channel": "Sum", "expression": "Total {{ total }} of {{ who }}"},
    )
    run = World().start(document, {"__listenerRecipients": ["u1", "role:buyer"], "who": "me"})
    found = [one for one in told(run) if one.event_type is EventType.NODE_LISTENER]
    assert [(one.recipient_id, one.text) for one in found] == [
        ("u1", ("node-listener", "Sum begins")),
        ("bea", ("node-listener", "Sum begins")),
        ("ben", ("node-listener", "Sum begins")),
        ("u1", ("Sum", "Total 7 of me")),
        ("bea", ("Sum", "Total 7 of me")),
        ("ben", ("Sum", "Total 7 of me")),
    ]
    assert {(one.origin, one.occurrence, one.node_id) for one in found} == {
        (f"{run.node('sum').id}/0", 1, "sum"),
        (f"{run.node('sum').id}/1", 1, "sum"),
    }


@pytest.mark.parametrize("recipients", [None, [], [" ", 3], {"u1": True}, ""])
def test_listeners_without_recipients_say_nothing_and_fail_nothing(recipients: object) -> None:
    document = listening({"type": "notification", "on": "enter", "expression": "{{ nobody }}"})
    variables = {} if recipients is None else {"__listenerRecipients": recipients}
    run = World().start(document, variables)
    assert run.last.node_messages == []
    assert run.instance.status is InstanceStatus.COMPLETED


def test_a_task_that_waits_is_left_when_it_is_decided() -> None:
    asked = node(
        "ask",
        "UserTask",
        {"Assignees": ["u1", "u2"], "CompletionPolicy": "All"},
        listeners=[{"type": "notification", "on": "leave", "expression": "decided: {{ outcome }}"}],
    )
    run = World().start(flow("leave", [START, asked, END]), {"__listenerRecipients": "eve"})
    run.approve("u1")
    assert run.last.node_messages == []
    run.approve("u2")
    assert [(one.recipients, one.body) for one in run.last.node_messages] == [(("eve",), "decided: approved")]
