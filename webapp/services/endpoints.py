"""Endpoints for administrators: where events and messages leave the house (spec 10). A secret goes in and never out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec
from msgspec import structs

from webapp.accounts.model import Actor
from webapp.accounts.permissions import NOTIFICATIONS_ADMIN
from webapp.accounts.ports import AccountStore
from webapp.engine.clock import Clock, IdSource
from webapp.engine.errors import (
    CONFLICT_DEFINITION,
    UNAVAILABLE_STORE,
    Conflict,
    InputInvalid,
    NotFound,
    OperationCancelled,
    Problem,
    StaleRevision,
    Unavailable,
)
from webapp.engine.instances.journal import AuditEntry
from webapp.engine.instances.limits import length_problems
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.numbers import JsonObject
from webapp.engine.ports.channels import Channel, OutgoingMessage, Part, SendingFailed
from webapp.engine.ports.notices import EndpointStore
from webapp.engine.ports.stores import DuplicateRecord, Partition, RevisionConflict
from webapp.messages.catalog import Catalog
from webapp.services import delivery_reasons as reasons
from webapp.services.access import NOT_FOUND, require
from webapp.services.delivery_times import AttemptTime
from webapp.services.endpoint_copy import EMAIL, EndpointCopy, built_in_email
from webapp.services.endpoint_secrets import SECRET
from webapp.services.masking import MASK, masked_address
from webapp.services.notice_texts import spoken
from webapp.services.storage import Storage, answered, asked
from webapp.services.topics import TEST_TOPIC, topic_problems

MAX_NAME = 100
MAX_ADDRESS = 2_000
MAX_SECRET = 500
MAX_TOPICS = 50
TRY_SECONDS = 10.0
"""How long a person waits for the other side's answer to a test message, at most."""


class TryOut(msgspec.Struct, frozen=True, kw_only=True):
    """How a test message went: the other side took it, and gave this receipt."""

    receipt: str | None
    duration_ms: int


class EndpointSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody wants an endpoint to say."""

    name: str
    address: str = ""
    secret: str | None = None
    topics: Sequence[str] = ()
    for_notices: bool = False
    options: JsonObject = {}
    enabled: bool = True


class EndpointService:
    """The use cases of endpoints, of each partition its own."""

    def __init__(
        self,
        *,
        endpoints: EndpointStore,
        copy: EndpointCopy,
        channels: Sequence[Channel],
        accounts: AccountStore,
        catalog: Catalog,
        storage: Storage,
        clock: Clock,
        ids: IdSource,
        timeout_seconds: float,
    ) -> None:
        self._endpoints = endpoints
        self._copy = copy
        self._channels: Mapping[ChannelKind, Channel] = {channel.kind: channel for channel in channels}
        self._accounts = accounts
        self._catalog = catalog
        self._storage = storage
        self._clock = clock
        self._ids = ids
        self._seconds = min(TRY_SECONDS, timeout_seconds)

    def list(self, actor: Actor) -> Sequence[Endpoint]:
        """Return the partition's endpoints by name; first the built-in one of e-mail, where a server is set up."""
        require(actor, NOTIFICATIONS_ADMIN)
        found = [one for one in asked(self._endpoints.endpoints) if one.tenant_id == actor.partition]
        built_in = [built_in_email(actor.partition)] if self._is_ready(ChannelKind.EMAIL) else []
        return [*built_in, *(_shown(one) for one in found)]

    def get(self, actor: Actor, endpoint_id: str) -> Endpoint:
        """Return an endpoint. :raises NotFound: the partition has none such."""
        require(actor, NOTIFICATIONS_ADMIN)
        return _shown(self._find(actor, endpoint_id))

    def create(self, actor: Actor, kind: ChannelKind, wanted: EndpointSettings) -> Endpoint:
        """Make an endpoint.

        :raises InputInvalid: with everything that is wrong. :raises Conflict: the partition has one of that name.
        """
        require(actor, NOTIFICATIONS_ADMIN)
        now = self._clock.now()
        made = Endpoint(
            id=self._ids.new(),
            tenant_id=actor.partition,
            kind=kind,
            address=wanted.address.strip(),
            secret=wanted.secret or None,
            created_at=now,
            created_by=actor.name,
            updated_at=now,
            updated_by=actor.name,
            **_said(wanted),
        )
        self._check(made)
        try:
            answered(lambda: self._endpoints.insert_endpoint(made))
        except DuplicateRecord as duplicate:
            raise _taken(made) from duplicate
        self._changed(actor, "createEndpoint", None, made)
        return _shown(made)

    def update(self, actor: Actor, endpoint_id: str, wanted: EndpointSettings, *, expected_revision: int) -> Endpoint:
        """Replace what an endpoint says; its kind stays.

        A secret None keeps the one that is there, an empty one removes it; an address that is sent back as it was
        shown is kept as well. :raises StaleRevision: somebody saved it since it was read.
        """
        found = self._changeable(actor, endpoint_id, expected_revision)
        given = wanted.address.strip()
        made = structs.replace(
            found,
            revision=found.revision + 1,
            address=found.address if given == masked_address(found.kind, found.address) else given,
            secret=found.secret if wanted.secret is None else wanted.secret or None,
            unreadable=[],
            updated_at=self._clock.now(),
            updated_by=actor.name,
            **_said(wanted),
        )
        self._check(made, asks_for_secret=wanted.secret is None and SECRET in found.unreadable)
        try:
            answered(lambda: self._endpoints.replace_endpoint(made, found.revision))
        except RevisionConflict as conflict:
            raise _stale(self._find(actor, endpoint_id)) from conflict
        except DuplicateRecord as duplicate:
            raise _taken(made) from duplicate
        self._changed(actor, "replaceEndpoint", found, made)
        return _shown(made)

    def delete(self, actor: Actor, endpoint_id: str, expected_revision: int | None = None) -> None:
        """Delete an endpoint: what still waits for it is dead. :raises StaleRevision: somebody saved it meanwhile."""
        found = self._changeable(actor, endpoint_id, expected_revision)
        try:
            answered(lambda: self._endpoints.delete_endpoint(actor.partition, endpoint_id, found.revision))
        except RevisionConflict as conflict:
            raise _stale(self._find(actor, endpoint_id)) from conflict
        self._changed(actor, "deleteEndpoint", found, None)

    def try_out(self, actor: Actor, endpoint_id: str) -> TryOut:
        """Send a test message now and say how it went; e-mail goes to the actor's own address.

        :raises Unavailable: it was not taken, with what the other side said. :raises Conflict: it cannot be tried.
        """
        require(actor, NOTIFICATIONS_ADMIN)
        endpoint = self._find(actor, endpoint_id)
        channel = self._channels.get(endpoint.kind)
        if channel is None or not channel.ready:
            raise Conflict(reasons.CHANNEL_NOT_READY, code=CONFLICT_DEFINITION)
        if endpoint.unreadable:
            raise Conflict(reasons.SECRET_UNREADABLE, code=CONFLICT_DEFINITION)
        message, began = self._test_message(actor, endpoint), time.monotonic()
        try:
            receipt = channel.send(message, AttemptTime(self._seconds, lambda: False))
        except SendingFailed as failed:
            self._not_taken(failed.reason)
        except OperationCancelled:
            self._not_taken(self._catalog.text(reasons.NO_ANSWER, {}, spoken(actor.language)))
        return TryOut(receipt=receipt, duration_ms=int((time.monotonic() - began) * 1000))

    def _not_taken(self, reason: str) -> NoReturn:
        raise Unavailable(
            "services.endpoint.not_taken", code=UNAVAILABLE_STORE, params={"reason": reason}, details={"reason": reason}
        )

    def _test_message(self, actor: Actor, endpoint: Endpoint) -> OutgoingMessage:
        language, now = spoken(actor.language), self._clock.now()
        made = OutgoingMessage(
            delivery_id=self._ids.new(), endpoint=endpoint, language=language, occurred_at=now, address=None
        )
        if endpoint.topics and not endpoint.for_notices:
            return structs.replace(made, topic=TEST_TOPIC, data={"test": True})
        title = self._catalog.text("services.endpoint.test_title", {}, language)
        body = self._catalog.text("services.endpoint.test_body", {"name": endpoint.name}, language)
        address = self._own_address(actor) if endpoint.kind is ChannelKind.EMAIL else None
        return structs.replace(made, subject=title, parts=[Part(title=title, body=body)], address=address)

    def _own_address(self, actor: Actor) -> str:
        account = asked(lambda: self._accounts.find(actor.account_id))
        if account is None or not account.email:
            raise Conflict("services.endpoint.no_own_address", code=CONFLICT_DEFINITION)
        return account.email

    def _find(self, actor: Actor, endpoint_id: str) -> Endpoint:
        if endpoint_id == EMAIL and self._is_ready(ChannelKind.EMAIL):
            return built_in_email(actor.partition)
        found = asked(lambda: self._endpoints.endpoint(actor.partition, endpoint_id))
        if found is None:
            raise NotFound("services.endpoint.not_found", code=NOT_FOUND, params={"id": endpoint_id})
        return found

    def _is_ready(self, kind: ChannelKind) -> bool:
        channel = self._channels.get(kind)
        return channel is not None and channel.ready

    def _changeable(self, actor: Actor, endpoint_id: str, expected_revision: int | None) -> Endpoint:
        require(actor, NOTIFICATIONS_ADMIN)
        found = self._find(actor, endpoint_id)
        if found.id == EMAIL:
            raise Conflict("services.endpoint.built_in", code=CONFLICT_DEFINITION)
        if expected_revision is not None and found.revision != expected_revision:
            raise _stale(found)
        return found

    def _check(self, endpoint: Endpoint, *, asks_for_secret: bool = False) -> None:
        channel = self._channels.get(endpoint.kind)
        if channel is None or endpoint.kind is ChannelKind.EMAIL:
            raise InputInvalid("services.endpoint.kind", path="kind", params={"kind": endpoint.kind.value})
        problems = [
            *([] if endpoint.name else [Problem(path="name", key="services.endpoint.name")]),
            *length_problems("name", endpoint.name, MAX_NAME),
            *length_problems("address", endpoint.address, MAX_ADDRESS),
            *([Problem(path="secret", key="services.endpoint.secret_unreadable")] if asks_for_secret else []),
            *length_problems("secret", endpoint.secret or "", MAX_SECRET),
            *topic_problems(endpoint.topics, MAX_TOPICS),
            *channel.check(endpoint),
        ]
        if problems:
            raise InputInvalid("services.endpoint.invalid", problems=problems)

    def _changed(self, actor: Actor, action: str, before: Endpoint | None, after: Endpoint | None) -> None:
        """Have the copy read anew, and note the change in the partition's trail: neither secret nor whole address."""
        self._copy.forget()
        entry = AuditEntry(
            id=self._ids.new(),
            tenant_id=actor.partition,
            at=self._clock.now(),
            actor_id=actor.name,
            action=action,
            request_id=actor.request_id,
            before=_facts(before),
            after=_facts(after),
        )
        self._storage.note(entry)


def _said(wanted: EndpointSettings) -> dict[str, Any]:
    """Return what is taken over as it is wanted; address and secret depend on what is there."""
    return {
        "name": wanted.name.strip(),
        "topics": list(dict.fromkeys(wanted.topics)),
        "for_notices": wanted.for_notices,
        "options": wanted.options,
        "enabled": wanted.enabled,
    }


def _shown(endpoint: Endpoint) -> Endpoint:
    """Return an endpoint as it may be shown: a mask where there is a secret, None where there is none."""
    return structs.replace(
        endpoint,
        secret=None if endpoint.secret is None else MASK,
        address=masked_address(endpoint.kind, endpoint.address),
    )


def _facts(endpoint: Endpoint | None) -> JsonObject | None:
    if endpoint is None:
        return None
    shown = _shown(endpoint)
    return {
        "id": shown.id,
        "revision": shown.revision,
        "kind": shown.kind.value,
        "name": shown.name,
        "address": shown.address,
        "hasSecret": shown.secret is not None or SECRET in shown.unreadable,
        "topics": list(shown.topics),
        "forNotices": shown.for_notices,
        "enabled": shown.enabled,
    }


def _taken(endpoint: Endpoint) -> Conflict:
    return Conflict("services.endpoint.taken", code=CONFLICT_DEFINITION, params={"name": endpoint.name})


def _stale(found: Endpoint) -> StaleRevision:
    details = {"revision": found.revision, "updatedBy": found.updated_by, "updatedAt": found.updated_at}
    return StaleRevision("services.endpoint.stale", details=details)


__all__ = ["EndpointService", "EndpointSettings", "Partition", "TryOut"]
