"""A Flask application of somebody else's that uses Waypost inside its own transactions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import text

from tests.support.flows import END, START, flow, node
from tests.support.stores import StoreSet
from tests.support.web import make_settings
from webapp.accounts.model import Actor
from webapp.app import Backend
from webapp.engine.activities.api import ActivityContext, ActivityOutcome, Complete
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.instances.model import WorkflowInstance
from webapp.host import Waypost
from webapp.stores.sql import SqlHostSession, SqlStores, joined_options
from webapp.web.deps import Migrations

ORDER = flow(
    "order",
    [
        START,
        node("book", "BookOrder"),
        node("say", "Log", {"Message": "order of {{customer}}"}),
        node("ask", "UserTask", {"Assignees": ["boss"]}),
        END,
    ],
)


class BookOrder:
    """An activity of the host: writes into the host's table by the wave's connection."""

    descriptor = ActivityDescriptor(type="BookOrder", category=Category.CUSTOM, icon="x", custom=True)

    def __init__(self) -> None:
        self.runs = 0

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Note the instance in the host's table."""
        self.runs += 1
        statement = text("INSERT INTO host_bookings (instance_id) VALUES (:id)")
        context.transaction().execute(statement, {"id": context.instance_id})
        return Complete()


@dataclass
class Host:
    """The application, its database and Waypost in it."""

    app: Flask
    db: Any
    waypost: Waypost
    stores: StoreSet
    booking: BookOrder
    order: Any

    @property
    def boss(self) -> Actor:
        """Who decides."""
        return self.waypost.actor("boss")

    def start(self, customer: str) -> WorkflowInstance:
        """Start an order's instance in the present transaction."""
        with self.waypost.joining(self.db.session) as services:
            return services.instances.start(self.boss, name="order", variables={"customer": customer}).instance

    def stored(self) -> tuple[int, int, int]:
        """Return how many orders, bookings and instances are committed."""
        assert self.stores.engine is not None
        with self.stores.engine.connect() as connection:
            counts = [
                connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()  # names of the test
                for table in ("host_orders", "host_bookings", "platform_instances")
            ]
        return counts[0], counts[1], counts[2]


def make_host(stores: StoreSet, folder: Path, url: str | None = None, **options: Any) -> Host:
    """Put the application together, on Waypost's database unless another is given."""
    engine = stores.engine
    assert engine is not None
    assert isinstance(stores.stores, SqlStores)
    database = stores.stores.database
    backend = Backend(
        stores=stores.stores,
        leases=stores.leases,
        accounts=stores.accounts,
        calendars=stores.calendars,
        notice_settings=stores.notice_settings,
        migrations=Migrations(
            ping=lambda: None, check=lambda: None, upgrade=lambda wait=None: None, current=lambda: "", head=lambda: ""
        ),
        join=lambda session, read_only: SqlHostSession(database, session, read_only=read_only),
    )
    db = SQLAlchemy()

    class Order(db.Model):  # type: ignore[name-defined, misc]  # made by the extension
        """A row of the host's own."""

        __tablename__ = "host_orders"
        id = db.Column(db.Integer, primary_key=True)
        customer = db.Column(db.String(50), nullable=False)

    booking = BookOrder()
    waypost = Waypost(make_settings(folder), activities=[booking], backend=backend, clock=stores.clock)
    app = Flask("shop")
    app.config["SQLALCHEMY_DATABASE_URI"] = url or engine.url.render_as_string(hide_password=False)
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = {**joined_options(app.config["SQLALCHEMY_DATABASE_URI"]), **options}
    db.init_app(app)
    waypost.init_app(app)
    return Host(app, db, waypost, stores, booking, Order)


@pytest.fixture
def host(stores: StoreSet, tmp_path: Path) -> Iterator[Host]:
    """The application with its tables, the flow published, in an application context."""
    made = make_host(stores, tmp_path)
    boss = made.waypost.services.accounts.create(name="boss", password="boss!", roles=("administrator",))
    actor = made.waypost.services.accounts.actor(boss)
    draft = made.waypost.services.catalog.create(actor, ORDER)
    made.waypost.services.catalog.publish(actor, draft.id)
    assert stores.engine is not None
    with stores.engine.begin() as connection:
        made.order.__table__.create(connection)
        connection.execute(text("CREATE TABLE host_bookings (instance_id VARCHAR(50) PRIMARY KEY)"))
    with made.app.app_context():
        yield made
        made.db.session.remove()
        made.db.engine.dispose()
    with stores.engine.begin() as connection:
        made.order.__table__.drop(connection)
        connection.execute(text("DROP TABLE host_bookings"))
