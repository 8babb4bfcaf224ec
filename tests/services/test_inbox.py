"""The inbox: lists and their scopes, one task, decisions, and the answers for tasks that are over (spec 6, 25)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, edge, flow, node
from webapp.accounts.model import Actor
from webapp.accounts.permissions import OPERATOR, USER
from webapp.engine.errors import (
    CONFLICT_BOOKMARK,
    DENIED_ACTOR,
    DENIED_PERMISSION,
    NOTFOUND_BOOKMARK,
    VALIDATION_INPUT,
    Conflict,
    Denied,
    InputInvalid,
    NotFound,
)
from webapp.engine.instances.bookmarks import BookmarkKind, Priority
from webapp.engine.instances.journal import EndReason
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject
from webapp.services.queries import Paging, Sort, TaskQuery
from webapp.services.views import Signer, TaskRights

TASK: JsonObject = {
    "Assignees": ["u1", "u2"],
    "CompletionPolicy": "All",
    "Title": "Order {{number}}",
    "AllowedOutcomes": ["approved", "rejected", "fix"],
    "CommentRequired": ["rejected"],
    "FormData": {"hint": "look twice"},
    "ShowVariables": ["number", "missing"],
    "WritableVariables": ["checked"],
    "CcUserIds": ["copied"],
    "Priority": "high",
    "DueInSeconds": 3600,
}


def _start(house: Installation, properties: JsonObject | None = None, **settings: object) -> str:
    house.publish(flow("order", [START, node("ask", "UserTask", {**TASK, **(properties or {})}, **settings), END]))
    return house.start("order", {"number": 7}, by=actor("starter"), correlation_id="C-7").id


def test_a_task_shows_what_its_page_needs(house: Installation) -> None:
    instance_id = _start(house)
    task = house.services.inbox.get(actor("u1"), house.task("u1").id)

    assert (task.title, task.instance_title, task.node_name) == ("Order 7", "Order", "ask")
    assert (task.instance_id, task.definition_name, task.definition_version) == (instance_id, "order", 1)
    assert (task.assignee_id, task.starter_id, task.correlation_id) == ("u1", "starter", "C-7")
    assert task.form_data == {"hint": "look twice"}
    assert task.variables == {"number": 7}
    assert task.allowed_outcomes == ["approved", "rejected", "fix"]
    assert task.comment_required == ["rejected"]
    assert (task.priority, task.policy, task.copied_to) == (Priority.HIGH, "All", ["copied"])
    assert task.due_at is not None
    assert (task.due_at - task.created_at).total_seconds() == 3600
    assert task.signers == [Signer(id=name, state="pending", unknown=True) for name in ("u1", "u2")]
    assert (task.status, task.rights) == (
        "open",
        TaskRights(complete=True, transfer=True, delegate=True, add=True, urge=True),
    )
    assert {(entry.action, entry.assignee_id or entry.actor_id) for entry in task.trail} == {
        ("start", "starter"), ("taskCreated", "u1"), ("taskCreated", "u2"),
    }  # fmt: skip


def test_the_progress_of_the_other_signers_shows(house: Installation) -> None:
    _start(house)
    house.store_set.clock.advance(60)
    house.decide("u1", "approved", comment="fine")
    task = house.services.inbox.get(actor("u2"), house.task("u2").id)
    assert task.signers == [
        Signer(id="u1", state="approved", outcome="approved", at=house.store_set.clock.now(), unknown=True),
        Signer(id="u2", state="pending", unknown=True),
    ]
    decided = task.trail[0]
    assert (decided.action, decided.actor_id, decided.outcome, decided.comment) == (
        "complete", "u1", "approved", "fine",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "role", "rights"),
    [
        ("u2", USER, TaskRights(urge=True)),
        ("starter", USER, TaskRights(urge=True)),
        ("copied", USER, TaskRights()),
        ("olga", OPERATOR, TaskRights(transfer=True, add=True, remove=True, urge=True)),
        ("stranger", USER, None),
    ],
)
def test_who_sees_a_task_of_somebody_else(house: Installation, name: str, role: str, rights: TaskRights | None) -> None:
    _start(house)
    task = house.task("u1")
    if rights is not None:
        assert house.services.inbox.get(actor(name, role), task.id).rights == rights
        return
    with pytest.raises(Denied) as refused:
        house.services.inbox.get(actor(name, role), task.id)
    assert refused.value.code == DENIED_ACTOR


def test_scopes(house: Installation) -> None:
    _start(house)
    inbox = house.services.inbox
    assert [one.assignee_id for one in inbox.query(actor("u1")).items] == ["u1"]
    assert inbox.query(actor("u1"), scope="claimable").total == 0
    assert inbox.query(actor("u1"), TaskQuery(assignee="u1")).total == 1
    assert inbox.counts(actor("u1")) == {"mine": 1, "claimable": 0}
    assert inbox.query(actor("olga", OPERATOR), scope="all").total == 2
    assert inbox.query(actor("olga", OPERATOR), TaskQuery(assignee="u2")).total == 1
    for query, scope in ((None, "all"), (TaskQuery(assignee="u2"), None), (TaskQuery(assignee="u2"), "mine")):
        with pytest.raises(Denied) as refused:
            inbox.query(actor("u1"), query, scope=scope)
        assert (refused.value.code, refused.value.params) == (DENIED_PERMISSION, {"permission": "tasks:all"})
    with pytest.raises(InputInvalid) as unreadable:
        inbox.query(actor("u1"), scope="everything")
    assert [problem.path for problem in unreadable.value.problems] == ["scope"]
    for paging in (Paging(limit=0), Paging(sorts=(Sort("assigneeId"),))):
        with pytest.raises(InputInvalid):
            inbox.query(actor("u1"), TaskQuery(paging=paging))


def test_a_decision_answers_with_the_ended_task(house: Installation) -> None:
    instance_id = _start(house, {"CompletionPolicy": "Any"})
    done = house.services.inbox.complete(
        actor("u1"), house.task("u1").id, "rejected", comment="too much", variables={"checked": True}
    )
    assert (done.instance_id, done.instance_status) == (instance_id, InstanceStatus.COMPLETED)
    task = done.task
    assert (task.status, task.completed_by, task.outcome, task.comment) == ("ended", "u1", "rejected", "too much")
    assert (task.end_reason, task.ended_at) == (EndReason.COMPLETED, house.store_set.clock.now())
    assert house.instance(instance_id).variables == {"number": 7, "checked": True, "outcome": "rejected"}


def test_the_answer_of_an_action_shows_the_signers_as_it_leaves_them(house: Installation) -> None:
    _start(house)
    inbox = house.services.inbox
    moved = inbox.transfer(actor("u1"), house.task("u1").id, "u9").task
    assert [(one.id, one.state) for one in moved.signers] == [("u9", "pending"), ("u2", "pending")]
    more = inbox.add(actor("u9"), moved.id, ["u3"]).task
    assert [(one.id, one.state) for one in more.signers] == [("u9", "pending"), ("u2", "pending"), ("u3", "pending")]
    first = inbox.complete(actor("u9"), moved.id, "approved").task
    assert [(one.id, one.state) for one in first.signers] == [("u9", "approved"), ("u2", "pending"), ("u3", "pending")]
    veto = inbox.complete(actor("u2"), house.task("u2").id, "rejected", comment="no").task
    assert [(one.id, one.state, one.outcome) for one in veto.signers] == [
        ("u9", "approved", "approved"), ("u2", "rejected", "rejected"), ("u3", "pending", None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"outcome": " "}, "outcome"),
        ({"outcome": "maybe"}, "outcome"),
        ({"outcome": "approve"}, "outcome"),
        ({"outcome": "rejected"}, "comment"),
        ({"outcome": "rejected", "comment": "  "}, "comment"),
        ({"outcome": "approved", "comment": "x" * 10_001}, "comment"),
        ({"outcome": "approved", "comment": "a\x00b"}, "comment"),
        ({"outcome": "approved", "variables": {"number": 1}}, "variables.number"),
        ({"outcome": "approved", "variables": {"outcome": "x"}}, "variables.outcome"),
        ({"outcome": "approved", "variables": {"__x": 1}}, "variables.__x"),
        ({"outcome": "approved", "variables": {"actorId": "u2"}}, "variables.actorId"),
    ],
)
def test_a_decision_that_is_not_allowed_names_its_path(house: Installation, given: JsonObject, path: str) -> None:
    instance_id = _start(house)
    task = house.task("u1")
    with pytest.raises(InputInvalid) as refused:
        house.services.inbox.complete(actor("u1"), task.id, **given)
    assert refused.value.code == VALIDATION_INPUT
    assert [problem.path for problem in refused.value.problems] == [path]
    assert house.instance(instance_id).revision == 1
    assert house.task("u1").id == task.id


def test_nobody_decides_for_another_not_even_an_operator(house: Installation) -> None:
    _start(house)
    task = house.task("u1")
    for who in (actor("u2"), actor("olga", OPERATOR), ADMIN):
        with pytest.raises(Denied) as refused:
            house.services.inbox.complete(who, task.id, "approved")
        assert refused.value.code == DENIED_ACTOR


def test_an_unknown_task_is_not_found_and_no_other_waiting_point_is_a_task(house: Installation) -> None:
    instance_id = _start(house, timeout_seconds=60)
    (limit,) = house.bookmarks(instance_id, BookmarkKind.NODE_TIMEOUT)
    for task_id in ("no-such-id", limit.id):
        for call in (
            lambda task_id=task_id: house.services.inbox.get(ADMIN, task_id),
            lambda task_id=task_id: house.services.inbox.complete(ADMIN, task_id, "approved"),
        ):
            with pytest.raises(NotFound) as refused:
                call()
            assert refused.value.code == NOTFOUND_BOOKMARK


def test_a_finished_task_says_who_what_and_when_to_those_who_may_know(house: Installation) -> None:
    _start(house, {"CompletionPolicy": "Any"})
    first, second = house.task("u1"), house.task("u2")
    house.store_set.clock.advance(30)
    at = house.store_set.clock.now()
    house.decide("u1", "approved")
    inbox = house.services.inbox

    acts: tuple[Callable[[Actor], object], ...] = (
        lambda who: inbox.complete(who, first.id, "approved"),
        lambda who: inbox.transfer(who, first.id, "u9"),
        lambda who: inbox.add(who, first.id, ["u9"]),
    )
    for name in ("u1", "u2", "starter"):
        for act in acts:
            with pytest.raises(Conflict) as refused:
                act(actor(name))
            assert refused.value.code == CONFLICT_BOOKMARK
            assert refused.value.details == {
                "endReason": "completed", "completedBy": "u1", "outcome": "approved", "at": at,
            }  # fmt: skip
    with pytest.raises(Conflict) as sibling:
        inbox.complete(actor("u2"), second.id, "approved")
    assert sibling.value.details == {
        "endReason": "sibling", "completedBy": "u1", "outcome": "approved", "at": at,
    }  # fmt: skip
    needless = inbox.get(actor("u2"), second.id)
    assert (needless.end_reason, needless.completed_by, needless.outcome) == (EndReason.SIBLING, "u1", "approved")
    with pytest.raises(Denied) as refused_stranger:
        inbox.complete(actor("stranger"), first.id, "approved")
    assert refused_stranger.value.code == DENIED_ACTOR

    seen = inbox.get(actor("u2"), first.id)
    assert (seen.status, seen.completed_by, seen.outcome, seen.ended_at) == ("ended", "u1", "approved", at)
    assert seen.rights == TaskRights()
    with pytest.raises(Denied):
        inbox.get(actor("stranger"), first.id)


def test_a_task_that_timed_out_was_completed_by_nobody(house: Installation) -> None:
    _start(house, {"AllowedOutcomes": []}, timeout_seconds=60)
    task = house.task("u1")
    house.elapse(60)
    with pytest.raises(Conflict) as refused:
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert refused.value.details == {
        "endReason": "timeout", "completedBy": None, "outcome": None, "at": house.store_set.clock.now(),
    }  # fmt: skip


def test_a_task_of_a_canceled_instance_is_over(house: Installation) -> None:
    instance_id = _start(house)
    task = house.task("u1")
    house.services.instances.cancel(ADMIN, instance_id)
    with pytest.raises(Conflict) as refused:
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert refused.value.details["endReason"] == "canceled"
    assert house.services.inbox.get(actor("u1"), task.id).end_reason is EndReason.CANCELED


def test_a_task_of_a_faulted_instance_waits(house: Installation) -> None:
    house.publish(
        flow(
            "both",
            [START, node("split", "Parallel"), node("ask", "UserTask", {"Assignees": ["u1"]}), node("x", "Fault")],
            [edge("start", "split"), edge("split", "ask"), edge("split", "x")],
        )
    )
    house.start("both")
    (task,) = house.bookmarks(house.services.instances.query(ADMIN).items[0].id)
    with pytest.raises(Conflict) as refused:
        house.services.inbox.complete(actor("u1"), task.id, "approved")
    assert refused.value.code == CONFLICT_BOOKMARK
    assert house.services.inbox.query(actor("u1")).total == 0
    assert house.services.inbox.get(actor("u1"), task.id).rights == TaskRights()


def test_an_operator_transfers_and_adds_for_others_and_is_recorded_as_such(house: Installation) -> None:
    instance_id = _start(house)
    operator = actor("olga", OPERATOR)
    moved = house.services.inbox.transfer(operator, house.task("u1").id, "u9", "ill")
    assert moved.task.assignee_id == "u9"
    house.services.inbox.add(operator, moved.task.id, ["u5"])
    assert {one.assignee_id for one in house.services.inbox.query(operator, scope="all").items} == {"u9", "u2", "u5"}
    with house.store_set.stores.reading(None) as work:
        ended = [one for one in work.task_records.by_instance(None, instance_id) if one.ended_at is not None]
    assert [(one.end_reason, one.actor_id, one.as_operator) for one in ended] == [(EndReason.TRANSFERRED, "olga", True)]
    with pytest.raises(Denied):
        house.services.inbox.transfer(actor("stranger"), moved.task.id, "stranger")


def test_a_transferred_task_notes_opening_anew(house: Installation) -> None:
    _start(house)
    inbox, task = house.services.inbox, house.task("u1")
    inbox.mark_opened(actor("stranger"), task.id)
    assert house.task("u1").opened_at is None
    inbox.mark_opened(actor("u1"), task.id)
    opened = house.store_set.clock.now()
    house.store_set.clock.advance(60)
    inbox.mark_opened(actor("u1"), task.id)
    assert house.task("u1").opened_at == opened
    inbox.transfer(actor("u1"), task.id, "u9")
    assert house.task("u9").opened_at is None
    inbox.mark_opened(actor("u1"), "no-such-id")


def test_adding_needs_somebody_new_and_a_known_position(house: Installation) -> None:
    _start(house)
    inbox, task = house.services.inbox, house.task("u1")
    with pytest.raises(Conflict):
        inbox.add(actor("u1"), task.id, ["u2"])
    refused: tuple[dict[str, Any], ...] = (
        {"assignees": []},
        {"assignees": ["u9"], "position": "beside"},
        {"assignees": ["x"] * 101},
    )
    for given in refused:
        with pytest.raises(InputInvalid):
            inbox.add(actor("u1"), task.id, **given)


def test_a_disabled_account_gets_no_task(house: Installation) -> None:
    disabled = house.services.accounts.create(name="u2")
    house.services.accounts.set_disabled(disabled, True)
    _start(house)
    assert house.tasks("u2") == []
    with pytest.raises(InputInvalid):
        house.services.inbox.transfer(actor("u1"), house.task("u1").id, "u2")


def test_whom_instances_wait_for_is_told_to_their_starter_and_to_readers(house: Installation) -> None:
    instance_id = _start(house)
    asked = [instance_id, "no-such-instance"]
    for reader in (actor("starter"), actor("op", OPERATOR)):
        assert [task.assignee_id for task in house.services.inbox.of_instances(reader, asked)] == ["u1", "u2"]
    assert house.services.inbox.of_instances(actor("stranger"), asked) == []
    assert house.services.inbox.of_instances(actor("starter"), []) == []
