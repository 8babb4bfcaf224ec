"""Writes the golden files that are not there yet: ``PYTHONPATH=. .venv/bin/python -m tests.golden.record``.

A file that is there is never written anew: it is what an earlier engine stored.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.flows import STORIES, Story
from tests.golden.history import History, Player, documents, write
from tests.services.subflows import rows
from tests.support.engine import ADMIN, TestCompensable, install
from tests.support.stores import memory_stores

FOLDER = Path(__file__).parent / "data"


def record(story: Story) -> History:
    """Let a flow run to where it stops, and return what is stored then."""
    house = install(memory_stores(), activities=[TestCompensable()])
    definitions = [house.publish(document) for document in story.definitions]
    Player(house).play(story.before)
    stores = house.store_set.stores
    instances = [house.instance(one.id) for one in house.services.instances.query(ADMIN).items]
    with stores.reading(None) as work:
        marks = [mark for one in instances for mark in work.bookmarks.by_instance(None, one.id)]
        marks += work.bookmarks.due(None, house.store_set.clock.now().replace(year=9000), 100) if not instances else []
        records = [record for one in instances for record in work.task_records.by_instance(None, one.id)]
    return History(
        about=story.about,
        now=house.store_set.clock.now(),
        definitions=documents(definitions),
        instances=documents(instances),
        node_instances=documents([node for one in instances for node in house.nodes(one.id)]),
        bookmarks=documents(marks),
        follow_ups=documents(rows(house)),
        task_records=documents(records),
        commands=story.after,
        expected=story.expected,
    )


def main() -> int:
    """Write the files that are missing; return how many."""
    missing = {name: story for name, story in STORIES.items() if not (FOLDER / f"{name}.json").exists()}
    for name, story in missing.items():
        (FOLDER / f"{name}.json").write_bytes(write(record(story)))
        sys.stdout.write(f"{name}: {story.about}\n")
    return len(missing)


if __name__ == "__main__":
    main()
