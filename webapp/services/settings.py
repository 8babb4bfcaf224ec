"""What the services can be set to (spec 8.9); the composition root fills it from the installation's settings."""

from __future__ import annotations

from datetime import timedelta

import msgspec


class ServiceSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and intervals of the services; times in seconds."""

    not_resumable_backoff_seconds: float = 300
    lock_lease_seconds: float = 60
    poll_batch_size: int = 100
    definition_cache_size: int = 1_000
    write_attempts: int = 5
    write_pause_seconds: float = 0.02
    follow_ups_per_call: int = 200
    follow_up_seconds: float = 5
    directory_seconds: float = 5
    idempotency_hours: int = 24
    retention_days: float = 0
    purge_batch_size: int = 100

    @property
    def claim_time(self) -> timedelta:
        """How long a poller's claim binds: as long as a lease (spec 8.10)."""
        return timedelta(seconds=self.lock_lease_seconds)
