"""Joins whose tokens were moved, in nested forks, races, loops: none hangs, fires early or twice (spec 3.20, 3.22)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.harness import Run, Scripted, World, doomed
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonObject


def task(name: str, **properties: Any) -> JsonObject:
    return node(name, "UserTask", {"Assignees": [f"of-{name}"], **properties})


def lines(*paths: str) -> list[JsonObject]:
    """Transitions of paths such as ``start a join``, each once."""
    pairs = [pair for path in paths for pair in zip(path.split(), path.split()[1:], strict=False)]
    return [edge(source, target) for source, target in dict.fromkeys(pairs)]


NESTED = flow(
    "nested",
    [
        START, task("draft"), node("outer", "Parallel"), node("inner", "Parallel"), task("p"), task("q1"), task("q2"),
        node("near", "Join"), task("x"), task("y"), node("far", "Join"), task("last"), END,
    ],
    lines("start draft outer inner p near x far last end", "inner q1 q2 near", "outer y far"),
)  # fmt: skip

RACE = flow(
    "race",
    [
        START, node("split", "Parallel"), task("c"), task("d1"), task("d2"), node("race", "Join", {"Mode": "WaitAny"}),
        task("check"), END,
    ],
    [
        *lines("start split c race check", "split d1 d2 race"),
        edge("check", "split", "outcome == 'again'"), edge("check", "end", is_default=True),
    ],
)  # fmt: skip

LOOP = flow(
    "loop",
    [START, node("split", "Parallel"), task("a"), task("b"), node("join", "Join"), task("check"), END],
    [
        *lines("start split a join check", "split b join"),
        edge("check", "split", "outcome == 'again'"), edge("check", "end", is_default=True),
    ],
)  # fmt: skip


def nested() -> Run:
    return World().start(NESTED).approve("of-draft")


def holders(run: Run) -> list[str]:
    return sorted(str(name).removeprefix("of-") for name in run.holders())


def count(run: Run, *names: str) -> list[int]:
    return [run.path.count(name) for name in names]


def approve(run: Run, *names: str) -> Run:
    """Complete one task of each of these nodes."""
    for name in names:
        run.decide(next(one for one in run.tasks() if one.node_id == name), f"of-{name}")
    return run


def finish(run: Run) -> Run:
    for _ in range(50):
        if not run.tasks():
            break
        run.decide(run.tasks()[0], run.tasks()[0].key or "")
    assert run.instance.status is InstanceStatus.COMPLETED, run.instance.fault
    assert run.topics.count("instance.completed") == 1
    assert not run.bookmarks
    return run


def test_past_the_inner_join_the_outer_one_still_waits_for_both() -> None:
    run = nested().jump("x", "p")
    assert holders(run) == ["q1", "x", "y"]
    approve(run, "q1", "q2", "x")
    assert holders(run) == ["y"]
    assert run.instance.join_states["far"].arrived.keys() == {"x-far"}
    assert count(finish(run), "near", "x", "far", "last") == [0, 1, 1, 1]


def test_past_both_joins_what_is_left_is_swallowed_at_both() -> None:
    run = nested()
    assert run.plan_jump("last", "p").dropped_joins == ["near", "far"]
    run.jump("last", "p")
    approve(run, "last", "y", "q1", "q2")
    assert count(finish(run), "near", "x", "far", "last", "end") == [0, 0, 0, 1, 1]


def test_out_of_an_inner_branch_into_the_other_outer_branch_the_rest_goes_on_alone() -> None:
    run = nested().jump("y", "p")
    assert holders(run) == ["q1", "y", "y"]
    approve(run, "y", "q1", "q2")
    assert holders(run) == ["x", "y"]
    approve(run, "x")
    assert holders(run) == ["y"]
    assert count(finish(run), "near", "x", "far", "last") == [1, 1, 1, 1]


def test_a_wave_that_nobody_can_come_to_any_more_is_dropped_and_the_join_behind_it_does_not_wait_for_it() -> None:
    run = approve(nested(), "q1", "q2")
    assert run.plan_jump("y", "p").dropped_joins == ["near"]
    run.jump("y", "p")
    assert run.instance.join_states == {}
    approve(run, "y")
    assert holders(run) == ["y"]
    assert count(finish(run), "near", "x", "far", "last") == [0, 0, 1, 1]


def test_two_that_go_past_the_inner_join_one_after_the_other_meet_at_the_outer_one() -> None:
    run = nested().jump("x", "p").jump("x", "q1")
    approve(run, "y", "x")
    assert holders(run) == ["x"]
    assert count(finish(run), "near", "x", "far", "last") == [0, 2, 1, 1]


def test_back_before_the_outer_split_everything_meets_once() -> None:
    run = nested().jump("draft", "p")
    approve(run, "draft")
    assert holders(run) == ["p", "q1", "q1", "y", "y"]
    assert count(finish(run), "near", "x", "far", "last") == [1, 1, 1, 1]


def test_from_the_outer_branch_into_the_inner_fork() -> None:
    run = nested().jump("q2", "y")
    approve(run, "p", "q2")
    assert holders(run) == ["q1"]
    assert count(finish(run), "near", "x", "far", "last") == [1, 1, 1, 1]


def test_a_full_jump_into_an_inner_branch_waits_for_no_other() -> None:
    run = approve(nested(), "y", "q1").jump("q2")
    approve(run, "q2")
    assert holders(run) == ["x"]
    assert count(finish(run), "near", "far", "last") == [1, 1, 1]


def test_who_is_late_stays_so_through_splits_and_joins_of_its_own() -> None:
    run = nested().jump("last", "y")
    approve(run, "last", "p", "q1", "q2")
    assert holders(run) == ["x"]
    approve(run, "x")
    assert count(run, "near", "far", "last", "end") == [1, 0, 1, 1]
    finish(run)


def test_who_is_late_for_one_round_takes_no_part_in_the_next() -> None:
    run = World().start(LOOP).jump("check", "a").approve("of-check", "again")
    assert holders(run) == ["a", "b", "b"]
    late, new = run.tasks()[0], run.tasks()[2]
    assert (late.node_id, new.node_id) == ("b", "b")
    approve(run, "a")
    run.decide(late, "of-b")
    assert count(run, "join") == [0]
    run.decide(new, "of-b")
    assert holders(run) == ["check"]
    assert count(finish(run), "join", "check", "end") == [1, 2, 1]


def test_who_is_swallowed_before_a_join_does_not_bring_another_in_time_for_it() -> None:
    """One of those who meet was late for the race, the others for the Join before it: together they are late still."""
    document = flow(
        "two",
        [
            START, node("outer", "Parallel"), task("x"), node("inner", "Parallel"), task("p"), task("q"),
            node("near", "Join"), task("y"), node("far", "Join"), node("split", "Parallel"), task("c"), task("d"),
            node("race", "Join", {"Mode": "WaitAny"}), task("last"), END,
        ],
        lines("start outer x far split c race last end", "outer inner p near y far", "inner q near", "split d race"),
    )  # fmt: skip
    run = World().start(document).jump("split", "x").jump("p", "d")
    assert holders(run) == ["c", "p", "p", "q"]
    approve(run, "c", "p", "p", "q", "y")
    assert holders(run) == ["c", "d", "last"]
    assert count(finish(run), "near", "far", "race", "last", "end") == [1, 1, 1, 1, 1]


def test_a_late_task_that_is_sent_back_is_late_still() -> None:
    document = flow(
        "late",
        [
            START, node("split", "Parallel"), task("a"), task("b1"), task("b2"), node("join", "Join"), task("last"), END
        ],
        lines("start split a join last end", "split b1 b2 join"),
    )  # fmt: skip
    run = approve(World().start(document), "b1").jump("last", "a").send_back("of-b2", "b1")
    approve(run, "last")
    assert holders(run) == ["b1"]
    assert count(finish(run), "join", "last", "end") == [0, 1, 1]


def test_a_jump_back_into_a_decided_race_runs_it_once_more_and_its_loser_stays_one() -> None:
    run = approve(World().start(RACE), "c").jump("c", "check")
    assert holders(run) == ["c", "d1"]
    approve(run, "d1", "d2")
    assert holders(run) == ["c"]
    approve(run, "c")
    assert holders(run) == ["check"]
    run.approve("of-check", "again")
    approve(run, "d1", "d2")
    assert holders(run) == ["c", "check"]
    assert count(finish(run), "race", "check") == [3, 3]


@pytest.mark.parametrize("loser", [(), ("d1",), ("d1", "d2")])
def test_after_a_return_into_a_race_every_later_round_is_won_by_the_first(loser: tuple[str, ...]) -> None:
    """The next round of the race must not swallow its first arrival as one that came too late."""
    run = approve(World().start(RACE), "c", *loser).send_back("of-check", "c")
    approve(run, "c")
    assert "check" in holders(run)
    run.approve("of-check", "again")
    approve(run, "c")
    assert "check" in holders(run)
    assert count(finish(run), "race", "check") == [3, 3]


def test_a_loser_that_goes_back_before_the_split_begins_a_race_of_its_own() -> None:
    document = flow(
        "r",
        [START, task("draft"), node("split", "Parallel"), task("c"), task("d"),
         node("race", "Join", {"Mode": "WaitAny"}), task("last"), END],
        lines("start draft split c race last end", "split d race"),
    )  # fmt: skip
    run = approve(World().start(document), "draft", "c", "last").jump("draft", "d")
    approve(run, "draft", "c")
    assert holders(run) == ["d", "last"]
    assert count(finish(run), "race", "last") == [2, 2]


def test_a_token_that_a_fault_left_is_late_still() -> None:
    document = flow(
        "f",
        [
            START, node("split", "Parallel"), task("a"), task("b"), node("fork", "Parallel"), node("x", "Scripted"),
            node("y", "SetVariable"), node("join", "Join"), task("last"), END,
        ],
        lines("start split a join last end", "split b fork x join", "fork y join"),
    )  # fmt: skip
    run = World(activities=[Scripted(doomed())]).start(document).jump("last", "a")
    approve(run, "b")
    assert run.instance.status is InstanceStatus.FAULTED
    assert [token.late for token in run.instance.pending_tokens] == [["join"]]
    run.retry()
    assert holders(run) == ["last"]
    assert count(finish(run), "y", "join", "last") == [1, 0, 1]


def test_a_return_to_a_join_runs_it_once() -> None:
    document = flow(
        "j",
        [START, node("split", "Parallel"), task("a"), task("b"), node("join", "Join"),
         task("last", ReturnTargets=["join"]), task("more"), END],
        lines("start split a join last more end", "split b join"),
    )  # fmt: skip
    run = approve(World().start(document), "a", "b").send_back("of-last", "join")
    assert run.instance.join_states == {}
    assert count(finish(run), "join", "last", "end") == [2, 2, 1]


def test_a_dropped_branch_of_the_new_version_leaves_no_dead_branch() -> None:
    """In the new version the branches follow one another: two tokens go one way, and meet at the next Join."""
    tail = ["split2", "c", "d", "join2"]
    nodes = [START, node("split2", "Parallel"), task("c"), task("d"), node("join2", "Join"), task("last"), END]
    old = flow(
        "m",
        [*nodes, node("split", "Parallel"), task("a"), task("b"), node("join", "Join")],
        lines("start split a join split2 c join2 last end", "split b join", "split2 d join2"),
    )
    new = flow("m", [*nodes, task("a"), task("b")], lines("start a b split2 c join2 last end", "split2 d join2"))
    run = World().start(old).migrate(new)
    approve(run, "a", "b", "c", "d")
    assert holders(run) == ["b"]
    approve(run, "b", "c", "d")
    assert count(finish(run), *tail, "last") == [2, 2, 2, 1, 1]
