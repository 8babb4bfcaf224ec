"""The store of notices: an inbox newest first, unread ones, links used once, each told once (spec 10, 8.10)."""

from __future__ import annotations

from tests.stores.records import at, notice, save, start
from tests.support.stores import StoreSet, also_apart
from webapp.engine.notifications.model import Notice, NoticeType
from webapp.engine.ports.notices import NoticeQuery
from webapp.engine.ports.queries import Paging
from webapp.engine.ports.stores import Partition


def find(stores: StoreSet, notice_id: str, partition: Partition = None) -> Notice | None:
    with stores.stores.reading(partition) as work:
        return work.notices.find(partition, notice_id)


def inbox(stores: StoreSet, recipient: str = "ann", partition: Partition = None, **query: object) -> list[str]:
    with stores.stores.reading(partition) as work:
        found = work.notices.list(partition, recipient, NoticeQuery(**query))  # type: ignore[arg-type]  # any members
    return [one.id for one in found.items]


def unread(stores: StoreSet, recipient: str = "ann", partition: Partition = None, **most: int) -> int:
    with stores.stores.reading(partition) as work:
        return work.notices.unread(partition, recipient, **most)


def mark(stores: StoreSet, recipient: str, *ids: str, partition: Partition = None) -> int:
    with stores.stores.writing(partition) as work:
        return work.notices.mark_read(partition, recipient, ids, at(9))


def test_a_notice_comes_back_as_it_was_told(stores: StoreSet) -> None:
    told = notice("n", category="HR", template_id="t", template_version=3, node_id="step", read_at=at(1))
    start(stores.stores, notices=[told])
    assert find(stores, "n") == told
    assert find(stores, "none") is None
    assert find(stores, "n", "t1") is None


def test_the_same_notice_told_again_stays_as_it_was(stores: StoreSet) -> None:
    save(stores.stores, notices=[notice("n"), notice("n", title="Twice at once")])
    mark(stores, "ann", "n")
    save(stores.stores, notices=[notice("n", title="Again"), notice("m", sequence=2)])
    assert inbox(stores) == ["m", "n"]
    found = find(stores, "n")
    assert found is not None
    assert (found.title, found.read_at) == ("Approve leave", at(9))


def test_a_command_written_again_tells_nobody_twice(stores: StoreSet) -> None:
    for _ in range(2):
        start(stores.stores, notices=[notice("n")])
    assert inbox(stores) == ["n"]


def test_an_inbox_is_newest_first_and_ties_go_by_sequence_then_id(stores: StoreSet) -> None:
    save(
        stores.stores,
        notices=[
            notice("old", created_at=at(0), sequence=9),
            notice("a", created_at=at(1), sequence=2),
            notice("b", created_at=at(1), sequence=2),
            notice("c", created_at=at(1), sequence=3),
        ],
    )
    assert inbox(stores) == ["c", "b", "a", "old"]
    with stores.stores.reading(None) as work:
        page = work.notices.list(None, "ann", NoticeQuery(paging=Paging(offset=1, limit=2)))
    assert ([one.id for one in page.items], page.total) == (["b", "a"], 4)


def test_an_inbox_is_one_persons_of_one_partition_and_shows_what_is_meant_for_it(stores: StoreSet) -> None:
    save(stores.stores, notices=[notice("mine"), notice("mail", in_inbox=False), notice("bobs", recipient_id="bob")])
    save(stores.stores, "t1", notices=[notice("theirs")])
    assert inbox(stores) == ["mine"]
    assert inbox(stores, "bob") == ["bobs"]
    assert inbox(stores, partition="t1") == ["theirs"]
    assert (unread(stores), unread(stores, partition="t1")) == (1, 1)
    # Its link can be used all the same.
    assert find(stores, "mail") is not None


def test_an_inbox_can_be_narrowed(stores: StoreSet) -> None:
    save(
        stores.stores,
        notices=[
            notice("a", sequence=1, instance_id="i2"),
            notice("b", sequence=2, type=NoticeType.TODO),
            notice("c", sequence=3, type=NoticeType.TODO, instance_id="i2"),
        ],
    )
    assert inbox(stores, type=NoticeType.TODO) == ["c", "b"]
    assert inbox(stores, instance_id="i2") == ["c", "a"]
    mark(stores, "ann", "c")
    assert inbox(stores, unread=True) == ["b", "a"]
    assert inbox(stores, unread=True, type=NoticeType.APPROVAL, instance_id="i2") == ["a"]


def test_the_latest_are_unread_ones_newest_first_up_to_a_bound(stores: StoreSet) -> None:
    made = [notice(f"n{number}", created_at=at(number), sequence=1) for number in range(4)]
    save(stores.stores, notices=[*made, notice("mail", in_inbox=False), notice("bobs", recipient_id="bob")])
    save(stores.stores, "t1", notices=[notice("theirs")])
    mark(stores, "ann", "n2")

    def latest(most: int, partition: Partition = None) -> list[str]:
        with stores.stores.reading(partition) as work:
            return [one.id for one in work.notices.latest(partition, "ann", most)]

    assert latest(2) == ["n3", "n1"]
    assert latest(9) == ["n3", "n1", "n0"]
    assert latest(9, "t1") == ["theirs"]


def test_what_is_unread_is_counted_up_to_a_bound(stores: StoreSet) -> None:
    save(stores.stores, notices=[notice(f"n{number}") for number in range(7)])
    assert (unread(stores), unread(stores, most=3), unread(stores, most=7)) == (7, 3, 7)
    assert unread(stores, "bob") == 0


def test_a_notice_is_read_once_and_by_its_recipient_only(stores: StoreSet) -> None:
    save(stores.stores, notices=[notice("a"), notice("b"), notice("c")])
    save(stores.stores, "t1", notices=[notice("d")])
    assert mark(stores, "bob", "a", "b") == 0
    assert mark(stores, "ann", "a", partition="t1") == 0
    assert mark(stores, "ann", "d") == 0
    assert mark(stores, "ann") == 0
    assert unread(stores) == 3
    assert mark(stores, "ann", "a", "none", "b") == 2
    assert mark(stores, "ann", "a", "c") == 1
    assert unread(stores) == 0
    assert unread(stores, partition="t1") == 1


def test_all_told_until_a_time_are_read_at_once(stores: StoreSet) -> None:
    save(stores.stores, notices=[notice(f"n{number}", created_at=at(number)) for number in range(4)])
    save(stores.stores, notices=[notice("bobs", recipient_id="bob")])
    mark(stores, "ann", "n0")
    with stores.stores.writing(None) as work:
        assert work.notices.mark_all_read(None, "ann", at(2), at(9)) == 2
        assert work.notices.mark_all_read("t1", "ann", at(2), at(9)) == 0
    assert inbox(stores, unread=True) == ["n3"]
    assert unread(stores, "bob") == 1


def test_who_opens_a_task_has_read_of_it(stores: StoreSet) -> None:
    save(
        stores.stores,
        notices=[
            notice("a"),
            notice("urged", occurrence=1),
            notice("other", task_id="k2"),
            notice("none", task_id=None),
            notice("bobs", recipient_id="bob"),
        ],
    )
    with stores.stores.writing(None) as work:
        assert work.notices.mark_task_read("t1", "ann", "k", at(9)) == 0
        assert work.notices.mark_task_read(None, "ann", "k", at(9)) == 2
        assert work.notices.mark_task_read(None, "ann", "k", at(10)) == 0
    assert sorted(inbox(stores, unread=True)) == ["none", "other"]
    assert unread(stores, "bob") == 1


def test_a_link_is_used_once(stores: StoreSet) -> None:
    save(stores.stores, notices=[notice("n")])
    with stores.stores.writing(None) as work:
        assert not work.notices.use_link(None, "none", at(1))
        assert not work.notices.use_link("t1", "n", at(1))
        assert work.notices.use_link(None, "n", at(1))
        assert not work.notices.use_link(None, "n", at(2))
    found = find(stores, "n")
    assert found is not None
    assert found.link_used_at == at(1)


@also_apart
def test_a_notice_of_another_partition_with_the_same_id_is_never_touched(stores: StoreSet) -> None:
    for tenant in ("acme", "t1", "zeta"):
        save(stores.stores, tenant, notices=[notice("n", title=tenant), notice(f"n-{tenant}")])
    save(stores.stores, notices=[notice("n", title="platform")])
    found = find(stores, "n", "acme")
    assert found is not None
    assert found.title == "acme"
    assert find(stores, "n", "zeta") is None
    # Neither the platform's tables nor a database of its own know of it.
    own = find(stores, "n", "t1")
    assert (own is not None) == stores.kind.endswith("apart")
    assert inbox(stores, partition="zeta") == ["n-zeta"]
    assert inbox(stores) == ["n"]


def test_the_oldest_go_first_and_no_more_than_are_asked_for(stores: StoreSet) -> None:
    save(stores.stores, notices=[notice(f"n{number}", created_at=at(number)) for number in (3, 1, 2, 0)])
    save(stores.stores, "t1", notices=[notice("theirs")])
    with stores.stores.writing(None) as work:
        assert work.notices.purge(None, at(3), 2) == 2
    assert inbox(stores) == ["n3", "n2"]
    with stores.stores.writing(None) as work:
        assert work.notices.purge(None, at(3), 2) == 1
        assert work.notices.purge(None, at(3), 2) == 0
    assert inbox(stores) == ["n3"]
    assert inbox(stores, partition="t1") == ["theirs"]
