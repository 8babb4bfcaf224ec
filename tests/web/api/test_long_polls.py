"""A long poll in a real server: it ends with the process (spec 11, Amendments; 3.22)."""

from __future__ import annotations

import json
import threading
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from tests.support.server import ServerProcess


def test_who_waits_is_answered_when_the_process_ends(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path)
    server.prepare()
    server.flask("user create wes --password wes-password-1 --role worker")
    token = server.tokens("wes")["wes"]
    server.start()
    answers: list[tuple[int, Any]] = []

    def wait() -> None:
        asked = {"workerId": "w", "topics": [{"topic": "pay", "lockSeconds": 5}], "maxTasks": 1, "waitSeconds": 30}
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        with closing(HTTPConnection("127.0.0.1", server.port, timeout=60)) as connection:
            connection.request("POST", "/api/v1/external-tasks/fetch-and-lock", json.dumps(asked), headers)
            answer = connection.getresponse()
            answers.append((answer.status, json.loads(answer.read())))

    waiter = threading.Thread(target=wait)
    waiter.start()
    # Until it waits: nothing can be seen of it from outside.
    time.sleep(2)
    assert answers == []
    began = time.monotonic()
    server.stop()
    waiter.join(30)
    assert answers == [(200, {"items": []})]
    assert time.monotonic() - began < 10
