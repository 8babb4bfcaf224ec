"""The bookmark store: lookups, due ones, claims (spec 8.4, 8.10)."""

from datetime import timedelta

from tests.stores.records import T0, at, bookmark, follow_up, save, start, timer
from webapp.engine.instances.bookmarks import BACKGROUND_KEY, BookmarkKind, Lane, Priority
from webapp.engine.numbers import JsonDecimal

ALL_LANES = tuple(Lane)
UNTIL = T0 + timedelta(seconds=60)


def any_due(stores, now, lanes=ALL_LANES, without=()):
    with stores.stores.reading(None) as work:
        return work.bookmarks.any_due(now, lanes, without)


def claim(stores, now=T0, limit=100, token="h/host/1/2/u1", until=UNTIL, lanes=ALL_LANES, without=()):
    with stores.stores.writing(None) as work:
        return [item.id for item in work.bookmarks.claim_due(now, limit, token, until, lanes, without)]


def due(stores, now, limit=100, partition=None):
    with stores.stores.reading(partition) as work:
        return [item.id for item in work.bookmarks.due(partition, now, limit)]


def test_a_bookmark_comes_back_as_it_was(stores):
    stored = bookmark(
        "b1",
        root_instance_id="i1",
        payload={"form": {"amount": JsonDecimal("9.90")}},
        correlation_id="C",
        available_at=at(1),
        due_at=at(2),
        original_due_at=at(1),
        failures=3,
        worker_id="w",
        lock_token="l",
        task_due_at=at(3),
        priority=Priority.URGENT,
        claimed_by="ann",
        claimable=True,
        signers_done=1,
        signers_total=2,
        opened_at=at(4),
        round=2,
        sequence=11,
    )
    start(stores.stores, new_bookmarks=[stored])
    with stores.stores.reading(None) as work:
        assert work.bookmarks.find(None, "b1") == stored
        assert work.bookmarks.by_instance(None, "i1") == [stored]
        assert work.bookmarks.find(None, "none") is None
        summary = work.bookmarks.summaries(None, "i1")[0]
    assert (summary.id, summary.kind, summary.key, summary.due_at) == ("b1", BookmarkKind.USER_TASK, "ann", at(2))
    assert (summary.node_instance_id, summary.available_at, summary.created_at) == ("i1-n", at(1), T0)


def test_bookmarks_are_oldest_first_with_ties_by_sequence(stores):
    start(
        stores.stores,
        new_bookmarks=[
            bookmark("c", created_at=at(2), sequence=1),
            bookmark("b", created_at=at(1), sequence=9),
            bookmark("a", created_at=at(1), sequence=10),
        ],
    )
    with stores.stores.reading(None) as work:
        assert [item.id for item in work.bookmarks.by_instance(None, "i1")] == ["b", "a", "c"]
        assert [item.id for item in work.bookmarks.summaries(None, "i1")] == ["b", "a", "c"]
        found = work.bookmarks.by_kind_and_key(None, BookmarkKind.USER_TASK, "ann")
        assert [item.id for item in found] == ["b", "a", "c"]


def test_kind_and_key_are_compared_exactly(stores):
    start(stores.stores, new_bookmarks=[bookmark("a", key="ann"), bookmark("b", key="Ann"), timer("c", 1, key="ann")])
    with stores.stores.reading(None) as work:
        assert [item.id for item in work.bookmarks.by_kind_and_key(None, BookmarkKind.USER_TASK, "ann")] == ["a"]
        assert [item.id for item in work.bookmarks.by_kind_and_key(None, BookmarkKind.TIMER, "ann")] == ["c"]
        assert list(work.bookmarks.by_kind_and_key(None, BookmarkKind.SIGNAL, "ann")) == []


def test_due_ones_come_longest_due_first(stores):
    start(
        stores.stores,
        new_bookmarks=[
            timer("later", 30),
            timer("b", 10, sequence=2),
            timer("a", 10, sequence=3),
            timer("first", 5),
            bookmark("task"),
        ],
    )
    assert due(stores, at(4.999999)) == []
    assert due(stores, at(10)) == ["first", "b", "a"]
    assert due(stores, at(99), limit=2) == ["first", "b"]


def test_claimed_ones_are_not_claimed_again_until_the_claim_is_over(stores):
    start(stores.stores, new_bookmarks=[timer("a", 1), timer("b", 2), timer("c", 3), timer("d", 300)])
    assert claim(stores, at(10), limit=2, until=at(70)) == ["a", "b"]
    assert claim(stores, at(10), until=at(70)) == ["c"]
    assert claim(stores, at(10)) == []
    assert due(stores, at(10)) == ["a", "b", "c"]  # a claim binds pollers only
    assert claim(stores, at(69.9)) == []
    assert claim(stores, at(70), until=at(130)) == ["a", "b", "c"]


def test_what_can_be_claimed_is_seen_without_writing(stores):
    assert not any_due(stores, at(10))
    start(stores.stores, "x", "t1", new_bookmarks=[timer("a", 10, "x"), bookmark("task", "x")])
    assert not any_due(stores, at(9.999))
    assert any_due(stores, at(10))
    assert not any_due(stores, at(10), lanes=[Lane.BACKGROUND])
    claim(stores, at(10), until=at(70))
    assert not any_due(stores, at(69.9))
    assert any_due(stores, at(70))
    start(stores.stores, new_bookmarks=[timer("b", 10)])
    assert any_due(stores, at(10))


KINDS_AND_KEYS = {
    Lane.POLLER: [
        ("timer", BookmarkKind.TIMER, None),
        ("gateway", BookmarkKind.TIMER, "Escalate"),
        ("retry", BookmarkKind.RETRY, None),
        ("limit", BookmarkKind.NODE_TIMEOUT, None),
        ("approve", BookmarkKind.NODE_TIMEOUT, "Approve"),
        ("whole", BookmarkKind.INSTANCE_TIMEOUT, None),
        ("start", BookmarkKind.DEFINITION_TIMER, "background"),
    ],
    Lane.BACKGROUND: [("background", BookmarkKind.RETRY, BACKGROUND_KEY)],
    Lane.WORKFLOW_TIMER: [
        ("remind", BookmarkKind.REMINDER, None),
        ("escalate", BookmarkKind.NODE_TIMEOUT, "Escalate"),
        ("transfer", BookmarkKind.NODE_TIMEOUT, "Transfer"),
    ],
}


def test_claims_are_by_lane(stores):
    rows = [each for found in KINDS_AND_KEYS.values() for each in found]
    made = [timer(name, second, kind=kind, key=key) for second, (name, kind, key) in enumerate(rows, 1)]
    start(stores.stores, new_bookmarks=made)
    for lane, found in KINDS_AND_KEYS.items():
        assert any_due(stores, at(20), lanes=[lane])
        with stores.stores.writing(None) as work:
            claimed = work.bookmarks.claim_due(at(20), 100, "token", UNTIL, [lane])
        assert [(item.id, item.kind, item.key) for item in claimed] == found
        assert {item.lane for item in claimed} == {lane}
        assert not any_due(stores, at(20), lanes=[lane])
    assert claim(stores, at(20)) == []


def test_two_lanes_are_claimed_together_in_due_order(stores):
    made = [
        timer("b", 2, kind=BookmarkKind.RETRY, key=BACKGROUND_KEY),
        timer("a", 1, kind=BookmarkKind.TIMER),
        timer("c", 0, kind=BookmarkKind.REMINDER),
    ]
    start(stores.stores, new_bookmarks=made)
    assert claim(stores, at(9), lanes=[Lane.POLLER, Lane.BACKGROUND]) == ["a", "b"]


def test_partitions_can_be_left_out(stores):
    start(stores.stores, "p", new_bookmarks=[timer("p1", 1, "p")])
    start(stores.stores, "a", "t1", new_bookmarks=[timer("a1", 2, "a")])
    start(stores.stores, "b", "t2", new_bookmarks=[timer("b1", 3, "b")])
    assert not any_due(stores, at(9), without={None, "t1", "t2"})
    assert any_due(stores, at(9), without={None, "t1"})
    assert claim(stores, at(9), without={None, "t1"}) == ["b1"]
    assert claim(stores, at(9), without={"t1"}) == ["p1"]
    assert claim(stores, at(9)) == ["a1"]


def test_claims_are_given_back_one_by_one(stores):
    start(stores.stores, new_bookmarks=[timer("a", 1), timer("b", 2)])
    start(stores.stores, "x", "t1", new_bookmarks=[timer("c", 3, "x")])
    claim(stores, at(9), limit=1, token="first")
    claim(stores, at(9), token="second")
    with stores.stores.writing(None) as work:
        assert work.bookmarks.give_back("second", ["a", "b", "c", "gone"]) == 2
        assert work.bookmarks.give_back("second", []) == 0
    assert claim(stores, at(9)) == ["b", "c"]


def test_one_claim_takes_from_all_partitions_in_due_order(stores):
    start(stores.stores, "p", new_bookmarks=[timer("p1", 2, "p"), timer("p2", 5, "p")])
    start(stores.stores, "a", "t1", new_bookmarks=[timer("a1", 1, "a"), timer("a2", 4, "a")])
    start(stores.stores, "b", "t2", new_bookmarks=[timer("b1", 3, "b")])
    with stores.stores.writing(None) as work:
        found = work.bookmarks.claim_due(at(9), 4, "token", at(60), ALL_LANES)
    assert [(item.id, item.tenant_id, item.instance_id) for item in found] == [
        ("a1", "t1", "a"),
        ("p1", None, "p"),
        ("b1", "t2", "b"),
        ("a2", "t1", "a"),
    ]
    assert (found[0].kind, found[0].due_at) == (BookmarkKind.TIMER, at(1))
    assert claim(stores, at(9)) == ["p2"]


def test_a_claim_that_is_rolled_back_is_none(stores):
    start(stores.stores, new_bookmarks=[timer("a", 1)])
    try:
        with stores.stores.writing(None) as work:
            assert len(work.bookmarks.claim_due(at(9), 9, "token", at(60), ALL_LANES)) == 1
            raise RuntimeError
    except RuntimeError:
        pass
    assert claim(stores, at(9)) == ["a"]


def test_claims_of_a_process_that_is_gone_are_freed(stores):
    start(stores.stores, new_bookmarks=[timer("a", 1), timer("b", 2)], new_follow_ups=[follow_up("f1")])
    start(stores.stores, "x", "t1", new_bookmarks=[timer("c", 3, "x")])
    claim(stores, at(9), limit=1, token="h/gone_%/1/1/u1")
    claim(stores, at(9), token="h/goneXY/2/2/u2")
    with stores.stores.writing(None) as work:
        work.follow_ups.claim_due(at(9), 9, "h/gone_%/1/1/u3", at(60))
    with stores.stores.reading(None) as work:
        assert work.bookmarks.claim_tokens() == ["h/goneXY/2/2/u2", "h/gone_%/1/1/u1", "h/gone_%/1/1/u3"]
    with stores.stores.writing(None) as work:
        assert work.bookmarks.release_claims("h/gone_%/1/1/") == 1  # nothing in a prefix is a wildcard
        assert work.bookmarks.release_claims("none") == 0
        assert work.follow_ups.release_claims("h/gone_%/1/1/") == 1
    assert claim(stores, at(9)) == ["a"]


def test_push_back_keeps_the_first_due_time_and_drops_the_claim(stores):
    start(stores.stores, new_bookmarks=[timer("a", 10)])
    claim(stores, at(10))
    with stores.stores.writing(None) as work:
        work.bookmarks.push_back(None, "a", at(310), 1)
        work.bookmarks.push_back("t1", "a", at(999), 9)
        work.bookmarks.push_back(None, "none", at(999), 9)
    assert due(stores, at(300)) == []
    assert claim(stores, at(310)) == ["a"]
    with stores.stores.writing(None) as work:
        work.bookmarks.push_back(None, "a", at(610), 2)
    with stores.stores.reading(None) as work:
        for found in (work.bookmarks.find(None, "a"), work.instances.snapshot(None, "i1").bookmarks[0]):
            assert (found.due_at, found.original_due_at, found.failures) == (at(610), at(10), 2)


def test_next_due_looks_at_unclaimed_ones_only(stores):
    with stores.stores.reading(None) as work:
        assert work.bookmarks.next_due(ALL_LANES) is None
    start(stores.stores, new_bookmarks=[timer("a", 10), bookmark("task")])
    start(stores.stores, "x", "t1", new_bookmarks=[timer("b", 5, "x")])
    with stores.stores.reading(None) as work:
        assert work.bookmarks.next_due(ALL_LANES) == at(5)
    claim(stores, at(6))
    with stores.stores.reading(None) as work:
        assert work.bookmarks.next_due(ALL_LANES) == at(10)


def test_delete_ignores_absent_ids_and_other_partitions(stores):
    start(stores.stores, new_bookmarks=[bookmark("a"), bookmark("b")])
    with stores.stores.writing(None) as work:
        work.bookmarks.delete(None, [])
        work.bookmarks.delete(None, ["a", "none"])
        work.bookmarks.delete("t1", ["b"])
    with stores.stores.reading(None) as work:
        assert [item.id for item in work.bookmarks.by_instance(None, "i1")] == ["b"]


def test_a_bookmark_without_an_instance_is_kept(stores):
    waiting = timer("d", 5, None, kind=BookmarkKind.DEFINITION_TIMER, key="leave", node_instance_id=None)
    save(stores.stores, new_bookmarks=[waiting])
    with stores.stores.reading(None) as work:
        assert work.bookmarks.find(None, "d") == waiting
    assert claim(stores, at(5)) == ["d"]


def test_a_rewrite_ends_the_claim(stores):
    start(stores.stores, new_bookmarks=[timer("a", 1)])
    claim(stores, at(5))
    save(stores.stores, changed_bookmarks=[timer("a", 2)])
    assert claim(stores, at(5)) == ["a"]


def test_nothing_of_another_partition_is_seen(stores):
    start(stores.stores, "p", new_bookmarks=[timer("p1", 1, "p", key="k")])
    start(stores.stores, "a", "t1", new_bookmarks=[timer("a1", 1, "a", key="k")])
    start(stores.stores, "b", "t2", new_bookmarks=[timer("b1", 1, "b", key="k")])
    assert due(stores, at(9), partition="t1") == ["a1"]
    assert due(stores, at(9)) == ["p1"]
    with stores.stores.reading("t1") as work:
        assert [item.id for item in work.bookmarks.by_kind_and_key("t1", BookmarkKind.TIMER, "k")] == ["a1"]
        for other, instance_id in (("p1", "p"), ("b1", "b")):
            assert work.bookmarks.find("t1", other) is None
            assert list(work.bookmarks.by_instance("t1", instance_id)) == []
            assert list(work.bookmarks.summaries("t1", instance_id)) == []


def test_what_is_read_is_a_snapshot(stores):
    stored = bookmark("a", payload={"cc": ["x"]})
    start(stores.stores, new_bookmarks=[stored])
    stored.payload["cc"].append("y")
    with stores.stores.reading(None) as work:
        work.bookmarks.find(None, "a").payload["cc"].append("z")
        assert work.bookmarks.find(None, "a").payload == {"cc": ["x"]}
