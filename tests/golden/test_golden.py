"""Golden histories: what an earlier engine stored, every later one continues to the same end, on each set of stores.

The files under ``data`` were written once by :mod:`tests.golden.record` and are never written anew. A test that fails
here says that an installation's running instances would break with the next upgrade.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.flows import STORIES
from tests.golden.history import History, Player, load, outcome_of, read, write
from tests.golden.record import record
from tests.support.engine import TestCompensable, install
from tests.support.stores import StoreSet, memory_stores
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.tasks.policies import Policy

FILES = sorted((Path(__file__).parent / "data").glob("*.json"))


def history(file: Path) -> History:
    return read(file.read_bytes())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_it_is_continued_to_its_end(stores: StoreSet, file: Path) -> None:
    golden = history(file)
    stores.clock.advance((golden.now - stores.clock.now()).total_seconds())
    load(golden, stores.stores)
    house = install(stores, activities=[TestCompensable()])
    Player(house).play(golden.commands)
    assert outcome_of(house, golden.expected) == golden.expected


def test_every_kind_of_wait_has_one() -> None:
    kinds = {mark["kind"] for file in FILES for mark in history(file).bookmarks}
    assert kinds == {kind.value for kind in BookmarkKind}


def test_every_policy_has_one() -> None:
    nodes = [node for file in FILES for one in history(file).definitions for node in one["nodes"]]
    found = {node["properties"].get("CompletionPolicy") for node in nodes}
    assert {policy.value for policy in Policy} <= found


def test_every_story_has_a_file_and_every_file_is_told() -> None:
    assert sorted(STORIES) == [file.stem for file in FILES]


@pytest.mark.parametrize("name", sorted(STORIES))
def test_the_present_engine_gets_there_as_well(name: str) -> None:
    """What would be recorded today can be continued, too: the next file will be worth something."""
    golden = read(write(record(STORIES[name])))
    stores = memory_stores()
    stores.clock.advance((golden.now - stores.clock.now()).total_seconds())
    load(golden, stores.stores)
    house = install(stores, activities=[TestCompensable()])
    Player(house).play(golden.commands)
    assert outcome_of(house, golden.expected) == golden.expected
