"""The port of outgoing HTTP calls (spec 4.18): one client for all instances, replaceable."""

from __future__ import annotations

from typing import Protocol

import msgspec

from webapp.engine.cancellation import CancellationToken


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to send; ``headers`` as written, a name once in whatever case; ``body`` None: nothing."""

    method: str
    url: str
    headers: dict[str, str] = {}
    body: bytes | None = None


class HttpResponse(msgspec.Struct, frozen=True, kw_only=True):
    """What came back, decompressed; ``charset`` and ``retry_after`` as the server names them, None when it does not."""

    status: int
    reason: str = ""
    body: bytes = b""
    charset: str | None = None
    retry_after: str | None = None


class HttpClient(Protocol):
    """Sends requests to addresses that a definition's author chose, who is not trusted."""

    def send(self, request: HttpRequest, token: CancellationToken) -> HttpResponse:
        """Send and wait for the whole answer, whatever its status.

        The client runs no timer of its own: it gives up soon after the token is set.

        :raises OperationCancelled: the token was set.
        :raises AddressDenied: the address, or that of a redirect, may not be called.
        :raises HttpFailure: no answer came, or none that can be read.
        """


class HttpFailure(Exception):
    """There is no answer; the message says why, in the words of whoever noticed."""


class AddressDenied(Exception):
    """The policy refuses the address; ``host`` is the name that was to be called."""

    def __init__(self, host: str, reason: str) -> None:
        self.host = host
        self.reason = reason
        super().__init__(f"{host}: {reason}")


class ResponseTooLarge(HttpFailure):
    """The answer is longer than ``limit`` bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the answer is longer than {limit} bytes")
