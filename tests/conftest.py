"""What every test shares: the sets of stores, and Hypothesis without deadlines and the same in each CI run."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from tests.support.postgresql import UNREACHABLE
from tests.support.stores import migrated_postgresql, migrated_sqlite, stores

__all__ = ["migrated_postgresql", "migrated_sqlite", "stores"]

settings.register_profile("waypost", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("waypost"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "waypost")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one loud line how many tests wanted a PostgreSQL that is not there."""
    skipped = [report for report in terminalreporter.stats.get("skipped", ()) if UNREACHABLE in str(report.longrepr)]
    if skipped:
        terminalreporter.write_line(f"{UNREACHABLE}: {len(skipped)} tests did not run", red=True, bold=True)
