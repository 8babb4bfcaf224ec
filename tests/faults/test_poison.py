"""Bookmarks that cannot be carried out among a thousand that can: these fire, those back off and are seen (8.7, 13)."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.faults.nodes import Installation, installed, wait_until
from tests.support.flows import END, START, flow, node

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

GOOD = 1000
COUNT = node("count", "SetVariable", {"Expressions": {"n": "n + 1"}})
TIMER = flow("timer", [START, node("wait", "Delay", {"DurationSeconds": 3600}), COUNT, END])
POISON = "{ this is no document"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Installation]:
    with installed(tmp_path) as made:
        made.start_nodes(1)
        made.publish(made.nodes[0], TIMER)
        yield made


def test_a_thousand_good_ones_fire_while_two_poisoned_ones_back_off(site: Installation, tmp_path: Path) -> None:
    (first,) = site.nodes
    started = first.ask("many", name="timer", number=GOOD + 2, variables={"n": 0})["ids"]
    no_instance, no_bookmark, *good = started
    with closing(sqlite3.connect(tmp_path / "waypost.db", timeout=30)) as database, database:
        # The poisoned ones are due first, so that they are in the first claim, before all others.
        due = "UPDATE platform_bookmarks SET due_at = ? WHERE instance_id IN (?, ?)"
        first_of_all = (datetime.now(UTC) - timedelta(hours=2)).isoformat(timespec="microseconds")
        database.execute(due, (first_of_all, no_instance, no_bookmark))
        rest = "UPDATE platform_bookmarks SET due_at = ? WHERE instance_id NOT IN (?, ?)"
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        database.execute(rest, (now, no_instance, no_bookmark))
        database.execute("UPDATE platform_instances SET document = ? WHERE id = ?", (POISON, no_instance))
        database.execute("UPDATE platform_bookmarks SET document = ? WHERE instance_id = ?", (POISON, no_bookmark))
    began = time.monotonic()
    first.ask("poll")

    def fired() -> bool:
        counts = site.call(first, "admin", "GET", "/instances/counts").body
        return bool(counts.get("Completed", 0) >= GOOD)

    assert wait_until(fired, 60), site.call(first, "admin", "GET", "/instances/counts")
    for instance in (good[0], good[-1]):
        assert site.instance(first, instance)["variables"]["n"] == 1
    # A first failure waits a second, a second one five, a third twenty-five.
    assert wait_until(lambda: all(failures >= 2 for failures, _ in put_off(tmp_path, started[:2])))
    assert time.monotonic() - began > 1
    for failures, due_at in put_off(tmp_path, started[:2]):
        assert failures < 5, "it is tried again and again"
        assert datetime.fromisoformat(due_at) > datetime.now(UTC) - timedelta(seconds=1)
    # An operator sees it at the instance.
    shown = site.call(first, "admin", "GET", f"/instances/{no_bookmark}/bookmarks").body["items"]
    assert [one["failures"] >= 2 for one in shown] == [True]


def put_off(folder: Path, instances: list[str]) -> list[tuple[int, str]]:
    """Return how often the bookmarks of these instances have failed, and when they are tried next."""
    query = "SELECT failures, due_at FROM platform_bookmarks WHERE instance_id IN (?, ?)"
    with closing(sqlite3.connect(folder / "waypost.db", timeout=30)) as database:
        return database.execute(query, instances).fetchall()
