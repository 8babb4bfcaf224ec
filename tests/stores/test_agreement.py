"""Memory and SQLite, fed the same operations, say the same (style: properties)."""

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.stores.records import at, bookmark, instance, record, save
from tests.support.stores import memory_stores, sqlite_stores
from webapp.engine.instances.bookmarks import BookmarkKind, Lane, Priority
from webapp.engine.instances.journal import EndReason, TaskEnd
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.queries import INSTANCE_SORTS, TASK_SORTS, InstanceQuery, Paging, Sort, TaskQuery
from webapp.engine.ports.stores import DuplicateRecord, RevisionConflict

PARTITIONS = [None, "t1", "t2"]
NAMES = st.sampled_from(["a", "b", "c"])
TEXTS = st.text(alphabet="aA%_[\\ äÄΣσςİ请Ａ\U0001f600", max_size=6)
SECONDS = st.integers(0, 3)
KEYS = st.sampled_from(["ann", "Ann", "role:hr"])


@st.composite
def commands(draw):
    """Return one command's write set, new or on whatever may be there."""
    number = draw(st.integers(0, 10**9))
    name = draw(NAMES)
    status = draw(st.sampled_from(list(InstanceStatus)))
    ends = draw(st.none() | SECONDS)
    is_new = draw(st.booleans())
    expected = draw(st.integers(1, 3))
    owner = instance(
        name,
        revision=1 if is_new else expected + 1,
        command_id=f"c{draw(st.integers(0, 3))}",
        title=draw(TEXTS),
        status=status,
        correlation_id=draw(st.none() | TEXTS),
        created_at=at(draw(SECONDS)),
        ended_at=None if ends is None else at(ends),
        sequence=draw(st.integers(0, 2)),
        starter_id=draw(st.none() | KEYS),
    )
    tasks = [
        bookmark(
            f"{name}-{draw(st.integers(0, 3))}",
            name,
            kind=draw(st.sampled_from([BookmarkKind.USER_TASK, BookmarkKind.TIMER])),
            key=draw(KEYS),
            title=draw(st.none() | TEXTS),
            created_at=at(draw(SECONDS)),
            due_at=draw(st.none() | SECONDS.map(at)),
            task_due_at=draw(st.none() | SECONDS.map(at)),
            priority=draw(st.sampled_from(list(Priority))),
            claimed_by=draw(st.none() | KEYS),
            claimable=draw(st.booleans()),
            sequence=draw(st.integers(0, 2)),
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    task = draw(NAMES)
    return {
        "partition": draw(st.sampled_from(PARTITIONS)),
        "instance": owner,
        "is_new": is_new,
        "expected_revision": expected,
        "columns_changed": draw(st.booleans()),
        "new_bookmarks": tasks,
        "deleted_bookmark_ids": [f"{name}-{draw(st.integers(0, 3))}"],
        "task_records": [record(f"{task}{number}", name, title=draw(TEXTS), assignee_id=draw(KEYS))],
        "task_ends": [
            TaskEnd(task_id=f"{task}{number}", ended_at=at(1), end_reason=EndReason.COMPLETED, actor_id=draw(KEYS))
        ],
    }


def sorts(fields):
    return st.lists(st.builds(Sort, st.sampled_from(fields), st.booleans()), max_size=3).map(tuple)


INSTANCE_QUERIES = st.builds(
    InstanceQuery,
    statuses=st.lists(st.sampled_from(list(InstanceStatus)), max_size=2).map(tuple),
    correlation_ids=st.none() | st.lists(TEXTS, max_size=2).map(tuple),
    keyword=st.none() | TEXTS,
    ended_from=st.none() | SECONDS.map(at),
    created_to=st.none() | SECONDS.map(at),
    readable_by=st.none() | KEYS,
    paging=st.builds(Paging, sorts=sorts(INSTANCE_SORTS), offset=st.integers(0, 2), limit=st.integers(1, 4)),
)
TASK_QUERIES = st.builds(
    TaskQuery,
    mine=st.none() | st.lists(KEYS, max_size=2).map(tuple),
    claimable=st.none() | st.lists(KEYS, max_size=2).map(tuple),
    keyword=st.none() | TEXTS,
    due_before=st.none() | SECONDS.map(at),
    paging=st.builds(Paging, sorts=sorts(TASK_SORTS), offset=st.integers(0, 2), limit=st.integers(1, 4)),
)


def outcome(stores, command):
    values = dict(command)
    try:
        save(stores.stores, values.pop("partition"), **values)
    except (RevisionConflict, DuplicateRecord) as error:
        return type(error)
    return "stored"


def answers(stores, instances, tasks):
    found = []
    for partition in PARTITIONS:
        with stores.stores.reading(partition) as work:
            found.append(work.instances.list(partition, instances))
            found.append(work.instances.counts(partition, instances))
            found.append(work.bookmarks.list_tasks(partition, tasks))
            found.append(work.bookmarks.due(partition, at(2), 3))
            found.append(work.task_records.done_by(partition, "ann", tasks.keyword, tasks.paging))
            found += [work.instances.snapshot(partition, name) for name in "abc"]
            found += [list(work.task_records.by_instance(partition, name)) for name in "abc"]
    return found


def claims(stores):
    with stores.stores.writing(None) as work:
        return work.bookmarks.claim_due(at(2), 2, "token", at(60), [Lane.POLLER])


@settings(
    max_examples=25,
    deadline=None,
    # Explaining a failure traces every line, which takes minutes here.
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(commands(), min_size=1, max_size=6), INSTANCE_QUERIES, TASK_QUERIES)
def test_memory_and_sqlite_agree(migrated_sqlite, tmp_path_factory, written, instances, tasks):
    memory = memory_stores()
    with sqlite_stores(migrated_sqlite, tmp_path_factory.mktemp("agree")) as sqlite:
        for command in written:
            assert outcome(memory, command) == outcome(sqlite, command)
        assert answers(memory, instances, tasks) == answers(sqlite, instances, tasks)
        assert claims(memory) == claims(sqlite)
        assert answers(memory, instances, tasks) == answers(sqlite, instances, tasks)
