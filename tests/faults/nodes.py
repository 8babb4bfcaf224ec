"""Nodes of one installation, each a process (``tests.faults.node``), and what the tests ask of them."""

from __future__ import annotations

import itertools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.server import ROOT
from webapp.app import create_app
from webapp.config import Settings

LEASE_SECONDS = 3
LOCK_TIMEOUT_SECONDS = 5
ANSWER_SECONDS = 60
ROLES = {"admin": "administrator", "manager": "user", "designer": "designer"}
MAIL = {"manager": "manager@example.org"}
"""Who gets e-mail, where an installation has a server for it."""


class Answer(NamedTuple):
    """What a node's API answered."""

    status: int
    body: Any
    headers: dict[str, str]


class Node:
    """One process; requests may be sent by several threads."""

    def __init__(self, environment: dict[str, str], log: Path, prefix: Sequence[str] = ()) -> None:
        self._log = log
        command = [*prefix, sys.executable, "-m", "tests.faults.node"]
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._answers: dict[int, Future[dict[str, Any]]] = {}
        self._events: queue.Queue[dict[str, Any]] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def log(self) -> str:
        """What the process has logged so far."""
        return self._log.read_text(errors="replace")

    def send(self, do: str, **rest: Any) -> Future[dict[str, Any]]:
        """Ask for something and go on; the answer comes later."""
        number, answer = next(self._numbers), Future[dict[str, Any]]()
        with self._lock:
            self._answers[number] = answer
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps({"id": number, "do": do, **rest}) + "\n")
            self._process.stdin.flush()
        return answer

    def ask(self, do: str, **rest: Any) -> dict[str, Any]:
        """Ask for something and wait for the answer."""
        found = self.send(do, **rest).result(ANSWER_SECONDS)
        assert "error" not in found, found
        return found

    def expect(self, event: str, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """Wait for the process to tell of something."""
        try:
            found = self._events.get(timeout=seconds)
        except queue.Empty:
            raise AssertionError(f"no word of {event}:\n{self.log[-4000:]}") from None
        assert found["event"] == event, (found, self.log[-4000:])
        return found

    def forget(self) -> None:
        """Forget what the process has told of and nobody has asked for."""
        while not self._events.empty():
            self._events.get_nowait()

    def pause(self) -> None:
        """Stop the process where it stands, as a virtual machine that is moved does."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on."""
        os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        self._reader.join(10)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            if "event" in told:
                self._events.put(told)
            else:
                with self._lock:
                    answer = self._answers.pop(told.pop("id"))
                answer.set_result(told)
        self._events.put({"event": "gone"})
        with self._lock:
            for answer in self._answers.values():
                answer.cancel()


class Installation:
    """A database with accounts, and the nodes on it."""

    def __init__(self, data: Path, logs: Path, settings: dict[str, str]) -> None:
        self._logs = logs
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")},
            "WAYPOST_SECRET_KEY": "a secret of the tests alone",
            "WAYPOST_DATA": str(data),
            "WAYPOST_UNDO_SECONDS": "0",
            "WAYPOST_LOCK_LEASE_SECONDS": str(LEASE_SECONDS),
            "WAYPOST_LOCK_TIMEOUT_SECONDS": str(LOCK_TIMEOUT_SECONDS),
            "WAYPOST_POLL_INTERVAL_SECONDS": "0.2",
            **settings,
        }
        self.nodes: list[Node] = []
        self.tokens: dict[str, str] = {}
        self._prepare()

    def _prepare(self) -> None:
        here = create_app(Settings.from_environ(self.environment)).extensions["waypost"]
        try:
            here.migrations.upgrade(None)
            accounts = here.services.accounts
            for name, role in ROLES.items():
                made = accounts.create(name=name, password=f"{name} {name} {name}", roles=(role,), email=MAIL.get(name))
                self.tokens[name] = accounts.create_token(made.id, "test")[1]
        finally:
            here.close()

    def start_nodes(self, number: int, *, prefix: Sequence[str] = (), **settings: str) -> list[Node]:
        """Start nodes together; *prefix* is the command that runs them elsewhere, *settings* are their own."""
        made = []
        for _ in range(number):
            log = self._logs / f"node-{len(self.nodes)}.log"
            made.append(Node({**self.environment, **settings}, log, prefix))
            self.nodes.append(made[-1])
        for each in made:
            each.expect("ready")
        return made

    def close(self) -> None:
        """End all nodes."""
        for node in self.nodes:
            node.kill()

    def send(self, node: Node, who: str, method: str, path: str, body: object = None, **rest: Any) -> Future[Answer]:
        """Send a request to a node and go on."""
        answer = Future[Answer]()

        def pass_on(done: Future[dict[str, Any]]) -> None:
            if done.cancelled():
                answer.cancel()
            elif "error" in done.result():
                answer.set_exception(AssertionError(done.result()["error"]))
            else:
                answer.set_result(Answer(**done.result()))

        node.send("call", token=self.tokens[who], method=method, path=path, body=body, **rest).add_done_callback(
            pass_on
        )
        return answer

    def call(self, node: Node, who: str, method: str, path: str, body: object = None, **rest: Any) -> Answer:
        """Send a request to a node and wait for the answer."""
        return self.send(node, who, method, path, body, **rest).result(ANSWER_SECONDS)

    def publish(self, node: Node, document: dict[str, Any]) -> None:
        """Publish a definition."""
        created = self.call(node, "designer", "POST", "/definitions", document)
        assert created.status == 201, created
        published = self.call(node, "designer", "POST", f"/definitions/{created.body['id']}/publish", {})
        assert published.status == 200, published

    def start(self, node: Node, name: str, **variables: Any) -> str:
        """Start an instance and return its id."""
        answer = self.call(node, "manager", "POST", "/instances", {"name": name, "variables": variables})
        assert answer.status == 201, answer
        return str(answer.body["id"])

    def task(self, node: Node, instance_id: str) -> str:
        """Return the id of the manager's open task in an instance."""
        (task,) = self.items(node, "manager", f"/tasks?instanceId={instance_id}")
        return str(task["id"])

    def complete(self, node: Node, task_id: str) -> Future[Answer]:
        """Complete a task and go on."""
        return self.send(node, "manager", "POST", f"/tasks/{task_id}/complete", {"outcome": "approved"})

    def items(self, node: Node, who: str, path: str) -> list[Any]:
        """Return all items of a list."""
        found: list[Any] = []
        while True:
            answer = self.call(node, who, "GET", f"{path}{'&' if '?' in path else '?'}limit=500&offset={len(found)}")
            assert answer.status == 200, answer
            found += answer.body["items"]
            if len(found) >= answer.body["total"] or not answer.body["items"]:
                return found

    def instance(self, node: Node, instance_id: str) -> dict[str, Any]:
        """Return an instance as the API shows it."""
        found: dict[str, Any] = self.call(node, "admin", "GET", f"/instances/{instance_id}").body
        return found

    def path_of(self, node: Node, instance_id: str) -> list[tuple[str, str]]:
        """Return the nodes an instance has been at and their statuses, in order."""
        nodes = self.items(node, "admin", f"/instances/{instance_id}/nodes")
        return [(one["nodeId"], one["status"]) for one in sorted(nodes, key=lambda one: one["sequence"])]

    def actions_of(self, node: Node, instance_id: str) -> list[str]:
        """Return the actions of an instance's history, in order."""
        answer = self.call(node, "admin", "GET", f"/instances/{instance_id}/history")
        return [one["action"] for one in answer.body["items"]]


@contextmanager
def installed(data: Path, *, logs: Path | None = None, **settings: str) -> Iterator[Installation]:
    """Make an installation and end its nodes afterwards; their logs go elsewhere than the data if need be."""
    made = Installation(data, logs or data, settings)
    try:
        yield made
    finally:
        made.close()


def wait_until(holds: Callable[[], bool], seconds: float = 10, *, pause: float = 0.05) -> bool:
    """Wait until something holds; False: it never did."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(pause)
    return holds()
