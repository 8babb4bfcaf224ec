"""One POST to an endpoint, and what its answer means: taken, try again, or of no use (spec 10)."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping, Sequence
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from webapp.channels.addresses import AddressPolicy
from webapp.channels.reasons import masked
from webapp.engine.cancellation import CancellationToken
from webapp.engine.clock import Clock
from webapp.engine.errors import OperationCancelled, Problem
from webapp.engine.notifications.model import Endpoint
from webapp.engine.ports.channels import SendingFailed
from webapp.engine.ports.http import AddressDenied, HttpClient, HttpFailure, HttpRequest, HttpResponse

OUT_OF_TIME = "no answer within the time of one attempt"

REFUSED_FOR_GOOD = frozenset((400, 405, 410, 411, 413, 414, 415, 422, 431, 451))
"""Statuses that say of the request itself that it will never be taken. 401, 403 and 404 are not among them: a receiver
that is being set up or gets new keys answers so, and what was meant for it must not be lost."""

LONGEST_WAIT_SECONDS = 24 * 3600.0


class Posting:
    """Posts to addresses that the policy admits, and tells every failure as ``SendingFailed``."""

    def __init__(self, calls: HttpClient, policy: AddressPolicy, clock: Clock) -> None:
        self._calls = calls
        self._policy = policy
        self.clock = clock

    def check(self, endpoint: Endpoint) -> Sequence[Problem]:
        """Return what is wrong with the endpoint's address, without asking the network."""
        if not endpoint.address.strip():
            return [Problem(path="address", key="channel.address_missing")]
        try:
            parts = urlsplit(endpoint.address)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host, parts = None, urlsplit("")
        clean = not any(character.isspace() or not character.isprintable() for character in endpoint.address)
        if parts.scheme not in ("http", "https") or not host or not clean or parts.username is not None:
            return [Problem(path="address", key="channel.address_no_url")]
        return refused_host(self._policy, host)

    def post(
        self,
        endpoint: Endpoint,
        body: bytes,
        token: CancellationToken,
        *,
        url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        """Post JSON and return the answer, whatever its status. :raises SendingFailed: there is none."""
        request = HttpRequest(
            method="POST",
            url=url or endpoint.address,
            headers={"Content-Type": "application/json; charset=utf-8", **(headers or {})},
            body=body,
        )
        try:
            return self._calls.send(request, token)
        except AddressDenied as error:
            raise SendingFailed(masked(str(error), endpoint), permanent=True) from error
        except HttpFailure as error:
            raise SendingFailed(masked(str(error), endpoint)) from error
        except OperationCancelled as error:
            raise SendingFailed(OUT_OF_TIME) from error

    def accepted(
        self, endpoint: Endpoint, response: HttpResponse, refused: Collection[int] = REFUSED_FOR_GOOD, said: str = ""
    ) -> str:
        """Return the receipt of an answer of 2xx. :raises SendingFailed: it is none; how long to wait is told."""
        status = f"HTTP {response.status}"
        if 200 <= response.status < 300:
            return status
        reason = " ".join(part for part in (status, response.reason, said) if part)
        raise SendingFailed(
            masked(reason, endpoint),
            permanent=response.status in refused,
            retry_after=self.wait(response.retry_after),
        )

    def wait(self, given: str | None) -> float | None:
        """Return the seconds of a Retry-After, which is a number or a date; None when it is neither."""
        if given is None:
            return None
        text = given.strip()
        if text.isascii() and text.isdigit():
            return min(float(text), LONGEST_WAIT_SECONDS)
        try:
            seconds = (parsedate_to_datetime(text) - self.clock.now()).total_seconds()
        except (TypeError, ValueError):
            return None
        return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)


def refused_host(policy: AddressPolicy, host: str) -> Sequence[Problem]:
    """Return the problem of a host that is written as an address which may not be called."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return []
    if policy.admits(host, address):
        return []
    return [Problem(path="address", key="channel.address_denied", params={"host": host})]
