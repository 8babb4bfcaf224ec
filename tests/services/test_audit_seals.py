"""Sealing the trail and proving it unbroken (spec 13, Amendments: Audit)."""

from __future__ import annotations

import hashlib
import json
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from sqlalchemy import text

from tests.stores.records import audit
from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from webapp.engine.instances.seals import AuditHead, TrailRow, chain_hash
from webapp.services.audit import Break
from webapp.stores.memory import MemoryStores

QUICK = flow("quick", [START, node("x", "Log", {"Message": "hi"}), END])


def trail(house: Installation, *ids: str, partition: str | None = None) -> None:
    """Append rows in this order."""
    with house.store_set.stores.writing(partition) as work:
        entries = [
            audit(name, sequence=number, tenant_id=partition, comment=name) for number, name in enumerate(ids, start=1)
        ]
        work.audit.append(partition, entries)


def sealed(house: Installation, *ids: str) -> None:
    trail(house, *ids)
    assert house.services.sealing.seal() == len(ids)


def tamper(stores: StoreSet, sql: str, change: object) -> None:
    """Change the tables behind the stores' back: by SQL, or in memory by a function of the rows by id."""
    if stores.engine is not None:
        with stores.engine.begin() as connection:
            for statement in sql.split(";"):
                connection.execute(text(statement))
        return
    assert isinstance(stores.stores, MemoryStores)
    tables = stores.stores._database.tables
    change(tables["audit"], tables["audit_heads"])  # type: ignore[operator]  # a function of the two tables


def set_values(row_id: str, **values: object):
    def change(rows, heads):
        rows[(True, row_id)] = {**rows[(True, row_id)], **values}

    return change


def drop(*ids: str):
    def change(rows, heads):
        for row_id in ids:
            del rows[(True, row_id)]

    return change


def broken(house: Installation, noted: AuditHead | None = None) -> tuple[str, int, str | None] | None:
    found = house.services.audit.verify(None, noted).broken
    return None if found is None else (found.kind.value, found.number, found.row_id)


def test_a_hash_is_the_one_that_is_documented() -> None:
    row = TrailRow(
        id="a", sequence=7, at=datetime(2026, 7, 16, 8, tzinfo=UTC), actor_id="安", on_behalf_of=None, action="start",
        definition_id="d", instance_id="i", task_id=None, node_id=None, outcome=None, comment="a\"b", reason=None,
        request_id="q", command_id="c", before=None, after='{"x":1.50}',
    )  # fmt: skip
    array = (
        '["waypost-audit-1",3,"a",null,7,"2026-07-16T08:00:00.000000+00:00","安",null,"start","d","i",null,null,null,'
        '"a\\"b",null,"q","c",null,"{\\"x\\":1.50}"]'
    )
    assert json.loads(array)[1] == 3
    assert chain_hash("f" * 64, 3, row) == hashlib.sha256(("f" * 64 + "\n" + array).encode()).hexdigest()


def test_what_commands_leave_is_sealed_and_whole(house: Installation) -> None:
    house.publish(QUICK)
    house.start("quick")
    before = house.services.audit.verify(None)
    assert (before.rows, before.head, before.is_whole) == (0, None, True)
    assert before.unsealed.count > 0
    assert house.services.sealing.seal() == before.unsealed.count
    assert house.services.sealing.seal() == 0
    after = house.services.audit.verify(None)
    assert (after.rows, after.heads, after.is_whole) == (before.unsealed.count, 1, True)
    assert after.unsealed.count == 0
    assert after.head is not None
    assert after.head.seal_number == after.rows


def test_a_row_that_is_committed_late_gets_the_next_number(house: Installation) -> None:
    sealed(house, "a", "b")
    with house.store_set.stores.writing(None) as work:
        work.audit.append(None, [audit("late", sequence=-5)])
    assert house.services.sealing.seal() == 1
    with house.store_set.stores.reading(None) as work:
        assert [(row.id, row.seal_number) for row in work.seals.sealed(None, 0, 9)] == [("a", 1), ("b", 2), ("late", 3)]
    assert broken(house) is None


def test_more_rows_than_a_batch(house: Installation) -> None:
    sealed(house, *(f"r{number:04}" for number in range(1_203)))
    found = house.services.audit.verify(None)
    assert (found.rows, found.heads, found.is_whole) == (1_203, 3, True)


TAMPERED = {
    "a changed row": (
        "UPDATE platform_audit SET comment = 'forged' WHERE id = 'b'",
        set_values("b", comment="forged"),
        ("changed", 2, "b"),
    ),
    "a changed hash": (
        "UPDATE platform_audit SET hash = 'x' WHERE id = 'c'",
        set_values("c", hash="x"),
        ("changed", 3, "c"),
    ),
    "a deleted row": ("DELETE FROM platform_audit WHERE id = 'b'", drop("b"), ("missing", 2, None)),
    "the first row deleted": ("DELETE FROM platform_audit WHERE id = 'a'", drop("a"), ("missing", 1, None)),
    "a seal taken off": (
        "UPDATE platform_audit SET seal_number = NULL, hash = NULL WHERE id = 'b'",
        set_values("b", seal_number=None, hash=None),
        ("missing", 2, None),
    ),
    "the tail cut off": (
        "DELETE FROM platform_audit WHERE id IN ('d', 'e')",
        drop("d", "e"),
        ("missing", 4, None),
    ),
    "everything deleted": (
        "DELETE FROM platform_audit",
        lambda rows, heads: rows.clear(),
        ("missing", 1, None),
    ),
    "two neighbours swapped": (
        "UPDATE platform_audit SET seal_number = 99 WHERE id = 'b'; UPDATE platform_audit SET seal_number = 2"
        " WHERE id = 'c'; UPDATE platform_audit SET seal_number = 3 WHERE id = 'b'",
        lambda rows, heads: (set_values("b", seal_number=3)(rows, heads), set_values("c", seal_number=2)(rows, heads)),
        ("reordered", 2, "c"),
    ),
    "two far ones swapped": (
        "UPDATE platform_audit SET seal_number = 99 WHERE id = 'b'; UPDATE platform_audit SET seal_number = 2"
        " WHERE id = 'e'; UPDATE platform_audit SET seal_number = 5 WHERE id = 'b'",
        lambda rows, heads: (set_values("b", seal_number=5)(rows, heads), set_values("e", seal_number=2)(rows, heads)),
        ("reordered", 2, "e"),
    ),
    "one put in behind the end": (
        "UPDATE platform_audit SET seal_number = 6, hash = 'y' WHERE id = 'later'",
        set_values("later", seal_number=6, hash="y"),
        ("inserted", 6, "later"),
    ),
    "one put in between": (
        "UPDATE platform_audit SET seal_number = 99 WHERE id = 'e'; UPDATE platform_audit SET seal_number = 5"
        " WHERE id = 'd'; UPDATE platform_audit SET seal_number = 4, hash = 'y' WHERE id = 'later'",
        lambda rows, heads: (
            set_values("e", seal_number=99)(rows, heads),
            set_values("d", seal_number=5)(rows, heads),
            set_values("later", seal_number=4, hash="y")(rows, heads),
        ),
        ("inserted", 4, "later"),
    ),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_whoever_touches_the_trail_is_found_out(house: Installation, case: str) -> None:
    sql, change, expected = TAMPERED[case]
    sealed(house, "a", "b", "c", "d", "e")
    trail(house, "later")
    assert broken(house) is None
    tamper(house.store_set, sql, change)
    assert broken(house) == expected


def test_a_chain_that_was_computed_anew_does_not_lead_to_its_heads(house: Installation) -> None:
    sealed(house, "a", "b")
    sealed(house, "c", "d")
    with house.store_set.stores.reading(None) as work:
        rows = list(work.seals.sealed(None, 2, 9))
        previous = work.seals.sealed(None, 1, 1)[0].hash
    statements, changes = [], []
    for number, row in enumerate(rows, start=3):
        forged = TrailRow(**{name: getattr(row, name) for name in row.__struct_fields__} | {"comment": "forged"})
        previous = chain_hash(previous or "", number, forged)
        statements.append(f"UPDATE platform_audit SET comment = 'forged', hash = '{previous}' WHERE id = '{row.id}'")
        changes.append(set_values(row.id, comment="forged", hash=previous))
    tamper(house.store_set, ";".join(statements), lambda rows, heads: [change(rows, heads) for change in changes])
    found = house.services.audit.verify(None).broken
    assert found is not None
    assert (found.kind, found.number, found.row_id, found.since) == (Break.REWRITTEN, 4, "d", 2)


def test_sealing_goes_on_behind_a_gap_and_never_closes_it(house: Installation) -> None:
    sealed(house, "a", "b", "c")
    tamper(house.store_set, "DELETE FROM platform_audit WHERE id = 'c'", drop("c"))
    sealed(house, "d")
    assert broken(house) == ("missing", 3, None)


def test_a_head_noted_elsewhere_tells_of_a_trail_that_is_gone_with_its_heads(house: Installation) -> None:
    sealed(house, "a", "b")
    noted = house.services.audit.verify(None).head
    assert noted is not None
    sealed(house, "c")
    assert broken(house, noted) is None
    tamper(
        house.store_set,
        "DELETE FROM platform_audit; DELETE FROM platform_audit_heads",
        lambda rows, heads: (rows.clear(), heads.clear()),
    )
    assert broken(house) is None
    assert broken(house, noted) == ("missing", 1, None)


def test_trails_of_partitions_are_apart(house: Installation) -> None:
    trail(house, "p")
    trail(house, "x", "y", partition="acme")
    assert house.services.sealing.seal() == 3
    assert house.services.audit.partitions() == [None, "acme"]
    assert [house.services.audit.verify(one).rows for one in (None, "acme")] == [1, 2]
    state = house.services.sealing.state("acme")
    assert (state.head.seal_number if state.head else None, state.unsealed.count) == (2, 0)


def test_a_trail_that_cannot_be_read_keeps_no_other_waiting(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail(house, "a")
    trail(house, "b", partition="t1")
    with house.store_set.stores.reading(None) as work:
        kind = type(work.seals)
    unsealed = kind.unsealed

    def read(seals: Any, partition: str | None, limit: int) -> Any:
        if partition is None:
            raise ValueError("not an instant")
        return unsealed(seals, partition, limit)

    monkeypatch.setattr(kind, "unsealed", read)
    assert house.services.sealing.seal() == 1
    assert house.services.sealing.state("t1").unsealed.count == 0
    assert house.services.sealing.state(None).unsealed.count == 1


def test_several_sealers_and_commands_at_once(house: Installation) -> None:
    house.publish(QUICK)
    others = [install(house.store_set) for _ in range(3)]
    stop, failures = threading.Event(), []

    def seal(one: Installation) -> None:
        try:
            while not stop.is_set():
                one.services.sealing.seal()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=seal, args=(one,)) for one in others]
    for thread in threads:
        thread.start()
    for _ in range(20):
        house.start("quick")
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    house.services.sealing.seal()
    found = house.services.audit.verify(None)
    assert found.is_whole
    assert found.unsealed.count == 0
    assert found.rows >= 20


def test_one_that_lost_its_lease_seals_nothing_twice(house: Installation) -> None:
    trail(house, "a", "b")
    other = install(house.store_set)
    rows = house.services.sealing
    original = rows._storage.write

    def late(partition, block, **more):
        other.services.sealing._seal_partition(None, lambda: False)
        return original(partition, block, **more)

    rows._storage.write = late
    assert rows.seal() == 0
    rows._storage.write = original
    found = house.services.audit.verify(None)
    assert (found.rows, found.heads, found.is_whole) == (2, 1, True)


def test_of_old_heads_one_a_day_stays_and_the_trail_is_proved_by_it(
    house: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.services.sealing.HEADS_READ", 3)
    clock = house.store_set.clock
    noted = None
    # Nine in 24 hours from eight in the morning on, seven of them before midnight; 33 times.
    for number in range(33 * 9):
        sealed(house, f"r{number}")
        noted = noted or house.services.sealing.state(None).head
        clock.advance(9000 if (number + 1) % 9 else 24 * 3600 - 8 * 9000)
    before = house.services.audit.verify(None)
    assert (before.rows, before.heads, before.is_whole) == (297, 297, True)

    house.services.housekeeping.housekeep()

    heads = list(house.services.audit.head_list(None))
    old = [head for head in heads if head.at is not None and head.at < clock.now() - timedelta(days=30)]
    # The last ones of the first three days; of the fourth, some of which is older, a later one is there.
    assert [head.seal_number for head in old] == [7, 16, 25]
    assert len(heads) == 297 - 27 + 3
    assert heads[-1] == before.head
    after = house.services.audit.verify(None)
    assert (after.rows, after.heads, after.is_whole) == (297, len(heads), True)
    # One that was noted elsewhere still proves, though it is kept here no longer.
    assert noted is not None and noted not in heads
    assert house.services.audit.verify(None, noted).is_whole
    assert broken(house, msgspec.structs.replace(noted, hash="0" * 64)) == ("rewritten", 1, "r0")
    house.services.housekeeping.housekeep()
    assert list(house.services.audit.head_list(None)) == heads


def test_rows_of_purged_instances_stay(house: Installation) -> None:
    house.publish(QUICK)
    house.start("quick")
    house.services.sealing.seal()
    rows = house.services.audit.verify(None).rows
    assert house.services.operations.purge(ADMIN, ended_before=house.store_set.clock.now()) == 1
    house.services.sealing.seal()
    found = house.services.audit.verify(None)
    assert (found.rows, found.is_whole) == (rows + 1, True)


UNREADABLE = {
    "an instant that is none": ("at = 'soon'", ("changed", 2, "b")),
    "an instant that is a number": ("at = 5", ("changed", 2, "b")),
    "an instant of bytes": ("at = x'00ff'", ("changed", 2, "b")),
    "an instant without its zone": ("at = substr(at, 1, 26)", ("changed", 2, "b")),
    "an instant of another zone": (
        "at = replace(at, '08:00:00.000000+00:00', '09:00:00.000000+01:00')",
        ("changed", 2, "b"),
    ),
    "a text that is none": ("comment = CAST(x'ff' AS TEXT)", ("changed", 2, None)),
    "a text of bytes": ("comment = x'00ff'", ("changed", 2, "b")),
    "a number that is none": ("seal_number = 'two'", ("missing", 2, None)),
    "a number between two": ("seal_number = 2.5", ("missing", 2, None)),
    "a hash of bytes": ("hash = x'00ff'", ("changed", 2, "b")),
}


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
@pytest.mark.parametrize("case", UNREADABLE)
def test_what_was_never_written_there_is_found_where_it_is(house: Installation, case: str) -> None:
    """SQLite takes anything in any column."""
    change, expected = UNREADABLE[case]
    sealed(house, "a", "b", "c")
    tamper(house.store_set, f"UPDATE platform_audit SET {change} WHERE id = 'b'", None)
    assert broken(house) == expected


@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
def test_heads_and_waiting_rows_that_cannot_be_read_stop_no_check(house: Installation) -> None:
    sealed(house, "a", "b")
    sealed(house, "c")
    trail(house, "later")
    tamper(house.store_set, "UPDATE platform_audit SET at = 'soon' WHERE id = 'later'", None)
    tamper(house.store_set, "UPDATE platform_audit_heads SET at = 'soon'", None)
    found = house.services.audit.verify(None)
    assert (found.is_whole, found.rows, found.heads) == (True, 3, 2)
    assert (found.unsealed.count, found.unsealed.oldest) == (1, None)
    assert found.head is not None
    assert found.head.at is None
    tamper(house.store_set, "UPDATE platform_audit_heads SET seal_number = 'x' WHERE seal_number = 3", None)
    # Nobody can tell any more that the chain once had come so far.
    assert broken(house) == ("inserted", 3, "c")
