"""The instance store (spec 8.3, 8.10, 6.7)."""

from datetime import datetime, timedelta, timezone

import pytest

from tests.stores.records import at, bookmark, instance, node, record, save, start, timer
from tests.support.stores import also_apart
from webapp.engine.instances.journal import TaskCopy
from webapp.engine.instances.model import InstanceStatus, JoinState, NodeStatus, PendingToken, WorkflowFault
from webapp.engine.numbers import JsonDecimal
from webapp.engine.ports.queries import InstanceQuery, Paging, Sort

RUNNING, COMPLETED, FAULTED = InstanceStatus.RUNNING, InstanceStatus.COMPLETED, InstanceStatus.FAULTED
SUSPENDED = InstanceStatus.SUSPENDED


def ids(stores, partition=None, **query):
    paging = Paging(sorts=query.pop("sorts", ()), offset=query.pop("offset", 0), limit=query.pop("limit", 100))
    with stores.stores.reading(partition) as work:
        page = work.instances.list(partition, InstanceQuery(paging=paging, **query))
        counted = sum(work.instances.counts(partition, InstanceQuery(**query)).values())
    if "statuses" not in query:
        assert counted == page.total
    return [item.id for item in page.items]


FAULT = WorkflowFault(
    code="WORKFLOW_UNEXPECTED_001",
    key="workflow.node.failed",
    args={"text": "<b>", "n": JsonDecimal("0.10")},
    inner=WorkflowFault(code="X", key="y"),
)


def test_an_instance_comes_back_as_it_was(stores):
    stored = instance(
        status=FAULTED,
        variables={"amount": JsonDecimal("1.10"), "big": 12345678901, "list": [None, True, {"ä": "€"}]},
        join_states={"j": JoinState(arrived={"t1": ["n1"]}, fired=True)},
        pending_tokens=[PendingToken(node_id="x", caused_by=["n1"], via_transition_ids=["t"])],
        fault=FAULT,
        fault_node_id="step",
        fault_node_instance_id="n1",
        correlation_id="C-1",
        starter_id="ann",
        requested_by="bob",
        started_at=at(1),
        ended_at=at(2.000001),
        cancellation_reason="why",
        suspended_by="op",
        suspended_at=at(1),
        suspension_reason="r",
        outcome="approved",
        scheduled_at=at(0.5),
        depth=2,
        parent_instance_id="p",
        parent_node_instance_id="pn",
        last_sequence=2**53,
    )
    save(stores.stores, instance=stored, is_new=True)
    with stores.stores.reading(None) as work:
        found = work.instances.find(None, "i1")
        summary = work.instances.list(None, InstanceQuery()).items[0]
        assert work.instances.find(None, "none") is None
    assert found == stored
    assert str(found.variables["amount"]) == "1.10"
    assert summary.fault == FAULT
    assert (summary.title, summary.status, summary.revision, summary.outcome) == (
        "Leave of Ann",
        FAULTED,
        1,
        "approved",
    )
    assert (summary.created_at, summary.ended_at) == (at(0), at(2.000001))


def test_filters(stores):
    start(stores.stores, "a", status=COMPLETED, ended_at=at(50), starter_id="ann", created_at=at(0))
    start(stores.stores, "b", definition_name="expense", definition_id="d9", created_at=at(1))
    start(stores.stores, "c", definition_version=2, parent_instance_id="a", created_at=at(2), status=SUSPENDED)
    order = (Sort("createdAt"),)
    assert ids(stores, sorts=order, statuses=(COMPLETED, SUSPENDED)) == ["a", "c"]
    assert ids(stores, sorts=order, statuses=()) == ["a", "b", "c"]
    assert ids(stores, sorts=order, definition_name="leave") == ["a", "c"]
    assert ids(stores, definition_name="leave", definition_version=2) == ["c"]
    for version in (0, -5, 2**31, 2**70):
        assert ids(stores, definition_name="leave", definition_version=version) == []
    assert ids(stores, definition_id="d9") == ["b"]
    assert ids(stores, starter_id="ann") == ["a"]
    assert ids(stores, parent_instance_id="a") == ["c"]
    assert ids(stores, sorts=order, top_level_only=True) == ["a", "b"]
    assert ids(stores, sorts=order, created_from=at(1)) == ["b", "c"]
    assert ids(stores, sorts=order, created_to=at(1)) == ["a"]
    assert ids(stores, ended_from=at(50)) == ["a"]
    east, west = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
    assert ids(stores, ended_from=datetime.min.replace(tzinfo=east)) == ["a"]
    assert ids(stores, ended_from=datetime.max.replace(tzinfo=west)) == []
    assert ids(stores, ended_to=at(50)) == []
    assert ids(stores, ended_from=at(50), ended_to=at(50.000001)) == ["a"]


def test_correlation_ids_are_compared_exactly_and_an_empty_set_matches_nothing(stores):
    for name, correlation in {"a": "ORDER-1", "b": "order-1", "c": "ORDER-2", "d": None}.items():
        start(stores.stores, name, correlation_id=correlation)
    assert ids(stores, correlation_id="ORDER-1") == ["a"]
    assert sorted(ids(stores, correlation_ids=("ORDER-1", "ORDER-2", "none"))) == ["a", "c"]
    assert ids(stores, correlation_ids=()) == []
    with stores.stores.reading(None) as work:
        assert work.instances.list(None, InstanceQuery(correlation_ids=())).total == 0
        assert work.instances.counts(None, InstanceQuery(correlation_ids=())) == {}
        many = tuple(f"x{number}" for number in range(999))
        assert work.instances.list(None, InstanceQuery(correlation_ids=(*many, "ORDER-2"))).total == 1


@pytest.mark.parametrize(
    ("keyword", "found"),
    [
        ("LEAVE", ["a"]),
        ("po-7", ["a"]),
        ("ann po", []),  # not across title and correlation id
        ("%", ["b"]),
        ("0%_", ["b"]),
        ("[", ["b"]),
        ("\\", ["b"]),
        ("张三", ["c"]),
        ("Ａ", ["c"]),
        ("ａ", ["c"]),
        ("'; drop", []),
        ("", ["a", "b", "c"]),
    ],
)
def test_keywords_are_literal(stores, keyword, found):
    start(stores.stores, "a", title="Leave of Ann", correlation_id="PO-7")
    start(stores.stores, "b", title="100%_[x]\\")
    start(stores.stores, "c", title="张三的申请 Ａ")
    assert sorted(ids(stores, keyword=keyword)) == found


def test_default_order_is_newest_first_with_ties_by_sequence_and_id(stores):
    start(stores.stores, "a", created_at=at(1), sequence=5)
    start(stores.stores, "b", created_at=at(1), sequence=9)
    start(stores.stores, "c", created_at=at(1), sequence=9)
    start(stores.stores, "d", created_at=at(0), sequence=99)
    assert ids(stores) == ["c", "b", "a", "d"]
    # sequence and id follow the direction asked for createdAt
    assert ids(stores, sorts=(Sort("createdAt"),)) == ["d", "a", "b", "c"]
    assert ids(stores, sorts=(Sort("createdAt", True),)) == ["c", "b", "a", "d"]
    # without it they descend
    assert ids(stores, sorts=(Sort("definitionName"),)) == ["c", "b", "a", "d"]


def test_sorts(stores):
    start(stores.stores, "a", title="b", status=COMPLETED, ended_at=at(5), definition_name="x", created_at=at(1))
    start(stores.stores, "b", title="A", status=RUNNING, definition_name="X", created_at=at(2))
    start(stores.stores, "c", title="ä", status=FAULTED, ended_at=at(3), definition_name="y", created_at=at(3))
    assert ids(stores, sorts=(Sort("title"),)) == ["b", "a", "c"]
    assert ids(stores, sorts=(Sort("status"),)) == ["b", "a", "c"]  # Running 1, Completed 3, Faulted 5
    assert ids(stores, sorts=(Sort("status", True),)) == ["c", "a", "b"]
    assert ids(stores, sorts=(Sort("definitionName"),)) == ["b", "a", "c"]  # by code point
    assert ids(stores, sorts=(Sort("endedAt"),)) == ["b", "c", "a"]  # null is smallest
    assert ids(stores, sorts=(Sort("endedAt", True),)) == ["a", "c", "b"]


def test_titles_sort_by_code_point_beyond_the_basic_plane(stores):
    for name, title in {"a": "\U0001f600", "b": "\uffee", "c": "z"}.items():
        start(stores.stores, name, title=title)
    assert ids(stores, sorts=(Sort("title"),)) == ["c", "b", "a"]


def test_paging_and_total(stores):
    for number in range(7):
        start(stores.stores, f"i{number}", created_at=at(number))
    assert ids(stores, limit=3, offset=2) == ["i4", "i3", "i2"]
    with stores.stores.reading(None) as work:
        page = work.instances.list(None, InstanceQuery(paging=Paging(limit=2, offset=6)))
        beyond = work.instances.list(None, InstanceQuery(paging=Paging(limit=2, offset=70)))
        far = work.instances.list(None, InstanceQuery(paging=Paging(offset=2**80)))
    assert ([item.id for item in page.items], page.total) == (["i0"], 7)
    assert (far.items, far.total) == ([], 7)
    assert (beyond.items, beyond.total) == ([], 7)


def test_counts_ignore_the_status_filter_only(stores):
    start(stores.stores, "a")
    start(stores.stores, "b")
    start(stores.stores, "c", status=COMPLETED)
    start(stores.stores, "d", status=FAULTED, starter_id="ann")
    with stores.stores.reading(None) as work:
        assert work.instances.counts(None, InstanceQuery(statuses=(FAULTED,))) == {
            "Running": 2,
            "Completed": 1,
            "Faulted": 1,
        }
        assert work.instances.counts(None, InstanceQuery(starter_id="ann")) == {"Faulted": 1}


def test_children_are_oldest_first(stores):
    start(stores.stores, "a", parent_instance_id="p", created_at=at(2))
    start(stores.stores, "b", parent_instance_id="p", created_at=at(1), sequence=2)
    start(stores.stores, "c", parent_instance_id="p", created_at=at(1), sequence=1)
    start(stores.stores, "d", parent_instance_id="q")
    with stores.stores.reading(None) as work:
        assert [item.id for item in work.instances.children(None, "p")] == ["c", "b", "a"]
        assert work.instances.children(None, "none") == []


def test_node_instances_come_in_the_order_they_started(stores):
    nodes = [
        node("n3", started_at=at(1), sequence=3),
        node("n2", started_at=at(1), sequence=2),
        node("n9", started_at=at(0), sequence=9),
    ]
    start(stores.stores, node_instances=nodes)
    start(stores.stores, "i2", node_instances=[node("x", "i2")])
    with stores.stores.reading(None) as work:
        page = work.instances.node_instances(None, "i1")
        window = work.instances.node_instances(None, "i1", Paging(limit=1, offset=1))
    assert ([item.id for item in page.items], page.total) == (["n9", "n2", "n3"], 3)
    assert ([item.id for item in window.items], window.total) == (["n2"], 3)


def test_a_node_instance_comes_back_as_it_was(stores):
    stored = node(
        "n1",
        name="Step",
        activity_type="UserTask",
        status=NodeStatus.FAULTED,
        try_count=3,
        ended_at=at(9),
        inputs={"a": JsonDecimal("0.1")},
        outputs={"b": 2},
        state={"signers": [{"id": "ann"}]},
        fault=FAULT,
        compensated_at=at(10),
        caused_by=["n0"],
        via_transition_ids=["t1"],
        sequence=7,
    )
    start(stores.stores, node_instances=[stored])
    with stores.stores.reading(None) as work:
        assert work.instances.node_instances(None, "i1").items == [stored]


def test_a_snapshot_holds_what_a_wave_needs_and_no_history(stores):
    nodes = [
        node("done", status=NodeStatus.COMPLETED, started_at=at(0)),
        node("running", status=NodeStatus.RUNNING, started_at=at(4)),
        node("waiting", status=NodeStatus.SUSPENDED, started_at=at(3)),
        node("retrying", status=NodeStatus.FAULTED, started_at=at(2)),
        node("failed", status=NodeStatus.FAULTED, started_at=at(1)),
        node("canceled", status=NodeStatus.CANCELED, started_at=at(5)),
        node("other", "i2", status=NodeStatus.RUNNING),
    ]
    bookmarks = [
        timer("b2", 60, node_instance_id="retrying", created_at=at(2), sequence=2),
        bookmark("b1", node_instance_id="waiting", created_at=at(2), sequence=1),
        bookmark("b0", "i2", node_instance_id="done"),
    ]
    start(
        stores.stores,
        node_instances=nodes,
        new_bookmarks=bookmarks,
        fault_node_instance_id="failed",
        status=FAULTED,
        fault=FAULT,
    )
    with stores.stores.reading(None) as work:
        snapshot = work.instances.snapshot(None, "i1")
        assert work.instances.snapshot(None, "none") is None
        assert work.instances.snapshot("t1", "i1") is None
    assert snapshot.instance.fault == FAULT
    assert [item.id for item in snapshot.node_instances] == ["failed", "retrying", "waiting", "running"]
    assert [item.id for item in snapshot.bookmarks] == ["b1", "b2"]
    assert snapshot.bookmarks[1].due_at == at(60)


def test_an_unfinished_instance_is_found_by_correlation_id(stores):
    start(stores.stores, "done", correlation_id="C", status=COMPLETED, created_at=at(0))
    start(stores.stores, "failed", correlation_id="C", status=FAULTED, created_at=at(1))
    start(stores.stores, "child", correlation_id="C", parent_instance_id="x", created_at=at(2))
    with stores.stores.reading(None) as work:
        assert work.instances.find_unfinished(None, "C") is None
    start(stores.stores, "second", correlation_id="C", created_at=at(4), definition_name="other")
    start(stores.stores, "first", correlation_id="C", created_at=at(3), status=SUSPENDED)
    with stores.stores.reading(None) as work:
        assert work.instances.find_unfinished(None, "C").id == "first"
        assert work.instances.find_unfinished("t1", "C") is None
        assert work.instances.find_unfinished(None, "c") is None


def test_who_may_read_an_instance(stores):
    start(
        stores.stores,
        starter_id="starter",
        task_records=[record("k1", assignee_id="past", ended_at=at(1)), record("k2", assignee_id="role:hr")],
        task_copies=[TaskCopy(task_id="k1", instance_id="i1", user_id="copied", created_at=at(0))],
    )
    start(stores.stores, "i2", starter_id="other")
    with stores.stores.reading(None) as work:
        for account in ("starter", "past", "copied"):
            assert work.instances.may_read(None, "i1", account)
            assert not work.instances.may_read(None, "i2", account)
            assert not work.instances.may_read("t1", "i1", account)
        assert not work.instances.may_read(None, "i1", "nobody")
    for account in ("starter", "past", "copied"):
        assert ids(stores, readable_by=account) == ["i1"]
    assert ids(stores, readable_by="nobody") == []
    assert ids(stores, readable_by="past", statuses=(COMPLETED,)) == []


@also_apart
def test_nothing_of_another_partition_is_seen(stores):
    for partition, name in {None: "p", "t1": "a", "t2": "b"}.items():
        start(
            stores.stores,
            name,
            partition,
            correlation_id="C",
            parent_instance_id=f"{name}-parent",
            starter_id="ann",
            node_instances=[node(f"{name}-n", name)],
            new_bookmarks=[bookmark(f"{name}-b", name)],
        )
    assert (ids(stores), ids(stores, "t1"), ids(stores, "t2")) == (["p"], ["a"], ["b"])
    assert ids(stores, "t1", keyword="leave", correlation_ids=("C",), readable_by="ann") == ["a"]
    for other in ("p", "b"):
        with stores.stores.reading("t1") as work:
            assert work.instances.find("t1", other) is None
            assert work.instances.snapshot("t1", other) is None
            assert work.instances.node_instances("t1", other).total == 0
            assert list(work.instances.children("t1", f"{other}-parent")) == []
            assert work.instances.counts("t1", InstanceQuery()) == {"Running": 1}
            assert not work.instances.may_read("t1", other, "ann")


def test_what_is_read_is_a_snapshot(stores):
    stored = instance(variables={"list": [1]})
    save(stores.stores, instance=stored, is_new=True, node_instances=[node("n1", state={"a": {"b": 1}})])
    stored.variables["list"].append(2)
    with stores.stores.reading(None) as work:
        snapshot = work.instances.snapshot(None, "i1")
        snapshot.instance.variables["list"].append(3)
        snapshot.node_instances[0].state["a"]["b"] = 2
        again = work.instances.snapshot(None, "i1")
    assert again.instance.variables == {"list": [1]}
    assert again.node_instances[0].state == {"a": {"b": 1}}
