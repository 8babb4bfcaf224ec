"""A wave from start to end: what it leaves behind, in which order it tells of it (spec 3.2 to 3.5, 9.1)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.engine.harness import Run, Scripted, World, doomed
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.activities.api import Complete
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonDecimal

NOW = datetime(2026, 7, 16, 8, tzinfo=UTC)
GREET = node("greet", "SetVariable", {"Expressions": {"greeting": "'hello ' + upper(name)"}})


def greet(**request: object) -> Run:
    return World().start(flow("demo.greeting", [START, GREET, END]), {"name": "ada"}, **request)


def test_a_straight_definition_is_completed_by_its_start() -> None:
    run = greet()
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.instance.variables == {"name": "ada", "greeting": "hello ADA"}
    assert run.instance.started_at == run.instance.ended_at == NOW
    assert run.path == ["start", "greet", "end"]
    assert {one.status for one in run.nodes.values()} == {NodeStatus.COMPLETED}
    assert run.node("greet").outputs == {"greeting": "hello ADA"}


def test_the_events_of_a_straight_wave_come_in_order() -> None:
    assert greet().topics == [
        "instance.started",
        "node.executing(start)",
        "node.executed(start)",
        "node.executing(greet)",
        "node.executed(greet)",
        "node.executing(end)",
        "node.executed(end)",
        "instance.completed",
    ]


def test_an_event_tells_the_state_of_its_own_moment() -> None:
    events = greet().events
    assert [event.data["instance"]["status"] for event in events] == ["Running"] * 7 + ["Completed"]
    assert events[1].data["nodeInstance"]["status"] == "Running"
    assert events[2].data["nodeInstance"]["status"] == "Completed"


def test_every_node_instance_knows_the_token_that_started_it() -> None:
    run = greet()
    start, greeting, end = run.node("start"), run.node("greet"), run.node("end")
    assert (start.caused_by, start.via_transition_ids) == ([], [])
    assert (greeting.caused_by, greeting.via_transition_ids) == ([start.id], ["start-greet"])
    assert (end.caused_by, end.via_transition_ids) == ([greeting.id], ["greet-end"])


def test_a_start_fills_the_instance() -> None:
    run = greet(title="A greeting", correlation_id="C-1", requested_by="deputy")
    instance = run.instance
    assert instance.title == "A greeting"
    assert (instance.correlation_id, instance.starter_id, instance.requested_by) == ("C-1", "starter", "deputy")
    assert (instance.definition_id, instance.definition_name, instance.definition_version) == (
        "def-demo.greeting",
        "demo.greeting",
        1,
    )
    assert instance.root_instance_id == instance.id
    assert (instance.depth, instance.revision, instance.command_id) == (0, 1, "command-1")
    assert run.last.write_set.is_new


@pytest.mark.parametrize("title", [None, "", "  "])
def test_without_a_title_the_definition_gives_its_own(title: str | None) -> None:
    assert greet(title=title).instance.title == "Demo.Greeting"


def test_a_child_keeps_the_root_it_is_given() -> None:
    run = greet(instance_id="child", parent_instance_id="parent", root_instance_id="root", depth=3)
    assert (run.instance.id, run.instance.parent_instance_id) == ("child", "parent")
    assert (run.instance.root_instance_id, run.instance.depth) == ("root", 3)


def test_sequences_rise_over_everything_an_instance_writes() -> None:
    run = greet()
    base = int((NOW - datetime(2020, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000) * 8
    assert run.instance.sequence == base
    assert [one.sequence for one in run.nodes.values()] == [base + 1, base + 2, base + 3]
    assert run.audit[0].sequence == run.instance.last_sequence == base + 4


def test_the_trail_has_one_line_for_the_command() -> None:
    run = greet()
    (line,) = run.audit
    assert (line.action, line.actor_id, line.command_id, line.at) == ("start", "starter", "command-1", NOW)
    assert line.before is None
    assert line.after == {"revision": 1, "status": "Completed", "nodeInstanceIds": list(run.nodes)}


def test_a_later_command_tells_what_it_changed() -> None:
    run = World().start(flow("wait", [START, node("wait", "Delay", {"DurationSeconds": 5}), END]))
    run.world.clock.advance(5)
    run.due()
    line = run.audit[-1]
    assert line.before == {"revision": 1, "status": "Running"}
    assert line.after is not None
    assert (line.after["revision"], line.after["status"]) == (2, "Completed")
    assert [run.nodes[one].node_id for one in line.after["nodeInstanceIds"]] == ["wait", "end"]
    assert run.last.write_set.columns_changed


def test_a_command_that_leaves_the_status_tells_only_the_revision() -> None:
    two = node("two", "UserTask", {"Assignees": ["u1", "u2"], "CompletionPolicy": "All"})
    run = World().start(flow("two", [START, two, END])).approve("u1")
    assert run.audit[-1].before == {"revision": 1}
    assert run.audit[-1].after == {"revision": 2, "nodeInstanceIds": [run.node("two").id]}
    assert not run.last.write_set.columns_changed


def test_everything_that_a_wave_writes_is_of_the_instances_partition() -> None:
    task = node("ask", "UserTask", {"Assignees": ["u1"]}, timeout_seconds=60)
    run = World().start(flow("tenant", [START, task, END], timeout=90), partition="acme")
    run.transfer(run.task("u1"), "u1", "u2").approve("u2")
    assert run.last.write_set.partition == run.instance.tenant_id == "acme"
    for rows in (run.nodes.values(), run.records.values(), run.audit):
        assert {row.tenant_id for row in rows} == {"acme"}
    waiting = World().start(flow("tenant", [START, task, END], timeout=90), partition="acme")
    assert {mark.tenant_id for mark in waiting.bookmarks.values()} == {"acme"}
    assert len(waiting.bookmarks) == 3
    assert waiting.events[0].data["instance"]["tenantId"] == "acme"


def test_branches_interleave_node_by_node() -> None:
    logs = [node(one, "Log", {"Message": one}) for one in ("a1", "a2", "b1", "b2")]
    nodes = [START, node("split", "Parallel"), *logs]
    edges = [edge("start", "split"), edge("split", "a1"), edge("split", "b1"), edge("a1", "a2"), edge("b1", "b2")]
    assert World().start(flow("interleave", nodes, edges)).path == ["start", "split", "a1", "b1", "a2", "b2"]


def test_a_token_that_finds_no_way_on_ends_without_a_fault() -> None:
    run = World().start(flow("open", [START, GREET]), {"name": "ada"})
    assert run.instance.status is InstanceStatus.COMPLETED


def test_numbers_stay_as_they_were_written() -> None:
    run = World().start(flow("plain", [START, END]), {"price": JsonDecimal("1.50"), "count": 3})
    assert str(run.instance.variables["price"]) == "1.50"
    assert run.instance.variables["count"] == 3


def test_the_caller_keeps_its_own_variables() -> None:
    variables = {"list": [1]}
    run = World().start(flow("own", [START, node("set", "SetVariable", {"Expressions": {"list": "list"}})]), variables)
    run.last.instance.variables["list"].append(2)
    assert variables == {"list": [1]}


def test_an_activity_sees_the_variables_of_all_nodes_before_it() -> None:
    first = Scripted(Complete(outputs={"a": 1}), type_name="First")
    second = Scripted(Complete(outputs={"b": 2}), type_name="Second")
    run = World(activities=[first, second]).start(
        flow("see", [START, node("first", "First"), node("second", "Second"), END]), {"given": 0}
    )
    assert first.seen == [{"given": 0}]
    assert second.seen == [{"given": 0, "a": 1}]
    assert run.instance.variables == {"given": 0, "a": 1, "b": 2}


def test_an_instance_deadline_is_set_while_it_waits_and_does_not_keep_it_alive() -> None:
    wait = node("wait", "Delay", {"DurationSeconds": 5})
    run = World().start(flow("deadline", [START, wait, END], timeout=60))
    deadline = run.only(BookmarkKind.INSTANCE_TIMEOUT)
    assert (deadline.due_at, deadline.node_instance_id) == (NOW.replace(minute=1), None)
    run.world.clock.advance(5)
    run.due()
    assert run.instance.status is InstanceStatus.COMPLETED
    assert run.bookmarks == {}


def test_an_instance_whose_first_wave_faulted_has_its_deadline_when_it_is_retried() -> None:
    flaky = Scripted(doomed(), type_name="Flaky")
    nodes = [START, node("flaky", "Flaky"), node("wait", "Delay", {"DurationSeconds": 500}), END]
    run = World(activities=[flaky]).start(flow("deadline", nodes, timeout=60))
    assert run.instance.status is InstanceStatus.FAULTED
    run.retry()
    assert run.only(BookmarkKind.INSTANCE_TIMEOUT).due_at == NOW.replace(minute=1)
    run.world.clock.advance(60)
    run.due()
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.instance.timed_out"


def test_no_deadline_is_set_for_an_instance_that_has_ended() -> None:
    assert World().start(flow("quick", [START, END], timeout=60)).bookmarks == {}
