"""The composition root: settings → stores, leases, engine → services → Flask. Only here are implementations chosen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from webapp.accounts.model import Account
from webapp.accounts.passwords import Passwords
from webapp.accounts.ports import AccountStore
from webapp.accounts.secret_box import SecretBox
from webapp.accounts.tenants import TenantDirectory
from webapp.channels.addresses import AddressPolicy
from webapp.channels.console import ConsolePublisher
from webapp.channels.http_calls import HttpCalls
from webapp.channels.registry import ChannelSet, build_channels
from webapp.cli import register_commands
from webapp.config import Settings, SettingsError
from webapp.engine.activities.api import Activity
from webapp.engine.activities.registry import ActivityRegistry
from webapp.engine.builtin import BUILTIN
from webapp.engine.builtin.http import HttpActivity
from webapp.engine.clock import Clock, IdSource, SystemClock, SystemIds
from webapp.engine.expressions import ExpressionEvaluator
from webapp.engine.ports.applicants import ApplicantResolver
from webapp.engine.ports.calendars import CalendarStore
from webapp.engine.ports.channels import Channel
from webapp.engine.ports.filling import BulkStore
from webapp.engine.ports.hosting import HostSession
from webapp.engine.ports.listeners import Listeners
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.messaging import TopicPatterns
from webapp.engine.ports.notices import NoticeSettingsStore
from webapp.engine.ports.outcomes import OutcomeHandler
from webapp.engine.ports.partitions import PartitionDatabases
from webapp.engine.ports.relocation import Relocation
from webapp.engine.ports.stores import Partition, StoreFailure, Stores
from webapp.engine.runtime.engine import Engine, EngineOptions
from webapp.messages.catalog import Catalog
from webapp.services import Services, ServiceSettings, build_services
from webapp.services.calendars import CalendarCopy
from webapp.services.directory import AccountDirectory
from webapp.services.filling import FillService, Stage
from webapp.services.relocation import RelocationService
from webapp.services.sending import SENDER_THREADS
from webapp.services.storage import unavailable
from webapp.stores import sql
from webapp.stores.memory import MemoryLeases, MemoryStores
from webapp.stores.routing import RoutedStores
from webapp.web import (
    account,
    admin,
    batches,
    decision_links,
    deliveries,
    designer,
    endpoints,
    help,
    inbox,
    live,
    monitor,
    monitor_actions,
    monitor_moves,
    monitor_variables,
    notice_preferences,
    notice_templates,
    notifications,
    requests,
    schedules,
    start,
    task_actions,
)
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

PAGES = (
    *(account, inbox, task_actions, start, requests, designer, help, live),
    *(monitor, monitor_actions, monitor_moves, monitor_variables, batches, schedules, admin),
    *(notifications, notice_preferences, notice_templates, deliveries, endpoints, decision_links),
)


@dataclass(frozen=True, kw_only=True)
class Backend:
    """One set of stores, and the leases that go with it."""

    stores: Stores
    leases: Leases
    accounts: AccountStore
    calendars: CalendarStore
    notice_settings: NoticeSettingsStore
    migrations: Migrations
    tenants: TenantDirectory | None = None
    databases: PartitionDatabases | None = None
    close: Callable[[], None] = lambda: None
    polls_in_turns: bool = False
    join: Callable[..., HostSession] | None = None
    bulk: BulkStore | None = None
    relocation: Relocation | None = None


@dataclass(frozen=True, kw_only=True)
class Own:
    """What an application brings of its own when :mod:`webapp.host` mounts this one in it."""

    activities: Iterable[Activity] = ()
    outcome_handlers: Sequence[OutcomeHandler] = ()
    listeners: Listeners | None = None
    applicants: ApplicantResolver | None = None


_NOTHING = Own()


def create_app(
    settings: Settings | None = None,
    *,
    backend: Backend | None = None,
    clock: Clock | None = None,
    passwords: Passwords | None = None,
    catalog: Catalog | None = None,
    activities: Iterable[Activity] = (),
    outcome_handlers: Sequence[OutcomeHandler] = (),
    listeners: Listeners | None = None,
    applicants: ApplicantResolver | None = None,
    channels: Sequence[Channel] | None = None,
) -> Flask:
    """Return the application; without *settings* they are read from the environment.

    *activities*, *outcome_handlers*, *listeners* and *applicants* are those of an application that :mod:`webapp.host`
    mounts this one in.
    The rest is for tests: other stores, another clock, cheaper password hashes, a catalog that refuses unknown keys,
    other ways out of the house.

    :raises webapp.config.SettingsError: a setting cannot be used.
    """
    chosen = settings or Settings.from_environ(os.environ)
    clock = clock or SystemClock()
    ids = SystemIds()
    passwords = passwords or Passwords()
    backend = backend or _sql_backend(chosen, clock, ids)
    catalog = catalog or Catalog.load()
    own = Own(activities=activities, outcome_handlers=outcome_handlers, listeners=listeners, applicants=applicants)
    ways_out = _ways_out(chosen, catalog, clock) if channels is None else None
    sent_by = channels if ways_out is None else tuple(ways_out.channels.values())
    services = _services(chosen, backend, clock, ids, passwords, own, sent_by or (), catalog)
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
        close=_closing(backend, ways_out),
        join=backend.join,
        filling=_filling(chosen, backend, services, clock, ids, passwords, catalog),
        relocation=_relocation(backend, services),
    )
    _init_web(app, chosen, catalog, clock)
    register_commands(app)
    return app


def _ways_out(settings: Settings, catalog: Catalog, clock: Clock) -> ChannelSet:
    return build_channels(settings, catalog=catalog, clock=clock, templates=_resource("templates", "templates"))


def _closing(backend: Backend, ways_out: ChannelSet | None) -> Callable[[], None]:
    def close() -> None:
        if ways_out is not None:
            ways_out.close()
        backend.close()

    return close


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
    settings: Settings,
    backend: Backend,
    clock: Clock,
    ids: IdSource,
    passwords: Passwords,
    own: Own,
    channels: Sequence[Channel],
    catalog: Catalog,
) -> Services:
    directory = AccountDirectory(backend.accounts, clock)
    calendars = CalendarCopy(backend.calendars, clock)
    engine = Engine(
        registry=ActivityRegistry((*BUILTIN, _http(settings), *own.activities)),
        evaluator=ExpressionEvaluator(clock, settings.expression_cache_size),
        clock=clock,
        ids=ids,
        options=EngineOptions(
            max_node_executions_per_burst=settings.max_node_executions_per_burst,
            max_sub_workflow_depth=settings.max_sub_workflow_depth,
            not_resumable_backoff_seconds=settings.not_resumable_backoff_seconds,
            time_zone=settings.time_zone,
        ),
        directory=directory,
        outcome_handlers=own.outcome_handlers,
        calendars=calendars,
    )
    return build_services(
        stores=backend.stores,
        leases=backend.leases,
        accounts=backend.accounts,
        engine=engine,
        directory=directory,
        calendars=backend.calendars,
        calendar_copy=calendars,
        notice_settings=backend.notice_settings,
        publisher=ConsolePublisher(),
        clock=clock,
        ids=ids,
        settings=ServiceSettings(
            not_resumable_backoff_seconds=settings.not_resumable_backoff_seconds,
            lock_lease_seconds=settings.lock_lease_seconds,
            retention_days=settings.retention_days,
            time_zone=settings.time_zone,
            language=settings.language.lower(),
            retention_includes_faulted=settings.retention_includes_faulted,
            poll_batch_size=settings.batch_size,
            poll_interval_seconds=settings.poll_interval_seconds,
            polls_in_turns=backend.polls_in_turns,
            long_polls=settings.threads // 4,
            base_url=settings.base_url,
            decision_link_days=settings.decision_link_days,
            delivery_attempts=settings.delivery_attempts,
            delivery_timeout_seconds=settings.delivery_timeout_seconds,
            delivery_retention_days=settings.delivery_retention_days,
        ),
        channels=channels,
        catalog=catalog,
        link_key=settings.secret_key,
        # Whoever names keys later on has some secrets under the one that there was.
        secret_box=SecretBox((*settings.encryption_keys, settings.secret_key)),
        passwords=passwords,
        subscriptions=TopicPatterns(settings.event_topics),
        tenants=backend.tenants,
        databases=backend.databases,
        check_database=sql.SqlOpening().key,
        listeners=own.listeners,
        applicants=own.applicants,
    )


def _filling(
    settings: Settings,
    backend: Backend,
    services: Services,
    clock: Clock,
    ids: IdSource,
    passwords: Passwords,
    texts: Catalog,
) -> FillService | None:
    """Return the service of ``demo fill``, which plays on stores in memory what it writes copies of."""
    if backend.bulk is None:
        return None

    def stage(clock: Clock, ids: IdSource, people: Sequence[Account]) -> Stage:
        stores = MemoryStores()
        stores.accounts.insert_all(people)
        scene = replace(
            backend,
            stores=stores,
            leases=MemoryLeases(clock),
            accounts=stores.accounts,
            calendars=stores.calendars,
            notice_settings=stores.notice_settings,
        )
        made = _services(settings, scene, clock, ids, passwords, _NOTHING, (), texts)
        return Stage(stores=stores, instances=made.instances, operations=made.operations, inbox=made.inbox)

    return FillService(
        bulk=backend.bulk,
        stage=stage,
        catalog=services.catalog,
        accounts=backend.accounts,
        passwords=passwords,
        clock=clock,
        ids=ids,
    )


def _relocation(backend: Backend, services: Services) -> RelocationService | None:
    if backend.relocation is None:
        return None
    return RelocationService(
        relocation=backend.relocation, accounts=backend.accounts, poller_live=services.housekeeping.poller_live
    )


def _http(settings: Settings) -> HttpActivity:
    client = HttpCalls(AddressPolicy(settings.http_allow), max_bytes=settings.http_max_response_bytes)
    return HttpActivity(client, timeout_seconds=settings.http_timeout_seconds)


def _sql_backend(settings: Settings, clock: Clock, ids: IdSource) -> Backend:
    for variable, url in (
        ("WAYPOST_DATABASE_URL", settings.database_url),
        ("WAYPOST_LOCK_CONNECTION", settings.lock_connection),
    ):
        if url.startswith("sqlite:"):
            _make_folder(Path(sql.normal_url(url).database or "").parent, variable, url, settings)
    # A request takes one connection at a time, a wave of the poller and a delivery as well; some more for the shell's.
    pool_size = settings.threads + settings.poller_threads + SENDER_THREADS + 4
    database = sql.create_database(
        settings.database_url, sqlite_synchronous=settings.sqlite_synchronous, pool_size=pool_size
    )
    _check_server(settings, sql.unsupported(database))
    with _lock_connection_named(settings):
        apart = settings.lock_connection != settings.database_url
        lease_database = sql.create_lease_database(settings.lock_connection, apart=apart)
    leases = sql.SqlLeases(
        lease_database,
        clock,
        holder_id=settings.holder_id or "",
        lease_seconds=settings.lock_lease_seconds,
        lock_timeout_seconds=settings.lock_timeout_seconds,
        ids=ids,
    )
    platform = sql.SqlStores(database)
    tenants = TenantDirectory(platform.accounts, clock)
    opening = sql.SqlOpening(sqlite_synchronous=settings.sqlite_synchronous)
    stores = RoutedStores(platform, directory=tenants, opening=opening, clock=clock, platform_url=settings.database_url)

    def close() -> None:
        stores.close()
        database.dispose()
        lease_database.dispose()

    def behind() -> str | None:
        at, newest = sql.current(database), sql.head()
        return None if at == newest else f"at {at or 'nothing'}, head is {newest}: run db upgrade"

    return Backend(
        stores=stores,
        leases=leases,
        accounts=platform.accounts,
        calendars=platform.calendars,
        notice_settings=platform.notice_settings,
        tenants=tenants,
        databases=stores,
        migrations=Migrations(
            ping=lambda: _refusal_of(lambda: sql.current(database)),
            check=behind,
            upgrade=lambda wait=None: _answered(lambda: sql.upgrade(database, patience=_patience(wait))),
            current=lambda: _answered(lambda: sql.current(database)),
            head=sql.head,
            upgrade_separate=lambda url, wait: _answered(lambda: opening.upgrade(url, _patience(wait))),
            current_separate=lambda url: _answered(lambda: opening.current(url)),
            reindex=lambda url: _answered(lambda: sql.reindex(database if url is None else url)),
        ),
        close=close,
        polls_in_turns=not platform.passes_over_locked,
        join=partial(sql.SqlHostSession, platform.database),
        bulk=sql.SqlBulk(lambda partition: _own_stores(stores, platform, partition).database.engine),
        relocation=sql.SqlRelocation(database),
    )


def joined_options(settings: Settings) -> Mapping[str, Any]:
    """Return what an application's engine must be made with so that its transactions can be joined."""
    return sql.joined_options(settings.database_url)


def _check_server(settings: Settings, refusal: tuple[str, Mapping[str, Any]] | None) -> None:
    """Refuse a server that cannot hold the stores. :raises SettingsError: another's, too old, or set up wrongly."""
    if refusal is not None:
        key, params = refusal
        raise SettingsError(key, "WAYPOST_DATABASE_URL", settings.masked()["database_url"], **params)


@contextmanager
def _lock_connection_named(settings: Settings) -> Iterator[None]:
    """Name the setting of the leases' database. :raises SettingsError: it cannot be used (spec 8.6)."""
    try:
        yield
    except StoreFailure as failure:
        shown = settings.masked()["lock_connection"]
        reason = failure.reason.partition("\n")[0]
        raise SettingsError("config.lock_unusable", "WAYPOST_LOCK_CONNECTION", shown, reason=reason) from failure


def _own_stores(routed: RoutedStores, platform: sql.SqlStores, partition: Partition) -> sql.SqlStores:
    """Return the stores of the database that the partition lies in."""
    own = routed.own(partition)
    return own.stores if own is not None and isinstance(own.stores, sql.SqlStores) else platform


def _make_folder(folder: Path, variable: str, url: str, settings: Settings) -> None:
    """Make a database file's folder. :raises SettingsError: it cannot be made, named by the setting it comes from."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        named = ("WAYPOST_DATA", str(settings.data)) if folder == settings.data else (variable, url)
        raise SettingsError("config.folder_made", *named, folder=str(folder), reason=error.strerror or "") from error


def _patience(wait_seconds: float | None) -> sql.Patience:
    return sql.USUAL if wait_seconds is None else sql.Patience(wait_seconds)


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
