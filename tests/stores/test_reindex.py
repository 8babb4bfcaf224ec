"""``db reindex`` on each database: the index of keywords is made anew, by its engine or its address (spec 8.10)."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text

from tests.stores.records import bookmark, start
from tests.support.stores import StoreSet, on_every_database
from webapp.engine.ports.queries import InstanceQuery, TaskQuery
from webapp.stores.sql.keyword_index import SOURCES, take_all_over
from webapp.stores.sql.maintenance import reindex

pytestmark = on_every_database

MADE = {
    "sqlite": [f"{source}_words_index" for source in SOURCES],
    "postgresql": [f"ix_{source}_words" for source in SOURCES],
    "mariadb": [],
}
VALID = text(
    "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid"
    " WHERE indisvalid AND relname LIKE 'ix%_words' ORDER BY relname"
)


def damage(engine: Engine) -> None:
    """Take the index away: SQLite's pages, and PostgreSQL's word that it may be asked; MariaDB has none."""
    if engine.dialect.name == "sqlite":
        with engine.begin() as connection:
            take_all_over(connection)
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            for source in SOURCES:
                connection.execute(text(f"DELETE FROM {source}_words_index_data"))
        elif engine.dialect.name == "postgresql":
            connection.execute(
                text(
                    "UPDATE pg_index SET indisvalid = false FROM pg_class"
                    " WHERE pg_class.oid = indexrelid AND relname LIKE 'ix%_words'"
                )
            )
    engine.dispose()


def is_whole(engine: Engine) -> bool:
    """Whether the index can be asked, and has every row."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            return list(connection.execute(VALID).scalars()) == sorted(MADE["postgresql"])
        if engine.dialect.name == "sqlite":
            words = {"words": '"nn"'}
            found = [
                connection.execute(text(f"SELECT count(*) FROM {source}_words_index(:words)"), words).scalar_one()
                for source in ("platform_instances", "platform_bookmarks")
            ]
            return found == [1, 1]
        return True


def searched(stores: StoreSet, keyword: str) -> list[str]:
    with stores.stores.reading(None) as work:
        instances = work.instances.list(None, InstanceQuery(keyword=keyword))
        tasks = work.bookmarks.list_tasks(None, TaskQuery(mine=("ann",), keyword=keyword))
    return [*(one.id for one in instances.items), *(one.id for one in tasks.items)]


@pytest.mark.parametrize("by", ["engine", "address"])
def test_a_damaged_index_is_made_anew(stores: StoreSet, by: str) -> None:
    engine = stores.engine
    assert engine is not None
    start(stores.stores, "first", title="Leave of Ann", new_bookmarks=[bookmark("task", "first", title="Ask Ann")])
    start(stores.stores, "second", title="Leave of Bob")
    damage(engine)
    # Lists go on without it.
    assert searched(stores, "nn") == ["first", "task"]
    assert reindex(engine if by == "engine" else engine.url) == MADE[stores.kind]
    assert is_whole(engine)
    assert searched(stores, "nn") == ["first", "task"]
    # What comes afterwards is found as well.
    start(stores.stores, "third", title="Leave of Anna")
    assert sorted(searched(stores, "of ann")) == ["first", "task", "third"]


def test_an_empty_database_has_an_empty_index(stores: StoreSet) -> None:
    assert stores.engine is not None
    assert reindex(stores.engine) == MADE[stores.kind]
    assert searched(stores, "nn") == []
