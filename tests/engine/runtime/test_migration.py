"""Migrating to another version: ids are rewritten, nothing starts over, whatever does not map is named (spec 3.20)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.engine.harness import Run, Scripted, World, doomed
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import CONFLICT_INSTANCE, Conflict, InputInvalid
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.model import InstanceStatus, NodeStatus
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.jumping import Jump
from webapp.engine.runtime.migration import Migration


def task(name: str, **more: Any) -> JsonObject:
    return node(name, "UserTask", {"Assignees": [f"of-{name}"]}, **more)


LINE = flow("line", [START, task("first"), task("second"), END])
LONGER = flow("line", [START, task("zeroth"), task("first"), node("log", "Log", {"Message": "x"}), task("second"), END])


def fork(*branches: str, join: str = "join") -> JsonObject:
    return flow(
        "fork",
        [START, node("split", "Parallel"), *(task(name) for name in branches), node(join, "Join"), task("last"), END],
        [
            edge("start", "split"),
            *(edge("split", name) for name in branches),
            *(edge(name, join) for name in branches),
            edge(join, "last"),
            edge("last", "end"),
        ],
    )


def finish(run: Run) -> Run:
    for _ in range(50):
        if not run.tasks():
            break
        run.approve(run.tasks()[0].key or "")
    assert run.instance.status is InstanceStatus.COMPLETED, run.instance.fault
    assert run.topics.count("instance.completed") == 1
    return run


def test_a_migrated_instance_does_not_start_over() -> None:
    run = World().start(LINE)
    waiting, path = run.task("of-first"), run.path
    run.migrate(LONGER)
    assert run.path == path == ["start", "first"]
    assert run.task("of-first") == waiting
    assert (run.instance.definition_version, run.instance.definition_id) == (2, "def-line-2")
    assert run.last.write_set.columns_changed
    assert run.last.write_set.node_instances == []
    assert run.topics[-1] == "instance.migrated"
    finish(run)
    assert run.path == ["start", "first", "log", "second", "end"]


def test_waits_keep_ids_and_due_times_and_take_the_new_node() -> None:
    timed = flow("line", [START, task("first", timeout_seconds=60), END], timeout=600)
    run = World().start(timed)
    before = {bookmark.id: (bookmark.kind, bookmark.due_at) for bookmark in run.bookmarks.values()}
    run.world.clock.advance(30)
    run.migrate(flow("line", [START, task("only", timeout_seconds=5), END], timeout=700), first="only")
    assert {bookmark.id: (bookmark.kind, bookmark.due_at) for bookmark in run.bookmarks.values()} == before
    assert run.task("of-first").node_id == run.node("only").node_id == "only"
    (move,) = run.last.write_set.task_moves
    assert (move.task_id, move.node_id) == (run.task("of-first").id, "only")
    run.world.clock.advance(31)
    assert run.due().instance.variables["outcome"] == "timeout"


def test_a_version_with_a_time_limit_arms_it_from_the_migration_on_and_one_without_drops_it() -> None:
    limited = flow("line", [START, task("first"), END], timeout=600)
    run = World().start(flow("line", [START, task("first"), END]))
    run.world.clock.advance(1_000)
    run.migrate(limited)
    deadline = run.only(BookmarkKind.INSTANCE_TIMEOUT)
    assert deadline.due_at == run.world.clock.now() + timedelta(seconds=600)
    run.migrate({**limited, "version": 3})
    assert run.only(BookmarkKind.INSTANCE_TIMEOUT) == deadline
    run.migrate(flow("line", [START, task("first"), END], version=4))
    assert [one.kind for one in run.bookmarks.values()] == [BookmarkKind.USER_TASK]
    run.migrate({**limited, "version": 5})
    run.world.clock.advance(601)
    run.due()
    assert run.instance.status is InstanceStatus.FAULTED
    assert run.instance.fault is not None
    assert run.instance.fault.key == "workflow.instance.timed_out"


def test_what_waits_in_a_join_keeps_its_place() -> None:
    run = World().start(fork("a", "b")).approve("of-a")
    run.migrate(fork("a", "b", join="gather"), join="gather")
    assert list(run.instance.join_states) == ["gather"]
    assert list(run.instance.join_states["gather"].arrived) == ["a-gather"]
    finish(run)
    assert (run.path.count("gather"), run.path.count("last")) == (1, 1)


def test_a_branch_that_no_token_can_come_by_is_not_waited_for() -> None:
    run = World().start(fork("a", "b"))
    run.migrate(fork("a", "b", "c"))
    run.approve("of-a")
    assert run.holders() == ["of-b"]
    finish(run)
    assert (run.path.count("join"), run.path.count("last")) == (1, 1)


def test_what_a_fired_join_will_swallow_makes_no_later_join_fire_early() -> None:
    """A branch of a race that is decided already brings nothing to the Join behind it, in no round."""
    race = flow(
        "race",
        [START, task("ask"), node("split", "Parallel"), node("x", "Log", {"Message": "x"}), node("race", "Parallel"),
         task("slow"), node("quick", "Log", {"Message": "x"}), node("any", "Join", {"Mode": "WaitAny"}),
         node("all", "Join"), task("again"), END],
        [edge("start", "ask"), edge("ask", "split"), edge("split", "x"), edge("split", "race"), edge("race", "slow"),
         edge("race", "quick"), edge("slow", "any"), edge("quick", "any"), edge("x", "all"), edge("any", "all"),
         edge("all", "again"), edge("again", "end")],
    )  # fmt: skip
    run = World().start(race).approve("of-ask")
    run.migrate(race)
    assert list(run.instance.join_states) == ["any"]
    run.approve("of-slow")
    run.operate("jump", history=True, jump=Jump(to_node_id="ask", from_node_id="again"))
    run.approve("of-ask")
    assert run.holders() == ["of-slow", "of-again"]
    assert (run.path.count("any"), run.path.count("all")) == (2, 2)
    finish(run)


def test_a_faulted_instance_is_retried_on_its_new_version() -> None:
    first = flow("line", [START, node("x", "Scripted"), END])
    world = World(activities=[Scripted(doomed())])
    run = world.start(first)
    run.migrate(flow("line", [START, node("y", "Scripted"), task("z"), END]), x="y")
    assert run.instance.fault_node_id == "y"
    run.retry()
    assert run.holders() == ["of-z"]


def test_a_suspended_instance_is_migrated_too() -> None:
    run = World().start(LINE).operate("suspend").migrate(LONGER).operate("resume_instance")
    finish(run)


def test_a_direct_return_finds_its_way_on_the_new_version() -> None:
    run = World().start(LINE).approve("of-first").send_back("of-second", resubmit="direct")
    run.migrate(flow("line", [START, task("first"), task("deuxieme"), END]), second="deuxieme")
    run.approve("of-first")
    assert run.holders() == ["of-deuxieme"]
    finish(run)


def plan(run: Run, document: JsonObject, **mapping: str) -> list[tuple[str, str]]:
    target = run.world.compile({"version": 2, **document})
    wanted = Migration(node_mapping=mapping)
    before = run.snapshot()
    planned = run.world.engine.plan_migration(before, run.compiled, run.command("migrate"), target, wanted)
    with pytest.raises(InputInvalid) as refused:
        run.world.engine.migrate(before, run.compiled, run.command("migrate"), target, wanted)
    assert list(refused.value.problems) == planned.problems
    assert run.snapshot() == before
    return [(problem.path, problem.key.removeprefix("workflow.migrate.")) for problem in planned.problems]


def test_every_miss_is_named_at_once() -> None:
    run = World().start(fork("a", "b", "c"))
    other = flow("fork", [START, task("a"), node("c", "Delay", {"DurationSeconds": 5}), END])
    assert plan(run, other, b="nothing", zz="a") == [
        ("nodeMapping.b", "missing"),
        ("nodeMapping.zz", "unknown_source"),
        ("nodeMapping.c", "type"),
    ]
    assert plan(run, flow("fork", [START, task("a"), END])) == [
        ("nodeMapping.b", "missing"),
        ("nodeMapping.c", "missing"),
    ]


def test_a_join_whose_arrivals_have_no_place_is_refused() -> None:
    run = World().start(fork("a", "b", "c")).approve("of-a")
    assert plan(run, fork("b", "c")) == [("nodeMapping.join", "transition")]


def test_a_join_that_could_never_fire_is_refused() -> None:
    run = World().start(fork("a", "b")).approve("of-a")
    cut = fork("a", "b")
    cut["transitions"] = [one for one in cut["transitions"] if one["id"] != "b-join"]
    assert plan(run, cut) == [("nodeMapping.join", "join_complete")]


def test_an_ended_instance_stays() -> None:
    run = finish(World().start(LINE))
    with pytest.raises(Conflict) as refused:
        run.migrate(LONGER)
    assert refused.value.code == CONFLICT_INSTANCE


def test_a_timer_keeps_running_over_a_migration() -> None:
    run = World().start(flow("line", [START, node("wait", "Delay", {"DurationSeconds": 60}), END]))
    run.migrate(flow("line", [START, node("wait", "Delay", {"DurationSeconds": 5}), task("z"), END]))
    run.world.clock.advance(59)
    run.due()
    assert run.only(BookmarkKind.TIMER)
    run.world.clock.advance(2)
    run.due()
    assert run.holders() == ["of-z"]


@pytest.mark.parametrize(("before", "after"), [(None, "Transfer"), ("Transfer", None), ("Fault", "Escalate")])
def test_a_time_limit_does_what_the_new_version_says(before: str | None, after: str | None) -> None:
    def timed(action: str | None) -> JsonObject:
        target = ["boss"] if action in ("Transfer", "Escalate") else None
        first = task("first", timeout_seconds=60, timeout_action=action, timeout_target=target)
        return flow("line", [START, first, END])

    run = World().start(timed(before))
    run.migrate(timed(after))
    run.world.clock.advance(61)
    run.due()
    if after is None:
        assert run.instance.variables["outcome"] == "timeout"
    else:
        assert run.holders() == (["boss"] if after == "Transfer" else ["of-first", "boss"])


def test_what_is_over_takes_the_new_names_too() -> None:
    def paid(pay: str) -> JsonObject:
        refund = node("refund", "SetVariable", {"Expressions": {"refunded": "true"}})
        nodes = [START, node(pay, "Log", {"Message": "x"}, compensate_with="refund"), task("ask"), END, refund]
        edges = [edge("start", pay), edge(pay, "ask"), edge("ask", "end")]
        return flow("paid", nodes, edges, compensate_on_cancel=True)

    run = World().start(paid("pay"))
    run.migrate(paid("payment"), pay="payment")
    assert run.path == ["start", "payment", "ask"]
    run.cancel()
    assert run.node("payment").status is NodeStatus.COMPENSATED
    assert run.instance.variables["refunded"] is True


def test_what_is_over_and_became_something_else_keeps_its_name() -> None:
    run = World().start(flow("line", [START, node("log", "Log", {"Message": "x"}), task("first"), END]))
    run.migrate(flow("line", [START, node("wait", "Delay", {"DurationSeconds": 1}), task("first"), END]), log="wait")
    assert run.path == ["start", "log", "first"]
