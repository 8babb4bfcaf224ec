"""The HTTP client of workflows (spec 4.18, 4.20): to checked addresses only, over connections of its own.

It knows no proxy of the environment, keeps no cookie and no connection. An address is resolved once and connected to
as checked, so that a name cannot change its mind in between; the name stays in the Host header and in TLS.
"""

from __future__ import annotations

import http.client
import ssl
import zlib
from email.message import Message
from functools import cached_property
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from webapp.channels.addresses import AddressPolicy
from webapp.channels.wire import Resolve, Wire, dial, resolve
from webapp.engine.cancellation import CancellationToken
from webapp.engine.ports.http import AddressDenied, HttpFailure, HttpRequest, HttpResponse, ResponseTooLarge

MAX_REDIRECTS = 5
DEFAULT_MAX_BYTES = 1024 * 1024

_PORTS = {"http": 80, "https": 443}
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_KEPT_ACROSS_HOSTS = frozenset(("accept", "accept-language", "content-type", "idempotency-key"))
"""All other headers may hold a secret that was meant for the first host."""

_CHUNK = 64 * 1024
_IN_A_URL = "%/:=&?~#+!$,;'@()*[]"


class _Target(NamedTuple):
    """A URL taken apart; ``host`` in the form that DNS and certificates use."""

    scheme: str
    host: str
    port: int
    path: str
    url: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


class HttpCalls:
    """The client; one for the whole process, used by all threads.

    ``max_bytes`` bounds an answer, also after decompression; ``tls`` is for installations with own authorities.
    Where redirects are not to be followed, one is an answer like any other.
    """

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        tls: ssl.SSLContext | None = None,
        resolver: Resolve = resolve,
        follow: bool = True,
    ) -> None:
        self._policy = policy
        self._follow = follow
        self._max_bytes = max_bytes
        self._given_tls = tls
        self._resolve = resolver

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        # Reading the system's authorities takes longer than all the rest of a start.
        return self._given_tls or ssl.create_default_context()

    def send(self, request: HttpRequest, token: CancellationToken) -> HttpResponse:
        """Send a request and follow up to five redirects, each checked like the first address."""
        target, redirects = _target(request.url), 0
        while True:
            answer = self._once(target, request, token)
            if isinstance(answer, HttpResponse):
                return answer
            redirects += 1
            if redirects > MAX_REDIRECTS:
                raise HttpFailure(f"more than {MAX_REDIRECTS} redirects")
            following = _target(urljoin(target.url, answer.location))
            if target.scheme == "https" and following.scheme == "http":
                raise AddressDenied(following.host, "a redirect from https to http")
            request = _redirected(request, answer.status, same=_origin(target) == _origin(following))
            target = following

    def _once(self, target: _Target, request: HttpRequest, token: CancellationToken) -> HttpResponse | _Redirect:
        wire: Wire | None = None
        try:
            wire = self._connect(target, token)
            connection = http.client.HTTPConnection(target.host, target.port)
            connection.sock = wire
            _write(connection, target, request)
            response = connection.getresponse()
            location = response.getheader("Location")
            if self._follow and response.status in _REDIRECTS and location is not None:
                return _Redirect(response.status, location)
            return HttpResponse(
                status=response.status,
                reason=response.reason,
                body=self._body(response, request.method),
                charset=_charset(response.headers),
                retry_after=response.getheader("Retry-After"),
            )
        except ssl.SSLCertVerificationError as error:
            raise HttpFailure(f"the certificate of {target.host} is not accepted: {error.verify_message}") from error
        except (OSError, http.client.HTTPException) as error:
            raise HttpFailure(_said(error)) from error
        finally:
            if wire is not None:
                wire.shut()

    def _connect(self, target: _Target, token: CancellationToken) -> Wire:
        tls = self._tls if target.scheme == "https" else None
        return dial(target.host, target.port, token, policy=self._policy, tls=tls, resolver=self._resolve)

    def _body(self, response: http.client.HTTPResponse, method: str) -> bytes:
        if method == "HEAD":
            return b""
        unpack = _Unpacking(response.getheader("Content-Encoding"), self._max_bytes)
        while True:
            data = response.read(_CHUNK)
            if not data:
                break
            unpack.feed(data)
        if response.length:
            raise HttpFailure(f"the answer ended {response.length} bytes early")
        return unpack.finish()


class _Redirect(NamedTuple):
    status: int
    location: str


class _Unpacking:
    """Collects a body, decompressed, up to a limit."""

    def __init__(self, encoding: str | None, limit: int) -> None:
        name = (encoding or "identity").strip().lower()
        if name not in ("identity", "", "gzip", "x-gzip"):
            raise HttpFailure(f"the answer is encoded as {name}, which nobody asked for")
        self._gzip = zlib.decompressobj(wbits=31) if name.endswith("gzip") else None
        self._limit = limit
        self._data = bytearray()
        self._empty = True

    def feed(self, data: bytes) -> None:
        """Take what came. :raises ResponseTooLarge: it is more than the limit."""
        self._empty = False
        if self._gzip is None:
            self._keep(data)
            return
        while data:
            try:
                self._keep(self._gzip.decompress(data, self._limit - len(self._data) + 1))
            except zlib.error as error:
                raise HttpFailure("the answer is no gzip, although it says so") from error
            data = self._gzip.unconsumed_tail
            if self._gzip.eof and self._gzip.unused_data:
                data, self._gzip = self._gzip.unused_data, zlib.decompressobj(wbits=31)

    def finish(self) -> bytes:
        """Return all of it. :raises HttpFailure: a compressed body has no end."""
        if self._gzip is not None and not self._empty and not self._gzip.eof:
            raise HttpFailure("the answer ended in the middle of its gzip")
        return bytes(self._data)

    def _keep(self, data: bytes) -> None:
        self._data += data
        if len(self._data) > self._limit:
            raise ResponseTooLarge(self._limit)


def _target(url: str) -> _Target:
    """Take a URL apart. :raises HttpFailure: it is none. :raises AddressDenied: it is neither http nor https."""
    if any(ord(character) < 32 or ord(character) == 127 for character in url):
        raise HttpFailure("the address holds a control character")
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname
    except ValueError as error:
        raise HttpFailure(f"{url} is no address") from error
    if parts.scheme not in _PORTS:
        raise AddressDenied(host or url, f"the scheme {parts.scheme or 'missing'}; use http or https")
    if not host:
        raise HttpFailure(f"{url} names no host")
    if parts.username is not None or parts.password is not None:
        raise HttpFailure("the address holds a user name; put credentials into a header")
    return _Target(parts.scheme, _ascii(host), port or _PORTS[parts.scheme], _path(parts), url)


def _ascii(host: str) -> str:
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise HttpFailure(f"{host} is no host name") from error


def _path(parts: SplitResult) -> str:
    path = quote(parts.path, safe=_IN_A_URL) or "/"
    return f"{path}?{quote(parts.query, safe=_IN_A_URL)}" if parts.query else path


def _origin(target: _Target) -> tuple[str, str, int]:
    return target.scheme, target.host.lower(), target.port


def _redirected(request: HttpRequest, status: int, *, same: bool) -> HttpRequest:
    method, body = request.method, request.body
    if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
        method, body = "GET", None
    headers = {
        name: value
        for name, value in request.headers.items()
        if (same or name.lower() in _KEPT_ACROSS_HOSTS)
        and (body is not None or not name.lower().startswith("content-"))
    }
    return HttpRequest(method=method, url=request.url, headers=headers, body=body)


def _write(connection: http.client.HTTPConnection, target: _Target, request: HttpRequest) -> None:
    connection.putrequest(request.method, target.path, skip_host=True, skip_accept_encoding=True)
    given = {name.lower() for name in request.headers}
    connection.putheader("Host", target.authority)
    for name, value in (("User-Agent", "Waypost"), ("Accept", "*/*")):
        if name.lower() not in given:
            connection.putheader(name, value)
    connection.putheader("Accept-Encoding", "gzip")
    connection.putheader("Connection", "close")
    for name, value in request.headers.items():
        if name.lower() != "accept-encoding":
            connection.putheader(name, value.encode())
    if request.body is not None or request.method in ("POST", "PUT", "PATCH"):
        connection.putheader("Content-Length", str(len(request.body or b"")))
    connection.endheaders(request.body)


def _charset(headers: Message) -> str | None:
    return headers.get_content_charset()


def _said(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the answer ended early"
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text or type(error).__name__
