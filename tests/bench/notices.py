"""What telling people costs an approval: the same command with notices and without, in turns (spec 10).

Somebody starts a request, somebody else approves it and ends it: two notices are composed and written with the
command. *Off* is the same installation whose commands tell nobody.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.table import Table
from tests.bench.targets import sqlite_target
from tests.bench.waypost import Waypost
from webapp.accounts.model import Actor

AIM = 1.3
"""How many times as long an approval may take at most."""

_APPROVALS = 50


@dataclass(frozen=True)
class Telling:
    """Milliseconds of an approval, by turns: with notices, and without."""

    told: list[float]
    silent: list[float]

    @property
    def times(self) -> float:
        """How many times as long an approval takes with notices, in the cheapest turn of each."""
        return min(self.told) / min(self.silent)


def compare_notices(folder: Path, rounds: int) -> Telling:
    """Approve in turns with notices and without, on one SQLite file."""
    home = folder / "notices"
    home.mkdir()
    with sqlite_target(home, "NORMAL") as target:
        waypost = Waypost(target, home / "data")
        try:
            bob = waypost.colleague("bob")
            _turn(waypost, bob)
            told, silent = [], []
            for number in range(max(3, rounds * 2)):
                # Who begins changes, so that what grows meanwhile is nobody's.
                for tells in ((True, False), (False, True))[number % 2]:
                    if tells:
                        told.append(_turn(waypost, bob))
                    else:
                        with _silent(waypost):
                            silent.append(_turn(waypost, bob))
        finally:
            waypost.close()
    return Telling(told, silent)


def notice_table(found: Telling) -> Table:
    """Return the table."""
    cells = [f"{min(found.told):.2f}", f"{min(found.silent):.2f}"]
    judgement = f"{found.times:.2f} ({'≤' if found.times <= AIM else 'over'} {AIM:g})"
    title = "Notices: an approval that tells two people, milliseconds on SQLite NORMAL"
    return Table(title, ["with", "without", "how many times"], [("approval", [*cells, judgement])])


def _turn(waypost: Waypost, approver: Actor) -> float:
    """Return the milliseconds of an approval; the requests stand ready."""
    tasks = waypost.start_for(approver, _APPROVALS)
    started = time.perf_counter()
    for task in tasks:
        waypost.approve_as(approver, task)
    return (time.perf_counter() - started) / _APPROVALS * 1_000


@contextmanager
def _silent(waypost: Waypost) -> Iterator[None]:
    commands = waypost.services.inbox._commands
    notify, commands.notify = commands.notify, lambda wave: None
    try:
        yield
    finally:
        commands.notify = notify
