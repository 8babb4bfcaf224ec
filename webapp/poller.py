"""The poller's clockwork: APScheduler jobs, each one call of ``services.housekeeping`` (spec 8.7, 8.10).

It runs in exactly one process of an installation with few users, and in as many as wished otherwise: claims and leases
keep them apart. No rule of the product stands here.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from types import FrameType

from apscheduler.executors.pool import ThreadPoolExecutor as SchedulerThreads
from apscheduler.schedulers.background import BackgroundScheduler

from webapp.services.housekeeping import HousekeepingService

log = logging.getLogger("waypost.poller")

POLL = "poll"
WOKEN = "woken"
RECOVER_SECONDS = 5.0
JOB_THREADS = 4


class Poller:
    """Runs what is due in a pool of threads; ``start`` and ``stop`` may be called once each."""

    def __init__(
        self,
        housekeeping: HousekeepingService,
        *,
        threads: int = 4,
        poll_interval_seconds: float = 1,
        housekeeping_interval_seconds: float = 3600,
        lease_seconds: float = 60,
    ) -> None:
        self._housekeeping = housekeeping
        self._poll_interval = poll_interval_seconds
        self._housekeeping_interval = housekeeping_interval_seconds
        self._beat_interval = max(1.0, lease_seconds / 3)
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="waypost-poller")
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": SchedulerThreads(JOB_THREADS)},
            job_defaults={"max_instances": 1, "coalesce": True, "misfire_grace_time": None},
        )
        self._woken = threading.Event()
        self._polling = threading.Lock()
        self._stopping = threading.Event()

    def start(self) -> None:
        """Free the claims of dead processes, say that this poller lives, and begin."""
        # A poll that takes longer than its interval is normal under load and no reason for a line every second.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._guarded(self._housekeeping.recover)
        self._guarded(self._housekeeping.beat)
        self._every(self._poll_interval, POLL, self._poll)
        self._every(RECOVER_SECONDS, "recover", self._housekeeping.recover)
        self._every(self._beat_interval, "beat", self._housekeeping.beat)
        self._every(self._housekeeping_interval, "housekeep", self._housekeep)
        self._housekeeping.on_due_now(self.wake)
        self._scheduler.start()
        self.wake()
        log.info("poller started")

    def wake(self) -> None:
        """Poll at once: something that this process has just committed is due."""
        if self._woken.is_set() or self._stopping.is_set():
            return
        self._woken.set()
        if not self._polling.locked():
            # A job without a trigger runs once, now.
            self._scheduler.add_job(self._guarded, args=[self._poll], id=WOKEN, replace_existing=True)

    def stop(self) -> None:
        """Finish the waves at hand, then end; leases and claims are free afterwards."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._housekeeping.on_due_now(lambda: None)
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)
        self._pool.shutdown(wait=True)
        log.info("poller stopped")

    def run_until_signal(self) -> None:
        """Run in the foreground until SIGTERM or SIGINT: the ``worker`` command."""
        ended = threading.Event()

        def end(number: int, frame: FrameType | None) -> None:
            ended.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        self.start()
        ended.wait()
        self.stop()

    def _poll(self) -> None:
        while not self._stopping.is_set():
            with self._polling:
                self._woken.clear()
                report = self._housekeeping.poll_once(self._pool.map, self._stopping.is_set)
            if report.claimed or report.follow_ups:
                log.debug("poll", extra={"claimed": report.claimed, "resumed": report.resumed})
            # Looked at after the lock is free: who wakes the poller while it is taken adds no job.
            if not self._woken.is_set():
                return

    def _housekeep(self) -> None:
        self._housekeeping.housekeep(self._stopping.is_set)

    def _every(self, seconds: float, name: str, job: Callable[[], object]) -> None:
        self._scheduler.add_job(self._guarded, "interval", args=[job], seconds=seconds, id=name)

    def _guarded(self, job: Callable[[], object]) -> None:
        """Run a job; whatever happens to it, the next one comes (spec 13)."""
        try:
            job()
        except Exception:
            log.exception("a job of the poller failed and will run again")
