"""Sessions, CSRF, headers and sign-in: what every page and every session request is held to (spec 13)."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import cast

from flask import Flask, Response, current_app, request, session
from flask.sessions import SecureCookieSessionInterface, SessionMixin
from flask_wtf.csrf import CSRFProtect

from webapp.accounts.demo import is_demo_login
from webapp.accounts.model import Account
from webapp.web.errors import too_many_attempts

ACCOUNT = "account"
STAMP = "stamp"
SESSION_HOURS = 12
BESIDE = frozenset({"live.live", "inbox.opened"})
"""What pages ask by themselves, while another request may be on its way."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
STRICT_TRANSPORT = "max-age=31536000"

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_csrf = CSRFProtect()


class FailureLimits:
    """Counts failed sign-ins and tokens: too many in a while and the next try has to wait.

    A name from one address may fail ten times in five minutes, an address with any names fifty times; so a guesser is
    slowed down, and nobody can lock a colleague out from elsewhere.
    """

    WINDOW = timedelta(minutes=5)
    PER_NAME = 10
    PER_ADDRESS = 50
    PER_ADDRESS_TOKENS = 50
    _REMEMBERED = 10_000
    _NAME_LENGTH = 128

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._failures: OrderedDict[tuple[str, ...], deque[datetime]] = OrderedDict()

    def check_sign_in(self, address: str, name: str) -> None:
        """Refuse a try when this address has failed too often (429)."""
        self._check(self._named(address, name), self.PER_NAME)
        self._check(("address", address), self.PER_ADDRESS)

    def sign_in_failed(self, address: str, name: str) -> None:
        """Count a failed sign-in."""
        self._count(self._named(address, name), self.PER_NAME)
        self._count(("address", address), self.PER_ADDRESS)

    def signed_in(self, address: str, name: str) -> None:
        """Forget the failures of a name whose owner got in."""
        with self._lock:
            self._failures.pop(self._named(address, name), None)

    def token_failed(self, address: str) -> None:
        """Count a bad token; refuse it with 429 when this address has brought too many."""
        self._check(("token", address), self.PER_ADDRESS_TOKENS)
        self._count(("token", address), self.PER_ADDRESS_TOKENS)

    def _named(self, address: str, name: str) -> tuple[str, ...]:
        # What is remembered is bounded: a name of a megabyte is nobody's and must not stay in memory.
        return ("name", address, name[: self._NAME_LENGTH])

    def _check(self, key: tuple[str, ...], allowed: int) -> None:
        now = self._now()
        with self._lock:
            times = self._failures.get(key)
            while times and times[0] <= now - self.WINDOW:
                times.popleft()
            if times is None or len(times) < allowed:
                return
            wait = times[0] + self.WINDOW - now
        raise too_many_attempts(max(1, int(wait.total_seconds())))

    def _count(self, key: tuple[str, ...], allowed: int) -> None:
        with self._lock:
            times = self._failures.setdefault(key, deque(maxlen=allowed))
            times.append(self._now())
            self._failures.move_to_end(key)
            while len(self._failures) > self._REMEMBERED:
                self._failures.popitem(last=False)


class _Sessions(SecureCookieSessionInterface):
    """Signed cookies that are ``Secure`` whenever the request came by TLS."""

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure

    def should_set_cookie(self, app: Flask, session: SessionMixin) -> bool:
        """Leave the cookie alone in what a page asks beside what its reader does.

        Such an answer may come after that of a decision and hold the session from before it: what was to be shown of
        the decision, its undo too, would be lost. Nor does a forgotten page keep a session alive.
        """
        return session.modified or (request.endpoint not in BESIDE and super().should_set_cookie(app, session))


def init_security(app: Flask, *, secret_key: str, demo: bool, now: Callable[[], datetime]) -> None:
    """Give the application its sessions, its CSRF protection and its headers."""
    app.config.update(
        SECRET_KEY=secret_key,
        SESSION_COOKIE_NAME="waypost",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        PERMANENT_SESSION_LIFETIME=timedelta(hours=SESSION_HOURS),
        WTF_CSRF_CHECK_DEFAULT=False,
        WTF_CSRF_TIME_LIMIT=None,
    )
    app.session_interface = _Sessions()
    app.extensions["waypost.failure_limits"] = FailureLimits(now)
    app.extensions["waypost.demo"] = demo
    _csrf.init_app(app)
    app.after_request(_harden)


def failure_limits() -> FailureLimits:
    """Return the counters of failed sign-ins of this process."""
    return cast("FailureLimits", current_app.extensions["waypost.failure_limits"])


def check_csrf() -> None:
    """Refuse a session request that changes something without the session's token (403, ``ACCESS_DENIED_002``)."""
    if request.method not in _SAFE_METHODS and current_app.config.get("WTF_CSRF_ENABLED", True):
        _csrf.protect()


def authenticate(verify: Callable[[str, str], Account | None], name: str, password: str) -> Account | None:
    """Return the account whose password this is, or None; *verify* is ``services.accounts.authenticate``.

    :raises WorkflowError: too many tries failed from this address (429).
    """
    address = request.remote_addr or ""
    limits = failure_limits()
    limits.check_sign_in(address, name)
    account = verify(name, password)
    if account is not None and is_demo_login(name, password) and not current_app.extensions["waypost.demo"]:
        # Its password is public: data that a demo made must not open a real installation.
        account = None
    if account is None:
        limits.sign_in_failed(address, name)
        return None
    limits.signed_in(address, name)
    return account


def sign_in(account: Account) -> None:
    """Begin a session of this account, with nothing kept from the one before."""
    session.clear()
    session.permanent = True
    session[ACCOUNT] = account.id
    session[STAMP] = password_stamp(account)


def sign_out() -> None:
    """End the session."""
    session.clear()


def password_stamp(account: Account) -> str:
    """Return what ties a session to the present password: changing it ends the account's other sessions."""
    return hashlib.sha256((account.password_hash or "").encode()).hexdigest()[:16]


def _harden(response: Response) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    if request.is_secure:
        response.headers.setdefault("Strict-Transport-Security", STRICT_TRANSPORT)
    if not request.path.startswith("/static/"):
        response.headers.setdefault("Cache-Control", "no-store")
    return response
