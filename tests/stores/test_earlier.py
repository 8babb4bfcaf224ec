"""Databases of earlier releases, with data: kept, read by this one, and gone on with (spec 8.10).

``earlier/<revision>.json`` holds what the code of that release wrote into its tables, recorded once and never again:
two partitions, each with a published workflow and a draft of its next version, a request that waits for a decision, one
that waits for an hour to pass, and one that was rejected.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Engine, Table, insert, text

from tests.support.clock import FakeClock
from tests.support.stores import MARIADB, POSTGRESQL, StoreSet
from tests.support.web import Site, make_site
from webapp.engine.ports.queries import DefinitionQuery, InstanceQuery
from webapp.stores.rows import Row
from webapp.stores.sql import SqlLeases, SqlStores, backfills, create_database, current, head, upgrade
from webapp.stores.sql.backfills import KNOWN, Backfill, fill_all
from webapp.stores.sql.columns import METADATA
from webapp.stores.sql.dialects import Instant

EARLIER = sorted(Path(__file__).with_name("earlier").glob("*.json"))
PARTITIONS = (None, "acme")
TITLE = "费用报销 Expense"
FINDS_BOTH_VERSIONS = (
    DefinitionQuery(category="财务"),
    DefinitionQuery(keyword="报销"),
    DefinitionQuery(keyword="WHO SPENT"),
)
FINDS_ONE_REQUEST = {
    "5% OF_[X]\\": "报销 5% of_[x]\\ ",
    "报销": "报销 5% of_[x]\\ ",
    "ürümqi 😀": "Train to Ürümqi 😀",
    "c-2": "Zug",
}


@pytest.fixture(params=EARLIER, ids=lambda path: path.stem)
def earlier(request: pytest.FixtureRequest) -> Any:
    """Each recorded database."""
    return json.loads(request.param.read_text("utf-8"))


@pytest.fixture
def engine(new_url: Callable[[], str | URL]) -> Iterator[Engine]:
    """An empty database of each kind."""
    engine = create_database(new_url())
    yield engine
    engine.dispose()


def write(engine: Engine, recorded: Any) -> None:
    """Make the tables of that release and write its rows, by their columns of then."""
    upgrade(engine, recorded["revision"])
    with engine.begin() as connection:
        for table in METADATA.sorted_tables:
            for row in recorded["tables"].get(table.name, []):
                values = {name: value_of(table, name, value) for name, value in row.items()}
                connection.execute(insert(table).values(values))


def value_of(table: Table, name: str, value: Any) -> Any:
    column = table.c[name]
    if isinstance(column.type, Instant):
        return datetime.fromisoformat(value)
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    return bool(value) if column.type.python_type is bool else value


def opened(engine: Engine) -> StoreSet:
    clock = FakeClock()
    stores = SqlStores(engine)
    leases = SqlLeases(engine, clock)
    return StoreSet(
        "", stores, leases, stores.accounts, stores.calendars, stores.notice_settings, clock, engine, engine
    )


def counts(engine: Engine, tables: Any) -> dict[str, int]:
    with engine.connect() as connection:
        return {name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in tables}


def test_every_row_is_kept_found_and_gone_on_with(engine: Engine, earlier: Any, tmp_path: Path) -> None:
    write(engine, earlier)
    assert current(engine) == earlier["revision"]
    assert upgrade(engine) == earlier["revision"]
    assert current(engine) == head()
    assert counts(engine, earlier["tables"]) == {name: len(rows) for name, rows in earlier["tables"].items()}
    stores = SqlStores(engine)
    for partition in PARTITIONS:
        with stores.reading(partition) as work:
            for query in FINDS_BOTH_VERSIONS:
                found = work.definitions.list(partition, query).items
                assert [(one.version, one.display_name) for one in found] == [(2, TITLE), (1, TITLE)]
            for keyword, title in FINDS_ONE_REQUEST.items():
                page = work.instances.list(partition, InstanceQuery(keyword=keyword))
                assert [one.title for one in page.items] == [title]
    carry_on(make_site(tmp_path, opened(engine)))


def carry_on(site: Site) -> None:
    """Decide the open task of each partition, let the hour pass, and look at what has become of all three requests."""
    for suffix in ("", "-acme"):
        manager, admin = site.caller(f"manager{suffix}"), site.caller(f"admin{suffix}")
        (task,) = manager.get("/tasks").expect(200)["items"]
        assert (task["title"], task["correlationId"]) == ("报销 5% of_[x]\\  prüfen", "C-0")
        manager.post(f"/tasks/{task['id']}/complete", {"outcome": "approved"}).expect(200)
        account = site.services.accounts.find_by_name(f"manager{suffix}")
        assert account is not None
        done = site.services.inbox.done(site.services.accounts.actor(account)).items
        assert {one.instance_title for one in done} == {"报销 5% of_[x]\\ ", "Zug", "Train to Ürümqi 😀"}
        (rejected,) = admin.get("/instances?keyword=zug").expect(200)["items"]
        trail = admin.get(f"/instances/{rejected['id']}/history").expect(200)["items"]
        assert [one["comment"] for one in trail if one["action"] == "complete"] == ["看过: rejected"]
    site.clock.advance(8_000)
    site.services.housekeeping.poll_once()
    for suffix in ("", "-acme"):
        found = site.caller(f"admin{suffix}").get("/instances").expect(200)["items"]
        assert [one["status"] for one in found] == ["Completed"] * 3


class Killed(BaseException):
    """What ends a process in the midst of its work."""


EMPTIED = {
    "definitions": "UPDATE {} SET search_text = '', title_sort_key = '', category = NULL",
    "instances": "UPDATE {} SET search_text = '', title_sort_key = ''",
}
"""As rows would be that were there before these columns."""


@pytest.fixture
def unfilled(engine: Engine) -> Engine:
    """A database of an earlier release with four definitions and six instances that have only their documents."""
    write(engine, json.loads(EARLIER[0].read_text("utf-8")))
    with engine.begin() as connection:
        for name, statement in EMPTIED.items():
            for table in (name, f"platform_{name}"):
                connection.execute(text(statement.format(table)))
    return engine


def found_by_columns(engine: Engine) -> list[int]:
    """Return how many rows each partition finds by category, and by keywords of definitions and instances."""
    stores, found = SqlStores(engine), []
    for partition in PARTITIONS:
        with stores.reading(partition) as work:
            found += [work.definitions.list(partition, query).total for query in FINDS_BOTH_VERSIONS]
            found += [work.instances.list(partition, InstanceQuery(keyword=word)).total for word in FINDS_ONE_REQUEST]
    return found


def left(engine: Engine) -> int:
    tables = [prefix + name for name in EMPTIED for prefix in ("", "platform_")]
    return sum(counts(engine, [f"{table} WHERE search_text = ''" for table in tables]).values())


def test_a_column_that_came_later_is_filled_from_the_documents_and_goes_on_where_it_was_broken_off(
    unfilled: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = head()
    assert newest is not None
    upgrade(unfilled, newest)  # the tables alone
    assert found_by_columns(unfilled) == [0] * 14
    read: list[str] = []

    def broken_off(backfill: Backfill) -> Backfill:
        def row_of(document: str) -> Row:
            if len(read) == 8:
                raise Killed
            read.append(document)
            return backfill.row_of(document)

        return replace(backfill, row_of=row_of)

    with pytest.raises(Killed):
        fill_all(unfilled, [broken_off(one) for one in KNOWN], batch=2)
    assert left(unfilled) == 3  # what was filled stays, the batch that was at hand is undone
    assert upgrade(unfilled) == newest
    assert left(unfilled) == 0
    assert found_by_columns(unfilled) == [2, 2, 2, 1, 1, 1, 1] * 2
    monkeypatch.setattr(backfills, "_values", lambda *found: pytest.fail("what is filled is looked at again"))
    assert fill_all(unfilled) == 0


@pytest.mark.parametrize("new_url", ["sqlite"], indirect=True)
def test_a_document_that_cannot_be_read_keeps_no_other_row_empty(
    unfilled: Engine, caplog: pytest.LogCaptureFixture
) -> None:
    with unfilled.begin() as connection:
        (first, *_) = connection.execute(text("SELECT id FROM platform_instances ORDER BY id")).scalars()
        connection.execute(text("UPDATE platform_instances SET document = '{' WHERE id = :id"), {"id": first})
    upgrade(unfilled)
    assert left(unfilled) == 1
    assert first in caplog.text


@pytest.mark.parametrize("new_url", [POSTGRESQL, MARIADB], indirect=True)
def test_two_that_fill_at_once_take_turns(unfilled: Engine) -> None:
    upgrade(unfilled, head() or "")
    with ThreadPoolExecutor(3) as threads:
        done = [threads.submit(fill_all, unfilled, KNOWN, 1) for _ in range(3)]
    assert sum(one.result() for one in done) == 10
    assert left(unfilled) == 0
