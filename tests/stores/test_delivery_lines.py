"""What waits behind an earlier delivery stands aside and comes back in its turn, whoever settles what (spec 10)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import func, select, update

from tests.stores.records import T0, at, attempt, save
from tests.stores.test_deliveries import State, claimed, find, line, settle
from tests.stores.test_upkeep_plans import statements_of
from tests.support.stores import StoreSet, on_every_database, on_servers
from webapp.engine.notifications.model import Delivery
from webapp.engine.ports.stores import UnitOfWork
from webapp.stores.sql.delivery_claims import LOOKED_THROUGH, MOST_PUT_ASIDE
from webapp.stores.sql.tables import PLATFORM_SET

TABLE = PLATFORM_SET.deliveries


def due(stores: StoreSet) -> int:
    """Return how many rows are among the due ones, which is what a claim goes through."""
    assert stores.engine is not None
    with stores.engine.connect() as connection:
        return connection.execute(select(func.count()).where(TABLE.c.due_at.is_not(None))).scalar_one()


def aside(stores: StoreSet, *ids: str) -> None:
    """Take rows out of the due ones, as no claim would."""
    assert stores.engine is not None
    with stores.engine.begin() as connection:
        connection.execute(update(TABLE).where(TABLE.c.id.in_(ids)).values(due_at=None))


def dropped(stores: StoreSet, *ids: str) -> None:
    with stores.stores.writing(None) as work:
        work.deliveries.drop(None, ids, at(5))


@on_every_database
def test_twenty_thousand_that_wait_are_met_once(stores: StoreSet) -> None:
    names = [f"d{number:05}" for number in range(20_001)]
    save(stores.stores, deliveries=line(*names))
    assert claimed(stores, limit=20) == ["d00000"]
    # One claim went through some of them only, and took those out of the way of the next.
    assert 20_001 - due(stores) in range(LOOKED_THROUGH, 3 * LOOKED_THROUGH)
    claims = 0
    while due(stores) > 1:
        assert claimed(stores, limit=20) == []
        claims += 1
    assert claims == -(-(20_000 - LOOKED_THROUGH) // MOST_PUT_ASIDE)
    asked = statements_of(stores, lambda work: work.deliveries.claim_due(T0, 20, "host:1", at(60)))
    assert len([one for one in asked if "open_line" in one[0]]) == 0
    assert settle(stores, "d00000", State.SENT)
    assert due(stores) == 1
    assert claimed(stores, limit=20) == ["d00001"]


def test_each_end_hands_over_to_the_next(stores: StoreSet) -> None:
    save(stores.stores, deliveries=line("a", "b", "c", "d"))
    save(stores.stores, "t1", deliveries=line("e", "f"))
    assert claimed(stores) == ["a", "e"]
    assert claimed(stores) == []
    dropped(stores, "c", "b")
    assert claimed(stores) == []
    assert settle(stores, "a", State.SENT)
    assert settle(stores, "e", State.SENT, "t1")
    assert claimed(stores) == ["f", "d"]


def test_what_is_tried_again_keeps_the_others_aside(stores: StoreSet) -> None:
    save(stores.stores, deliveries=line("a", "b"))
    assert claimed(stores) == ["a"]
    assert settle(stores, "a", State.FAILED)
    assert claimed(stores, at(29)) == []
    assert claimed(stores, at(30)) == ["a"]
    assert settle(stores, "a", State.DEAD)
    assert claimed(stores, at(99)) == []
    # What was sent is sent again: it goes before what waits, and that goes on after it.
    with stores.stores.writing(None) as work:
        assert work.deliveries.retry(None, ["a"], at(99)) == 1
    assert claimed(stores, at(99)) == ["a"]
    assert settle(stores, "a", State.SENT)
    assert claimed(stores, at(99)) == ["b"]


def test_a_bundle_comes_back_as_a_whole(stores: StoreSet) -> None:
    save(stores.stores, deliveries=line("a"))
    behind = line("a", "b", "c", "d", bundle="ann/08:00")[1:]
    save(stores.stores, deliveries=[*behind, *line("a", "b", "c", "d", "e")[4:]])
    assert claimed(stores) == ["a"]
    assert claimed(stores) == []
    assert settle(stores, "a", State.SENT)
    assert claimed(stores) == ["b", "c", "d"]


def test_one_that_comes_in_late_but_earlier_goes_first(stores: StoreSet) -> None:
    a, b, c = line("a", "b", "c")
    save(stores.stores, deliveries=[a, c])
    assert claimed(stores) == ["a"]
    save(stores.stores, deliveries=[b])
    assert settle(stores, "a", State.SENT)
    assert claimed(stores) == ["b"]
    assert claimed(stores) == []
    assert settle(stores, "b", State.SENT)
    assert claimed(stores) == ["c"]


@on_every_database
def test_what_stands_aside_behind_nothing_is_put_back(stores: StoreSet) -> None:
    save(stores.stores, deliveries=[*line("a", "b"), *line("c", "d", line_="hook/bob/i2")])
    save(stores.stores, "t1", deliveries=line("e", "f"))
    assert claimed(stores) == ["a", "c", "e"]
    assert settle(stores, "c", State.SENT)
    aside(stores, "d")
    assert claimed(stores) == []
    with stores.stores.writing(None) as work:
        assert work.deliveries.put_back_stranded("t1", 9) == 0
        assert work.deliveries.put_back_stranded(None, 9) == 1
        assert work.deliveries.put_back_stranded(None, 9) == 0
    assert claimed(stores) == ["d"]


@contextmanager
def another(stores: StoreSet) -> Iterator[UnitOfWork]:
    """A transaction of another thread's own, open as long as the block is."""
    with stores.stores.writing(None) as work:
        yield work


def sent(stores: StoreSet, name: str) -> Delivery:
    one = find(stores, name)
    one.state, one.ended_at = State.SENT, at(5)
    return one


@on_servers
def test_what_comes_in_while_the_one_before_it_is_settled_is_not_left_aside(stores: StoreSet) -> None:
    a, b = line("a", "b")
    save(stores.stores, deliveries=[a])
    assert claimed(stores) == ["a"]
    one = sent(stores, "a")
    with another(stores) as work:
        # It has looked for what comes next, found nothing, and is not committed: to others "a" is open.
        assert work.deliveries.settle(None, one, attempt("a"), "host:1")
        assert in_thread(lambda: come_and_claimed(stores, b)) == []
    assert claimed(stores) == ["b"]


@on_servers
def test_a_hand_over_goes_past_one_that_is_settled_at_the_same_time(stores: StoreSet) -> None:
    a, b, c = line("a", "b", "c")
    save(stores.stores, deliveries=[a, b])
    assert claimed(stores) == ["a"]
    one = sent(stores, "a")

    def settle_a() -> None:
        with stores.stores.writing(None) as work:
            assert work.deliveries.settle(None, one, attempt("a"), "host:1")

    later = threading.Thread(target=settle_a)
    with another(stores) as work:
        assert work.deliveries.drop(None, ["b"], at(5)) == 1
        # "c" comes too late for this hand-over, and stands aside behind "a".
        assert in_thread(lambda: come_and_claimed(stores, c)) == []
        later.start()
        # Time to come as far as "b", which is locked; where it does not, the test shows less and does not fail.
        later.join(0.3)
    later.join(30)
    assert claimed(stores) == ["c"]


@on_servers
@pytest.mark.parametrize("first", ["a", "b"])
def test_of_two_that_end_at_once_one_hands_over(stores: StoreSet, first: str) -> None:
    save(stores.stores, deliveries=line("a", "b", "c"))
    assert claimed(stores) == ["a"]
    assert claimed(stores) == []
    one = sent(stores, "a")

    def end(work: UnitOfWork, name: str) -> None:
        if name == "a":
            assert work.deliveries.settle(None, one, attempt("a"), "host:1")
        else:
            assert work.deliveries.drop(None, ["b"], at(5)) == 1

    def other() -> None:
        with stores.stores.writing(None) as work:
            end(work, "b" if first == "a" else "a")

    later = threading.Thread(target=other)
    with another(stores) as work:
        end(work, first)
        later.start()
        # It comes as far as the row that both want, or not even there: either way "c" must be handed over to.
        later.join(0.1)
    later.join(30)
    assert claimed(stores) == ["c"]


def come_and_claimed(stores: StoreSet, one: Delivery) -> list[str]:
    save(stores.stores, deliveries=[one])
    return claimed(stores)


def in_thread(call: Callable[[], list[str]]) -> list[str]:
    """Return what a call in another thread returns: a transaction of its own."""
    found: list[list[str]] = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join(30)
    assert found, "it waits for the transaction that is open"
    return found[0]
