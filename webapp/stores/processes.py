"""Who a process is, so that another one on the same host can tell that it is gone (spec 8.10)."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import msgspec


class ProcessIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """Host key (host name, boot id, pid namespace), process id and the moment the process started."""

    host_key: str
    pid: int
    started: str

    @property
    def text(self) -> str:
        """The identity as it stands in a holder text."""
        return f"{self.host_key}/{self.pid}/{self.started}"

    def is_gone(self, token: str) -> bool:
        """Whether *token* (HolderId/host key/pid/process start/uuid) is of this host and its process runs no more."""
        parts = token.rsplit("/", 4)
        if len(parts) != 5 or parts[1] != self.host_key or not parts[2].isdecimal():
            return False
        started = _started(int(parts[2]))
        # Where the system does not say when it started, the process that has the number is taken for the same one.
        return started is None or (started != "" and parts[3] != "" and started != parts[3])


def this_process() -> ProcessIdentity:
    """Return the identity of the running process."""
    return ProcessIdentity(host_key=_host_key(), pid=os.getpid(), started=_started(os.getpid()) or "")


def _host_key() -> str:
    boot = _read(Path("/proc/sys/kernel/random/boot_id"))
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        namespace = ""
    return "~".join((socket.gethostname(), boot.strip(), namespace)).replace("/", "-")


def _started(pid: int) -> str | None:
    """Return when the process started; None when there is none, "" where the system does not say."""
    stat = _read(Path(f"/proc/{pid}/stat"))
    if stat:
        # The command's name may hold anything, so fields are counted after its closing parenthesis. A zombie is gone.
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in ("Z", "X") else fields[19]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return ""
    return ""


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
