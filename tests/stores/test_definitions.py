"""The definition store (spec 8.2)."""

import pytest

from tests.stores.records import T0, at, definition, instance, save
from webapp.engine.definitions.model import (
    DefinitionStatus,
    Node,
    Transition,
    VariableDefinition,
    WorkflowDefinition,
)
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.numbers import JsonDecimal
from webapp.engine.ports.queries import DefinitionQuery, Paging, Sort
from webapp.engine.ports.stores import DuplicateRecord, RevisionConflict
from webapp.stores import rows

PUBLISHED, DRAFT, DISABLED = DefinitionStatus.PUBLISHED, DefinitionStatus.DRAFT, DefinitionStatus.DISABLED


def insert(stores, *definitions, partition=None):
    with stores.stores.writing(partition) as work:
        for each in definitions:
            work.definitions.insert(partition, each)


def ids(stores, partition=None, **query):
    sorts = query.pop("sorts", ())
    paging = Paging(sorts=sorts, offset=query.pop("offset", 0), limit=query.pop("limit", 100))
    with stores.stores.reading(partition) as work:
        page = work.definitions.list(partition, DefinitionQuery(paging=paging, **query))
    return [item.id for item in page.items]


def test_a_definition_comes_back_as_it_was(stores):
    stored = definition(
        display_name="Urlaub ✓",
        description="long",
        category="hr",
        nodes=[Node(id="a", activity_type="Delay", properties={"DurationSeconds": JsonDecimal("1.50")}, x=3)],
        transitions=[Transition(id="t", source_node_id="a", target_node_id="a", waypoints=[[1, 2]])],
        variables=[VariableDefinition(name="v", default_value={"x": [1, None, True]})],
        owners=["ann"],
        extra_properties={"grid": "8"},
        published_at=at(0.123456),
        status=PUBLISHED,
    )
    insert(stores, stored)
    with stores.stores.reading(None) as work:
        found = work.definitions.find(None, "d1")
        header = work.definitions.header(None, "d1")
    assert found == stored
    assert str(found.nodes[0].properties["DurationSeconds"]) == "1.50"
    assert (header.display_name, header.description, header.category) == ("Urlaub ✓", "long", "hr")
    assert (header.status, header.published_at, header.running_instances) == (PUBLISHED, at(0.123456), 0)


def test_the_shown_name_falls_back_to_the_name(stores):
    insert(stores, definition())
    with stores.stores.reading(None) as work:
        assert work.definitions.header(None, "d1").display_name == "leave"


def test_lookups_by_name(stores):
    insert(
        stores,
        definition("d1", version=1, status=PUBLISHED),
        definition("d2", version=2, status=PUBLISHED),
        definition("d3", version=3, status=DISABLED),
        definition("d4", version=4),
        definition("x1", name="expense", version=7),
    )
    with stores.stores.reading(None) as work:
        store = work.definitions
        assert store.latest_published(None, "leave").id == "d2"
        assert store.latest_published(None, "expense") is None
        assert store.highest(None, "leave").id == "d4"
        assert store.highest(None, "none") is None
        assert store.header_by_version(None, "leave", 3).id == "d3"
        for number in (5, 0, -1, 2**31, 2**63 - 1):
            assert store.header_by_version(None, "leave", number) is None
        assert store.max_version(None, "leave") == 4
        assert store.max_version(None, "none") == 0
        assert store.find(None, "none") is None
        assert store.header(None, "none") is None


def test_a_name_and_version_is_taken_once(stores):
    insert(stores, definition())
    with pytest.raises(DuplicateRecord), stores.stores.writing(None) as work:
        work.definitions.insert(None, definition("d2"))
    with pytest.raises(DuplicateRecord), stores.stores.writing(None) as work:
        work.definitions.insert(None, definition("d1", version=2))
    assert ids(stores) == ["d1"]


def test_replace_needs_the_revision_read(stores):
    insert(stores, definition())
    with stores.stores.writing(None) as work:
        work.definitions.replace(None, definition(revision=2, display_name="New"), 1)
    with pytest.raises(RevisionConflict), stores.stores.writing(None) as work:
        work.definitions.replace(None, definition(revision=2, display_name="Late"), 1)
    with pytest.raises(RevisionConflict), stores.stores.writing(None) as work:
        work.definitions.replace(None, definition("gone", revision=2), 1)
    with stores.stores.reading(None) as work:
        assert work.definitions.header(None, "d1").display_name == "New"
        assert work.definitions.find(None, "d1").revision == 2


def test_delete_needs_the_revision_and_ignores_an_absent_id(stores):
    insert(stores, definition())
    with pytest.raises(RevisionConflict), stores.stores.writing(None) as work:
        work.definitions.delete(None, "d1", 9)
    with stores.stores.writing(None) as work:
        work.definitions.delete(None, "none", 1)
        work.definitions.delete(None, "d1", 1)
    assert ids(stores) == []


def test_each_partition_has_its_own_names(stores):
    insert(stores, definition("d1"))
    insert(stores, definition("d2", tenant_id="t1"), partition="t1")
    insert(stores, definition("d3", tenant_id="t2", category="x"), partition="t2")
    assert ids(stores) == ["d1"]
    assert ids(stores, "t1") == ["d2"]
    with stores.stores.reading("t1") as work:
        store = work.definitions
        assert store.find("t1", "d3") is None
        assert store.header("t1", "d1") is None
        assert store.highest("t2", "leave").id == "d3"
        assert store.header_by_version("t1", "leave", 1).id == "d2"
        assert store.categories("t1") == []
        assert store.categories("t2") == ["x"]


def test_a_write_to_another_partition_is_a_programming_error(stores):
    with pytest.raises(ValueError, match="t2"), stores.stores.writing("t1") as work:
        work.definitions.insert("t1", definition(tenant_id="t2"))
    insert(stores, definition("d1", tenant_id="t2"), partition="t2")
    with pytest.raises(RevisionConflict), stores.stores.writing("t1") as work:
        work.definitions.replace("t1", definition("d1", tenant_id="t1", revision=2), 1)
    with stores.stores.writing("t1") as work:
        work.definitions.delete("t1", "d1", 1)
    assert ids(stores, "t2") == ["d1"]


def test_filters(stores):
    insert(
        stores,
        definition("a", name="a", category="hr", created_at=at(0)),
        definition("b", name="b", category="HR", created_at=at(10), status=PUBLISHED),
        definition("c", name="c", created_at=at(20), display_name="hr"),
    )
    assert ids(stores, category="hr") == ["a"]
    assert ids(stores, name="b") == ["b"]
    assert ids(stores, status=PUBLISHED) == ["b"]
    assert ids(stores, created_from=at(10)) == ["b", "c"]
    assert ids(stores, created_to=at(10)) == ["a"]
    assert ids(stores, created_from=at(10), created_to=at(20), status=PUBLISHED) == ["b"]
    with stores.stores.reading(None) as work:
        assert work.definitions.categories(None) == ["HR", "hr"]


@pytest.mark.parametrize(
    ("keyword", "found"),
    [
        ("LEAVE", ["a"]),
        ("100%", ["b"]),
        ("%", ["b"]),
        ("_", ["c"]),
        ("[x]", ["c"]),
        ("\\", ["c"]),
        ("请假", ["d"]),
        ("ａｂ", ["d"]),
        ("ab", []),
        ("of ann 100", []),  # not across two fields
        ("zz", []),
        ("  ", ["a", "b", "c", "d"]),
    ],
)
def test_keywords_are_literal(stores, keyword, found):
    insert(
        stores,
        definition("a", name="a", display_name="Leave of Ann", description="100"),
        definition("b", name="b", display_name="100% sure"),
        definition("c", name="c", description="x_[x]\\y"),
        definition("d", name="d", display_name="请假申请ＡＢ"),
    )
    assert ids(stores, keyword=keyword) == found


def test_default_order_is_name_then_newest_version(stores):
    insert(
        stores,
        definition("b1", name="b", version=1),
        definition("b2", name="b", version=2),
        definition("a1", name="a"),
    )
    assert ids(stores) == ["a1", "b2", "b1"]
    assert ids(stores, sorts=(Sort("version"),)) == ["a1", "b1", "b2"]
    assert ids(stores, sorts=(Sort("name", True),)) == ["b2", "b1", "a1"]
    # only the first of a repeated field counts
    assert ids(stores, sorts=(Sort("version"), Sort("version", True), Sort("name", True))) == ["b1", "a1", "b2"]


def test_sorts(stores):
    insert(
        stores,
        definition("a", name="a", display_name="Zebra", status=DISABLED, created_at=at(2)),
        definition("b", name="b", display_name="ape", status=PUBLISHED, published_at=at(5), created_at=at(1)),
        definition("c", name="c", display_name="Bear", published_at=at(3), created_at=at(3)),
    )
    assert ids(stores, sorts=(Sort("title"),)) == ["b", "c", "a"]
    assert ids(stores, sorts=(Sort("createdAt", True),)) == ["c", "a", "b"]
    assert ids(stores, sorts=(Sort("status"),)) == ["c", "b", "a"]  # by rank: Draft, Published, Disabled
    # nulls are smallest
    assert ids(stores, sorts=(Sort("publishedAt"),)) == ["a", "c", "b"]
    assert ids(stores, sorts=(Sort("publishedAt", True),)) == ["b", "c", "a"]


def test_paging(stores):
    insert(stores, *(definition(f"d{number}", name=f"n{number}") for number in range(5)))
    assert ids(stores, limit=2, offset=1) == ["d1", "d2"]
    assert ids(stores, limit=2, offset=4) == ["d4"]
    assert ids(stores, offset=9) == []
    with stores.stores.reading(None) as work:
        assert work.definitions.list(None, DefinitionQuery(paging=Paging(limit=2, offset=9))).total == 5


def test_running_instances_are_counted_by_version(stores):
    insert(stores, definition("d1"), definition("d2", version=2))
    states = {"i1": InstanceStatus.RUNNING, "i2": InstanceStatus.RUNNING, "i3": InstanceStatus.SUSPENDED}
    for name, status in states.items():
        save(stores.stores, instance=instance(name, status=status), is_new=True)
    save(stores.stores, instance=instance("i4", definition_id="d2", definition_version=2), is_new=True)
    save(stores.stores, "t1", instance=instance("i5"), is_new=True)
    with stores.stores.reading(None) as work:
        page = work.definitions.list(None, DefinitionQuery())
        latest = work.definitions.list(None, DefinitionQuery(latest=True))
    assert [(item.id, item.running_instances) for item in page.items] == [("d2", 1), ("d1", 2)]
    assert [(item.id, item.running_instances) for item in latest.items] == [("d2", 3)]


def test_latest_gives_one_row_a_name(stores):
    insert(
        stores,
        definition("a1", name="a", version=1, status=PUBLISHED),
        definition("a2", name="a", version=2, status=PUBLISHED),
        definition("a3", name="a", version=3),
        definition("a4", name="a", version=4),
        definition("b1", name="b", version=1, status=DISABLED),
        definition("b2", name="b", version=2, status=DISABLED),
    )
    insert(stores, definition("c1", tenant_id="t", name="a", version=9), partition="t")
    with stores.stores.reading(None) as work:
        page = work.definitions.list(None, DefinitionQuery(latest=True))
        drafts = work.definitions.list(None, DefinitionQuery(latest=True, status=DRAFT))
    assert [(item.id, item.draft_version) for item in page.items] == [("a2", 4), ("b2", None)]
    assert (page.total, drafts.total) == (2, 0)
    assert ids(stores, "t", latest=True) == ["c1"]


def test_the_start_catalogue_shows_what_the_account_may_start(stores):
    insert(
        stores,
        definition("a", name="a", status=PUBLISHED),
        definition("b", name="b", status=PUBLISHED, startable_by=["ann", "role:sales"]),
        definition("c", name="c", status=PUBLISHED, startable_by=["role:hr"]),
        definition("d", name="d"),
    )
    assert ids(stores, startable_for=("ann",)) == ["a", "b"]
    assert ids(stores, startable_for=("bob", "role:hr")) == ["a", "c"]
    assert ids(stores, startable_for=("an", "role:h", "role")) == ["a"]
    assert ids(stores, startable_for=()) == ["a"]
    assert ids(stores, startable_for=("bob", "role:hr"), latest=True, keyword="c") == ["c"]


def test_what_is_read_is_a_snapshot(stores):
    stored = definition(nodes=[Node(id="a", activity_type="Log", properties={"Message": "x"})])
    insert(stores, stored)
    stored.nodes[0].properties["Message"] = "changed before"
    with stores.stores.reading(None) as work:
        work.definitions.find(None, "d1").nodes[0].properties["Message"] = "changed after"
        assert work.definitions.find(None, "d1").nodes[0].properties == {"Message": "x"}


def test_created_at_survives(stores):
    insert(stores, definition(created_at=T0))
    with stores.stores.reading(None) as work:
        assert work.definitions.header(None, "d1").created_at == T0


@pytest.mark.parametrize(
    ("properties", "signal"),
    [
        ({"SignalName": "paid"}, "paid"),
        ({"signalName": "paid"}, "paid"),
        # Names are compared as they are written.
        ({"SignalName": " paid "}, " paid "),
        ({"SignalName": "  "}, None),
        ({"SignalName": 5}, None),
        ({}, None),
    ],
)
def test_the_column_of_the_signal_that_starts_a_definition(properties, signal):
    start = Node(id="start", activity_type="Start", properties=properties)
    assert rows.start_signal(WorkflowDefinition(name="a", nodes=[start])) == signal
