"""An HTTP client that answers what a test tells it, and notes what was asked."""

from __future__ import annotations

from collections.abc import Callable

from webapp.engine.cancellation import CancellationToken
from webapp.engine.ports.http import HttpRequest, HttpResponse

Script = HttpResponse | BaseException | Callable[[HttpRequest, CancellationToken], HttpResponse]


class FakeHttp:
    """Works through its script, call by call; after it, 200 without a body."""

    def __init__(self, *script: Script) -> None:
        self._script = list(script)
        self.requests: list[HttpRequest] = []

    def send(self, request: HttpRequest, token: CancellationToken) -> HttpResponse:
        """Note the request and do the next thing of the script."""
        self.requests.append(request)
        action = self._script.pop(0) if self._script else HttpResponse(status=200)
        if isinstance(action, BaseException):
            raise action
        return action if isinstance(action, HttpResponse) else action(request, token)


def json_response(body: str, status: int = 200, reason: str = "OK", charset: str | None = None) -> HttpResponse:
    """Return an answer with a body in UTF-8."""
    return HttpResponse(status=status, reason=reason, body=body.encode(), charset=charset)
