"""How a call of the API is declared: one decorator that routes it, checks its input and describes it in OpenAPI."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import msgspec
from flask import Blueprint, Response, request

from webapp.accounts.model import Actor
from webapp.engine.errors import InputInvalid, Problem
from webapp.engine.numbers import encode
from webapp.messages.catalog import Catalog
from webapp.services import Services
from webapp.web.api.body import has_body, read_body, read_object
from webapp.web.api.idempotency import answered_once, read_key
from webapp.web.api.query import read_query
from webapp.web.deps import current_actor, installation
from webapp.web.errors import NO_SUCH_ADDRESS, PRECONDITION, RequestRefused
from webapp.web.i18n import Language, language

B = TypeVar("B")
Q = TypeVar("Q")

_ETAG = re.compile(r'"([0-9]{1,15})"')
_PARAMETER = re.compile(r"<([a-z_]+)>")
_MAX_ID = 200
NEVER = -1
"""A revision that no definition has: what an If-Match that is no revision of ours stands for."""


@dataclass(frozen=True, kw_only=True)
class Call(Generic[B, Q]):
    """One call as its handler sees it: who, with what, in which language."""

    actor: Actor
    services: Services
    catalog: Catalog
    lang: Language
    body: B
    query: Q
    expected_revision: int | None = None

    @property
    def revision_read(self) -> int:
        """The revision that the caller read, where a call demands one."""
        return NEVER if self.expected_revision is None else self.expected_revision


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a handler answers with."""

    value: Any = None
    status: int = 200
    location: str | None = None
    revision: int | None = None
    retry_after: int | None = None


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """A call of the API: where it is, what it takes, what it answers; ``api.call.<name>`` says what it is for.

    ``answers_once``: what an Idempotency-Key means for a POST. ``command``: its one command and its answer are stored
    in one transaction; ``after``: it runs several transactions (batches, signals …) and its answer is stored after
    them; ``no``: it stores nothing, or its answer must not be stored.
    """

    method: str
    path: str
    tag: str
    answers: dict[int, Any]
    refuses: tuple[int, ...] = ()
    body: type[msgspec.Struct] | None = None
    document: bool = False
    body_required: bool = True
    query: type[msgspec.Struct] | None = None
    if_match: str | None = None
    sends_revision: bool = False
    answers_once: str = "command"
    handler: Callable[..., Reply] = field(repr=False)

    @property
    def name(self) -> str:
        """The operation's id."""
        return self.handler.__name__

    @property
    def takes_key(self) -> bool:
        """Whether the call takes an Idempotency-Key."""
        return self.method == "POST" and self.answers_once != "no"

    @property
    def refusals(self) -> tuple[int, ...]:
        """The statuses it refuses with, beside those that every call has."""
        return (*self.refuses, 422) if self.takes_key else self.refuses

    @property
    def parameters(self) -> list[str]:
        """The names of the path's parameters."""
        return _PARAMETER.findall(self.path)


class Section:
    """The calls of one section of the API; ``webapp.web.api`` registers them all."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.endpoints: list[Endpoint] = []

    def call(self, method: str, path: str, **rest: Any) -> Callable[[Callable[..., Reply]], Callable[..., Reply]]:
        """Declare a call: see :class:`Endpoint` for what can be said about it."""

        def declare(handler: Callable[..., Reply]) -> Callable[..., Reply]:
            self.endpoints.append(Endpoint(method=method, path=path, tag=self.tag, handler=handler, **rest))
            return handler

        return declare


def register(blueprint: Blueprint, endpoint: Endpoint) -> None:
    """Route a call to its handler."""

    def view(**parameters: str) -> Response:
        return _run(endpoint, parameters)

    blueprint.add_url_rule(
        endpoint.path, endpoint.name, view, methods=[endpoint.method], provide_automatic_options=False
    )


def refuse_unknown_address() -> RequestRefused:
    """Return the refusal of an address that is none (404)."""
    return RequestRefused("errors.no_such_address", code=NO_SUCH_ADDRESS, params={"path": request.path})


def _run(endpoint: Endpoint, parameters: dict[str, str]) -> Response:
    actor = current_actor()
    for value in parameters.values():
        if "\0" in value or len(value) > _MAX_ID:
            raise refuse_unknown_address()
    here = installation()
    key = read_key() if endpoint.takes_key else None
    if key is not None:
        # Read before the body is, which is read once.
        request.get_data(cache=True)
    call: Call[Any, Any] = Call(
        actor=actor,
        services=here.services,
        catalog=here.catalog,
        lang=language(),
        query=_read_query(endpoint),
        body=_read_body(endpoint),
        expected_revision=_read_if_match(endpoint),
    )
    if key is None:
        return _respond(endpoint.handler(call, **parameters))
    return answered_once(
        here.services.answers,
        actor,
        key,
        lambda: _respond(endpoint.handler(call, **parameters)),
        several=endpoint.answers_once == "after",
    )


def _read_query(endpoint: Endpoint) -> Any:
    if endpoint.query is not None:
        return read_query(request.args, endpoint.query)
    if request.args:
        problems = [Problem(path=name[:80], key="api.query.none") for name in request.args]
        raise InputInvalid("api.query.invalid", problems=problems)
    return None


def _read_body(endpoint: Endpoint) -> Any:
    if endpoint.method == "GET":
        return None
    if endpoint.body is None and not endpoint.document:
        if has_body() and read_object():
            raise InputInvalid("api.body.none", path="")
        return None
    if not endpoint.body_required and not has_body():
        return None if endpoint.document else msgspec.convert({}, cast("type[msgspec.Struct]", endpoint.body))
    return read_object() if endpoint.document else read_body(cast("type[msgspec.Struct]", endpoint.body))


def _read_if_match(endpoint: Endpoint) -> int | None:
    """Return the revision that the caller read; ``*`` and none (where it may be left out) stand for any."""
    if endpoint.if_match is None:
        return None
    given = request.headers.get("If-Match", "").strip()
    if given in ("", "*"):
        if endpoint.if_match == "required":
            raise RequestRefused("errors.if_match_missing", code=PRECONDITION)
        return None
    match = _ETAG.fullmatch(given)
    return int(match.group(1)) if match else NEVER


def _respond(reply: Reply) -> Response:
    if reply.status == 204:
        response = Response(status=204)
    else:
        response = Response(encode(reply.value), status=reply.status, content_type="application/json")
    if reply.location is not None:
        response.headers["Location"] = reply.location
    if reply.revision is not None:
        response.headers["ETag"] = f'"{reply.revision}"'
    if reply.retry_after is not None:
        response.headers["Retry-After"] = str(reply.retry_after)
    return response
