"""Ancestors and descendants of an execution, and what hangs on them (spec 3.22)."""

from __future__ import annotations

from datetime import UTC, datetime

from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.model import JoinState, NodeInstance, PendingToken
from webapp.engine.runtime.lineage import Lineage

AT = datetime(2026, 7, 16, 8, tzinfo=UTC)


def ran(node_instance_id: str, *causes: str) -> NodeInstance:
    return NodeInstance(
        id=node_instance_id,
        instance_id="i",
        node_id=node_instance_id.rstrip("0123456789"),
        started_at=AT,
        sequence=int(node_instance_id.strip("abcdefghijklmnopqrstuvwxyz") or 1),
        caused_by=list(causes),
    )


def ids(found: list[NodeInstance]) -> list[str]:
    return [one.id for one in found]


FORK = [
    ran("start1"),
    ran("fork2", "start1"),
    ran("a3", "fork2"),
    ran("b4", "fork2"),
    ran("join5", "a3", "b4"),
    ran("end6", "join5"),
]


def test_the_descendants_of_a_branch_leave_the_other_branch_out() -> None:
    lineage = Lineage(FORK)
    assert ids(lineage.descendants(["a3"])) == ["a3", "join5", "end6"]
    assert ids(lineage.descendants(["fork2"])) == ["fork2", "a3", "b4", "join5", "end6"]
    assert ids(lineage.descendants(["a3", "b4"])) == ["a3", "b4", "join5", "end6"]
    assert ids(lineage.descendants(["end6"])) == ["end6"]
    assert ids(lineage.descendants(["gone9"])) == []


def test_the_ancestors_of_a_join_are_those_of_all_its_arrivals() -> None:
    lineage = Lineage(FORK)
    assert ids(lineage.ancestors("end6")) == ["start1", "fork2", "a3", "b4", "join5"]
    assert ids(lineage.ancestors("b4")) == ["start1", "fork2"]
    assert ids(lineage.ancestors("start1")) == []


def test_each_round_of_a_loop_has_descendants_of_its_own() -> None:
    lineage = Lineage([ran("a1"), ran("b2", "a1"), ran("a3", "b2"), ran("b4", "a3")])
    assert ids(lineage.descendants(["a3"])) == ["a3", "b4"]
    assert ids(lineage.descendants(["a1"])) == ["a1", "b2", "a3", "b4"]


def test_a_chain_of_thousands_needs_no_recursion() -> None:
    chain = [ran("n1"), *(ran(f"n{number}", f"n{number - 1}") for number in range(2, 5_001))]
    assert len(Lineage(chain).descendants(["n1"])) == 5_000
    assert len(Lineage(chain).ancestors("n5000")) == 4_999


def test_waits_arrivals_and_tokens_go_with_the_executions_that_caused_them() -> None:
    def waits(bookmark_id: str, node_instance_id: str | None) -> Bookmark:
        return Bookmark(id=bookmark_id, kind=BookmarkKind.TIMER, created_at=AT, node_instance_id=node_instance_id)

    states = {
        "join": JoinState(arrived={"a-join": ["a3"], "b-join": ["b4"], "c-join": ["b4", "a3"]}),
        "other": JoinState(arrived={"b-other": ["b4"]}),
    }
    tokens = [PendingToken(node_id="x", caused_by=["a3"]), PendingToken(node_id="y", caused_by=["b4"])]
    found = Lineage(FORK[:4]).offspring(
        ["a3"],
        bookmarks=[waits("w1", "a3"), waits("w2", "b4"), waits("w3", None)],
        join_states=states,
        tokens=tokens,
    )
    assert found.ids == {"a3"}
    assert [one.id for one in found.bookmarks] == ["w1"]
    assert found.arrivals == {"join": {"a-join": ["a3"], "c-join": ["a3"]}}
    assert [token.node_id for token in found.tokens] == ["x"]
