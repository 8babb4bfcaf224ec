"""One worker process and two on one database: how much more two fire, and how busy the machine was meanwhile."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.table import Table, judged
from tests.bench.targets import Target
from tests.bench.waypost import Waypost

AIM = 1.6
BUSY = 0.9
"""From here on it is the machine that is full, and not the workers that stand in each other's way."""

_TIMERS = 600
_SECONDS = 0.05


@dataclass
class Shared:
    """Timers a second by one process and by two, and the share of the machine's cores that was busy."""

    rates: dict[int, list[float]] = field(default_factory=lambda: {1: [], 2: []})
    busy: dict[int, list[float]] = field(default_factory=lambda: {1: [], 2: []})

    def table(self) -> Table:
        """Return what was measured."""
        rates = {number: statistics.median(found) for number, found in self.rates.items()}
        busy = {number: statistics.median(found) for number, found in self.busy.items()}
        ratio = statistics.median(two / one for one, two in zip(self.rates[1], self.rates[2], strict=True))
        full = ratio < AIM and busy[2] > BUSY
        word = f"{ratio:.2f} (the cores are full: {AIM:g} is out of reach here)" if full else judged(ratio, AIM)
        rows = [
            ("timers a second", [f"{rates[1]:,.0f}", f"{rates[2]:,.0f}"]),
            ("cores busy", [f"{busy[1]:.0%}", f"{busy[2]:.0%}"]),
            ("two : one", ["", word]),
        ]
        return Table(
            "W4 shared by worker processes on PostgreSQL: median round", ["one process", "two processes"], rows
        )


def share(target: Target, waypost: Waypost, rounds: int) -> Shared:
    """Let one process, then two, fire a flock of timers, *rounds* times in turn."""
    found = Shared()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        workers = [stack.enter_context(_worker(target, Path(folder) / str(number))) for number in range(2)]
        for turn in range(rounds + 1):
            for number in (1, 2):
                waypost.start_delayed(_TIMERS, _SECONDS)
                time.sleep(_SECONDS)
                rate, busy = _fire(workers[:number])
                if turn:  # the first fills caches and pools
                    found.rates[number].append(rate)
                    found.busy[number].append(busy)
    return found


def _fire(workers: list[subprocess.Popen[str]]) -> tuple[float, float]:
    before, started = _cpu(), time.perf_counter()
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    done = sum(int(_line(worker)) for worker in workers)
    elapsed, after = time.perf_counter() - started, _cpu()
    assert done == _TIMERS, f"{done} of {_TIMERS} timers were fired"
    busy, whole = (now - then for now, then in zip(after, before, strict=True))
    return done / elapsed, busy / whole


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def _cpu() -> tuple[int, int]:
    """Return the ticks that all cores were busy, and all ticks, since the machine runs."""
    numbers = [int(text) for text in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    idle = numbers[3] + numbers[4]
    return sum(numbers) - idle, sum(numbers)


@contextmanager
def _worker(target: Target, folder: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.bench.worker", target.url, str(folder)]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert _line(worker) == "ready"
        yield worker
    finally:
        if worker.stdin is not None:
            worker.stdin.close()
        worker.wait(10)
