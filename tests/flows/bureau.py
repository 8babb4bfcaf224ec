"""The systems of others that flows call: an HTTP server that answers what a scenario says, in its order."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.http_server import ScriptedServer, reply, serving
from webapp.engine.numbers import JsonObject


class Bureau:
    """Listens on the loopback; ``told`` holds method, path and body of what came."""

    def __init__(self, server: ScriptedServer, answers: list[JsonObject]) -> None:
        self._server = server
        self._answers = answers
        self.url = server.url("").rstrip("/")

    def prepare(self, answers: list[JsonObject]) -> None:
        """Answer these, one after the other."""
        self._answers[:] = answers

    @property
    def told(self) -> list[str]:
        """What came, in its order."""
        return [_short(request) for request in self._server.requests]


def _short(request: str) -> str:
    head, _, body = request.partition("\r\n\r\n")
    method, path, _ = head.split(" ", 2)
    return " ".join(part for part in (method, path, body) if part)


@contextmanager
def bureau() -> Iterator[Bureau]:
    """Run one while the block runs."""
    answers: list[JsonObject] = []

    def answer(request: str, connection: socket.socket) -> None:
        said = answers.pop(0)
        body = json.dumps(said["body"]).encode()
        reply(body, "Content-Type: application/json", status=f"{said['status']} Scripted")(request, connection)

    with serving(answer) as server:
        yield Bureau(server, answers)
