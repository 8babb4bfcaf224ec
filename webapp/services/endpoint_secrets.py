"""Endpoints are stored with sealed addresses and secrets: a robot's address is a secret as well (spec 13).

Whoever reads them here gets them opened. What no key opens is left out and named in ``unreadable``: the endpoint is
there, and its page asks for it anew; what is stored stays as it is until then, so that the right key brings it back.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from msgspec import structs

from webapp.engine.notifications.model import Endpoint
from webapp.engine.ports.notices import EndpointStore
from webapp.engine.ports.stores import Partition, RevisionConflict

log = logging.getLogger("waypost.endpoints")

ADDRESS = "address"
SECRET = "secret"  # noqa: S105  # the name of a field


class Box(Protocol):
    """What seals secrets with the installation's key."""

    def seal(self, text: str, owner: str) -> str:
        """Return a text as it may be stored."""

    def open(self, stored: str, owner: str) -> str | None:
        """Return the text, None where no key opens it; what was stored in clear as it is."""

    def is_current(self, stored: str) -> bool:
        """Whether a text was sealed with the key that seals now."""


class SealedEndpoints:
    """Implements the port: a store whose rows nobody can read without the key."""

    def __init__(self, store: EndpointStore, box: Box) -> None:
        self._store = store
        self._box = box

    def endpoints(self) -> Sequence[Endpoint]:
        """Return the endpoints of all partitions, by name, then id."""
        return [self._opened(one) for one in self._store.endpoints()]

    def endpoint(self, partition: Partition, endpoint_id: str) -> Endpoint | None:
        """Return the endpoint, or None."""
        found = self._store.endpoint(partition, endpoint_id)
        return None if found is None else self._opened(found)

    def insert_endpoint(self, endpoint: Endpoint) -> None:
        """Store an endpoint. :raises DuplicateRecord: the partition has one of that name."""
        self._store.insert_endpoint(self._sealed(endpoint))

    def replace_endpoint(self, endpoint: Endpoint, expected_revision: int) -> None:
        """Replace an endpoint. :raises RevisionConflict: it is gone or another's."""
        self._store.replace_endpoint(self._sealed(endpoint), expected_revision)

    def delete_endpoint(self, partition: Partition, endpoint_id: str, expected_revision: int) -> None:
        """Delete an endpoint. :raises RevisionConflict: it is gone or another's."""
        self._store.delete_endpoint(partition, endpoint_id, expected_revision)

    def seal_all(self) -> int:
        """Seal what is stored in clear, or under an older key, with the key of now; return how many endpoints."""
        done = 0
        for stored in self._store.endpoints():
            opened = self._opened(stored)
            if opened.unreadable or all(self._box.is_current(text) for text in _texts(stored)):
                continue
            try:
                # Nothing is changed that anybody sees: the revision stays.
                self._store.replace_endpoint(self._sealed(opened), stored.revision)
            except RevisionConflict:
                # Somebody has saved it meanwhile, and so sealed it.
                continue
            done += 1
        if done:
            log.info("sealed the secrets of %d endpoints", done)
        return done

    def _sealed(self, endpoint: Endpoint) -> Endpoint:
        box, owner = self._box, endpoint.id
        return structs.replace(
            endpoint,
            address=box.seal(endpoint.address, owner) if endpoint.address else "",
            secret=None if endpoint.secret is None else box.seal(endpoint.secret, owner),
            unreadable=[],
        )

    def _opened(self, endpoint: Endpoint) -> Endpoint:
        box, owner = self._box, endpoint.id
        address = box.open(endpoint.address, owner)
        secret = None if endpoint.secret is None else box.open(endpoint.secret, owner)
        lost = [ADDRESS] if address is None else []
        if endpoint.secret is not None and secret is None:
            lost.append(SECRET)
        return structs.replace(endpoint, address=address or "", secret=secret, unreadable=lost)


def _texts(endpoint: Endpoint) -> list[str]:
    return [text for text in (endpoint.address, endpoint.secret) if text]
