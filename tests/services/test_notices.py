"""The bell and its page: each person's own notices, listed, counted, read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.engine import Installation, actor, install
from tests.support.notices import NOW, notice, tell
from tests.support.stores import memory_stores
from webapp.engine.errors import InputInvalid, NotFound
from webapp.engine.notifications.model import EventType, Notice, NoticeType
from webapp.services.queries import NoticeQuery, Paging

ANN, BO = actor("ann"), actor("bo")


@pytest.fixture
def house() -> Installation:
    return install(memory_stores())


def told(house: Installation, *notices: Notice) -> None:
    tell(house.store_set.stores, *notices)


def titles(house: Installation, who: object = ANN, **query: object) -> list[str]:
    return [one.title for one in house.services.notices.list(who, NoticeQuery(**query)).items]  # type: ignore[arg-type]


def at(minutes: int) -> timedelta:
    return timedelta(minutes=minutes)


def test_everybody_sees_their_own_notices_the_newest_first(house: Installation) -> None:
    told(
        house,
        notice("ann", title="first", task_id="t1"),
        notice("bo", title="of bo", task_id="t1"),
        notice("ann", title="second", task_id="t2", created_at=NOW + at(1)),
    )
    assert titles(house) == ["second", "first"]
    assert titles(house, BO) == ["of bo"]
    assert titles(house, actor("ann", partition="acme")) == []
    found = house.services.notices.list(ANN, NoticeQuery(paging=Paging(offset=1, limit=1)))
    assert ([one.title for one in found.items], found.total) == (["first"], 2)


def test_notices_are_found_by_type_instance_and_whether_they_were_read(house: Installation) -> None:
    copied = {"event_type": EventType.CARBON_COPY, "type": NoticeType.TODO}
    told(
        house,
        notice("ann", title="task", task_id="t1"),
        notice("ann", title="copy", task_id="t2", instance_id="i2", created_at=NOW + at(1), **copied),
    )
    assert titles(house, type=NoticeType.TODO) == ["copy"]
    assert titles(house, instance_id="i1") == ["task"]
    (copy,) = house.services.notices.list(ANN, NoticeQuery(type=NoticeType.TODO)).items
    house.services.notices.mark_read(ANN, [copy.id])
    assert titles(house, unread=True) == ["task"]
    assert titles(house) == ["copy", "task"]


def test_the_bell_counts_what_is_unread_up_to_a_hundred(house: Installation) -> None:
    assert house.services.notices.unread(ANN) == 0
    told(house, *(notice("ann", task_id=f"t{number}") for number in range(3)), notice("bo"))
    assert house.services.notices.unread(ANN) == 3
    told(house, *(notice("ann", task_id=f"more{number}") for number in range(120)))
    assert house.services.notices.unread(ANN) == 100


def test_a_notice_for_outside_only_is_neither_listed_nor_counted_nor_read(house: Installation) -> None:
    outside = notice("ann", in_inbox=False)
    told(house, outside)
    assert titles(house) == []
    assert house.services.notices.unread(ANN) == 0
    with pytest.raises(NotFound):
        house.services.notices.read(ANN, outside.id)


def test_reading_notes_the_first_time_only(house: Installation) -> None:
    one = notice("ann")
    told(house, one)
    house.store_set.clock.advance(60)
    first = house.services.notices.read(ANN, one.id)
    house.store_set.clock.advance(60)
    assert first.read_at == NOW + at(1)
    assert house.services.notices.read(ANN, one.id).read_at == NOW + at(1)
    assert house.services.notices.unread(ANN) == 0


@pytest.mark.parametrize("who", [BO, actor("ann", partition="acme")], ids=["another", "of another tenant"])
def test_nobody_reads_another_s_notice(house: Installation, who: object) -> None:
    one = notice("ann")
    told(house, one)
    with pytest.raises(NotFound):
        house.services.notices.read(who, one.id)  # type: ignore[arg-type]  # an actor, from the list above
    assert house.services.notices.mark_read(who, [one.id]) == 0  # type: ignore[arg-type]
    assert house.services.notices.mark_all_read(who) == 0  # type: ignore[arg-type]
    assert house.services.notices.unread(ANN) == 1


def test_several_are_marked_and_counted_once(house: Installation) -> None:
    mine = [notice("ann", task_id=f"t{number}") for number in range(3)]
    told(house, *mine)
    ids = [mine[0].id, mine[0].id, mine[1].id, "never-was"]
    assert house.services.notices.mark_read(ANN, ids) == 2
    assert house.services.notices.mark_read(ANN, ids) == 0
    assert house.services.notices.mark_read(ANN, []) == 0
    assert house.services.notices.unread(ANN) == 1


def test_no_more_than_a_thousand_are_marked_in_one_call(house: Installation) -> None:
    with pytest.raises(InputInvalid) as refused:
        house.services.notices.mark_read(ANN, [str(number) for number in range(1001)])
    assert refused.value.problems[0].path == "ids"


def test_what_came_after_the_list_was_shown_stays_unread(house: Installation) -> None:
    told(house, notice("ann", title="seen"), notice("ann", title="later", task_id="t2", created_at=NOW + at(5)))
    house.store_set.clock.advance(600)
    assert house.services.notices.mark_all_read(ANN, NOW + at(1)) == 1
    assert titles(house, unread=True) == ["later"]
    assert house.services.notices.mark_all_read(ANN) == 1
    assert house.services.notices.unread(ANN) == 0


def test_an_until_in_the_future_means_now(house: Installation) -> None:
    told(house, notice("ann", title="later", created_at=NOW + at(5)))
    assert house.services.notices.mark_all_read(ANN, NOW + at(60)) == 0


def test_who_opens_a_task_has_been_told(house: Installation) -> None:
    urged = {"event_type": EventType.TASK_URGED}
    told(
        house,
        notice("ann", task_id="t1", title="new"),
        notice("ann", task_id="t1", title="urged", **urged),
        notice("ann", task_id="t2", title="other"),
        notice("ann", task_id="t3", title="third"),
        notice("bo", task_id="t1", title="of bo"),
    )
    house.services.notices.task_opened(ANN, "t1")
    assert sorted(titles(house, unread=True)) == ["other", "third"]
    assert titles(house, BO, unread=True) == ["of bo"]
    house.services.notices.task_opened(ANN, "t2", "t3")
    assert titles(house, unread=True) == []


def test_a_page_of_a_bad_size_is_refused(house: Installation) -> None:
    with pytest.raises(InputInvalid):
        house.services.notices.list(ANN, NoticeQuery(paging=Paging(limit=1001)))
