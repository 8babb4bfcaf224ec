"""The page of one instance: states on the diagram, taken ways, waits, trail and names (spec 12)."""

from __future__ import annotations

import pytest

from tests.services.stores_that_fail import gone
from tests.support.engine import ADMIN, Installation, actor
from tests.support.flows import END, START, edge, flow, node
from webapp.engine.errors import Unavailable
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.numbers import JsonObject
from webapp.engine.runtime.jumping import Jump
from webapp.services.views import NodeState, Wait

PURCHASE = flow(
    "purchase",
    [
        START,
        node("split", "Parallel"),
        node("boss", "UserTask", {"Assignees": ["u1", "u2"], "CompletionPolicy": "All", "Title": "Buy {{what}}"}),
        node("price", "TestFlaky", {"SucceedOnAttempt": 2}, retry_policy={"maxAttempts": 3, "firstDelaySeconds": 5}),
        node("join", "Join", name="Both agreed"),
        END,
    ],
    [
        edge("start", "split"),
        edge("split", "boss"),
        edge("split", "price"),
        edge("boss", "join"),
        edge("price", "join"),
        edge("join", "end"),
    ],
)


def test_the_overview_of_a_running_instance(house: Installation) -> None:
    house.account("u1", display_name="Ulla One")
    house.publish(PURCHASE)
    begun = house.store_set.clock.now()
    instance = house.start("purchase", {"what": "chairs"})

    page = house.services.monitor.overview(ADMIN, instance.id)
    assert page.node_states["start"] == NodeState(node_id="start", state="completed", count=1, since=begun)
    boss = page.node_states["boss"]
    assert (boss.state, boss.signers_done, boss.signers_total) == ("waiting", 0, 2)
    price = page.node_states["price"]
    assert (price.state, price.try_count, price.max_attempts) == ("retrying", 1, 3)
    assert set(page.node_states) == {"start", "split", "boss", "price"}
    assert page.taken_transition_ids == ["start-split", "split-boss", "split-price"]
    tasks = [wait for wait in page.waits if wait.kind is BookmarkKind.USER_TASK]
    assert [(wait.who, wait.title, wait.since) for wait in tasks] == [
        ("u1", "Buy chairs", begun), ("u2", "Buy chairs", begun),
    ]  # fmt: skip
    retries = [wait for wait in page.waits if wait.kind is BookmarkKind.RETRY]
    assert [(wait.node_id, wait.attempt, wait.max_attempts) for wait in retries] == [("price", 2, 3)]
    assert page.names == {"u1": "Ulla One"}
    assert page.may_operate
    assert not page.truncated


def test_a_join_says_which_branch_is_missing(house: Installation) -> None:
    house.publish(PURCHASE)
    instance = house.start("purchase", {"what": "chairs"})
    house.elapse(5)

    page = house.services.monitor.overview(ADMIN, instance.id)
    assert page.node_states["price"].state == "completed"
    assert page.node_states["price"].try_count == 2
    join = page.node_states["join"]
    assert (join.state, join.arrived, join.expected) == ("waiting", 1, 2)
    assert page.waits[-1] == Wait(
        bookmark_id=None,
        kind="Join",
        node_id="join",
        node_name="Both agreed",
        arrived=1,
        expected=2,
        missing=["boss"],
    )
    assert "price-join" in page.taken_transition_ids


def test_a_join_whose_tokens_were_moved_waits_for_those_that_can_still_come(house: Installation) -> None:
    names = ("a", "b", "c")
    house.publish(
        flow(
            "three",
            [START, node("split", "Parallel"), *(_task(name) for name in names), node("join", "Join"), END],
            [
                edge("start", "split"),
                *(edge("split", name) for name in names),
                *(edge(name, "join") for name in names),
                edge("join", "end"),
            ],
        )
    )
    instance = house.start("three")
    house.decide("of-a", "approved")
    house.services.operations.jump(ADMIN, instance.id, Jump(to_node_id="c", from_node_id="b"))

    page = house.services.monitor.overview(ADMIN, instance.id)
    state, wait = page.node_states["join"], page.waits[-1]
    assert (state.arrived, state.expected) == (1, 2)
    assert (wait.kind, wait.arrived, wait.expected, wait.missing) == ("Join", 1, 2, ["c"])


def _task(name: str) -> JsonObject:
    return node(name, "UserTask", {"Assignees": [f"of-{name}"]})


def test_the_trail_tells_everything_newest_first(house: Installation) -> None:
    house.publish(PURCHASE)
    instance = house.start("purchase", {"what": "chairs"})
    house.elapse(5)
    house.store_set.clock.advance(60)
    house.decide("u1", "approved", comment="good")
    house.store_set.clock.advance(60)
    house.services.instances.cancel(ADMIN, instance.id, "no money")

    page = house.services.monitor.overview(ADMIN, instance.id)
    told = [(entry.kind, entry.action, entry.actor_id or entry.assignee_id or entry.node_id) for entry in page.trail]
    assert told[0] == ("command", "cancel", "admin")
    assert page.trail[0].reason == "no money"
    assert told.index(("command", "complete", "u1")) < told.index(("command", "start", "admin"))
    assert ("task", "taskCreated", "u1") in told
    assert ("task", "taskEnded", "u2") in told
    assert ("task", "taskEnded", "u1") not in told
    assert ("node", "nodeCompleted", "price") in told
    assert all(entry.kind != "command" or entry.actor_id for entry in page.trail)
    assert [entry.at for entry in page.trail] == sorted((entry.at for entry in page.trail), reverse=True)
    assert page.waits == []
    assert page.node_states["boss"].state == "canceled"


def test_a_fault_shows_at_its_node_and_in_the_trail(house: Installation) -> None:
    house.publish(flow("bad", [START, node("x", "Fault", {"Message": "no {{what}}"}), END]))
    instance = house.start("bad", {"what": "luck"}, by=actor("starter"))
    page = house.services.monitor.overview(actor("starter"), instance.id)
    assert page.node_states["x"].state == "faulted"
    assert not page.may_operate
    (fault,) = [entry for entry in page.trail if entry.kind == "fault"]
    assert fault.fault is not None
    assert fault.fault.args == {"text": "no luck"}


def test_a_node_that_ran_twice_shows_its_latest_run(house: Installation) -> None:
    house.publish(
        flow(
            "again",
            [START, node("ask", "UserTask", {"Assignees": ["u1"]}), END],
            [
                edge("start", "ask"),
                edge("ask", "ask", "outcome == 'again'"),
                edge("ask", "end", is_default=True),
            ],
        )
    )
    instance = house.start("again")
    house.decide("u1", "again")
    page = house.services.monitor.overview(ADMIN, instance.id)
    assert (page.node_states["ask"].state, page.node_states["ask"].count) == ("waiting", 2)
    assert page.taken_transition_ids == ["start-ask", "ask-ask"]


def test_names_that_cannot_be_read_are_a_refusal(house: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    house.publish(PURCHASE)
    instance = house.start("purchase", {"what": "chairs"})

    def fail(*arguments: object) -> dict[str, str]:
        raise gone()

    monkeypatch.setattr(house.store_set.accounts, "display_names", fail)
    with pytest.raises(Unavailable):
        house.services.monitor.overview(ADMIN, instance.id)


def test_what_people_did_last_does_not_hide_behind_a_long_loop(house: Installation) -> None:
    house.publish(PURCHASE)
    instance = house.start("purchase", {"what": "chairs"})
    at = house.store_set.clock.now()
    turns = [
        AuditEntry(id=f"turn-{number}", at=at, sequence=10**18 + number, action="due", instance_id=instance.id)
        for number in range(1_100)
    ]
    with house.store_set.stores.writing(None) as work:
        work.audit.append(None, turns)
    house.store_set.clock.advance(1)
    house.services.inbox.transfer(actor("u1"), house.task("u1").id, "u9")

    for trail in (
        house.services.monitor.overview(ADMIN, instance.id).trail,
        house.services.inbox.get(ADMIN, house.task("u9").id).trail,
    ):
        assert [entry.action for entry in trail if entry.kind == "command"] == ["transfer", "start"]
