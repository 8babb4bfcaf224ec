"""The poller's use cases: run what is due, free the claims of the dead, throw away what is too old (8.7, 8.10)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from webapp.accounts.tenants import TenantDirectory
from webapp.engine.clock import Clock
from webapp.engine.instances.bookmarks import BookmarkKind, Lane
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.partitions import PartitionDatabases
from webapp.engine.ports.stores import Partition
from webapp.engine.runtime.engine import Engine
from webapp.services.commands import Commands
from webapp.services.due_groups import DueHandler, DueRunner
from webapp.services.due_work import Alone, Crew, DueWork
from webapp.services.follow_ups import FollowUpRunner
from webapp.services.joint_commands import JointCommands
from webapp.services.purging import PurgeService
from webapp.services.settings import ServiceSettings
from webapp.services.storage import Storage, answered
from webapp.services.views import PollReport

log = logging.getLogger("waypost.poller")

POLLER_ROWS = "poller:"
BEAT_SECONDS = 5.0
SWEPT_AFTER_SECONDS = 3600.0
"""How long the row of a lease that is over is kept: whoever looks for what went wrong still finds its holder."""


class HousekeepingService:
    """What the poller calls, once each time."""

    def __init__(
        self,
        *,
        engine: Engine,
        storage: Storage,
        leases: Leases,
        commands: Commands,
        joint: JointCommands,
        follow_ups: FollowUpRunner,
        tenants: TenantDirectory,
        databases: PartitionDatabases,
        clock: Clock,
        settings: ServiceSettings,
        purges: PurgeService,
    ) -> None:
        self._purges = purges
        self._tenants = tenants
        self._storage = storage
        self._leases = leases
        self._commands = commands
        self._follow_ups = follow_ups
        self._clock = clock
        self._settings = settings
        # A token is HolderId/host key/pid/process start/uuid: all but the last names this process.
        self.run_batches: Callable[[Callable[[], bool]], int] = lambda stopping: 0
        """Runs a step of every running batch; told when to stop, it answers how many items have ended."""
        self.seal_secrets: Callable[[], int] = lambda: 0
        """Seals what is stored in clear, or under an older key."""
        self._process = leases.token().rpartition("/")[0]
        self._runner = DueRunner(
            engine=engine, storage=storage, commands=commands, joint=joint, clock=clock, settings=settings
        )
        self._due = DueWork(
            storage=storage,
            leases=leases,
            runner=self._runner,
            follow_ups=follow_ups,
            tenants=tenants,
            databases=databases,
            clock=clock,
            settings=settings,
        )

    def on_due_now(self, wake: Callable[[], None]) -> None:
        """Have *wake* called after each commit that leaves something due at once (spec 8.10)."""

        def woken(partition: Partition) -> None:
            self._due.expect(partition, self._clock.now())
            wake()

        self._commands.wake = self._follow_ups.wake = woken
        self._commands.expect = self._due.expect

    def poll_once(self, crew: Crew | None = None, stopping: Callable[[], bool] = lambda: False) -> PollReport:
        """Run the bookmarks and follow-ups that are due, in the threads of *crew* or in this one."""
        lanes = (Lane.POLLER, Lane.BACKGROUND)
        return self._due.run(lanes, crew or Alone(), stopping, follow_ups=True)

    def run_timers(self, stopping: Callable[[], bool] = lambda: False) -> PollReport:
        """Send reminders, escalate and hand over what took too long: the job ``workflow-timer`` (spec 3.22)."""
        return self._due.run((Lane.WORKFLOW_TIMER,), Alone(), stopping)

    def handle_due(self, kind: BookmarkKind, handler: DueHandler) -> None:
        """Name who runs due bookmarks of a kind that belong to no instance, such as a definition's timer."""
        self._runner.register(kind, handler)

    def recover(self) -> int:
        """Free the claims of processes of this host that are gone; return how many (spec 8.10, 25)."""
        return self._due.recover()

    def housekeep(self, stopping: Callable[[], bool] = lambda: False) -> int:
        """Delete what is over its time in every partition; return the number of instances (spec 3.20).

        Rows of leases and pollers go an hour after they are over, stored answers after a day, firings of timers after
        400 days, notices too, ended batches after 90, settled deliveries after ``delivery_retention_days``, ended
        instances after ``retention_days``, if these two are not 0. Of the audit trail's heads one a day stays after 30.
        """
        self._leases.sweep(SWEPT_AFTER_SECONDS)
        try:
            answered(self.seal_secrets)
        except Exception:
            log.exception("the secrets of endpoints could not be sealed")
        return self._purges.run(self._partitions(), stopping)

    def _partitions(self) -> list[Partition]:
        tenants = answered(self._tenants.copy).tenants.values()
        return [None, *(tenant.id for tenant in tenants if tenant.enabled)]

    def beat(self, seconds: float = BEAT_SECONDS) -> None:
        """Say that this process's poller lives, until two beats are missed that come so many seconds apart."""
        self._leases.beat(f"{POLLER_ROWS}{self._process}", 3 * seconds)

    def silence(self) -> None:
        """Say that this process's poller has ended: nobody need wait for its beats to run out."""
        self._leases.beat(f"{POLLER_ROWS}{self._process}", 0)

    def poller_live(self) -> bool:
        """Whether some process's poller lives (``/readyz``)."""
        return self._leases.live(POLLER_ROWS)
