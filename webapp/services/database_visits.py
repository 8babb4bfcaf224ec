"""How the poller and the sender share databases: a turn at claiming, and short visits to those of single tenants.

A separate database is visited when something of it is due, or the usual time has passed, by one thread and for some
seconds at most, so that one that is away or busy keeps nobody waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from webapp.engine.clock import Clock
from webapp.engine.errors import Unavailable
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.partitions import PartitionDatabases
from webapp.engine.ports.stores import Partition
from webapp.services.agenda import Agenda
from webapp.services.settings import ServiceSettings

Report = TypeVar("Report")


class Glance(NamedTuple):
    """What a look into a database found: something to do now, else when (None: nobody knows of anything)."""

    there_is: bool
    following: datetime | None = None


class DatabaseVisits:
    """Turns and visits of one kind of work. *rows* begins the names of its leases, *log* hears what went wrong."""

    def __init__(
        self,
        *,
        databases: PartitionDatabases,
        leases: Leases,
        clock: Clock,
        settings: ServiceSettings,
        rows: str,
        log: logging.Logger,
    ) -> None:
        self._databases = databases
        self._leases = leases
        self._clock = clock
        self._settings = settings
        self._rows = rows
        self._log = log

    @contextmanager
    def turn(self, entry: Partition) -> Iterator[None]:
        """Have nobody else claim while the block does, where the database does not keep them apart itself.

        :raises Unavailable: :raises LockTimeout: it was not to be had.
        """
        if not self._settings.polls_in_turns:
            yield
            return
        with self._leases.hold(f"{self._rows}{entry or ''}"):
            yield

    def visit(
        self,
        agenda: Agenda,
        entry: str,
        seconds: float,
        look: Callable[[datetime], Glance],
        work: Callable[[Callable[[], bool]], Report],
    ) -> Report | None:
        """Look into a separate database, and work there if there is something to do; nothing is raised.

        *work* is told when its time is over. None: there was nothing to do, or it could not be done.
        """
        now = self._clock.now()
        agenda.begin(entry, now)
        end = now + timedelta(seconds=seconds)
        try:
            with self._databases.glancing():
                found = look(now)
            # There may be more than fits into the time.
            agenda.expect(entry, now if found.there_is else found.following)
            return work(lambda: self._clock.now() > end) if found.there_is else None
        except Unavailable:
            # It is told once, by who found the database so, and shown on the operations page.
            self._log.debug("nothing was done in the database of %s", entry, exc_info=True)
        except Exception:
            self._log.exception("nothing was done in the database of %s", entry)
        return None
