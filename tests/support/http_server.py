"""A scripted HTTP server on the loopback: each connection gets the bytes that a test wrote down, at its pace."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Answer = Callable[[str, socket.socket], None]
"""Gets the request as text (head and body) and the connection to answer on."""


class ScriptedServer:
    """Listens on 127.0.0.1; ``requests`` holds what came, whole."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[str] = []
        self._answer = answer
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        """Return an address of the server."""
        return f"{scheme}://{host}:{self.port}{path}"

    def close(self) -> None:
        """Listen no more."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                try:
                    self._talk(connection)
                except (OSError, ssl.SSLError):
                    # The client went away, which is what some tests are about.
                    continue

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        if self._tls is not None:
            with self._tls.wrap_socket(connection, server_side=True) as secured:
                self._exchange(secured)
        else:
            self._exchange(connection)

    def _exchange(self, connection: socket.socket) -> None:
        request = _read(connection)
        self.requests.append(request)
        self._answer(request, connection)


def _read(connection: socket.socket) -> str:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return (head + b"\r\n\r\n" + body).decode()


@contextmanager
def serving(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[ScriptedServer]:
    """Run a server while the block runs."""
    server = ScriptedServer(answer, tls)
    try:
        yield server
    finally:
        server.close()


def reply(body: bytes = b"", *headers: str, status: str = "200 OK", length: int | None = None) -> Answer:
    """Return an answer with a body and its length, or a wrong one."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers, "", ""]

    def answer(request: str, connection: socket.socket) -> None:
        connection.sendall("\r\n".join(lines).encode() + body)

    return answer


def slowly(*parts: bytes, pause: float) -> Answer:
    """Return an answer that comes in parts."""

    def answer(request: str, connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)

    return answer
