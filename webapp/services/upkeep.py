"""What operators see of housekeeping: what waits to be purged, how far the trail is sealed, what waits to be sent."""

from __future__ import annotations

import msgspec

from webapp.accounts.model import Actor
from webapp.accounts.permissions import INSTANCES_OPERATE
from webapp.services.access import lacking
from webapp.services.purging import PurgeService, PurgeState
from webapp.services.sealing import SealingService, SealingState
from webapp.services.sending import SendingService, SendingState


class Upkeep(msgspec.Struct, frozen=True, kw_only=True):
    """How housekeeping, the audit trail and the sending of a partition stand."""

    purge: PurgeState
    sealing: SealingState
    sending: SendingState


class UpkeepService:
    """Answers by a handful of queries that count up to a limit, so it may be asked again and again."""

    def __init__(self, purges: PurgeService, sealing: SealingService, sending: SendingService) -> None:
        self._purges = purges
        self._sealing = sealing
        self._sending = sending

    def state(self, actor: Actor) -> Upkeep:
        """Return how the actor's partition stands. :raises Denied: without the permission to operate instances."""
        if not actor.may(INSTANCES_OPERATE):
            raise lacking(INSTANCES_OPERATE)
        partition = actor.partition
        return Upkeep(
            purge=self._purges.state(partition),
            sealing=self._sealing.state(partition),
            sending=self._sending.state(partition),
        )
