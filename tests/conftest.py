"""What every test shares: the sets of stores, and Hypothesis without deadlines and the same in each CI run."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.support.stores import migrated_postgresql, migrated_sqlite, stores

__all__ = ["migrated_postgresql", "migrated_sqlite", "stores"]

settings.register_profile("waypost", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("waypost"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "waypost")
