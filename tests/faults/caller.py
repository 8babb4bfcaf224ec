"""A caller of the REST interface that a killed server may leave without an answer."""

from __future__ import annotations

import json
from http.client import HTTPConnection, HTTPException
from typing import Any, NamedTuple, Self


class Unanswered(Exception):
    """The connection broke: nobody knows whether the command was carried out."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any


class Caller:
    """One account's connection with a bearer token; not for several threads."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._connection: HTTPConnection | None = None

    def __call__(self, method: str, path: str, body: object = None, *, key: str | None = None) -> Answer:
        """Send one request below ``/api/v1``; the same *key* makes the same request one command.

        :raises Unanswered: no answer came.
        """
        data = None if body is None else json.dumps(body)
        try:
            connection = self._connection or HTTPConnection("127.0.0.1", self._port, timeout=30)
            self._connection = connection
            headers = self._headers if key is None else {**self._headers, "Idempotency-Key": key}
            connection.request(method, f"/api/v1{path}", data, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, HTTPException) as error:
            self.close()
            raise Unanswered(str(error)) from error
        return Answer(response.status, json.loads(text) if text else None)

    def every(self, path: str) -> list[Any]:
        """Return all items of a list, page by page."""
        items: list[Any] = []
        separator = "&" if "?" in path else "?"
        while True:
            answer = self("GET", f"{path}{separator}limit=500&offset={len(items)}")
            assert answer.status == 200, answer
            items += answer.body["items"]
            if len(items) >= answer.body["total"] or not answer.body["items"]:
                return items

    def whole(self, path: str) -> list[Any]:
        """Return the items of a list that comes in one piece."""
        answer = self("GET", path)
        assert answer.status == 200, answer
        items: list[Any] = answer.body["items"]
        assert len(items) == answer.body["total"]
        return items

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
