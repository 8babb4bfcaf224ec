"""The disk under SQLite is full for a while: a clear refusal, nothing by halves, and on it goes (spec 13)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.faults.nodes import ANSWER_SECONDS, Answer, Installation, installed, wait_until
from tests.support.flows import END, START, flow, node

pytestmark = [pytest.mark.faults, pytest.mark.slow, pytest.mark.timeout(300)]

MEGABYTES = 6
ASK = node("ask", "UserTask", {"Assignees": ["manager"], "AllowedOutcomes": ["approved"]})
COUNT = node("count", "SetVariable", {"Expressions": {"n": "n + 1"}})
WORK = flow("work", [START, ASK, COUNT, END])
TIMER = flow("timer", [START, node("wait", "Delay", {"DurationSeconds": 2}), COUNT, END])
WORK_PATH = [(name, "Completed") for name in ("start", "ask", "count", "end")]


class Disk:
    """A file system of a few megabytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no room at all."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    continue

    def make_room(self) -> None:
        """Give back what was taken."""
        self._ballast.unlink()


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m", "waypost-test", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, timeout=10, check=False)
    if done.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], timeout=10, check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    with small_disk(tmp_path / "disk") as made:
        yield made


def refused_start(site: Installation, started: list[str]) -> Answer:
    """Start instances until one is refused: the log of the database still has some room of its own."""
    (first,) = site.nodes
    for _ in range(500):
        answer = site.call(first, "manager", "POST", "/instances", {"name": "work", "variables": {"n": 0}})
        if answer.status != 201:
            return answer
        started.append(answer.body["id"])
    raise AssertionError("the disk does not become full")


def test_a_full_disk_is_told_and_passes(disk: Disk) -> None:
    with ExitStack() as stack:
        # The log is on another disk: the process writes it all the time.
        site = stack.enter_context(installed(disk.folder, logs=disk.folder.parent))
        (first,) = site.start_nodes(1)
        for document in (WORK, TIMER):
            site.publish(first, document)
        first.ask("poll")
        started = [site.start(first, "work", n=0) for _ in range(3)]
        task = site.task(first, started[0])
        timers = [site.start(first, "timer", n=0) for _ in range(3)]

        disk.fill()
        refused = refused_start(site, started)
        assert (refused.status, refused.body["code"]) == (503, "WORKFLOW_UNAVAILABLE_001"), refused
        assert "disk" in refused.body["detail"]
        assert refused.body["details"]["reason"] == "full"
        assert "Retry-After" in refused.headers
        late = site.complete(first, task).result(ANSWER_SECONDS)
        assert late.status == 503, late
        # Reading goes on, and shows nothing of what was refused.
        assert site.task(first, started[0]) == task
        assert {one["id"] for one in site.items(first, "admin", "/instances")} == {*started, *timers}
        # The timers come due while nothing can be written.
        time.sleep(2)

        disk.make_room()
        assert wait_until(lambda: site.complete(first, task).result(ANSWER_SECONDS).status == 200)
        assert site.instance(first, site.start(first, "work", n=0))["status"] == "Running"
        done = "/instances?definitionName=timer&status=Completed"
        assert wait_until(lambda: {one["id"] for one in site.items(first, "admin", done)} == set(timers))
        for timer in timers:
            assert site.instance(first, timer)["variables"]["n"] == 1
        assert site.path_of(first, started[0]) == WORK_PATH
        for instance in started[1:]:
            assert site.path_of(first, instance) == [("start", "Completed"), ("ask", "Suspended")]
            assert site.actions_of(first, instance) == ["start"]
