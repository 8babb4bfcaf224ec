"""SQLite's index of keywords follows the rows, in batches (spec 8.10)."""

import pytest
from sqlalchemy import event, text

from tests.stores.records import bookmark, instance, save, start, timer
from tests.support.stores import sqlite_stores
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.ports.queries import InstanceQuery
from webapp.stores.keywords import keyword_bigrams
from webapp.stores.sql.keyword_index import SOURCES, asked_words, is_common, take_over, words_text
from webapp.stores.sql.maintenance import reindex
from webapp.stores.sql.tables import PLATFORM_SET, TENANT_SET


@pytest.fixture
def sqlite(migrated_sqlite, tmp_path):
    with sqlite_stores(migrated_sqlite, tmp_path) as found:
        yield found


def noted(sqlite, source):
    with sqlite.engine.connect() as connection:
        found = connection.execute(text(f"SELECT id, indexed FROM {source}_words ORDER BY number"))
        return [tuple(row) for row in found]


def found(sqlite, source, words):
    query = f"SELECT id FROM {source}_words WHERE number IN (SELECT rowid FROM {source}_words_index(:words))"
    with sqlite.engine.connect() as connection:
        return connection.execute(text(query), {"words": words}).scalars().all()


def take(sqlite, source, **limit):
    with sqlite.engine.begin() as connection:
        return take_over(connection, source, **limit)


def test_only_what_lists_search_is_noted_and_taken_over(sqlite):
    start(
        sqlite.stores,
        title="请假 Ann",
        new_bookmarks=[bookmark("task", title="Approve"), timer("timer", 60)],
    )
    assert noted(sqlite, "platform_bookmarks") == [("task", 0)]
    assert noted(sqlite, "platform_instances") == [("i1", 0)]
    assert noted(sqlite, "bookmarks") == []
    assert take(sqlite, "platform_bookmarks") == 1
    assert noted(sqlite, "platform_bookmarks") == [("task", 1)]
    assert found(sqlite, "platform_bookmarks", '"pp" "请假"') == ["task"]
    assert found(sqlite, "platform_bookmarks", '"假a"') == []


def test_a_row_that_goes_leaves_the_index(sqlite):
    start(sqlite.stores, new_bookmarks=[bookmark("kept", title="ab"), bookmark("new", title="ab")])
    assert take(sqlite, "platform_bookmarks", limit=1) == 1
    save(
        sqlite.stores,
        instance=instance(revision=2, command_id="c2", status=InstanceStatus.RUNNING),
        expected_revision=1,
        deleted_bookmark_ids=["kept", "new"],
    )
    assert noted(sqlite, "platform_bookmarks") == [(None, 1)]
    assert take(sqlite, "platform_bookmarks") == 1
    assert noted(sqlite, "platform_bookmarks") == []
    assert found(sqlite, "platform_bookmarks", '"ab"') == []


def test_other_words_are_taken_over_anew_and_other_columns_are_not(sqlite):
    start(sqlite.stores, new_bookmarks=[bookmark("task", title="old")])
    take(sqlite, "platform_bookmarks")
    write = {"instance": instance(revision=2, command_id="c2"), "expected_revision": 1}
    save(sqlite.stores, **write, changed_bookmarks=[bookmark("task", title="old", key="eve")])
    assert noted(sqlite, "platform_bookmarks") == [("task", 1)]
    write = {"instance": instance(revision=3, command_id="c3"), "expected_revision": 2}
    save(sqlite.stores, **write, changed_bookmarks=[bookmark("task", title="brand")])
    assert noted(sqlite, "platform_bookmarks") == [(None, 1), ("task", 0)]
    take(sqlite, "platform_bookmarks")
    assert found(sqlite, "platform_bookmarks", '"br"') == ["task"]
    assert found(sqlite, "platform_bookmarks", '"ol"') == []


def test_commands_take_full_batches_over_by_themselves(sqlite):
    tasks = [bookmark(f"k{number}") for number in range(600)]
    start(sqlite.stores, new_bookmarks=tasks)
    for number in range(70):
        start(sqlite.stores, f"more{number}")
    states = [indexed for _, indexed in noted(sqlite, "platform_bookmarks")]
    assert (states.count(1), states.count(0)) == (512, 88)
    assert {indexed for _, indexed in noted(sqlite, "platform_instances")} == {0}


def test_a_token_has_no_character_that_ends_it():
    assert words_text("a b", "请-") == " ".join(["a\ue020", "\ue020b", "请\ue02d"])
    assert words_text("ab\x1fcd", None, "x") == "ab cd"
    assert words_text("abab请") == "ab ba b请"


def test_a_keyword_is_asked_for_by_a_few_bigrams():
    assert keyword_bigrams("a") == keyword_bigrams("") == []
    assert keyword_bigrams("ab") == ["ab"]
    assert keyword_bigrams("abc") == ["ab", "bc"]
    assert keyword_bigrams("abcdefgh") == ["ab", "cd", "ef", "gh"]
    assert keyword_bigrams("ababab") == ["ab"]
    spread = keyword_bigrams("abcdefghijklmnopqrs")
    assert (len(spread), spread[0], spread[-1]) == (4, "ab", "rs")


def test_taking_over_begins_with_what_is_noted(sqlite):
    seen = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith("SELECT"):
            seen.append((statement, parameters))

    with sqlite.engine.begin() as connection:
        event.listen(sqlite.engine, "before_cursor_execute", note)
        take_over(connection, "bookmarks")
        event.remove(sqlite.engine, "before_cursor_execute", note)
        plan = [
            row[-1] for one, given in seen for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {one}", given)
        ]
    assert plan == [
        "SCAN noted USING INDEX ix_bookmarks_words_new",
        "SEARCH row USING INDEX sqlite_autoindex_bookmarks_1 (id=?)",
        "SEARCH bookmarks_words USING COVERING INDEX sqlite_autoindex_bookmarks_words_1 (id=?)",
    ]


@pytest.mark.parametrize(
    ("matches", "others", "common", "expected"),
    [
        (4, 0, 5, False),  # fewer than are ever gone through
        (5, 0, 5, True),
        (5, 16, 5, True),  # 21 rows lie 20 numbers apart: 5 are a quarter
        (5, 17, 5, True),  # as many as a whole number says
        (5, 20, 5, False),
        (6, 20, 5, True),
    ],
)
def test_a_word_is_common_if_a_quarter_of_many_rows_have_it(sqlite, matches, others, common, expected):
    titles = ["common"] * matches + ["other"] * others
    start(sqlite.stores, new_bookmarks=[bookmark(f"k{number}", title=title) for number, title in enumerate(titles)])
    take(sqlite, "platform_bookmarks")
    with sqlite.stores.database.reading() as transaction:
        asked = asked_words("sqlite", keyword_bigrams("common"))
        assert is_common(transaction, PLATFORM_SET.bookmarks, asked, common=common) is expected
        # Nothing is in this one.
        assert is_common(transaction, TENANT_SET.bookmarks, asked, common=common) is False


def test_how_many_rows_there_are_is_seen_by_two_steps_in_the_table(sqlite):
    seen = []

    def note(connection, cursor, statement, parameters, context, executemany):
        seen.append((statement, parameters))

    event.listen(sqlite.engine, "before_cursor_execute", note)
    with sqlite.stores.database.reading() as transaction:
        is_common(transaction, TENANT_SET.bookmarks, '"ab"')
    event.remove(sqlite.engine, "before_cursor_execute", note)
    ((statement, given),) = [one for one in seen if "MATCH" in one[0]]
    with sqlite.engine.connect() as connection:
        plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given)]
    # A scan in the order of the numbers, of which LIMIT 1 leaves one step: no sorting, and no other index.
    assert "SCAN bookmarks_words" in plan
    assert not any("TEMP B-TREE" in line or "bookmarks_words USING" in line for line in plan), plan


def damage(sqlite):
    """Take the pages of the full-text tables away, as a disk that fails would."""
    with sqlite.engine.begin() as connection:
        for source in SOURCES:
            connection.execute(text(f"DELETE FROM {source}_words_index_data"))


def search(sqlite, keyword):
    with sqlite.stores.reading(None) as work:
        found = work.instances.list(None, InstanceQuery(keyword=keyword))
    return [one.id for one in found.items]


def test_a_damaged_index_fails_no_command_and_no_search_and_can_be_made_anew(sqlite, monkeypatch, caplog):
    monkeypatch.setattr("webapp.stores.sql.keyword_index.TAKEN_AT_ONCE", 1)
    start(sqlite.stores, "first", title="Leave of Ann", new_bookmarks=[bookmark("task", title="Approve")])
    for source in SOURCES:
        take(sqlite, source)
    damage(sqlite)
    sqlite.engine.dispose()
    for number in range(130):
        start(sqlite.stores, f"i{number}", title="Leave of Bob")
    told = [record.message for record in caplog.records if "takes no new rows over" in record.message]
    assert len(told) == 1
    assert "db reindex" in told[0]
    assert search(sqlite, "leave of ann") == ["first"]
    assert "all rows are looked through" in caplog.text
    assert reindex(sqlite.engine) == [f"{source}_words_index" for source in SOURCES]
    caplog.clear()
    assert search(sqlite, "leave of ann") == ["first"]
    assert len(noted(sqlite, "platform_instances")) == 131
    assert noted(sqlite, "platform_bookmarks") == [("task", 1)]
    assert sorted(found(sqlite, "platform_instances", '"bo" "ob"')) == sorted(f"i{number}" for number in range(130))
    assert caplog.text == ""
