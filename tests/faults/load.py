"""Load on a server: starters and deciders that remember exactly what was acknowledged."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.faults.caller import Caller, Unanswered

WORK = "kill.work"
TIMER = "kill.timer"


def _row(*nodes: dict[str, Any]) -> dict[str, Any]:
    """Return the nodes and transitions of a definition whose nodes follow one another."""
    ids = [node["id"] for node in nodes]
    transitions = [
        {"id": f"{first}-{second}", "sourceNodeId": first, "targetNodeId": second}
        for first, second in itertools.pairwise(ids)
    ]
    return {"nodes": list(nodes), "transitions": transitions}


def _node(node_id: str, activity: str, **properties: Any) -> dict[str, Any]:
    return {"id": node_id, "activityType": activity, "properties": properties}


DEFINITIONS: list[dict[str, Any]] = [
    {
        "name": WORK,
        **_row(
            _node("start", "Start"),
            _node("count", "SetVariable", Expressions={"n": "n + 1"}),
            _node("decide", "UserTask", Assignees=["manager"], AllowedOutcomes=["approved"]),
            _node("confirm", "UserTask", Assignees=["operator"], AllowedOutcomes=["approved"]),
            _node("end", "End"),
        ),
    },
    {
        "name": TIMER,
        **_row(
            _node("start", "Start"),
            _node("wait", "Delay", DurationSeconds="seconds"),
            _node("count", "SetVariable", Expressions={"fired": "fired + 1"}),
            _node("end", "End"),
        ),
    },
]


@dataclass
class Acknowledged:
    """What the server has answered for: instances started and tasks completed (task → its instance and node)."""

    started: dict[str, int] = field(default_factory=dict)
    completed: dict[str, tuple[str, str]] = field(default_factory=dict)
    unexpected: list[Any] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, instance_id: str, number: int) -> None:
        """Note an acknowledged start."""
        with self._lock:
            self.started[instance_id] = number

    def complete(self, task: dict[str, Any]) -> None:
        """Note an acknowledged completion."""
        with self._lock:
            self.completed[task["id"]] = (task["instanceId"], task["nodeId"])

    def surprise(self, answer: Any) -> None:
        """Note an answer that no command of the load may get."""
        with self._lock:
            self.unexpected.append(answer)

    @property
    def commands(self) -> int:
        """How many commands were acknowledged."""
        with self._lock:
            return len(self.started) + len(self.completed)


class Load:
    """Threads that start instances and decide tasks until the server is gone."""

    def __init__(self, caller: Callable[[str], Caller], acknowledged: Acknowledged) -> None:
        self._acknowledged = acknowledged
        self._gone = threading.Event()
        self._numbers = itertools.count()
        self._number_lock = threading.Lock()
        roles = ["employee", "employee", "manager", "manager", "operator"]
        self._threads = [
            threading.Thread(target=self._run, args=(caller(who), self._start if who == "employee" else self._decide))
            for who in roles
        ]

    def begin(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def wait_for(self, commands: int, seconds: float) -> None:
        """Wait until that many commands were acknowledged."""
        deadline = time.monotonic() + seconds
        while self._acknowledged.commands < commands:
            assert time.monotonic() < deadline, f"only {self._acknowledged.commands} commands in {seconds} s"
            assert not self._acknowledged.unexpected, self._acknowledged.unexpected
            time.sleep(0.02)

    def end(self) -> None:
        """Wait for the threads, which end when the server no longer answers."""
        self._gone.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _run(self, caller: Caller, act: Callable[[Caller], None]) -> None:
        try:
            while not self._gone.is_set():
                act(caller)
        except Unanswered:
            pass
        except Exception as error:
            # A thread's exception would otherwise be seen by nobody; the test asserts that there is none.
            self._acknowledged.surprise(repr(error))
        finally:
            caller.close()

    def _start(self, caller: Caller) -> None:
        with self._number_lock:
            number = next(self._numbers)
        answer = caller("POST", "/instances", {"name": WORK, "variables": {"n": number}})
        if answer.status == 201:
            self._acknowledged.start(answer.body["id"], number)
        else:
            self._acknowledged.surprise(answer)

    def _decide(self, caller: Caller) -> None:
        tasks = caller("GET", "/tasks?scope=mine&limit=10").body["items"]
        if not tasks:
            time.sleep(0.02)
        for task in tasks:
            answer = caller("POST", f"/tasks/{task['id']}/complete", {"outcome": "approved"})
            if answer.status == 200:
                self._acknowledged.complete(task)
            elif answer.status not in (404, 409):  # the other decider was faster
                self._acknowledged.surprise(answer)
