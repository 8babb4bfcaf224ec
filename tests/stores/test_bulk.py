"""Bulk loading: what an SQLite file needs for it, and how it is left afterwards."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.server import ROOT
from tests.support.stores import StoreSet
from tests.support.web import make_site
from webapp.stores.sql.dialects import indexes_of
from webapp.stores.sql.tables import table_set

pytestmark = pytest.mark.parametrize("stores", ["sqlite"], indirect=True)

SMALL = ["demo", "fill", "--tasks", "5", "--instances", "12", "--users", "2", "--groups", "2"]


def test_a_file_that_others_have_open_is_left_alone(stores: StoreSet, tmp_path: Path) -> None:
    site = make_site(tmp_path, stores)
    with closing(sqlite3.connect(file_of(stores))) as other:
        other.execute("SELECT count(*) FROM instances").fetchone()
        refused = site.app.test_cli_runner().invoke(args=SMALL)
    assert refused.exit_code == 1
    assert "other processes have the database file open" in refused.output
    assert number_of_instances(stores) == 0


def test_the_file_goes_back_to_the_log_when_it_is_used_again(stores: StoreSet, tmp_path: Path) -> None:
    site = make_site(tmp_path, stores)
    done = site.app.test_cli_runner().invoke(args=SMALL)
    assert done.exit_code == 0, done.output
    assert site.services.accounts.find_by_name("u2") is not None
    with closing(sqlite3.connect(file_of(stores))) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert number_of_instances(stores) == 12


def file_of(stores: StoreSet) -> str:
    assert stores.engine is not None
    return str(stores.engine.url.database)


def number_of_instances(stores: StoreSet) -> int:
    with closing(sqlite3.connect(file_of(stores))) as other:
        return int(other.execute("SELECT count(*) FROM platform_instances").fetchone()[0])


KILLED = """
import os, signal, sys
from webapp.app import create_app
from webapp.cli.fill import samples
from webapp.services.filling import Amounts
here = create_app().extensions["waypost"]
def tell(step, done, total):
    if step == "instances" and done > 2000:
        os.kill(os.getpid(), signal.SIGKILL)
here.filling.fill(None, Amounts(tasks=6000, instances=6000, users=20, groups=20), samples(), told=tell)
"""


@pytest.mark.faults
def test_a_filling_that_was_killed_leaves_nothing_and_is_done_again(stores: StoreSet, tmp_path: Path) -> None:
    site = make_site(tmp_path, stores)
    assert stores.engine is not None
    stores.engine.dispose()
    environ = {**os.environ, "WAYPOST_DATA": str(tmp_path), "WAYPOST_SECRET_KEY": "a key for tests only"}
    process = subprocess.run([sys.executable, "-c", KILLED], cwd=ROOT, env=environ, check=False, timeout=120)
    assert process.returncode == -signal.SIGKILL
    # What was half written is a journal beside the file; whoever opens it next undoes it.
    assert Path(f"{file_of(stores)}-journal").exists()
    assert number_of_instances(stores) == 0
    done = site.app.test_cli_runner().invoke(args=[*SMALL, "--users", "20", "--groups", "20"])
    assert done.exit_code == 0, done.output
    assert number_of_instances(stores) == 12
    with closing(sqlite3.connect(file_of(stores))) as other:
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert other.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE 'ix_platform_instances%'").fetchone()[
            0
        ] >= len(indexes_of(table_set(None).instances, "sqlite"))
