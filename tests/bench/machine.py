"""How much this machine wavers: a fixed piece of work, timed again and again while the benchmark runs."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.bench.quartiles import quartiles

_LOOPS = 200_000
_SYNCS = 20


@dataclass
class Noise:
    """The times of the fixed work so far, in milliseconds."""

    folder: Path
    compute: list[float] = field(default_factory=list)
    sync: list[float] = field(default_factory=list)

    def sample(self) -> None:
        """Time a loop of plain Python, and the way of a small write to the disk."""
        started = time.perf_counter()
        total = 0
        for number in range(_LOOPS):
            total += number & 7
        self.compute.append((time.perf_counter() - started) * 1000)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            started = time.perf_counter()
            for _ in range(_SYNCS):
                file.write(b"x" * 4096)
                file.flush()
                os.fsync(file.fileno())
            self.sync.append((time.perf_counter() - started) * 1000 / _SYNCS)

    def report(self) -> list[str]:
        """Return a line for each kind of work."""
        return [
            f"machine: {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            _line("plain Python loop", self.compute),
            _line("write and fsync of 4 KiB", self.sync),
        ]


def _line(name: str, times: list[float]) -> str:
    lower, middle, upper = quartiles(times)
    half, whole = f"{lower:.2f} to {upper:.2f}", f"{min(times):.2f} to {max(times):.2f}"
    return f"noise: {name} {middle:.2f} ms (middle half {half}, all {whole})"
