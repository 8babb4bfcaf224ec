"""A node of an installation in a process of its own: the whole application, told over standard input what to do.

One JSON object a line, each carried out in a thread of its own, each answered by a line with its ``id``. Flows may hold
the activity ``TestGate``: while the gate is closed it tells that it was entered and waits, in the middle of the wave.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

from webapp.app import create_app
from webapp.cli.worker import make_poller
from webapp.engine import clock as clock_module
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.clock import SystemClock
from webapp.engine.descriptors import ActivityDescriptor, Category

PAGES = "WAYPOST_TEST_PAGES"
"""Variable: the most pages the SQLite file may have, where the test cannot mount a small disk."""

_writing = threading.Lock()


def tell(**facts: Any) -> None:
    """Write a line to the test."""
    with _writing:
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()


class Changed:
    """The computer's clock, put back or on by the test, for times and for ids."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._real, self._nanoseconds = SystemClock(), clock_module.time.time_ns
        clock_module.time = SimpleNamespace(time_ns=self._time_ns)  # type: ignore[assignment]  # all that is used of it

    def now(self) -> datetime:
        """Return the changed time."""
        return self._real.now() + timedelta(seconds=self.seconds)

    def _time_ns(self) -> int:
        return self._nanoseconds() + int(self.seconds * 1e9)


class Gate:
    """The activity ``TestGate``."""

    descriptor = ActivityDescriptor(type="TestGate", category=Category.CUSTOM, icon="x", custom=True)

    def __init__(self) -> None:
        self.open = threading.Event()
        self.open.set()

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Wait while the gate is closed."""
        if not self.open.is_set():
            tell(event="entered", instance=context.instance_id)
            self.open.wait(120)
        return Complete()


class Node:
    """What the test may ask for."""

    def __init__(self) -> None:
        self._gate, self._clock = Gate(), Changed()
        self._app = create_app(clock=self._clock, activities=(self._gate,))
        self._here = self._app.extensions["waypost"]
        self._poller, self._polls = make_poller(self._here), False

    def call(self, token: str, method: str, path: str, body: object = None, key: str | None = None) -> dict[str, Any]:
        """Send a request to this node's API."""
        headers = {"Authorization": f"Bearer {token}"} | ({} if key is None else {"Idempotency-Key": key})
        answer = self._app.test_client().open(f"/api/v1{path}", method=method, json=body, headers=headers)
        return {
            "status": answer.status_code,
            "body": answer.get_json(silent=True),
            "headers": dict(answer.headers),
        }

    def gate(self, *, is_open: bool) -> dict[str, Any]:
        """Open or close the gate."""
        if is_open:
            self._gate.open.set()
        else:
            self._gate.open.clear()
        return {}

    def clock(self, seconds: float) -> dict[str, Any]:
        """Put the clock on by so many seconds, or back."""
        self._clock.seconds = seconds
        return {}

    def many(self, name: str, number: int, variables: dict[str, Any]) -> dict[str, Any]:
        """Start many instances without a request for each."""
        accounts, instances = self._here.services.accounts, self._here.services.instances
        actor = accounts.actor(accounts.find_by_name("manager"))
        return {"ids": [instances.start(actor, name=name, variables=variables).instance.id for _ in range(number)]}

    def poll(self) -> dict[str, Any]:
        """Start the poller, if it does not run yet."""
        if not self._polls:
            self._polls = True
            self._poller.start()
        return {}

    def hold(self, name: str) -> dict[str, Any]:
        """Hold a lease to the end of the process."""
        with self._here.leases.hold(name):
            tell(event="held", name=name)
            threading.Event().wait()
        return {}

    def who(self) -> dict[str, Any]:
        """Say who this process is."""
        return {"token": self._here.leases.token()}

    def close(self) -> None:
        """End."""
        self._poller.stop()
        self._here.close()


def main() -> None:
    """Do what the lines say until there are no more."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    node = Node()

    def do(asked: dict[str, Any]) -> None:
        number, action = asked.pop("id"), asked.pop("do")
        try:
            tell(id=number, **getattr(node, action)(**asked))
        except Exception as error:
            tell(id=number, error=repr(error))
            raise

    tell(event="ready")
    for line in sys.stdin:
        threading.Thread(target=do, args=(json.loads(line),), daemon=True).start()
    node.close()
    os._exit(0)


if __name__ == "__main__":
    main()
