"""Who gets what leaves the house: a webhook's receiver that can be away, refuse, or keep its answer to itself."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.support.mail_server import MailHandler, mail_server


class Receiver:
    """A webhook's receiver. ``taken`` is what came, repeats as often as they came; ``refused`` counts its 500s.

    ``held``: it takes what comes and answers nothing, ``refuses``: it takes nothing.
    """

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.held = threading.Event()
        self.refuses = False
        self.refused = 0
        self._port = 0
        self._server: ThreadingHTTPServer | None = None

    @property
    def ids(self) -> list[str]:
        """The stable ids of what came."""
        return [one["id"] for one in self.taken]

    @property
    def url(self) -> str:
        """Where it is, also while it is away."""
        return f"http://127.0.0.1:{self._port}/in"

    def open(self) -> None:
        """Listen; after a closing at the same port."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name is the library's
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answer(self.headers["X-Delivery-Id"], json.loads(body))
                try:
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                except OSError:
                    return  # who asked was killed meanwhile

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self.held.clear()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, delivery_id: str, document: dict[str, Any]) -> int:
        """Take a message, or refuse it; return the answer's status."""
        assert document["id"] == delivery_id
        if self.refuses:
            self.refused += 1
            return 500
        self.taken.append(document)
        while self.held.is_set():
            time.sleep(0.02)
        return 200


class Mailbox(MailHandler):
    """A mail server's; while ``held`` is set it takes what comes and answers nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.held = threading.Event()

    @property
    def ids(self) -> list[str]:
        """The Message-ID of each mail that came."""
        return [str(one["Message-ID"]) for one in self.messages]

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Take the mail, and answer when it may."""
        answer = await super().handle_DATA(server, session, envelope)
        while self.held.is_set():
            await asyncio.sleep(0.02)
        return answer


class MailServer:
    """A mail server that can be away."""

    def __init__(self) -> None:
        self.mailbox = Mailbox()
        self.port = 0
        self._running = ExitStack()

    def __enter__(self) -> MailServer:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> None:
        """Listen; after a closing at the same port."""
        self.port = self._running.enter_context(mail_server(self.mailbox, port=self.port))

    def close(self) -> None:
        """Listen no more."""
        self.mailbox.held.clear()
        self._running.close()


def by_instance(documents: Iterable[dict[str, Any]]) -> dict[str, list[int]]:
    """Return the sequence numbers of what came, of each instance for itself; a repeat counts where it came first."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    seen: set[str] = set()
    for one in documents:
        if one["id"] not in seen:
            seen.add(one["id"])
            found[one["instanceId"]].append(one["sequence"])
    return dict(found)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver while the block runs."""
    made = Receiver()
    made.open()
    try:
        yield made
    finally:
        made.close()
