"""Waypost inside another Flask application: start and complete in the application's own transaction (spec 3.1, 8.10).

    db, waypost = SQLAlchemy(), Waypost(settings)
    waypost.init_app(app)

    with waypost.joining(db.session) as services:
        services.instances.start(waypost.actor("emma"), name="order", variables={"order": order.id})
    db.session.commit()

What the calls write goes through the session's connection and is committed or rolled back with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from flask import Flask, g, has_app_context

from webapp.accounts.model import Actor
from webapp.app import Backend, create_app, joined_options
from webapp.config import Settings
from webapp.engine.activities.api import Activity
from webapp.engine.clock import Clock
from webapp.engine.errors import InputInvalid, WorkflowError
from webapp.engine.ports.applicants import ApplicantResolver
from webapp.engine.ports.hosting import HostSession, HostTransaction
from webapp.engine.ports.listeners import Listeners
from webapp.engine.ports.outcomes import OutcomeHandler
from webapp.messages.catalog import Catalog
from webapp.services import Services
from webapp.web.deps import Installation

_JOINED = "waypost_joined"


class Waypost:
    """Waypost for an application: its services, its pages as a WSGI application, and the joining of transactions.

    *activities*, *outcome_handlers*, *listeners* (who hear what a command did) and *applicants* (whose request an
    instance is) are the application's own. *backend* and *clock* are for tests.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        activities: Iterable[Activity] = (),
        outcome_handlers: Sequence[OutcomeHandler] = (),
        listeners: Listeners | None = None,
        applicants: ApplicantResolver | None = None,
        backend: Backend | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.app = create_app(
            settings,
            activities=activities,
            outcome_handlers=outcome_handlers,
            listeners=listeners,
            applicants=applicants,
            backend=backend,
            clock=clock,
        )
        """Pages and API, to be mounted below a path (``DispatcherMiddleware``)."""
        self._installation = cast("Installation", self.app.extensions["waypost"])
        self.services.hosting.drain()

    @property
    def services(self) -> Services:
        """The use cases; outside :meth:`joining` each call has a transaction of its own."""
        return self._installation.services

    @property
    def database_url(self) -> str:
        """The URL of Waypost's database, for the application's own ``SQLALCHEMY_DATABASE_URI``."""
        return self._installation.settings.database_url

    @property
    def engine_options(self) -> dict[str, Any]:
        """What the application's own ``SQLALCHEMY_ENGINE_OPTIONS`` must hold so that its transactions can be joined."""
        return dict(joined_options(self._installation.settings))

    def upgrade(self) -> None:
        """Make or upgrade Waypost's tables, as ``flask --app webapp db upgrade`` does; the application's stay alone."""
        self._installation.migrations.upgrade()

    def init_app(self, app: Flask) -> None:
        """Put the application in service, and let each of its contexts end with the leases it left."""
        app.extensions["waypost_host"] = self
        app.teardown_appcontext(_abandon)
        self.services.hosting.serve()

    def drain(self) -> None:
        """Refuse further calls outside a joined transaction, ``WORKFLOW_UNAVAILABLE_001``: the application ends."""
        self.services.hosting.drain()

    def close(self) -> None:
        """Drain, and let go of every connection."""
        self.drain()
        self._installation.close()

    def actor(self, name: str) -> Actor:
        """Return an account as the actor of calls. :raises InputInvalid: there is none of that login name."""
        account = self.services.accounts.find_by_name(name)
        if account is None:
            raise InputInvalid("workflow.host.no_account", path="name", params={"name": name})
        return self.services.accounts.actor(account)

    def begin(self, session: Any) -> None:
        """Begin a session's transaction so that it may be joined: in SQLite IMMEDIATE, before anything was read.

        :raises Unexpected: the session is in a transaction that began otherwise.
        """
        with _explained():
            self._session(session, read_only=False).begin()

    @contextmanager
    def joining(self, session: Any, *, read_only: bool = False) -> Iterator[Services]:
        """Have the calls that the block makes join the session's transaction (``db.session``, or any ``Session``).

        Nothing is committed here. Leases are held until the session's root transaction ends; follow-ups, events and log
        lines come after its commit, and are dropped with it or with the ``begin_nested`` they were caused in. In SQLite
        the transaction must be the first to write: call :meth:`begin` before anything is read.

        :raises Unexpected: the transaction cannot be joined; the exception's note says what to do.
        """
        with _explained():
            joined = self._session(session, read_only=read_only)
            with self.services.hosting.joining(joined) as transaction:
                _note(transaction)
                yield self.services

    @contextmanager
    def reading(self) -> Iterator[Services]:
        """Refuse the calls of the block that would write, ``PERSISTENCE_UNEXPECTED_001``, before they run anything."""
        with self.services.hosting.reading():
            yield self.services

    def _session(self, session: Any, *, read_only: bool) -> HostSession:
        join = self._installation.join
        if join is None:
            raise TypeError("stores in memory have no transaction that a session could share")
        return cast("HostSession", join(session, read_only=read_only))


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except WorkflowError as refusal:
        if refusal.key.startswith("workflow.host."):
            refusal.add_note(Catalog.load().text(refusal.key, refusal.params, "en"))
        raise


def _note(transaction: HostTransaction) -> None:
    if has_app_context():
        g.setdefault(_JOINED, []).append(transaction)


def _abandon(error: BaseException | None) -> None:
    for transaction in g.pop(_JOINED, ()):
        transaction.abandon()
