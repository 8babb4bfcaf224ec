"""People who look at pages: a client that signs in, follows forms and asks for parts as htmx does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from flask.testing import FlaskClient
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from werkzeug.test import TestResponse

from tests.support.stores import StoreSet
from tests.support.web import Site, make_site
from webapp.accounts.model import Actor

_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')
_BOLD = re.compile(r"</?b>")
_TAGS = re.compile(r"<[^>]+>")


class _Compiled(BytecodeCache):
    """Keeps compiled templates for all applications of a test run."""

    def __init__(self) -> None:
        self._code: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill a bucket with what is known."""
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        self._code[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


@dataclass(frozen=True)
class Shown:
    """A page, or a part of one."""

    response: TestResponse

    @property
    def status(self) -> int:
        """The status code."""
        return self.response.status_code

    @property
    def html(self) -> str:
        """The markup."""
        return self.response.text

    @property
    def text(self) -> str:
        """What a person reads, with single spaces."""
        return " ".join(unescape(_TAGS.sub(" ", _BOLD.sub("", self.html))).split())

    @property
    def location(self) -> str:
        """Where the answer sends to."""
        return self.response.headers["Location"]


@dataclass(frozen=True)
class Visitor:
    """One browser session."""

    client: FlaskClient

    def get(self, path: str, *, target: str | None = None, **headers: str) -> Shown:
        """Open a page; with *target* ask for its part as htmx does."""
        if target is not None:
            headers = {"HX-Request": "true", "HX-Target": target, **headers}
        return Shown(self.client.get(path, headers=headers))

    def post(self, path: str, *, target: str | None = None, follow: bool = False, **fields: Any) -> Shown:
        """Send a form with the session's CSRF token."""
        found = _TOKEN.search(self.client.get("/sign-in", follow_redirects=True).text)
        assert found is not None, "no form on the page"
        headers = {"HX-Request": "true", "HX-Target": target} if target else {}
        data = {name.replace("__", "."): value for name, value in fields.items()}
        answer = self.client.post(
            path, data={"csrf_token": found.group(1), **data}, headers=headers, follow_redirects=follow
        )
        return Shown(answer)


def visit(site: Site, name: str | None = None) -> Visitor:
    """Return a visitor, signed in when an account is named."""
    site.app.jinja_env.bytecode_cache = _COMPILED
    visitor = Visitor(site.app.test_client())
    if name is not None:
        assert visitor.post("/sign-in", name=name, password=f"{name}!").status == 303
    return visitor


def actor_of(site: Site, name: str) -> Actor:
    """Return an account as the actor of service calls."""
    account = site.services.accounts.find_by_name(name)
    assert account is not None
    return site.services.accounts.actor(account)


def make_office(tmp_path: Path, stores: StoreSet | None = None, **environ: str) -> Site:
    """Return a site with an employee, a manager, a designer and an operator, and a published leave request."""
    site = make_site(tmp_path, stores, channels=(), **environ)
    site.account("employee", "user", display_name="Emma Novak")
    site.account("manager", "user", display_name="Marta Ruiz")
    site.account("designer", "designer", display_name="Daniel Okafor")
    site.account("operator", "operator", display_name="Oskar Lehmann")
    designer = actor_of(site, "designer")
    made = site.services.catalog.create(designer, leave_request())
    site.services.catalog.publish(designer, made.id)
    return site


def leave_request() -> dict[str, Any]:
    """Return a request that the manager decides; a rejection needs a comment."""
    return {
        "name": "leave",
        "displayName": "Leave request",
        "category": "People",
        "nodes": [
            {"id": "start", "activityType": "Start", "x": 0, "y": 0},
            {
                "id": "decide",
                "name": "Manager decides",
                "activityType": "UserTask",
                "properties": {
                    "AssigneeRules": [{"type": "User", "values": ["manager"]}],
                    "Title": "Leave of {{days}} days",
                    "AllowedOutcomes": ["approved", "rejected"],
                    "CommentRequired": ["rejected"],
                    "ShowVariables": ["days", "reason"],
                },
                "x": 200,
                "y": 0,
            },
            {
                "id": "end",
                "name": "Ended",
                "activityType": "End",
                "properties": {"Outcome": "granted"},
                "x": 400,
                "y": 0,
            },
        ],
        "transitions": [
            {"id": "t1", "sourceNodeId": "start", "targetNodeId": "decide"},
            {"id": "t2", "sourceNodeId": "decide", "targetNodeId": "end"},
        ],
        "variables": [
            {"name": "days", "title": "How many days", "type": "number", "required": True},
            {"name": "reason", "title": "Why", "type": "string"},
        ],
    }


def start_leave(site: Site, days: int = 3, title: str | None = None, reason: str = "Rest") -> str:
    """Start a leave request as the employee and return the instance's id."""
    variables = {"days": days, "reason": reason}
    return site.services.instances.start(
        actor_of(site, "employee"), name="leave", title=title, variables=variables
    ).instance.id


def first_task(site: Site, name: str = "manager") -> str:
    """Return the id of the oldest task that waits for an account."""
    return site.services.inbox.query(actor_of(site, name)).items[0].id
