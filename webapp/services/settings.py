"""What the services can be set to (spec 8.9); the composition root fills it from the installation's settings."""

from __future__ import annotations

from datetime import timedelta

import msgspec

WRITE_ATTEMPTS = 5
WRITE_PAUSE_SECONDS = 0.02


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and intervals of the services; times in seconds."""

    not_resumable_backoff_seconds: float = 300
    lock_lease_seconds: float = 60
    poll_batch_size: int = 100
    poll_interval_seconds: float = 1
    definition_cache_size: int = 1_000
    write_attempts: int = WRITE_ATTEMPTS
    write_pause_seconds: float = WRITE_PAUSE_SECONDS
    follow_ups_per_call: int = 200
    follow_up_seconds: float = 5
    directory_seconds: float = 5
    idempotency_hours: int = 24
    retention_days: float = 0
    firing_days: float = 400
    time_zone: str = "UTC"
    language: str = "en"
    retention_includes_faulted: bool = False
    purge_rows: int = 1_000
    """How many rows a transaction of housekeeping deletes at most, about; fewer where that takes long."""
    purge_seconds: float = 0.02
    """How long such a transaction should take: so long others may wait for it."""
    batch_days: float = 90
    """How long a batch that has ended is shown."""
    notice_days: float = 400
    """How long a notice is shown; it goes with its instance if that goes earlier."""
    head_days: float = 30
    """How long every head of the audit trail is kept; of those that are older the last one of each day."""
    long_polls: int = 4
    """How many calls may wait at once: a quarter of the web threads (spec 11)."""
    long_poll_interval_seconds: float = 1
    polls_in_turns: bool = False
    """Whether pollers claim in turns, by a lease: where the database cannot pass over rows that another claims."""
    base_url: str | None = None
    """The address at which people reach the installation; without it messages carry no link."""
    decision_link_days: float = 7
    delivery_attempts: int = 12
    """How often a delivery is tried before it is dead."""
    delivery_timeout_seconds: float = 30
    delivery_retention_days: float = 90
    """How long deliveries that are settled are kept; 0: for ever."""

    @property
    def claim_time(self) -> timedelta:
        """How long a poller's claim binds: as long as a lease (spec 8.10)."""
        return timedelta(seconds=self.lock_lease_seconds)
