"""A PostgreSQL cluster of a test's own, which it may stop, crash and start as it likes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.server import free_port

NO_BINARIES = "POSTGRESQL'S SERVER PROGRAMS ARE NOT HERE"
ACCOUNT = "postgres"


def _programs() -> Path | None:
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    return installed[-1] if installed else None


class Cluster:
    """A server on a free port of the loopback; its only account needs no password."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder = folder
        self._programs = programs
        self._port = free_port()
        self._run("initdb", "--auth=trust", f"--username={ACCOUNT}", "--encoding=UTF8", "--no-sync")
        with (folder / "postgresql.conf").open("a") as file:
            # A crash of the server alone loses nothing that it had handed to the system.
            file.write(f"port = {self._port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n")
            file.write("fsync = off\nshared_buffers = 16MB\nmax_connections = 60\n")
        self.start()

    @property
    def url(self) -> str:
        """The address of its database."""
        return f"postgresql://{ACCOUNT}@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._run("pg_ctl", "start", "-w", "-s", "-t", "60", "-l", str(self._folder / "server.log"))

    def stop(self, mode: str) -> None:
        """Stop it: ``fast`` ends all connections, ``immediate`` is a crash."""
        self._run("pg_ctl", "stop", "-w", "-s", "-m", mode)

    def restart(self, mode: str) -> None:
        """Stop it and start it."""
        self.stop(mode)
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        # The server refuses to be run by root.
        account = ACCOUNT if os.geteuid() == 0 else None
        done = subprocess.run(
            [str(self._programs / program), "-D", str(self._folder), *arguments],
            user=account,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"


@contextmanager
def own_cluster(folder: Path) -> Iterator[Cluster]:
    """Make a cluster and end it afterwards; where there are no server programs the test is skipped."""
    programs = _programs()
    if programs is None:
        pytest.skip(NO_BINARIES)
    folder.mkdir()
    if os.geteuid() == 0:
        shutil.chown(folder, ACCOUNT)
        for parent in folder.parents:
            # The test's folder is root's alone, and so are those above it.
            if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
    made = Cluster(folder, programs)
    try:
        yield made
    finally:
        made.stop("immediate")
