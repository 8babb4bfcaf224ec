"""Load of parents, children, workers, signals and background nodes, by callers that ask again what was not answered."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.faults.caller import Caller, Unanswered
from webapp.engine.definitions.builder import DefinitionBuilder
from webapp.engine.definitions.codec import export_definition

PARENT, CHILD, HELD = "kill.parent", "kill.child", "kill.held"
PARENT_TOPIC, CHILD_TOPIC, SIGNAL = "kill-parent", "kill-child", "kill.go"
WORKER_ID = "w"
LOCK_SECONDS = 2
PARENT_PATH = ["count", "done", "each", "end", "gather", "quiet", "signal", "split", "start", "work"]
CHILD_PATH = ["count", "end", "start", "work"]


def _count(name: str) -> dict[str, Any]:
    return {"Expressions": {name: f"{name} + 1"}}


def definitions() -> Iterator[Any]:
    """Yield the documents, children first."""
    child = DefinitionBuilder.create(CHILD).add_start().add_end()
    child.add_node("count", "SetVariable", properties=_count("c"), background=True)
    child.add_node("work", "ExternalTask", properties={"Topic": CHILD_TOPIC, "Retries": 50})
    child.add_transition("start", "count").add_transition("count", "work").add_transition("work", "end")
    yield export_definition(child.build())

    held = DefinitionBuilder.create(HELD).add_start().add_end()
    held.add_node("ask", "UserTask", properties={"Assignees": ["manager"]})
    held.add_transition("start", "ask").add_transition("ask", "end")
    yield export_definition(held.build())

    each = {"ItemsExpression": "items", "DefinitionName": CHILD, "Parallel": True, "Variables": {"c": 0}}
    parent = DefinitionBuilder.create(PARENT).add_start().add_end()
    parent.add_node("count", "SetVariable", properties=_count("a")).add_node("split", "Parallel")
    parent.add_node("each", "ForEach", properties={**each, "ResultVariable": "children"})
    parent.add_node("quiet", "SetVariable", properties=_count("b"), background=True)
    parent.add_node("signal", "WaitSignal", properties={"SignalName": SIGNAL})
    parent.add_node("gather", "Join")
    parent.add_node("work", "ExternalTask", properties={"Topic": PARENT_TOPIC, "Retries": 50})
    parent.add_node("done", "SetVariable", properties=_count("d"))
    parent.add_transition("start", "count").add_transition("count", "split")
    for branch in ("each", "quiet", "signal"):
        parent.add_transition("split", branch).add_transition(branch, "gather")
    parent.add_transition("gather", "work").add_transition("work", "done").add_transition("done", "end")
    yield export_definition(parent.build())


@dataclass
class Ledger:
    """What was asked for and what was answered, by correlation id; ``wrong`` holds what nobody may be answered."""

    asked: set[str] = field(default_factory=set)
    started: dict[str, str] = field(default_factory=dict)
    signalled: set[str] = field(default_factory=set)
    worked: dict[str, str] = field(default_factory=dict)
    wrong: list[Any] = field(default_factory=list)


class Crowd:
    """Threads that start, signal and work until the server is gone."""

    def __init__(self, caller: Callable[[str], Caller], ledger: Ledger, most: int) -> None:
        self._ledger = ledger
        self._most = most
        self._numbers = itertools.count(len(ledger.asked))
        self._over = threading.Event()
        roles = [("employee", self._start), ("operator", self._signal), *[("worker", self._work)] * 2]
        self._threads = [threading.Thread(target=self._run, args=(caller(who), act)) for who, act in roles]

    def begin(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Wait for the threads."""
        self._over.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _run(self, caller: Caller, act: Callable[[Caller], bool]) -> None:
        try:
            while not self._over.is_set():
                if not act(caller):
                    time.sleep(0.05)
        except Unanswered:
            pass
        except Exception as error:
            # A thread's exception would otherwise be seen by nobody; the test asserts that there is none.
            self._ledger.wrong.append(repr(error))
        finally:
            caller.close()

    def _start(self, caller: Caller) -> bool:
        """Start the next one; first of all one that was not answered, under its key."""
        missing = sorted(self._ledger.asked - self._ledger.started.keys())
        if not missing and len(self._ledger.asked) >= self._most:
            return False
        name = missing[0] if missing else f"family-{next(self._numbers)}"
        self._ledger.asked.add(name)
        variables = {"a": 0, "b": 0, "d": 0, "items": ["x", "y"]}
        body = {"name": PARENT, "variables": variables, "correlationId": name}
        answer = caller("POST", "/instances", body, key=f"start-{name}")
        if answer.status == 201:
            self._ledger.started[name] = answer.body["id"]
        elif answer.status != 503:
            self._ledger.wrong.append(answer)
        return True

    def _signal(self, caller: Caller) -> bool:
        """Tell the signal to one that was not told; it is kept for those that do not wait yet."""
        missing = sorted(self._ledger.started.keys() - self._ledger.signalled)
        for name in missing[:1]:
            body = {"correlationId": name, "ttlSeconds": 3600}
            answer = caller("POST", f"/signals/{SIGNAL}", body, key=f"signal-{name}")
            if answer.status == 200 and (answer.body["resumed"] or answer.body["kept"]):
                self._ledger.signalled.add(name)
            elif answer.status != 503:
                self._ledger.wrong.append(answer)
        return bool(missing)

    def _work(self, caller: Caller) -> bool:
        topics = [{"topic": topic, "lockSeconds": LOCK_SECONDS} for topic in (PARENT_TOPIC, CHILD_TOPIC)]
        fetched = caller(
            "POST", "/external-tasks/fetch-and-lock", {"workerId": WORKER_ID, "topics": topics, "maxTasks": 3}
        )
        tasks = fetched.body["items"] if fetched.status == 200 else []
        for task in tasks:
            answer = caller("POST", f"/external-tasks/{task['id']}/complete", {"workerId": WORKER_ID})
            if answer.status == 200:
                if task["id"] in self._ledger.worked:
                    self._ledger.wrong.append(("worked twice", task))
                self._ledger.worked[task["id"]] = task["instanceId"]
            # Both workers have one id, so 409: the other one finished it; 403: the lock ran out on a slow machine.
            elif answer.status not in (403, 409, 503):
                self._ledger.wrong.append(answer)
        return bool(tasks)
