"""Every database finds by a keyword what memory finds, character by character (spec 8.5, 8.10)."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.stores.records import at, bookmark, definition, record, start
from tests.support.stores import memory_stores, on_databases
from webapp.engine.instances.journal import EndReason
from webapp.engine.ports.queries import DefinitionQuery, InstanceQuery, Paging, TaskQuery
from webapp.stores.sql.keyword_index import take_over

pytestmark = on_databases

TEXTS = [
    "请假申请",
    "请 假",
    "采购Ａ１２号",
    "100%_done [x] \\ end",
    "50% off_",
    "İstanbul İi",
    "Straße STRASSE ẞß",
    "ΟΔΟΣ οδός",
    "\U0001f600\U0001f601 smile \U00010400",
    "aab baa aba",
    "tab\tline\nend",
    "-- ; ' \" OR (NEAR* ^x",
    "\ue020private\ue025",
    "e\u0301 é",
    "x" * 300 + "请假",
    "ａｂc ﾊﾝ ハン",
]
ALPHABET = "aAbB%_[]\\ -'\"*^请假申采购ＡａİiıẞßΣσς\U0001f600\U0001f601\ue020\ue025\u0301é\t"
PIECES = [
    text[start : start + length] for text in TEXTS for start in range(min(len(text), 40)) for length in (1, 2, 3, 5)
]
KEYWORDS = st.one_of(
    st.sampled_from(PIECES),
    st.sampled_from(PIECES).map(str.swapcase),
    st.text(ALPHABET, max_size=4),
    st.sampled_from(TEXTS),
)


def fill(stores):
    """Store each text as a task's, an instance's, a definition's and a finished task's title, in two partitions."""
    for number, text in enumerate(TEXTS):
        other = TEXTS[-1 - number]
        for partition in (None, "t1"):
            start(
                stores,
                f"{partition}-i{number}",
                partition,
                title=text,
                correlation_id=other[:200],
                created_at=at(number),
                new_bookmarks=[bookmark(f"{partition}-k{number}", f"{partition}-i{number}", title=other, key="ann")],
                task_records=[
                    record(
                        f"{partition}-r{number}",
                        f"{partition}-i{number}",
                        title=other,
                        instance_title=text,
                        actor_id="ann",
                        ended_at=at(number),
                        end_reason=EndReason.COMPLETED,
                    )
                ],
            )
            with stores.writing(partition) as work:
                values = {"name": f"d{number}", "display_name": text, "tenant_id": partition}
                work.definitions.insert(partition, definition(f"{partition}-d{number}", **values))


def found(stores, keyword):
    """Return the ids that each list finds, and the totals."""
    paging = Paging(limit=1000)
    result = []
    for partition in (None, "t1"):
        with stores.reading(partition) as work:
            for query in (TaskQuery, lambda **more: TaskQuery(mine=("ann",), claimable=("ann", "role:hr"), **more)):
                result.append(work.bookmarks.list_tasks(partition, query(keyword=keyword, paging=paging)))
                result.append(work.bookmarks.count_tasks(partition, query(keyword=keyword)))
            result.append(work.instances.list(partition, InstanceQuery(keyword=keyword, paging=paging)))
            result.append(work.instances.counts(partition, InstanceQuery(keyword=keyword)))
            result.append(work.task_records.done_by(partition, "ann", keyword, paging))
            result.append(work.definitions.list(partition, DefinitionQuery(keyword=keyword, paging=paging)))
    return result


def test_a_keyword_finds_the_same_everywhere(stores):
    memory = memory_stores()
    fill(memory.stores)
    fill(stores.stores)
    if stores.kind == "sqlite":
        # Half is in the index, half still waits.
        for source in ("bookmarks", "instances", "platform_bookmarks", "platform_instances"):
            with stores.engine.begin() as connection:
                take_over(connection, source, len(TEXTS) // 2)

    @settings(
        max_examples=60,
        deadline=None,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(KEYWORDS)
    def agree(keyword):
        assert found(stores.stores, keyword) == found(memory.stores, keyword)

    agree()


@pytest.mark.parametrize(
    ("keyword", "texts"),
    [
        ("请假", {0, 14}),
        ("%_", {3}),
        ("% OFF", {4}),
        ("[X]", {3}),
        ("\\ E", {3}),
        ("ａ１", {2}),
        ("a1", set()),
        ("İi", {5}),
        ("ii", set()),
        ("ß", {6}),
        ("ẞ", {6}),
        ("\U0001f600\U0001f601", {8}),
        ("\U0001f601", {8}),
        ("οδ", {7}),
        ("σ οδό", {7}),
        ("aba", {9}),
        (" ", set(range(16))),
        ("f_请", set()),
    ],
)
def test_an_instance_is_found_by_what_stands_in_one_field(stores, keyword, texts):
    for number, text in enumerate(TEXTS):
        start(stores.stores, f"i{number:02}", title=text, correlation_id="f_")
    if stores.kind == "sqlite":
        with stores.engine.begin() as connection:
            take_over(connection, "platform_instances")
    with stores.stores.reading(None) as work:
        items = work.instances.list(None, InstanceQuery(keyword=keyword)).items
    assert {int(item.id[1:]) for item in items} == texts
