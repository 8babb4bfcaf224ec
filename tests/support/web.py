"""The whole application in one process, on memory stores and a clock that only tests move."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.routing import Rule
from werkzeug.test import TestResponse

from tests.support.clock import FakeClock
from tests.support.stores import StoreSet, memory_stores
from webapp.accounts.model import Account
from webapp.accounts.passwords import Passwords
from webapp.app import Backend, create_app
from webapp.config import Settings
from webapp.engine.numbers import encode
from webapp.engine.ports.channels import Channel
from webapp.messages.catalog import Catalog
from webapp.services import Services
from webapp.stores.sql import SqlBulk, SqlRelocation
from webapp.web.deps import Installation, Migrations

CHEAP = Passwords(memory_kib=8, passes=1)
CATALOG = Catalog.load(strict=True)


@dataclass(frozen=True)
class Site:
    """An application with memory stores, its clock, and clients for its accounts."""

    app: Flask
    clock: FakeClock
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def services(self) -> Services:
        """The use cases."""
        return self.installation.services

    @property
    def installation(self) -> Installation:
        """What was put together."""
        installation: Installation = self.app.extensions["waypost"]
        return installation

    def account(self, name: str, *roles: str, **rest: Any) -> Account:
        """Create an account whose password is its name followed by an exclamation mark."""
        return self.services.accounts.create(name=name, password=f"{name}!", roles=roles, **rest)

    def caller(self, name: str, **headers: str) -> Caller:
        """Return a client that calls the API with a token of the account."""
        if name not in self.tokens:
            account = self.services.accounts.find_by_name(name)
            assert account is not None, f"there is no account {name}"
            self.tokens[name] = self.services.accounts.create_token(account.id, "test")[1]
        return Caller(self.app.test_client(), {"Authorization": f"Bearer {self.tokens[name]}", **headers})

    def anybody(self, **headers: str) -> Caller:
        """Return a client without credentials."""
        return Caller(self.app.test_client(), dict(headers))


@dataclass(frozen=True)
class Caller:
    """Calls below ``/api/v1``; numbers come back as exact decimals."""

    client: FlaskClient
    headers: dict[str, str]

    def get(self, path: str, **headers: str) -> Answer:
        """GET."""
        return self.send("GET", path, headers=headers)

    def post(self, path: str, value: Any = None, **headers: str) -> Answer:
        """POST a JSON value, or nothing."""
        return self.send("POST", path, value, headers=headers)

    def put(self, path: str, value: Any, **headers: str) -> Answer:
        """PUT a JSON value."""
        return self.send("PUT", path, value, headers=headers)

    def patch(self, path: str, value: Any, **headers: str) -> Answer:
        """PATCH with a JSON value."""
        return self.send("PATCH", path, value, headers=headers)

    def delete(self, path: str, **headers: str) -> Answer:
        """DELETE."""
        return self.send("DELETE", path, headers=headers)

    def send(
        self, method: str, path: str, value: Any = None, *, data: bytes | None = None, headers: dict[str, str]
    ) -> Answer:
        """Send a request: *value* as JSON, or *data* as it is."""
        sent = {**self.headers, **{name.replace("_", "-"): text for name, text in headers.items()}}
        if value is not None:
            data = encode(value)
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        where = path if path.startswith("/api") else f"/api/v1{path}"
        return Answer(self.client.open(where, method=method, data=data, headers=sent))


@dataclass(frozen=True)
class Answer:
    """What came back."""

    response: TestResponse

    @property
    def status(self) -> int:
        """The status code."""
        return self.response.status_code

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.response.data, parse_float=Decimal)

    @property
    def headers(self) -> Any:
        """The headers."""
        return self.response.headers

    def expect(self, status: int) -> Any:
        """Return the body of an answer with this status."""
        assert self.status == status, f"{self.status}: {self.response.text}"
        return self.json if self.response.data else None

    def refused(self, status: int, code: str) -> Any:
        """Return the problem document of a refusal, after looking at its form."""
        problem = self.expect(status)
        assert self.response.content_type == "application/problem+json"
        assert problem["code"] == code, problem
        assert problem["status"] == status
        assert problem["type"] == f"urn:waypost:error:{code}"
        assert problem["title"] and problem["detail"]
        return problem


def _remember_builders() -> None:
    """Compile the way from an endpoint to its address once a process: half of what a new application costs."""
    compile_builder = Rule._compile_builder
    known: dict[Any, Any] = {}

    def remembered(rule: Rule, append_unknown: bool = True) -> Any:
        key = (tuple(rule._trace), repr(rule.defaults), append_unknown)
        if key not in known:
            # A function of the rule, so equal rules of two applications may share it.
            known[key] = compile_builder(rule, append_unknown)
        return known[key]

    Rule._compile_builder = remembered  # type: ignore[method-assign,assignment]  # for tests, which make hundreds


_remember_builders()


def make_settings(tmp_path: Path, **environ: str) -> Settings:
    """Return settings that touch nothing outside a test's folder."""
    return Settings.from_environ(
        {
            "WAYPOST_DATA": str(tmp_path),
            "WAYPOST_SECRET_KEY": "a key for tests only",
            # What is decided in a test shall be carried out at once.
            "WAYPOST_UNDO_SECONDS": "0",
            **environ,
        }
    )


def _only(engine: Engine, partition: str | None) -> Engine:
    return engine


def make_site(
    tmp_path: Path, stores: StoreSet | None = None, *, channels: Sequence[Channel] = (), **environ: str
) -> Site:
    """Return an application with empty stores, in memory unless others are given."""
    chosen = stores or memory_stores()
    backend = Backend(
        stores=chosen.stores,
        leases=chosen.leases,
        accounts=chosen.accounts,
        calendars=chosen.calendars,
        notice_settings=chosen.notice_settings,
        tenants=chosen.tenants,
        databases=chosen.databases,
        migrations=Migrations(
            ping=lambda: None,
            check=lambda: None,
            upgrade=lambda wait=None: None,
            current=lambda: chosen.kind,
            head=lambda: chosen.kind,
        ),
        bulk=None if chosen.engine is None else SqlBulk(partial(_only, chosen.engine)),
        relocation=None if chosen.engine is None else SqlRelocation(chosen.engine),
    )
    settings = make_settings(tmp_path, **environ)
    app = create_app(settings, backend=backend, clock=chosen.clock, passwords=CHEAP, catalog=CATALOG, channels=channels)
    app.testing = False
    return Site(app, chosen.clock)
