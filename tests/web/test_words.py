"""Sentences about a request: waits, ends, the trail, the diagram's facts and a task's buttons."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import UTC, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from markupsafe import Markup

from tests.support.clock import FakeClock
from tests.support.web import CATALOG, make_site
from webapp.engine.definitions.model import VariableDefinition, WorkflowDefinition
from webapp.engine.instances.bookmarks import BookmarkKind, Priority
from webapp.engine.instances.model import InstanceStatus, WorkflowFault, WorkflowInstance
from webapp.services.queries import TaskSummary
from webapp.services.views import InstanceOverview, NodeState, TaskDetail, TrailEntry, Wait
from webapp.web.drawing import drawing_of
from webapp.web.i18n import PageText
from webapp.web.task_words import buttons, group_tasks
from webapp.web.words import Words, waiting_names

NOW = FakeClock().now()
NAMES = {"ann": "Ann Berg", "bo": "Bo Dahl"}


@pytest.fixture
def page(tmp_path: Path) -> Iterator[PageText]:
    """The texts of an English page at the fake clock's time."""
    with make_site(tmp_path).app.test_request_context("/"):
        yield PageText(CATALOG, UTC, lambda: NOW)


@pytest.fixture
def chinese(tmp_path: Path) -> Iterator[PageText]:
    """The texts of a Chinese page."""
    with make_site(tmp_path).app.test_request_context("/", headers={"Accept-Language": "zh"}):
        yield PageText(CATALOG, UTC, lambda: NOW)


def wait(kind: Any = BookmarkKind.USER_TASK, **rest: Any) -> Wait:
    return Wait(bookmark_id="b1", kind=kind, node_id="n", node_name="Check", **rest)


def overview(*waits: Wait, trail: list[TrailEntry] | None = None, **instance: Any) -> InstanceOverview:
    shown = WorkflowInstance(
        id="i",
        definition_id="d",
        definition_name="leave",
        definition_version=1,
        title="Trip",
        created_at=NOW,
        **instance,
    )
    return InstanceOverview(
        instance=shown,
        definition=WorkflowDefinition(name="leave"),
        node_states={},
        taken_transition_ids=[],
        waits=list(waits),
        trail=trail or [],
        names=NAMES,
        may_operate=False,
    )


def entry(kind: Any, action: str, minutes: int = 0, **rest: Any) -> TrailEntry:
    return TrailEntry(at=NOW - timedelta(minutes=minutes), kind=kind, action=action, **rest)


def plain(text: str | Markup) -> str:
    return text.striptags() if isinstance(text, Markup) else text


def test_people_are_waited_for_before_anything_else(page: PageText) -> None:
    words = Words(page, NAMES, "bo")
    lines = words.waits([wait("Join", arrived=1, expected=2, missing=["Check"]), wait(who="ann"), wait(who="bo")])
    assert [plain(line.text) for line in lines] == [
        "Ann Berg has to decide on Check.",
        "You have to decide on Check.",
        "Check has 1 of 2 branches.",
    ]
    assert lines[2].sub == "Missing: Check"
    assert [line.task_id for line in lines] == ["b1", "b1", None]


@pytest.mark.parametrize("kind", [kind for kind in BookmarkKind if kind is not BookmarkKind.USER_TASK])
def test_every_kind_of_wait_has_its_sentence(page: PageText, kind: BookmarkKind) -> None:
    assert plain(Words(page, {}, "").waits([wait(kind, signal="paid")])[0].text)


def test_the_state_names_everybody_and_the_longest_wait(page: PageText) -> None:
    waits = [wait(who="ann", since=NOW - timedelta(days=2)), wait(who="bo", since=NOW - timedelta(hours=1))]
    said = Words(page, NAMES, "eve").say(overview(*waits))
    assert (said.title, said.text, said.state) == ("Waiting 2 days for Ann Berg, Bo Dahl", "Step: Check", "waiting")


def test_a_wait_that_has_just_begun_has_no_span(page: PageText) -> None:
    assert Words(page, NAMES, "eve").say(overview(wait(who="ann", since=NOW))).title == "Waiting for Ann Berg"


def test_the_state_in_chinese_has_spaces_beside_latin_words(chinese: PageText) -> None:
    words = Words(chinese, {"qi": "齐明", **NAMES}, "eve")
    two_days = NOW - timedelta(days=2)
    assert words.say(overview(wait(who="qi", since=two_days))).title == "已等待齐明 2 天"
    assert words.say(overview(wait(who="ann", since=two_days))).title == "已等待 Ann Berg 2 天"


@pytest.mark.parametrize(
    ("facts", "title", "state"),
    [
        ({"status": InstanceStatus.COMPLETED, "outcome": "approved"}, "Completed: Approved", "completed"),
        ({"status": InstanceStatus.COMPLETED, "outcome": "rejected"}, "Completed: Rejected", "canceled"),
        ({"status": InstanceStatus.COMPLETED}, "Completed", "completed"),
        ({"status": InstanceStatus.CANCELED, "cancellation_reason": "Twice"}, "Canceled", "canceled"),
        ({"status": InstanceStatus.FAULTED}, "A step failed", "faulted"),
        ({"status": InstanceStatus.TERMINATED}, "Terminated", "canceled"),
        ({"status": InstanceStatus.SUSPENDED}, "Suspended", "suspended"),
        ({"status": InstanceStatus.RUNNING}, "Running", "running"),
    ],
)
def test_every_state_has_its_sentence(page: PageText, facts: dict[str, Any], title: str, state: str) -> None:
    said = Words(page, NAMES, "eve").say(overview(**facts))
    assert (said.title, said.state) == (title, state)
    assert said.text == facts.get("cancellation_reason", said.text) and said.text


def test_a_command_stands_below_what_it_caused_and_a_decision_is_told_once(page: PageText) -> None:
    decided = entry(
        "command", "complete", actor_id="ann", node_id="n", node_name="Check", outcome="approved", sequence=9
    )
    step = entry("node", "nodeCompleted", node_id="n", node_name="Check", activity_type="UserTask", status="Completed")
    after = entry("node", "nodeCompleted", node_id="e", node_name="Done", activity_type="End", status="Completed")
    lines = Words(page, NAMES, "eve").trail([decided, after, step])
    assert [plain(line.text) for line in lines] == ["Done completed", "Ann Berg decided Check: Approved"]


def test_long_pauses_get_a_line_of_their_own(page: PageText) -> None:
    entries = [
        entry("command", "complete", actor_id="ann", node_name="Check", outcome="approved"),
        entry("command", "start", 150, actor_id="bo"),
    ]
    words = Words(page, NAMES, "bo")
    assert [plain(line.text) for line in words.trail(entries, idle=True)] == [
        "Ann Berg decided Check: Approved",
        "2 h 30 min with nothing to do",
        "You started the request",
    ]
    assert len(words.trail(entries)) == 2


def test_an_action_without_a_sentence_is_named(page: PageText) -> None:
    line = Words(page, NAMES, "eve").trail([entry("command", "polish", actor_id="ann", reason="New rules")])[0]
    assert plain(line.text) == "Ann Berg: polish"
    assert line.comment == "New rules"


ACTIONS = {
    *("start", "cancel", "retry", "suspend", "resume", "terminate", "jump", "migrate", "updateVariables", "withdraw"),
    *("complete", "undo", "transfer", "add", "remove", "claim", "release", "delegate", "urge", "return", "recall"),
    *("signal", "work", "workFailed", "extendLock", "resumeBookmark"),
    *("autoApproved", "decide", "decideFailed", "escalate", "handOver", "remind", "overdue"),
}
SILENT = {"due", "childEnded", "restartChild", "purge"}
"""What nobody did, told by the steps that followed, and what no instance is left to tell of."""


def spoken_actions() -> set[str]:
    """Return the action of every command that the services make, as far as their source names it."""
    makers = {"command", "system_command", "_operate", "_act", "act"}
    found = set()
    for path in (Path(__file__).parents[2] / "webapp" / "services").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            node.targets[0].id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        }
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in makers:
                for given in call.args[:3]:
                    if isinstance(given, ast.Constant) and isinstance(given.value, str):
                        found.add(given.value)
                    elif isinstance(given, ast.Name) and given.id in constants:
                        found.add(constants[given.id])
    return found


def test_every_command_of_the_services_is_known_here() -> None:
    spoken = spoken_actions()
    assert {"suspend", "jump", "claim", "workFailed"} <= spoken, "the source is not read as it was"
    assert spoken - ACTIONS - SILENT == set()


@pytest.mark.parametrize("action", sorted(ACTIONS))
def test_every_action_of_the_trail_has_its_sentence(page: PageText, chinese: PageText, action: str) -> None:
    for shown in (page, chinese):
        line = Words(shown, NAMES, "eve").trail([entry("command", action, actor_id="ann", node_name="Check")])[0]
        assert plain(line.text) and action not in plain(line.text).split()[1:2], plain(line.text)
        assert shown.has(f"ui.trail.command.{action}")
        assert line.icon != "circle-dot", f"{action} has no mark of its own"


def test_a_command_names_what_it_changed(page: PageText) -> None:
    def sub(action: str, **details: Any) -> str:
        return Words(page, NAMES, "eve").trail([entry("command", action, actor_id="ann", details=details)])[0].sub

    assert sub("updateVariables", set=["days", "reason"], removed=["note"]) == "set: days, reason · removed: note"
    assert sub("updateVariables", set=["days"], removed=[]) == "set: days"
    assert sub("jump", toNodeId="Check") == "to Check"
    assert sub("migrate", fromVersion=1, toVersion=2) == "from version 1 · to version 2"


def test_what_nobody_started_says_so(page: PageText) -> None:
    line = Words(page, NAMES, "eve").trail([entry("command", "start")])[0]
    assert plain(line.text) == "The request was started by a timer, a signal or another request"


@pytest.mark.parametrize(
    ("shown", "text", "sub"),
    [
        (wait(who="role:clerks", claimable=True), "Somebody of role clerks has to take Check.", ""),
        (wait(who="role:clerks", claimable=True, claimed_by="ann"), "Ann Berg has to decide on Check.", ""),
        (
            wait(who="ann", decided_by="ann", outcome="approved", held_until=NOW),
            "Ann Berg has decided Check: Approved. It can be taken back until then.",
            "",
        ),
        (
            wait(BookmarkKind.EXTERNAL_TASK, signal="scan", worker="w1", held_until=NOW + timedelta(1), retries=2),
            "The worker w1 works on Check, topic scan.",
            "2 tries left",
        ),
        (
            wait(BookmarkKind.EXTERNAL_TASK, signal="scan", worker="w1", held_until=NOW - timedelta(1), retries=1),
            "Check waits for a worker under the topic scan.",
            "1 try left · Last held by w1",
        ),
        (
            wait(BookmarkKind.RETRY, attempt=2, max_attempts=3),
            "Check failed and is tried again: try 2 of 3.",
            "",
        ),
        (
            wait(BookmarkKind.RETRY, reason="background"),
            "Check runs in the background as soon as there is room.",
            "",
        ),
        (
            wait(BookmarkKind.TIMER, failures=1),
            "Check waits for its time.",
            "Could not be carried out once; the log says why",
        ),
        (
            wait(BookmarkKind.TIMER, failures=3),
            "Check waits for its time.",
            "Could not be carried out 3 times; the log says why",
        ),
        (wait(BookmarkKind.REMINDER, reason="due"), "Check becomes overdue then.", ""),
        (wait(BookmarkKind.REMINDER, reason="remind"), "A reminder of Check is sent then.", ""),
        (wait(BookmarkKind.NODE_TIMEOUT, action="Fault"), "Check has a time limit; it then fails.", ""),
    ],
)
def test_a_wait_says_what_it_is(page: PageText, shown: Wait, text: str, sub: str) -> None:
    line = Words(page, NAMES, "eve").waits([shown])[0]
    assert (plain(line.text), line.sub) == (text, sub)


def test_limits_and_reminders_come_last_and_are_no_reason_to_stand_still(page: PageText) -> None:
    waits = [wait(BookmarkKind.REMINDER, reason="due"), wait(BookmarkKind.INSTANCE_TIMEOUT), wait(BookmarkKind.TIMER)]
    words = Words(page, NAMES, "eve")
    assert plain(words.waits(waits)[0].text) == "Check waits for its time."
    assert words.say(overview(*waits)).title == "Check waits for its time."
    assert words.say(overview(waits[0])).title == "Running"


def test_a_lock_and_a_decision_show_until_when_they_hold(page: PageText) -> None:
    soon = NOW + timedelta(minutes=5)
    words = Words(page, NAMES, "eve")
    held = wait(BookmarkKind.EXTERNAL_TASK, signal="scan", worker="w1", held_until=soon, due_at=None)
    decided = wait(who="ann", decided_by="ann", outcome="approved", held_until=soon, due_at=NOW)
    assert [line.due_at for line in words.waits([held, decided])] == [soon, soon]


def test_a_fault_tells_its_causes_down_to_the_first(page: PageText) -> None:
    inner = WorkflowFault(code="Y", key="workflow.expression.unknown_function", args={"name": "<foo>"})
    fault = WorkflowFault(
        code="X", key="workflow.expression.arity", args={"signature": "len(value)", "found": 2}, inner=inner
    )
    causes = Words(page, NAMES, "eve").causes(fault)
    assert [cause.key for cause in causes] == ["workflow.expression.arity", "workflow.expression.unknown_function"]
    assert "len(value)" in causes[0].message and "<foo>" in causes[1].message


def test_values_read_as_a_person_writes_them(page: PageText) -> None:
    variables = [VariableDefinition(name="day", title="First day", type="date"), VariableDefinition(name="total")]
    document = {"day": "2026-06-22", "total": Decimal("1234.50"), "ok": True, "none": None, "list": [Decimal("1.0")]}
    facts = Words(page, {}, "").facts(document, variables)
    assert [(fact.label, fact.text) for fact in facts] == [
        ("First day", "22 Jun 2026"),
        ("total", "1,234.50"),
        ("ok", "yes"),
        ("none", "not given"),
        ("list", "[1.0]"),
    ]


def test_a_day_that_is_none_is_shown_as_it_stands(page: PageText) -> None:
    facts = Words(page, {}, "").facts({"day": "soon"}, [VariableDefinition(name="day", type="date")])
    assert facts[0].text == "soon"


def test_an_instant_beside_the_calendar_stands_as_it_is(page: PageText) -> None:
    hostile = "0001-01-01T00:00:00+14:00"
    facts = Words(page, {}, "").facts({"at": hostile}, [VariableDefinition(name="at", type="dateTime")])
    assert facts[0].text == hostile


@pytest.mark.parametrize(
    ("state", "label"),
    [
        (NodeState(node_id="n", state="waiting", count=1, arrived=1, expected=2), "1 of 2"),
        (NodeState(node_id="n", state="waiting", count=1, signers_done=1, signers_total=3), "1 of 3"),
        (NodeState(node_id="n", state="completed", count=1, try_count=2), "2 tries"),
        (NodeState(node_id="n", state="waiting", count=1, since=NOW - timedelta(days=2, hours=4)), "2 d 4 h"),
        (NodeState(node_id="n", state="waiting", count=1, since=NOW), ""),
        (NodeState(node_id="n", state="completed", count=3), "3 times"),
        (NodeState(node_id="n", state="completed", count=1), ""),
    ],
)
def test_a_node_shows_one_fact(page: PageText, state: NodeState, label: str) -> None:
    shown = InstanceOverview(**{**_members(overview()), "node_states": {"n": state}})
    drawing = drawing_of(shown, page.now, page.text)
    assert drawing.states["nodes"]["n"] == {"state": state.state, "count": state.count, "label": label}


def _members(shown: InstanceOverview) -> dict[str, Any]:
    return {name: getattr(shown, name) for name in shown.__struct_fields__}


def detail(*outcomes: str) -> TaskDetail:
    return TaskDetail(
        id="t",
        instance_id="i",
        node_id="n",
        node_instance_id="x",
        title="Check",
        instance_title="Trip",
        definition_name="leave",
        assignee_id="ann",
        allowed_outcomes=list(outcomes),
        created_at=NOW,
    )


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((), [("approved", "primary", "a"), ("rejected", "danger", "r")]),
        (("rejected", "approved"), [("approved", "primary", "a"), ("rejected", "danger", "r")]),
        (("fix", "approved", "rejected"), [("fix", "primary", ""), ("approved", "", "a"), ("rejected", "danger", "r")]),
        (("rejected",), [("rejected", "danger", "r")]),
    ],
)
def test_one_button_is_primary(page: PageText, outcomes: tuple[str, ...], expected: list[tuple[str, str, str]]) -> None:
    assert [(button.value, button.kind, button.key) for button in buttons(detail(*outcomes), page)] == expected


def task(task_id: str, hours: float, due_hours: float | None = None, instance_id: str = "i") -> TaskSummary:
    return TaskSummary(
        id=task_id,
        instance_id=instance_id,
        node_id="n",
        node_instance_id="x",
        title=task_id,
        instance_title="Trip",
        definition_name="leave",
        definition_title="Leave",
        assignee_id="ann" if task_id != "other" else "bo",
        priority=Priority.NORMAL,
        created_at=NOW - timedelta(hours=hours),
        due_at=None if due_hours is None else NOW + timedelta(hours=due_hours),
    )


def test_groups_fit_the_sort(page: PageText) -> None:
    by_due = group_tasks(
        [task("a", 1, -2), task("b", 1, 3), task("c", 1, 60), task("d", 1, 400), task("e", 1)], "dueAt", page
    )
    assert [group.title for group in by_due] == ["Overdue", "Today", "This week", "Later", "Without due date"]
    by_age = group_tasks([task("a", 1), task("b", 2), task("c", 20), task("d", 24 * 30)], "createdAt", page)
    assert [(group.title, len(group.tasks)) for group in by_age] == [("Today", 2), ("Yesterday", 1), ("Older", 1)]
    assert [group.title for group in group_tasks([task("a", 1)], "title", page)] == [""]
    assert group_tasks([], "title", page) == []


def test_each_person_is_named_once_for_an_instance() -> None:
    tasks = [task("a", 1), task("b", 1), task("other", 1), task("d", 1, instance_id="j")]
    assert waiting_names(tasks) == {"i": ["ann", "bo"], "j": ["ann"]}
