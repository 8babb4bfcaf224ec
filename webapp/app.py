"""The composition root: settings → stores, leases, engine → services → Flask. Only here are implementations chosen."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from webapp.accounts.passwords import Passwords
from webapp.accounts.ports import AccountStore
from webapp.channels.console import ConsolePublisher
from webapp.cli import register_commands
from webapp.config import Settings, SettingsError
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.builtin import BUILTIN
from webapp.engine.clock import Clock, IdSource, SystemClock, SystemIds
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.stores import StoreFailure, Stores
from webapp.engine.runtime.engine import Engine, EngineOptions
from webapp.messages.catalog import Catalog
from webapp.services import Services, ServiceSettings, build_services
from webapp.services.directory import AccountDirectory
from webapp.services.storage import unavailable
from webapp.stores import sql
from webapp.web import account, designer, help, inbox, live, monitor, requests, start
from webapp.web.api import bp as api
from webapp.web.api import operations
from webapp.web.api.body import MAX_BODY_BYTES
from webapp.web.assets import init_assets
from webapp.web.deps import Installation, Migrations, init_identity
from webapp.web.errors import init_errors
from webapp.web.i18n import init_i18n
from webapp.web.logs import init_request_log
from webapp.web.security import init_security
from webapp.web.shell import init_shell

T = TypeVar("T")

PACKAGE = Path(__file__).parent
CHECKOUT = PACKAGE.parent

PAGES = (account, inbox, start, requests, designer, monitor, help, live)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One set of stores, and the leases that go with it."""

    stores: Stores
    leases: Leases
    accounts: AccountStore
    migrations: Migrations
    close: Callable[[], None] = lambda: None


def create_app(
    settings: Settings | None = None,
    *,
    backend: Backend | None = None,
    clock: Clock | None = None,
    passwords: Passwords | None = None,
    catalog: Catalog | None = None,
) -> Flask:
    """Return the application; without *settings* they are read from the environment.

    The rest is for tests: other stores, another clock, cheaper password hashes, a catalog that refuses unknown keys.

    :raises webapp.config.SettingsError: a setting cannot be used.
    """
    chosen = settings or Settings.from_environ(os.environ)
    clock = clock or SystemClock()
    ids = SystemIds()
    backend = backend or _sql_backend(chosen, clock, ids)
    catalog = catalog or Catalog.load()
    services = _services(chosen, backend, clock, ids, passwords)
    app = Flask(
        __name__,
        template_folder=str(_resource("templates", "templates")),
        static_folder=str(_resource("static/dist", "static/dist")),
        static_url_path="/static",
    )
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.config["MAX_FORM_MEMORY_SIZE"] = MAX_BODY_BYTES
    app.extensions["waypost"] = Installation(
        settings=chosen,
        catalog=catalog,
        services=services,
        stores=backend.stores,
        leases=backend.leases,
        now=clock.now,
        new_id=ids.new,
        readiness=_readiness(backend.migrations, services),
        migrations=backend.migrations,
        close=backend.close,
    )
    _init_web(app, chosen, catalog, clock)
    register_commands(app)
    return app


def _init_web(app: Flask, settings: Settings, catalog: Catalog, clock: Clock) -> None:
    if settings.trusted_proxies:
        hops = settings.trusted_proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]  # Flask's documented way
    init_assets(app, Path(app.static_folder or ""))
    init_security(app, secret_key=settings.secret_key, demo=settings.demo, now=clock.now)
    init_request_log(app)
    init_identity(app)
    init_errors(app)
    init_i18n(app, catalog, ZoneInfo(settings.time_zone), clock.now)
    init_shell(app)
    app.register_blueprint(api)
    app.register_blueprint(operations.bp)
    for page in PAGES:
        app.register_blueprint(page.blueprint)


def _services(
    settings: Settings, backend: Backend, clock: Clock, ids: IdSource, passwords: Passwords | None
) -> Services:
    directory = AccountDirectory(backend.accounts, clock)
    engine = Engine(
        registry=ActivityRegistry(BUILTIN),
        evaluator=ExpressionEvaluator(clock, settings.expression_cache_size),
        clock=clock,
        ids=ids,
        options=EngineOptions(
            max_node_executions_per_burst=settings.max_node_executions_per_burst,
            max_sub_workflow_depth=settings.max_sub_workflow_depth,
            not_resumable_backoff_seconds=settings.not_resumable_backoff_seconds,
        ),
        directory=directory,
    )
    return build_services(
        stores=backend.stores,
        leases=backend.leases,
        accounts=backend.accounts,
        engine=engine,
        directory=directory,
        publisher=ConsolePublisher(),
        clock=clock,
        ids=ids,
        settings=ServiceSettings(
            not_resumable_backoff_seconds=settings.not_resumable_backoff_seconds,
            lock_lease_seconds=settings.lock_lease_seconds,
            retention_days=settings.retention_days,
            poll_batch_size=settings.batch_size,
        ),
        passwords=passwords,
    )


def _sql_backend(settings: Settings, clock: Clock, ids: IdSource) -> Backend:
    for variable, url in (
        ("WAYPOST_DATABASE_URL", settings.database_url),
        ("WAYPOST_LOCK_CONNECTION", settings.lock_connection),
    ):
        if url.startswith("sqlite:"):
            _make_folder(Path(sql.normal_url(url).database or "").parent, variable, url, settings)
    # A request takes one connection at a time, a wave of the poller as well; some more for those of the shell.
    pool_size = settings.threads + settings.poller_threads + 4
    database = sql.create_database(
        settings.database_url, sqlite_synchronous=settings.sqlite_synchronous, pool_size=pool_size
    )
    lease_database = sql.create_lease_database(settings.lock_connection)
    leases = sql.SqlLeases(
        lease_database,
        clock,
        holder_id=settings.holder_id or "",
        lease_seconds=settings.lock_lease_seconds,
        lock_timeout_seconds=settings.lock_timeout_seconds,
        ids=ids,
    )
    stores = sql.SqlStores(database)

    def close() -> None:
        database.dispose()
        lease_database.dispose()

    def behind() -> str | None:
        at, newest = sql.current(database), sql.head()
        return None if at == newest else f"at {at or 'nothing'}, head is {newest}: run db upgrade"

    return Backend(
        stores=stores,
        leases=leases,
        accounts=stores.accounts,
        migrations=Migrations(
            ping=lambda: _refusal_of(lambda: sql.current(database)),
            check=behind,
            upgrade=lambda: _answered(lambda: sql.upgrade(database)),
            current=lambda: _answered(lambda: sql.current(database)),
            head=sql.head,
        ),
        close=close,
    )


def _make_folder(folder: Path, variable: str, url: str, settings: Settings) -> None:
    """Make a database file's folder. :raises SettingsError: it cannot be made, named by the setting it comes from."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        named = ("WAYPOST_DATA", str(settings.data)) if folder == settings.data else (variable, url)
        raise SettingsError("config.folder_made", *named, folder=str(folder), reason=error.strerror or "") from error


def _answered(ask: Callable[[], T]) -> T:
    try:
        return ask()
    except StoreFailure as failure:
        raise unavailable(failure) from failure


def _refusal_of(ask: Callable[[], object]) -> str | None:
    try:
        ask()
    except StoreFailure as failure:
        return f"cannot be reached: {failure.reason.partition(':')[0]}"
    return None


def _readiness(migrations: Migrations, services: Services) -> Callable[[], Mapping[str, str]]:
    """Return the check of ``/readyz``: what each part says, ``ok`` when it is fine."""

    def check() -> Mapping[str, str]:
        parts: dict[str, str] = {}
        parts["database"] = _part(migrations.ping)
        parts["migrations"] = _part(migrations.check) if parts["database"] == "ok" else "unknown"
        parts["poller"] = _part(lambda: None if services.housekeeping.poller_live() else "not running")
        return parts

    return check


def _part(ask: Callable[[], str | None]) -> str:
    try:
        return ask() or "ok"
    except Exception as error:  # whatever it is, the part is not ready, and its kind says enough
        return type(error).__name__


def _resource(in_checkout: str, in_package: str) -> Path:
    """Return a folder that lies beside the package in a checkout, and inside it in an installed wheel."""
    beside = CHECKOUT / in_checkout
    return beside if (CHECKOUT / "pyproject.toml").is_file() else PACKAGE / in_package
