"""A real Waypost server in a process of its own, on a free port and with a data folder of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60
_RUN_ALL = """
import json, shlex, sys
from webapp import create_app
runner, printed = create_app().test_cli_runner(), []
for command in sys.argv[1:]:
    done = runner.invoke(args=shlex.split(command))
    printed.append(done.output)
    if done.exit_code:
        sys.exit(f"{command}: {done.output} {done.exception!r}")
print(json.dumps(printed))
"""


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServerProcess:
    """``flask --app webapp serve`` with the demo accounts; its output goes to ``server.log`` in the data folder."""

    def __init__(self, data: Path, *, settings: dict[str, str] | None = None) -> None:
        self.data = data
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")},
            "WAYPOST_DEMO": "1",
            "WAYPOST_DATA": str(data),
            "PORT": str(self.port),
            # What is decided in a test shall be carried out at once.
            "WAYPOST_UNDO_SECONDS": "0",
            **(settings or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def flask(self, *commands: str) -> list[str]:
        """Run commands (``user create …``) on this server's data and return what each one printed.

        All in one process: most of what a command costs is the start of Python.
        """
        command = [sys.executable, "-c", _RUN_ALL, *commands]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode != 0:
            raise AssertionError(f"{'; '.join(commands)} failed:\n{done.stdout}\n{done.stderr}")
        printed: list[str] = json.loads(done.stdout.splitlines()[-1])
        return printed

    def tokens(self, *names: str) -> dict[str, str]:
        """Make an API token for each account and return them by name."""
        printed = self.flask(*(f"token create --user {name}" for name in names))
        return {name: text.split()[-1] for name, text in zip(names, printed, strict=True)}

    def prepare(self) -> None:
        """Make the database and load the demo."""
        self.flask("db upgrade", "demo load")

    def start(self) -> None:
        """Start the server and wait until it is ready."""
        log = (self.data / "server.log").open("ab")
        command = [sys.executable, "-m", "flask", "--app", "webapp", "serve"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, env=self.environment, stdout=log, stderr=log, start_new_session=True
        )
        log.close()
        self._wait_until_ready()

    def kill(self) -> None:
        """Kill the server and its children with SIGKILL, as a power cut would."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Ask the server to end, and insist after ten seconds."""
        self._signal(signal.SIGTERM)

    @property
    def log(self) -> str:
        """What the server has printed so far."""
        return (self.data / "server.log").read_text(errors="replace")

    def _signal(self, number: signal.Signals) -> None:
        process = self._process
        if process is None:
            return
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)
        self._process = None

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                break
            if self._answers_ready():
                return
            time.sleep(0.1)
        self.stop()
        raise AssertionError(f"the server did not become ready:\n{self.log[-4000:]}")

    def _answers_ready(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()
