"""The poller's clockwork: APScheduler jobs, each one call of ``services.housekeeping`` (spec 8.7, 8.10).

It runs in exactly one process of an installation with few users, and in as many as wished otherwise: claims and leases
keep them apart. No rule of the product stands here.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from types import FrameType

from apscheduler.executors.pool import ThreadPoolExecutor as SchedulerThreads
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger

from webapp.services.housekeeping import BEAT_SECONDS, HousekeepingService
from webapp.services.sending import SENDER_THREADS, SendingService

log = logging.getLogger("waypost.poller")

POLL = "poll"
SENDING = "sending"
BATCHES = "batches"
TIMERS = "workflow-timer"
FIRST = "first-housekeeping"
TIMER_TRIES = 60
RECOVER_SECONDS = 5.0
FIRST_HOUSEKEEPING_SECONDS = 60.0
"""After the start: what a process was at when it was killed goes on, and often restarted ones get to it at all."""

SEAL_SECONDS = 10.0
LAST_SEALS_SECONDS = 2.0
JOB_THREADS = 14
"""More than there are jobs, so that none waits for another: beats must come whatever the others do."""

HANG_SECONDS = 60.0
"""After this the loop that claims and hands out work hangs: a turn of it takes no longer than the database's waits."""

STUCK_SECONDS = 15 * 60.0
"""After this, threads that are all busy with the same waves are stuck: so long a lease is renewed, and no longer."""


CLOCK_WATCH_SECONDS = 1.0
CLOCK_JUMP_SECONDS = 0.5


class Every(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """Fires every so many seconds; times that were missed, for instance by a clock that was put on, are one."""

    def __init__(self, seconds: float) -> None:
        self.interval = timedelta(seconds=seconds)

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> datetime:
        """Return when it fires next."""
        following = now if previous_fire_time is None else previous_fire_time
        following += self.interval
        return following if following > now else now + self.interval


class WallClock:
    """Tells when the computer's clock was put back or on: it is the one that jobs are scheduled by."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._offset = self._read()

    def jumped(self) -> float:
        """Return by how many seconds the clock was changed since the last call; 0: it ran on."""
        before, self._offset = self._offset, self._read()
        jump = self._offset - before
        # A clock that is corrected gently runs a little faster or slower meanwhile.
        return jump if abs(jump) > CLOCK_JUMP_SECONDS else 0.0

    def _read(self) -> float:
        return self._now().timestamp() - time.monotonic()


class Threads:
    """The threads that run what is due, and the word that one of them has ended."""

    def __init__(self, size: int, name: str = "waypost-poller") -> None:
        self.size = size
        self._pool = ThreadPoolExecutor(max_workers=size, thread_name_prefix=name)
        self._news = threading.Event()
        self._nudged = False
        self._lock = threading.Lock()
        self._busy = 0
        self._turned = self._moved = time.monotonic()

    def start(self, job: Callable[[], None]) -> None:
        """Run a job in a thread."""

        def run() -> None:
            try:
                job()
            finally:
                self._count(-1)
                self._news.set()

        self.turn()
        self._count(1)
        self._pool.submit(run)

    def turn(self) -> None:
        """Note that the loop which hands out the jobs goes on."""
        self._turned = time.monotonic()

    @property
    def turned_ago(self) -> float:
        """How many seconds ago the loop was seen last."""
        return time.monotonic() - self._turned

    @property
    def stuck_for(self) -> float:
        """For how many seconds every thread has been busy and none has ended its job."""
        with self._lock:
            return time.monotonic() - self._moved if self._busy >= self.size else 0.0

    def _count(self, jobs: int) -> None:
        with self._lock:
            self._busy += jobs
            self._moved = time.monotonic()

    def wait(self, seconds: float) -> bool:
        """Wait until a job has ended, somebody nudges, or the time is over; False: only a job has ended."""
        self.turn()
        if not self._news.wait(seconds):
            return True
        self._news.clear()
        # Whoever nudges after this has set the event again.
        nudged, self._nudged = self._nudged, False
        return nudged

    def nudge(self) -> None:
        """Say that there is something to look for."""
        self._nudged = True
        self._news.set()

    def close(self) -> None:
        """Let the jobs end, and the threads."""
        self._pool.shutdown(wait=True)


class Sender:
    """Sends what is due, in threads of its own, so that neither waits for the other; one pass at a time."""

    def __init__(self, sending: SendingService, stopping: threading.Event) -> None:
        self._sending = sending
        self._wakes = ThreadPoolExecutor(max_workers=1, thread_name_prefix="waypost-sender-woken")
        self._stopping = stopping
        self._crew = Threads(SENDER_THREADS, "waypost-sender")
        self._woken = threading.Event()
        self._busy = threading.Lock()

    def start(self) -> None:
        """Hear of what is left to send."""
        self._sending.on_due_now(self.wake)

    def wake(self) -> None:
        """Look at once: something was committed that is to be sent."""
        if self._stopping.is_set():
            return
        already = self._woken.is_set()
        self._woken.set()
        if self._busy.locked():
            self._crew.nudge()
        elif not already:
            with suppress(RuntimeError):
                # It was closed since.
                self._wakes.submit(guarded, self.run)

    def run(self) -> None:
        """Make passes until nobody has asked for another; whoever comes while one runs leaves it to that one."""
        while not self._stopping.is_set():
            if not self._busy.acquire(blocking=False):
                return
            try:
                self._woken.clear()
                self._sending.send_due(self._crew, self._stopping.is_set)
            finally:
                self._busy.release()
            # Looked at after the lock is free: who wakes the sender while it is taken adds no job.
            if not self._woken.is_set():
                return

    def stop(self) -> None:
        """Hear of nothing more, and have the pass at hand end."""
        self._sending.on_due_now(lambda: None)
        self._crew.nudge()

    def close(self) -> None:
        """Let the pass at hand end, and the threads."""
        self._wakes.shutdown(wait=True)
        self._crew.close()


class Poller:
    """Runs what is due in a pool of threads; ``start`` and ``stop`` may be called once each.

    *now* is the computer's clock: when it is changed, the jobs are scheduled anew.
    """

    def __init__(
        self,
        housekeeping: HousekeepingService,
        *,
        threads: int = 4,
        poll_interval_seconds: float = 1,
        timer_interval_seconds: float = 300,
        housekeeping_interval_seconds: float = 3600,
        lease_seconds: float = 60,
        seal: Callable[[Callable[[], bool]], int] = lambda stopping: 0,
        sending: SendingService | None = None,
        delivery_interval_seconds: float = 2,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self._now = now
        self._housekeeping = housekeeping
        self._seal = seal
        self._poll_interval = poll_interval_seconds
        self._timer_interval = timer_interval_seconds
        self._housekeeping_interval = housekeeping_interval_seconds
        self._beat_interval = min(BEAT_SECONDS, max(1.0, lease_seconds / 3))
        self._crew = Threads(threads)
        self._jobs = SchedulerThreads(JOB_THREADS)
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            executors={"default": self._jobs},
            job_defaults={"max_instances": 1, "coalesce": True, "misfire_grace_time": None},
        )
        # Not the scheduler: it passes over a job whose last run is about to end, and falls over one when it is stopped.
        self._wakes = ThreadPoolExecutor(max_workers=1, thread_name_prefix="waypost-woken")
        self._woken = threading.Event()
        self._polling = threading.Lock()
        self._stopping = threading.Event()
        self._sending = sending
        self._delivery_interval = delivery_interval_seconds
        self._sender = None if sending is None else Sender(sending, self._stopping)

    def start(self) -> None:
        """Free the claims of dead processes, say that this poller lives, and begin."""
        # A poll that takes longer than its interval is normal under load and no reason for a line every second.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._guarded(self._housekeeping.recover)
        self._guarded(self._beat)
        self._every(self._poll_interval, POLL, self._poll)
        self._every(RECOVER_SECONDS, "recover", self._housekeeping.recover)
        self._every(self._beat_interval, "beat", self._beat)
        self._every(self._poll_interval, BATCHES, self._batches)
        self._every(self._timer_interval, TIMERS, self._timers)
        self._every(self._housekeeping_interval, "housekeep", self._housekeep)
        self._every(min(FIRST_HOUSEKEEPING_SECONDS, self._housekeeping_interval), FIRST, self._housekeep_first)
        self._every(SEAL_SECONDS, "seal", lambda: self._seal(self._stopping.is_set))
        self._housekeeping.on_due_now(self.wake)
        if self._sending is not None and self._sender is not None:
            self._guarded(self._sending.release_dead)
            self._every(RECOVER_SECONDS, "release-deliveries", self._sending.release_dead)
            self._every(self._delivery_interval, SENDING, self._sender.run)
            self._sender.start()
        self._scheduler.start()
        if self._now is not None:
            threading.Thread(target=self._watch_clock, args=(WallClock(self._now),), daemon=True).start()
        self.wake()
        if self._sender is not None:
            self._sender.wake()
        log.info("poller started")

    def wake(self) -> None:
        """Poll at once: something that this process has just committed is due."""
        if self._stopping.is_set():
            return
        already = self._woken.is_set()
        self._woken.set()
        if self._polling.locked():
            self._crew.nudge()
        elif not already:
            with suppress(RuntimeError):
                # It was closed since.
                self._wakes.submit(self._guarded, self._poll)

    def stop(self) -> None:
        """Finish the waves at hand, then end; leases and claims are free afterwards."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._housekeeping.on_due_now(lambda: None)
        self._crew.nudge()
        if self._sender is not None:
            self._sender.stop()
        if self._scheduler.running:
            # It would wait for its jobs holding a lock that they need to change the schedule.
            self._scheduler.shutdown(wait=False)
            self._jobs.shutdown(wait=True)
        self._wakes.shutdown(wait=True)
        self._crew.close()
        if self._sender is not None:
            self._sender.close()
        self._guarded(self._seal_the_last)
        self._guarded(self._housekeeping.silence)
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
                self._crew.turn()
                self._woken.clear()
                report = self._housekeeping.poll_once(self._crew, self._stopping.is_set)
            if report.claimed or report.follow_ups:
                log.debug("poll", extra={"claimed": report.claimed, "resumed": report.resumed})
            # Looked at after the lock is free: who wakes the poller while it is taken adds no job.
            if not self._woken.is_set():
                return

    def _beat(self) -> None:
        """Say that this poller lives, as long as it does what it is there for (``/readyz``)."""
        reason = self._hangs()
        if reason is None:
            self._housekeeping.beat(self._beat_interval)
            return
        log.error("the poller hangs: %s", reason)
        self._housekeeping.silence()

    def _hangs(self) -> str | None:
        if self._polling.locked() and self._crew.turned_ago > HANG_SECONDS:
            return f"nothing was handed out for {self._crew.turned_ago:.0f} s"
        if self._crew.stuck_for > STUCK_SECONDS:
            return f"all {self._crew.size} threads have been in the same waves for {self._crew.stuck_for:.0f} s"
        return None

    def _timers(self) -> None:
        for _ in range(TIMER_TRIES):
            report = self._housekeeping.run_timers(self._stopping.is_set)
            # A busy instance need not wait for the job's whole interval.
            if not report.left or self._stopping.wait(self._poll_interval):
                return

    def _batches(self) -> None:
        self._housekeeping.run_batches(self._stopping.is_set)

    def _seal_the_last(self) -> None:
        until = time.monotonic() + LAST_SEALS_SECONDS
        self._seal(lambda: time.monotonic() > until)

    def _housekeep_first(self) -> None:
        with suppress(JobLookupError):
            # At the end of the process it is off the schedule already.
            self._scheduler.remove_job(FIRST)
        self._housekeep()

    def _housekeep(self) -> None:
        self._housekeeping.housekeep(self._stopping.is_set)

    def _every(self, seconds: float, name: str, job: Callable[[], object]) -> None:
        self._scheduler.add_job(self._guarded, Every(seconds), args=[job], id=name)

    def _watch_clock(self, clock: WallClock) -> None:
        """Schedule anew when the clock was put back: else every job would wait until its old time comes once more."""
        while not self._stopping.wait(CLOCK_WATCH_SECONDS):
            jump = clock.jumped()
            if jump:
                log.warning("the computer's clock was changed by %+.1f s", jump)
                self._guarded(self._schedule_anew)

    def _schedule_anew(self) -> None:
        for job in self._scheduler.get_jobs():
            if isinstance(job.trigger, Every):
                job.reschedule(job.trigger)

    def _guarded(self, job: Callable[[], object]) -> None:
        guarded(job)


def guarded(job: Callable[[], object]) -> None:
    """Run a job; whatever happens to it, the next one comes (spec 13)."""
    try:
        job()
    except Exception:
        log.exception("a job of the poller failed and will run again")
