"""What every test shares: the sets of stores, and Hypothesis without deadlines and the same in each CI run."""

from __future__ import annotations

import gc
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support import mariadb, postgresql
from tests.support.stores import migrated_mariadb, migrated_postgresql, migrated_sqlite, second_postgresql, stores
from tests.support.turns import SharedServers

__all__ = ["migrated_mariadb", "migrated_postgresql", "migrated_sqlite", "second_postgresql", "stores"]

settings.register_profile("waypost", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("waypost"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "waypost")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedServers:
    """Let those that share a server run in one worker."""
    return SharedServers(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one loud line how many tests wanted a server that is not there."""
    for unreachable in (postgresql.UNREACHABLE, mariadb.UNREACHABLE):
        reports = terminalreporter.stats.get("skipped", ())
        skipped = [report for report in reports if unreachable in str(report.longrepr)]
        if skipped:
            terminalreporter.write_line(f"{unreachable}: {len(skipped)} tests did not run", red=True, bold=True)


def pytest_collection_finish() -> None:
    """Leave what stays for the whole run out of every later search for garbage."""
    gc.collect()
    gc.freeze()
