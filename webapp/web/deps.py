"""What a request needs: the installation behind it, who calls, and its id (spec 11 Conventions, 25 REST)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, cast

import msgspec
import structlog
from flask import Flask, Response, current_app, g, request, session

from webapp.accounts.model import Account, Actor
from webapp.config import Settings
from webapp.messages.catalog import Catalog
from webapp.services import Services
from webapp.services.filling import FillService
from webapp.services.relocation import RelocationService
from webapp.web import security
from webapp.web.errors import unauthenticated
from webapp.web.i18n import LANGUAGES, Language, language

REQUEST_ID_HEADER = "X-Request-Id"
API_PREFIX = "/api/"

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_ANONYMOUS_PATHS = ("/healthz", "/readyz", "/static/")


class Upgrade(Protocol):
    """Brings the tables up to this version."""

    def __call__(self, wait: float | None = None) -> object:
        """Wait so many seconds for another process that does it; None: as long as is usual."""


@dataclass(frozen=True, kw_only=True)
class Migrations:
    """What can be asked of, and done to, the database's tables.

    ``ping`` and ``check`` return None when database and tables are as they must be, else what is wrong. The last two
    are for a tenant's own database, by its URL.
    """

    ping: Callable[[], str | None]
    check: Callable[[], str | None]
    upgrade: Upgrade
    current: Callable[[], str | None]
    head: Callable[[], str | None]
    upgrade_separate: Callable[[str, float | None], object] = lambda url, wait: None
    current_separate: Callable[[str], str | None] = lambda url: None
    reindex: Callable[[str | None], Sequence[str]] = lambda url: ()
    """Makes the index of keywords anew, of a tenant's database by its URL, and returns what was made."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What ``create_app`` put together; ``app.extensions["waypost"]``.

    ``stores`` and ``leases`` are for the composition root and tests; pages and API call services only. ``readiness``
    says for each part (database, migrations, poller) ``ok`` or what is wrong with it. ``close`` lets go of every
    connection; the next use opens new ones. ``filling`` and ``relocation`` need a database.
    """

    settings: Settings
    catalog: Catalog
    services: Services
    stores: object
    leases: object
    now: Callable[[], datetime]
    new_id: Callable[[], str]
    readiness: Callable[[], Mapping[str, str]]
    migrations: Migrations
    close: Callable[[], None]
    join: Callable[..., object] | None = None
    filling: FillService | None = None
    relocation: RelocationService | None = None


def installation() -> Installation:
    """Return the installation of the present application."""
    return cast("Installation", current_app.extensions["waypost"])


def services() -> Services:
    """Return the use cases."""
    return installation().services


def current_actor() -> Actor:
    """Return who calls. :raises WorkflowError: nobody is signed in (401)."""
    actor: Actor | None = getattr(g, "actor", None)
    if actor is None:
        raise unauthenticated()
    return actor


def request_id() -> str:
    """Return the id of the present request, as its log lines, its audit rows and its answer have it."""
    return cast("str", g.request_id)


def init_identity(app: Flask) -> None:
    """Find out before each request who calls, and give each answer its request id."""
    app.before_request(_begin)
    app.before_request(_identify)
    app.after_request(_end)
    app.teardown_request(_forget)


def _begin() -> None:
    given = request.headers.get(REQUEST_ID_HEADER, "")
    g.request_id = given if _REQUEST_ID.fullmatch(given) else installation().new_id()
    g.actor = None
    g.by_token = False
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=g.request_id)


def _end(response: Response) -> Response:
    response.headers[REQUEST_ID_HEADER] = g.request_id if "request_id" in g else installation().new_id()
    return response


def _forget(error: BaseException | None) -> None:
    """Let the thread's later lines, such as the server's own, not carry this request's id."""
    structlog.contextvars.clear_contextvars()


def _identify() -> None:
    if request.path.startswith(_ANONYMOUS_PATHS):
        return
    if request.path.startswith(API_PREFIX) and "Authorization" in request.headers:
        g.actor = _actor_of_token()
        g.by_token = True
    else:
        g.actor = _actor_of_session()
    if g.actor is not None:
        structlog.contextvars.bind_contextvars(actor=g.actor.name)
    # Without an actor the API answers 401 whatever the CSRF token is; a page's form needs one even to sign in.
    if not g.by_token and (g.actor is not None or not request.path.startswith(API_PREFIX)):
        security.check_csrf()


def _actor_of_token() -> Actor:
    scheme, _, text = request.headers["Authorization"].partition(" ")
    actor = services().accounts.actor_for_token(text.strip(), request_id()) if scheme.lower() == "bearer" else None
    if actor is None:
        # Counted after the look-up: a client with a bad token must not shut out others behind the same address.
        security.failure_limits().token_failed(request.remote_addr or "")
        raise unauthenticated("errors.token_refused")
    return msgspec.structs.replace(actor, language=_accepted_language() or actor.language)


def _actor_of_session() -> Actor | None:
    account_id = session.get(security.ACCOUNT)
    if account_id is None:
        return None
    account: Account | None = services().accounts.find(account_id)
    if account is None or account.disabled or session.get(security.STAMP) != security.password_stamp(account):
        security.sign_out()
        return None
    actor = services().accounts.actor(account, request_id())
    return msgspec.structs.replace(actor, language=account.language or language())


def _accepted_language() -> Language | None:
    for tag in request.accept_languages.values():
        for known in LANGUAGES:
            if tag.split("-")[0].lower() == known:
                return known
    return None
