"""The store of deliveries: claimed once, in the order of their lines, accounted for attempt by attempt (spec 10)."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import msgspec
import pytest

from tests.stores.records import T0, at, attempt, delivery, notice, save
from tests.support.stores import StoreSet, also_apart, on_servers
from webapp.engine.notifications.model import (
    AttemptOutcome,
    Delivery,
    DeliveryAttempt,
    DeliveryContent,
    DeliveryState,
)
from webapp.engine.ports.notices import DeliveryQuery
from webapp.engine.ports.queries import Paging
from webapp.engine.ports.stores import Partition

State = DeliveryState


def claim(
    stores: StoreSet,
    now: datetime = T0,
    limit: int = 100,
    token: str = "host:1",
    until: datetime | None = None,
    without: Collection[Partition] = (),
    bundle: str | None = None,
) -> Sequence[Delivery]:
    with stores.stores.writing(None) as work:
        return work.deliveries.claim_due(now, limit, token, until or at(60), without, bundle)


def claimed(stores: StoreSet, *args: Any, **more: Any) -> list[str]:
    return [one.id for one in claim(stores, *args, **more)]


def find(stores: StoreSet, delivery_id: str, partition: Partition = None) -> Delivery:
    with stores.stores.reading(partition) as work:
        found = work.deliveries.find(partition, delivery_id)
    assert found is not None
    return found


def attempts(stores: StoreSet, delivery_id: str, partition: Partition = None) -> Sequence[DeliveryAttempt]:
    with stores.stores.reading(partition) as work:
        return work.deliveries.attempts(partition, delivery_id)


def settle(
    stores: StoreSet, delivery_id: str, state: DeliveryState, partition: Partition = None, token: str = "host:1"
) -> bool:
    """End the attempt that is under way at 5 seconds; a failed one is tried again at 30."""
    one = find(stores, delivery_id, partition)
    is_over = state in (State.SENT, State.DEAD)
    one.state, one.ended_at = state, at(5) if is_over else None
    one.next_attempt_at = at(30) if state is State.FAILED else one.next_attempt_at
    outcome = AttemptOutcome.SENT if state is State.SENT else AttemptOutcome.FAILED
    with stores.stores.writing(partition) as work:
        done = attempt(delivery_id, one.attempts, outcome=outcome)
        return work.deliveries.settle(partition, one, done, token)


def in_state(stores: StoreSet, state: DeliveryState, *ids: str, **values: Any) -> None:
    """Store deliveries that have come to a state, each in a line of its own."""
    save(stores.stores, deliveries=[delivery(one, **values) for one in ids])
    if state in (State.SENT, State.DEAD, State.FAILED, State.SENDING):
        assert sorted(claimed(stores)) == sorted(ids)
    for one in ids:
        if state is State.DROPPED:
            with stores.stores.writing(None) as work:
                assert work.deliveries.drop(None, [one], at(5)) == 1
        elif state not in (State.PENDING, State.SENDING):
            assert settle(stores, one, state)


def test_a_delivery_comes_back_as_it_was(stores: StoreSet) -> None:
    one = delivery(
        "d",
        notice_id="n",
        recipient_id="ann",
        address="ann@example.org",
        bundle="ann/hourly",
        content=DeliveryContent(title="T", body="B", task_id="k", template_id="t", template_version=2),
    )
    event = delivery("e", topic="workflow.task.created", content=DeliveryContent(data={"id": 1}))
    save(stores.stores, notices=[notice("n")], deliveries=[one, event])
    assert (find(stores, "d"), find(stores, "e")) == (one, event)
    with stores.stores.reading(None) as work:
        assert work.deliveries.find("t1", "d") is None
        assert work.deliveries.attempts(None, "d") == []


def test_what_is_there_stays_as_it_is(stores: StoreSet) -> None:
    in_state(stores, State.SENT, "d")
    save(stores.stores, deliveries=[delivery("d"), delivery("e")])
    with stores.stores.writing(None) as work:
        work.deliveries.insert(None, [delivery("d"), delivery("e"), delivery("f"), delivery("f", sequence=2)])
        work.deliveries.insert(None, [])
    assert find(stores, "d").state is State.SENT
    assert claimed(stores) == ["e", "f"]


def test_a_record_of_another_partition_is_refused(stores: StoreSet) -> None:
    with pytest.raises(ValueError, match="t1"), stores.stores.writing(None) as work:
        work.deliveries.insert(None, [delivery("d", tenant_id="t1")])


def test_due_ones_are_claimed_once_over_all_partitions(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery("b", next_attempt_at=at(2)), delivery("later", next_attempt_at=at(99))])
    own = [delivery("a", next_attempt_at=at(2)), delivery("c", next_attempt_at=at(1)), delivery("d", sequence=2)]
    save(stores.stores, "t1", deliveries=own)
    found = claim(stores, at(5), limit=3)
    assert [(one.id, one.tenant_id, one.state, one.attempts) for one in found] == [
        ("d", "t1", State.SENDING, 1),
        ("c", "t1", State.SENDING, 1),
        ("a", "t1", State.SENDING, 1),
    ]
    assert found[1] == find(stores, "c", "t1")
    assert claimed(stores, at(5)) == ["b"]
    assert claimed(stores, at(5)) == []


def test_those_due_at_once_come_by_sequence_then_id(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery("c"), delivery("a", sequence=2), delivery("b")])
    assert claimed(stores, limit=2) == ["b", "c"]
    assert claimed(stores) == ["a"]


def test_partitions_can_be_left_out(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery("p", next_attempt_at=at(3))])
    save(stores.stores, "t1", deliveries=[delivery("a", next_attempt_at=at(2))])
    with stores.stores.reading(None) as work:
        assert not work.deliveries.any_due(at(9), {None, "t1"})
        assert work.deliveries.any_due(at(9), {None})
        assert work.deliveries.next_due() == at(2)
        assert work.deliveries.next_due({"t1"}) == at(3)
        assert work.deliveries.next_due({None, "t1"}) is None
    assert claimed(stores, at(9), without={"t1"}) == ["p"]
    assert claimed(stores, at(9), without={None}) == ["a"]


def test_what_may_be_sent_is_seen_without_writing(stores: StoreSet) -> None:
    def looks(now: datetime) -> tuple[bool, datetime | None]:
        with stores.stores.reading(None) as work:
            return work.deliveries.any_due(now), work.deliveries.next_due()

    assert looks(at(5)) == (False, None)
    save(stores.stores, deliveries=[delivery("a", next_attempt_at=at(5))])
    assert looks(at(4.999)) == (False, at(5))
    assert looks(at(5)) == (True, at(5))
    claim(stores, at(5))
    assert looks(at(59.9)) == (False, None)
    # The claim's time is over.
    assert looks(at(60)) == (True, None)


def line(*ids: str, line_: str = "hook/ann/i1", **values: Any) -> list[Delivery]:
    return [delivery(one, line=line_, sequence=number, **values) for number, one in enumerate(ids, start=1)]


def test_one_of_a_line_waits_for_those_before_it(stores: StoreSet) -> None:
    # The second is due long before the first.
    save(stores.stores, deliveries=line("a", "b", "c", next_attempt_at=at(1)))
    save(stores.stores, deliveries=[delivery("alone"), delivery("z", line="hook/ann/i1", next_attempt_at=at(0))])
    assert claimed(stores, at(1)) == ["alone", "a"]
    assert claimed(stores, at(2)) == []
    assert settle(stores, "a", State.FAILED)
    assert claimed(stores, at(29)) == []
    with stores.stores.reading(None) as work:
        assert (work.deliveries.any_due(at(29)), work.deliveries.next_due()) == (False, at(30))
    assert claimed(stores, at(30)) == ["a"]
    assert settle(stores, "a", State.SENT)
    # Of one sequence the ids decide.
    assert claimed(stores, at(30)) == ["z"]
    assert settle(stores, "z", State.SENT)
    assert claimed(stores, at(30)) == ["b"]


def test_a_dead_one_stops_its_own_line_only_until_somebody_decides(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[*line("a", "b"), *line("c", "d", line_="hook/ann/i2")])
    save(stores.stores, "t1", deliveries=line("e", "f"))
    assert claimed(stores) == ["a", "c", "e"]
    assert settle(stores, "a", State.DEAD)
    assert settle(stores, "c", State.SENT)
    assert settle(stores, "e", State.SENT, "t1")
    assert claimed(stores) == ["d", "f"]
    with stores.stores.reading(None) as work:
        assert not work.deliveries.any_due(at(9))
        assert work.deliveries.next_due() is None
    with stores.stores.writing(None) as work:
        assert work.deliveries.drop(None, ["a"], at(9)) == 1
    assert claimed(stores) == ["b"]


def test_a_digest_goes_out_as_a_whole_although_its_parts_are_of_one_line(stores: StoreSet) -> None:
    save(stores.stores, deliveries=line("a", "b", "c", bundle="ann/08:00"))
    save(stores.stores, deliveries=line("w", "x", "y", line_="hook/ann/i2", bundle="ann/08:00"))
    save(stores.stores, deliveries=[delivery("v", line="hook/ann/i2", sequence=0, bundle="ann/07:00")])
    assert claimed(stores) == ["v", "a", "b", "c"]
    assert settle(stores, "a", State.FAILED)
    assert settle(stores, "b", State.FAILED)
    with stores.stores.writing(None) as work:
        work.deliveries.give_back("host:1", ["c"])
    # Its own bundle is tried again later: it does not overtake it.
    assert claimed(stores, at(29)) == []
    assert claimed(stores, at(30)) == ["c", "a", "b"]
    assert settle(stores, "v", State.DEAD)
    assert claimed(stores, at(30)) == []


def test_the_rest_of_a_digest_is_claimed_behind_what_one_has_of_it(stores: StoreSet) -> None:
    save(
        stores.stores,
        deliveries=[
            *line("d1", "d2", "d3", bundle="ann at 8"),
            *line("d4", bundle="bob at 8", line_="hook/bob/i1"),
            *line("d5", line_="hook/cid/i1"),
        ],
    )
    assert claimed(stores, limit=1) == ["d1"]
    assert claimed(stores, token="host:2", bundle="ann at 8") == []
    assert claimed(stores, bundle="ann at 8") == ["d2", "d3"]
    assert claimed(stores, bundle="ann at 8") == []
    assert claimed(stores) == ["d4", "d5"]


def test_what_cannot_be_sent_now_is_put_off_with_a_reason_and_uncounted(stores: StoreSet) -> None:
    save(stores.stores, deliveries=line("d1"))
    assert claimed(stores) == ["d1"]
    with stores.stores.writing(None) as work:
        assert work.deliveries.give_back("host:2", ["d1"], at(30), "switched off") == 0
        assert work.deliveries.give_back("host:1", ["d1"], at(30), "switched off") == 1
    found = find(stores, "d1")
    assert (found.state, found.attempts, found.next_attempt_at) == (State.PENDING, 0, at(30))
    assert found.last_error == "switched off"
    assert claimed(stores, at(29)) == []
    assert claimed(stores, at(30)) == ["d1"]


def test_an_attempt_is_settled_once_with_its_row(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery("d")])
    one = claim(stores)[0]
    sent = msgspec.structs.replace(one, state=State.SENT, receipt="r-1", ended_at=at(5))
    with stores.stores.writing(None) as work:
        assert not work.deliveries.settle(None, sent, attempt("d"), "host:2")
        assert not work.deliveries.settle(None, msgspec.structs.replace(sent, id="none"), attempt("none"), "host:1")
    assert (find(stores, "d"), attempts(stores, "d")) == (one, [])
    with stores.stores.writing(None) as work:
        assert work.deliveries.settle(None, sent, attempt("d"), "host:1")
        assert not work.deliveries.settle(None, sent, attempt("d", 2), "host:1")
    assert find(stores, "d") == sent
    assert attempts(stores, "d") == [attempt("d")]
    assert claimed(stores, at(99)) == []


def test_a_settling_that_is_rolled_back_leaves_the_claim(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery("d")])
    one = claim(stores)[0]
    sent = msgspec.structs.replace(one, state=State.SENT)
    with pytest.raises(ZeroDivisionError), stores.stores.writing(None) as work:
        work.deliveries.settle(None, sent, attempt("d"), "host:1")
        1 / 0  # noqa: B018 -- any failure of the block
    assert (find(stores, "d"), attempts(stores, "d")) == (one, [])


def test_a_failure_keeps_its_error_and_waits(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery("d")])
    one = claim(stores)[0]
    failed = msgspec.structs.replace(one, state=State.FAILED, next_attempt_at=at(30), last_error="503")
    failure = attempt("d", outcome=AttemptOutcome.FAILED, error="503")
    with stores.stores.writing(None) as work:
        assert work.deliveries.settle(None, failed, failure, "host:1")
    assert find(stores, "d") == failed
    assert claimed(stores, at(29.9)) == []
    again = claim(stores, at(30), until=at(90))
    assert [(one.attempts, one.last_error) for one in again] == [(2, "503")]
    assert attempts(stores, "d") == [failure]


def test_a_claim_that_ran_out_is_taken_over_and_its_attempt_is_lost(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery("d")])
    save(stores.stores, "t1", deliveries=[delivery("e")])
    claim(stores, at(1))
    assert claimed(stores, at(59.9), token="host:2") == []
    late = find(stores, "d")
    assert claimed(stores, at(60), token="host:2", until=at(120)) == ["d", "e"]
    lost = attempt("d", started_at=at(1), duration_ms=0, outcome=AttemptOutcome.LOST)
    assert attempts(stores, "d") == [lost]
    assert attempts(stores, "e", "t1") == [msgspec.structs.replace(lost, delivery_id="e")]
    # The first process comes back after all.
    with stores.stores.writing(None) as work:
        assert not work.deliveries.settle(None, late, attempt("d"), "host:1")
    assert settle(stores, "d", State.SENT, token="host:2")
    assert [one.number for one in attempts(stores, "d")] == [1, 2]
    assert find(stores, "d").attempts == 2


def test_claims_of_a_process_that_is_gone_are_freed(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery("a"), delivery("b", sequence=2)])
    save(stores.stores, "t1", deliveries=[delivery("c", sequence=3)])
    assert claimed(stores, at(1), limit=1, token="host:1:x") == ["a"]
    assert claimed(stores, at(1), limit=2, token="host:2:y") == ["b", "c"]
    with stores.stores.writing(None) as work:
        assert work.deliveries.claim_tokens() == ["host:1:x", "host:2:y"]
        assert work.deliveries.release_claims("host:2") == 2
        assert work.deliveries.release_claims("host:2") == 0
        assert work.deliveries.claim_tokens() == ["host:1:x"]
    assert (find(stores, "b").state, find(stores, "b").attempts) == (State.FAILED, 1)
    lost = attempt("c", started_at=at(1), duration_ms=0, outcome=AttemptOutcome.LOST)
    assert attempts(stores, "c", "t1") == [lost]
    assert claimed(stores, at(1)) == ["b", "c"]
    assert find(stores, "c", "t1").attempts == 2


def test_what_was_not_tried_is_given_back_uncounted(stores: StoreSet) -> None:
    in_state(stores, State.FAILED, "old")
    save(stores.stores, "t1", deliveries=[delivery("new")])
    assert claimed(stores, at(30)) == ["new", "old"]
    with stores.stores.writing(None) as work:
        assert work.deliveries.give_back("host:2", ["old", "new"]) == 0
        assert work.deliveries.give_back("host:1", ["old", "new", "none"]) == 2
        assert work.deliveries.give_back("host:1", ["old"]) == 0
        assert work.deliveries.give_back("host:1", []) == 0
        assert work.deliveries.claim_tokens() == []
    assert (find(stores, "old").state, find(stores, "old").attempts) == (State.FAILED, 1)
    assert (find(stores, "new", "t1").state, find(stores, "new", "t1").attempts) == (State.PENDING, 0)
    assert claimed(stores, at(30)) == ["new", "old"]


@pytest.mark.parametrize(
    ("state", "retried", "dropped", "replayed"),
    [
        (State.PENDING, 0, 1, 0),
        (State.SENDING, 0, 0, 0),
        (State.FAILED, 1, 1, 0),
        (State.DEAD, 1, 1, 0),
        (State.SENT, 0, 0, 1),
        (State.DROPPED, 1, 0, 0),
    ],
)
@pytest.mark.parametrize("action", ["retry", "drop", "replay"])
def test_what_an_administrator_may_do_depends_on_the_state(
    stores: StoreSet, state: State, retried: int, dropped: int, replayed: int, action: str
) -> None:
    in_state(stores, state, "d")
    expected = {"retry": retried, "drop": dropped, "replay": replayed}[action]
    before = find(stores, "d")
    with stores.stores.writing(None) as work:
        act = getattr(work.deliveries, action)
        assert act("t1", ["d"], at(40)) == 0
        assert act(None, [], at(40)) == 0
        assert act(None, ["none", "d", "d"], at(40)) == expected
    now = find(stores, "d")
    if not expected:
        assert now == before
    elif action == "drop":
        assert (now.state, now.ended_at, now.attempts) == (State.DROPPED, at(40), before.attempts)
        assert claimed(stores, at(99)) == []
    else:
        assert (now.state, now.ended_at, now.next_attempt_at) == (State.PENDING, None, at(40))
        assert claimed(stores, at(39)) == []
        assert [one.attempts for one in claim(stores, at(40))] == [before.attempts + 1]


def listed(stores: StoreSet, partition: Partition = None, **query: Any) -> list[str]:
    with stores.stores.reading(partition) as work:
        return [one.id for one in work.deliveries.list(partition, DeliveryQuery(**query)).items]


def test_lists_are_newest_first_whatever_the_state(stores: StoreSet) -> None:
    in_state(stores, State.SENT, "a", "b", created_at=at(1))
    in_state(stores, State.DEAD, "c", sequence=2, created_at=at(1))
    in_state(stores, State.PENDING, "d", created_at=at(0))
    save(stores.stores, "t1", deliveries=[delivery("theirs")])
    assert listed(stores) == ["c", "b", "a", "d"]
    assert listed(stores, states=(State.SENT,)) == ["b", "a"]
    assert listed(stores, states=(State.PENDING, State.DEAD)) == ["c", "d"]
    assert listed(stores, "t1") == ["theirs"]
    with stores.stores.reading(None) as work:
        page = work.deliveries.list(None, DeliveryQuery(paging=Paging(offset=1, limit=2)))
        assert ([one.id for one in page.items], page.total) == (["b", "a"], 4)
        page = work.deliveries.list(None, DeliveryQuery(states=(State.SENT,), paging=Paging(limit=1)))
        assert ([one.id for one in page.items], page.total) == (["b"], 2)
        assert page.items[0] == find(stores, "b")


def test_lists_can_be_narrowed(stores: StoreSet) -> None:
    save(
        stores.stores,
        deliveries=[
            delivery("a", recipient_id="ann", endpoint_id="email"),
            delivery("b", topic="workflow.task.created", instance_id="i2"),
            delivery("c", recipient_id="bob", instance_id=None),
        ],
    )
    assert listed(stores, endpoint_id="email") == ["a"]
    assert listed(stores, endpoint_id="hook") == ["c", "b"]
    assert listed(stores, recipient_id="bob") == ["c"]
    assert listed(stores, topic="workflow.task.created") == ["b"]
    assert listed(stores, instance_id="i2", states=(State.PENDING,)) == ["b"]
    assert listed(stores, instance_id="i2", states=(State.DEAD,)) == []
    assert listed(stores, instance_id="i1", endpoint_id="email", recipient_id="ann") == ["a"]


def test_states_are_counted_those_sent_since_a_time(stores: StoreSet) -> None:
    in_state(stores, State.SENT, "a", "b")
    in_state(stores, State.DEAD, "c")
    in_state(stores, State.DROPPED, "d")
    in_state(stores, State.PENDING, "e", "f")
    with stores.stores.reading(None) as work:
        assert work.deliveries.counts(None, at(5)) == {"sent": 2, "dead": 1, "dropped": 1, "pending": 2}
        assert work.deliveries.counts(None, at(5.001)) == {"dead": 1, "dropped": 1, "pending": 2}
        assert work.deliveries.counts("t1", T0) == {}


def test_settled_ones_are_purged_with_their_attempts_and_nothing_else(stores: StoreSet) -> None:
    in_state(stores, State.SENT, "a", "b")
    in_state(stores, State.DEAD, "dead")
    in_state(stores, State.DROPPED, "dropped")
    in_state(stores, State.PENDING, "open")
    with stores.stores.writing(None) as work:
        assert work.deliveries.purge(None, at(5), 9) == 0
        assert work.deliveries.purge("t1", at(6), 9) == 0
        assert work.deliveries.purge(None, at(6), 2) == 2
        assert work.deliveries.purge(None, at(6), 9) == 1
        assert work.deliveries.purge(None, at(6), 9) == 0
    assert sorted(listed(stores)) == ["dead", "open"]
    assert attempts(stores, "a") == []
    assert len(attempts(stores, "dead")) == 1


@also_apart
def test_deliveries_lie_where_their_partition_does(stores: StoreSet) -> None:
    for tenant in ("acme", "t1", "zeta"):
        content = DeliveryContent(title=tenant)
        save(stores.stores, tenant, deliveries=[delivery("d", content=content), delivery(f"d-{tenant}")])
    assert find(stores, "d", "acme").content.title == "acme"
    with stores.stores.reading("zeta") as work:
        assert work.deliveries.find("zeta", "d") is None
    apart = stores.kind.endswith("apart")
    with stores.stores.writing("t1") as work:
        # Its own database when it has one, else all tenants'.
        found = work.deliveries.claim_due(T0, 9, "host:1", at(60))
    assert [one.id for one in found] == (["d", "d-t1"] if apart else ["d", "d-acme", "d-t1", "d-zeta"])


@on_servers
def test_processes_that_claim_at_once_take_different_ones(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[delivery(f"d{number:02}") for number in range(20)])
    save(stores.stores, deliveries=line("x1", "x2", next_attempt_at=at(-1)))
    first = threading.Event()
    done = threading.Event()
    taken: list[str] = []

    def other() -> None:
        with stores.stores.writing(None) as work:
            taken.extend(one.id for one in work.deliveries.claim_due(T0, 10, "host:2", at(60)))
            first.set()
            assert done.wait(60)

    process = threading.Thread(target=other)
    process.start()
    try:
        assert first.wait(60)
        own = claimed(stores, limit=30)
    finally:
        done.set()
        process.join()
    assert len(taken) == 10
    assert "x1" in taken
    # x2 waits for x1, which the other one has.
    left = {f"d{number:02}" for number in range(20)} - set(taken)
    # MariaDB reads so small a table as a whole, and the other one has locked what it read: it is left with nothing.
    assert set(own) == left or (stores.kind == "mariadb" and own == [])
    assert set(claimed(stores, limit=30)) == left - set(own)
