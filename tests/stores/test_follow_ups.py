"""The follow-up store (spec 3.22, 8.10)."""

import pytest

from tests.stores.records import T0, at, follow_up, save
from webapp.engine.numbers import JsonDecimal


def claim_due(stores, now, limit=100, token="t", until=None):
    with stores.stores.writing(None) as work:
        return work.follow_ups.claim_due(now, limit, token, until or at(60))


def claim(stores, follow_up_id, now=T0, partition=None):
    with stores.stores.writing(partition) as work:
        return work.follow_ups.claim(partition, follow_up_id, now, "t", at(60))


def test_a_follow_up_comes_back_as_it_was(stores):
    stored = follow_up(
        "f",
        source_instance_id="s",
        target_instance_id="t",
        payload={"variables": {"x": JsonDecimal("1.0")}},
        due_at=at(1),
        failures=2,
    )
    save(stores.stores, new_follow_ups=[stored])
    assert claim(stores, "f") == stored


def test_due_ones_are_claimed_once_over_all_partitions(stores):
    save(stores.stores, new_follow_ups=[follow_up("b", due_at=at(2)), follow_up("later", due_at=at(99))])
    save(stores.stores, "t1", new_follow_ups=[follow_up("a", due_at=at(2)), follow_up("c", due_at=at(1))])
    found = claim_due(stores, at(5), limit=2)
    assert [(item.id, item.tenant_id) for item in found] == [("c", "t1"), ("a", "t1")]
    assert [item.id for item in claim_due(stores, at(5))] == ["b"]
    assert claim_due(stores, at(5)) == []
    assert [item.id for item in claim_due(stores, at(60), until=at(120))] == ["c", "a", "b"]


@pytest.mark.parametrize("partition", [None, "t1"])
def test_what_can_be_claimed_is_seen_without_writing(stores, partition):
    def any_due(now):
        with stores.stores.reading(None) as work:
            return work.follow_ups.any_due(now)

    assert not any_due(at(5))
    save(stores.stores, partition, new_follow_ups=[follow_up("a", due_at=at(5))])
    assert not any_due(at(4.999))
    assert any_due(at(5))
    claim_due(stores, at(5))
    assert not any_due(at(59.9))
    assert any_due(at(60))


def test_one_is_claimed_by_its_id_unless_somebody_has_it(stores):
    save(stores.stores, new_follow_ups=[follow_up("f", due_at=at(9))])
    assert claim(stores, "none") is None
    assert claim(stores, "f", partition="t1") is None
    assert claim(stores, "f").id == "f"
    assert claim(stores, "f") is None
    assert claim(stores, "f", now=at(60)).id == "f"


def test_push_back_drops_the_claim(stores):
    save(stores.stores, new_follow_ups=[follow_up("f")])
    claim(stores, "f")
    with stores.stores.writing(None) as work:
        work.follow_ups.push_back(None, "f", at(30), 3)
        work.follow_ups.push_back("t1", "f", at(99), 9)
    assert claim_due(stores, at(29)) == []
    found = claim_due(stores, at(30))[0]
    assert (found.due_at, found.failures) == (at(30), 3)


def test_delete_by_the_store_and_by_a_write_set(stores):
    save(stores.stores, new_follow_ups=[follow_up("a"), follow_up("b"), follow_up("c")])
    with stores.stores.writing(None) as work:
        assert work.follow_ups.delete(None, "a")
        assert not work.follow_ups.delete(None, "a")
        assert not work.follow_ups.delete(None, "none")
        assert not work.follow_ups.delete("t1", "b")
    save(stores.stores, deleted_follow_up_ids=["c", "none"])
    assert [item.id for item in claim_due(stores, at(0))] == ["b"]


def test_partitions_can_be_left_out(stores):
    save(stores.stores, new_follow_ups=[follow_up("p", due_at=at(1))])
    save(stores.stores, "t1", new_follow_ups=[follow_up("a", due_at=at(2))])
    with stores.stores.writing(None) as work:
        assert not work.follow_ups.any_due(at(9), {None, "t1"})
        assert work.follow_ups.any_due(at(9), {None})
        assert [item.id for item in work.follow_ups.claim_due(at(9), 9, "t", at(60), {None})] == ["a"]
        assert [item.id for item in work.follow_ups.claim_due(at(9), 9, "t", at(60), {"t1"})] == ["p"]
