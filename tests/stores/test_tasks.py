"""Lists of user tasks (spec 6.5, 6.7, 8.4, 25 Tasks)."""

import pytest

from tests.stores.records import at, bookmark, instance, record, save, start, timer
from tests.support.stores import also_apart
from webapp.engine.instances.bookmarks import BookmarkKind, Priority
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.queries import Paging, Sort, TaskQuery


def ids(stores, partition=None, **query):
    paging = Paging(sorts=query.pop("sorts", ()), offset=query.pop("offset", 0), limit=query.pop("limit", 100))
    query = TaskQuery(paging=paging, **query)
    with stores.stores.reading(partition) as work:
        page = work.bookmarks.list_tasks(partition, query)
        assert work.bookmarks.count_tasks(partition, query) == page.total
    return [item.id for item in page.items]


def test_a_task_shows_what_it_is_and_whose(stores):
    start(
        stores.stores,
        title="Trip",
        definition_title="Leave request",
        starter_id="eve",
        correlation_id="PO-1",
        new_bookmarks=[
            bookmark("k", priority=Priority.HIGH, task_due_at=at(9), signers_done=1, signers_total=3, opened_at=at(1))
        ],
    )
    with stores.stores.reading(None) as work:
        task = work.bookmarks.list_tasks(None, TaskQuery()).items[0]
    assert (task.id, task.instance_id, task.node_id, task.node_instance_id) == ("k", "i1", "step", "i1-n")
    assert (task.title, task.instance_title) == ("Approve", "Trip")
    assert (task.definition_name, task.definition_title) == ("leave", "Leave request")
    assert (task.assignee_id, task.starter_id, task.claimed_by, task.correlation_id) == ("ann", "eve", None, "PO-1")
    assert (task.priority, task.due_at, task.created_at, task.opened_at) == (Priority.HIGH, at(9), at(0), at(1))
    assert (task.signers_done, task.signers_total) == (1, 3)


def test_only_user_tasks_of_running_instances(stores):
    start(stores.stores, "a", new_bookmarks=[bookmark("a1", "a"), timer("a2", 1, "a")])
    start(stores.stores, "b", status=InstanceStatus.SUSPENDED, new_bookmarks=[bookmark("b1", "b")])
    assert ids(stores) == ["a1"]


def test_filters(stores):
    start(stores.stores, "a", new_bookmarks=[bookmark("a1", "a", created_at=at(1), task_due_at=at(50))])
    start(
        stores.stores,
        "b",
        definition_name="expense",
        new_bookmarks=[bookmark("b1", "b", key="bob", created_at=at(2)), bookmark("b2", "b", created_at=at(3))],
    )
    assert ids(stores, assignee="ann") == ["a1", "b2"]
    assert ids(stores, assignee="Ann") == []
    assert ids(stores, definition_name="expense") == ["b1", "b2"]
    assert ids(stores, instance_id="b", assignee="bob") == ["b1"]
    assert ids(stores, instance_ids=("a", "b")) == ["a1", "b1", "b2"]
    assert ids(stores, instance_ids=("a", "gone")) == ["a1"]
    assert ids(stores, instance_ids=()) == []
    assert ids(stores, created_from=at(2)) == ["b1", "b2"]
    assert ids(stores, created_to=at(2)) == ["a1"]
    assert ids(stores, due_before=at(50)) == []
    assert ids(stores, due_before=at(50.000001)) == ["a1"]


def test_mine_is_what_my_name_stands_on_and_nobody_else_has_claimed(stores):
    start(
        stores.stores,
        new_bookmarks=[
            bookmark("mine", created_at=at(1)),
            bookmark("claimed", claimed_by="ann", created_at=at(2)),
            bookmark("lost", claimed_by="bob"),
            bookmark("group", key="role:hr", claimable=True),
            bookmark("other", key="bob"),
        ],
    )
    assert ids(stores, mine=("ann", "role:hr")) == ["mine", "claimed"]
    assert ids(stores, mine=()) == []


def test_mine_is_also_what_those_have_for_whom_i_stand_in(stores):
    start(
        stores.stores,
        "a",
        new_bookmarks=[
            bookmark("own", "a", created_at=at(1)),
            bookmark("his", "a", key="bob", created_at=at(2)),
            bookmark("hers", "a", key="eve", created_at=at(3)),
            bookmark("claimed", "a", key="bob", claimed_by="bob", created_at=at(4)),
            bookmark("lost", "a", key="bob", claimed_by="cid"),
        ],
    )
    start(stores.stores, "b", definition_name="expense", new_bookmarks=[bookmark("other", "b", key="eve")])
    assert ids(stores, mine=("ann",), stands_in=(("bob", ()),)) == ["own", "his", "claimed"]
    limited = (("bob", ()), ("eve", ("leave", "gone")))
    assert ids(stores, mine=("ann",), stands_in=limited) == ["own", "his", "hers", "claimed"]
    assert ids(stores, mine=("ann",), stands_in=(("eve", ("expense",)),)) == ["other", "own"]
    assert ids(stores, mine=(), stands_in=limited) == []


def test_a_decision_that_can_still_be_undone_has_decided_the_task(stores):
    start(
        stores.stores,
        new_bookmarks=[
            bookmark("open", created_at=at(1)),
            bookmark("decided", available_at=at(5), claimable=True),
        ],
    )
    assert ids(stores) == ids(stores, mine=("ann",)) == ids(stores, assignee="ann") == ["open"]
    assert ids(stores, claimable=("ann",)) == []


def test_claimable_is_what_my_groups_or_several_candidates_have(stores):
    start(
        stores.stores,
        new_bookmarks=[
            bookmark("group", key="role:hr", claimable=True, created_at=at(1)),
            bookmark("department", key="department:IT", claimable=True, created_at=at(2)),
            bookmark("candidate", claimable=True, created_at=at(3)),
            bookmark("plain", created_at=at(4)),
            bookmark("claimed", claimable=True, claimed_by="bob"),
            bookmark("elsewhere", key="role:it", claimable=True),
        ],
    )
    assert ids(stores, claimable=("ann", "role:hr", "department:IT")) == ["group", "department", "candidate"]
    assert ids(stores, claimable=("ann",)) == ["candidate"]
    assert ids(stores, claimable=()) == []


@pytest.mark.parametrize(
    ("keyword", "found"),
    [
        ("approve", ["a"]),  # task title
        ("TRIP", ["a"]),  # instance title
        ("leave", ["a"]),  # definition name
        ("po-7", ["a"]),  # correlation id
        ("100%", ["b"]),
        ("_", ["b"]),
        ("[", ["b"]),
        ("\\", ["b"]),
        ("张三", ["b"]),
        ("１", ["b"]),
        ("1", ["b"]),
        ("trip po-7", []),
        ("approve trip", []),
    ],
)
def test_keywords_are_literal_and_lie_in_one_field(stores, keyword, found):
    start(stores.stores, "i1", title="Trip", correlation_id="PO-7", new_bookmarks=[bookmark("a")])
    start(
        stores.stores,
        "i2",
        title="张三 １",
        definition_name="x",
        new_bookmarks=[bookmark("b", "i2", title="100%_[\\")],
    )
    assert ids(stores, keyword=keyword) == found


def test_the_default_order_is_oldest_first(stores):
    start(
        stores.stores,
        new_bookmarks=[
            bookmark("d", created_at=at(2)),
            bookmark("c", created_at=at(1), sequence=2),
            bookmark("b", created_at=at(1), sequence=1),
            bookmark("a", created_at=at(1), sequence=2),
        ],
    )
    assert ids(stores) == ["b", "a", "c", "d"]
    assert ids(stores, sorts=(Sort("createdAt", True),)) == ["d", "b", "a", "c"]


def test_sorts(stores):
    start(stores.stores, "x", definition_name="b", new_bookmarks=[bookmark("a", "x", title="Z", priority=Priority.LOW)])
    start(
        stores.stores,
        "y",
        definition_name="a",
        new_bookmarks=[
            bookmark("b", "y", title="a", priority=Priority.URGENT, created_at=at(1), task_due_at=at(9)),
            bookmark("c", "y", title="M", created_at=at(2), task_due_at=at(5)),
        ],
    )
    assert ids(stores, sorts=(Sort("title"),)) == ["b", "c", "a"]
    assert ids(stores, sorts=(Sort("priority", True),)) == ["b", "c", "a"]
    assert ids(stores, sorts=(Sort("priority"),)) == ["a", "c", "b"]
    assert ids(stores, sorts=(Sort("definitionName"), Sort("createdAt", True))) == ["c", "b", "a"]


def test_without_a_due_date_comes_last_in_both_directions(stores):
    start(
        stores.stores,
        new_bookmarks=[
            bookmark("none"),
            bookmark("soon", task_due_at=at(1)),
            bookmark("late", task_due_at=at(9)),
        ],
    )
    assert ids(stores, sorts=(Sort("dueAt"),)) == ["soon", "late", "none"]
    assert ids(stores, sorts=(Sort("dueAt", True),)) == ["late", "soon", "none"]


def test_paging(stores):
    start(stores.stores, new_bookmarks=[bookmark(f"k{number}", created_at=at(number)) for number in range(5)])
    assert ids(stores, limit=2, offset=3) == ["k3", "k4"]
    assert ids(stores, limit=2, offset=4) == ["k4"]
    assert ids(stores, offset=5) == []


@also_apart
def test_tasks_of_another_partition_are_not_seen(stores):
    start(stores.stores, "p", new_bookmarks=[bookmark("p1", "p")])
    start(stores.stores, "a", "t1", new_bookmarks=[bookmark("a1", "a")])
    start(stores.stores, "b", "t2", new_bookmarks=[bookmark("b1", "b")])
    assert (ids(stores), ids(stores, "t1"), ids(stores, "t2", mine=("ann",))) == (["p1"], ["a1"], ["b1"])
    assert ids(stores, "t1", instance_id="b") == []
    assert ids(stores, "t1", claimable=("ann",)) == []
    assert ids(stores, "t1", keyword="approve") == ["a1"]


def test_the_first_opening_is_noted_once(stores):
    start(stores.stores, new_bookmarks=[bookmark("k")], task_records=[record("k")])
    with stores.stores.writing(None) as work:
        work.bookmarks.mark_opened(None, "k", at(5))
        work.bookmarks.mark_opened(None, "k", at(9))
        work.bookmarks.mark_opened("t1", "k", at(1))
        work.bookmarks.mark_opened(None, "none", at(1))
    with stores.stores.reading(None) as work:
        assert work.bookmarks.find(None, "k").opened_at == at(5)
        assert work.instances.snapshot(None, "i1").bookmarks[0].opened_at == at(5)
        assert work.bookmarks.list_tasks(None, TaskQuery()).items[0].opened_at == at(5)
        assert work.task_records.latest(None, "k").opened_at == at(5)


def follow(stores, columns_changed=True, **values):
    changed = instance(revision=2, command_id="c2", **values)
    save(stores.stores, instance=changed, expected_revision=1, columns_changed=columns_changed)


def test_open_tasks_follow_their_instance(stores):
    start(stores.stores, correlation_id="OLD", new_bookmarks=[bookmark("k"), bookmark("own", correlation_id="OWN")])
    start(stores.stores, "i2", new_bookmarks=[bookmark("other", "i2")])
    follow(stores, title="New", correlation_id="NEW", definition_name="v2", definition_title="V2", starter_id="eve")
    with stores.stores.reading(None) as work:
        found = {item.id: item for item in work.bookmarks.list_tasks(None, TaskQuery()).items}
    task = found["k"]
    assert (task.instance_title, task.correlation_id, task.starter_id) == ("New", "NEW", "eve")
    assert (task.definition_name, task.definition_title) == ("v2", "V2")
    assert (found["other"].instance_title, found["other"].correlation_id) == ("Leave of Ann", None)
    assert ids(stores, keyword="new") == ["k", "own"] or ids(stores, keyword="new") == ["own", "k"]
    assert ids(stores, keyword="old") == []


def test_a_waiting_instance_hides_its_tasks_and_shows_them_again(stores):
    start(stores.stores, new_bookmarks=[bookmark("k")])
    follow(stores, status=InstanceStatus.SUSPENDED)
    assert ids(stores) == []
    resumed = instance(revision=3, command_id="c3")
    save(stores.stores, instance=resumed, expected_revision=2, columns_changed=True)
    assert ids(stores) == ["k"]


def test_a_signal_keeps_its_own_correlation_id(stores):
    signal = bookmark("s", kind=BookmarkKind.SIGNAL, key="paid", title=None, correlation_id="OWN")
    start(stores.stores, correlation_id="OLD", new_bookmarks=[signal])
    follow(stores, correlation_id="NEW")
    with stores.stores.reading(None) as work:
        assert work.bookmarks.summaries(None, "i1")[0].correlation_id == "OWN"


def test_tasks_do_not_follow_when_nothing_they_show_changed(stores):
    start(stores.stores, new_bookmarks=[bookmark("k")])
    follow(stores, columns_changed=False, title="New")
    with stores.stores.reading(None) as work:
        assert work.bookmarks.list_tasks(None, TaskQuery()).items[0].instance_title == "Leave of Ann"


def test_a_task_written_without_its_instance_gets_the_columns_all_the_same(stores):
    start(stores.stores, title="Trip", starter_id="eve")
    save(stores.stores, new_bookmarks=[bookmark("k")])
    with stores.stores.reading(None) as work:
        task = work.bookmarks.list_tasks(None, TaskQuery()).items[0]
    assert (task.id, task.instance_title, task.starter_id) == ("k", "Trip", "eve")
