"""What the channels to message brokers have in common: kept connections that no thread ever hangs on (spec 10).

A library of a broker waits for its socket and knows no tokens. So each connection's socket is dialled here, to an
address that was checked, and while something is sent a guard looks at the token and cuts the socket when it is set.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import ClassVar, NamedTuple
from urllib.parse import unquote, urlsplit

from webapp.channels.addresses import AddressPolicy
from webapp.channels.posting import OUT_OF_TIME, refused_host
from webapp.channels.reasons import masked
from webapp.channels.wire import SLICE_SECONDS, dial
from webapp.engine.cancellation import Cancellation, CancellationToken
from webapp.engine.errors import OperationCancelled, Problem
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage, SendingFailed
from webapp.engine.ports.http import AddressDenied, HttpFailure

IDLE_SECONDS = 60.0
"""A connection that was not used for so long is made anew: nobody may be at its other end any more."""

NETWORK_FAILURES: tuple[type[Exception], ...] = (OSError, HttpFailure, ValueError)

_LONGEST_OPTION = 255


class BrokerUrl(NamedTuple):
    """A broker's address taken apart; ``path`` without its first slash."""

    host: str
    port: int
    secure: bool
    user: str | None
    password: str | None
    path: str


class Link(ABC):
    """An open connection to a broker."""

    @abstractmethod
    def publish(self, message: OutgoingMessage) -> str:
        """Hand one message over and return the receipt, once the broker has said that it has it."""

    @abstractmethod
    def close(self) -> None:
        """Let go of it, without talking to the other side."""


Dial = Callable[[], socket.socket]


class Library(NamedTuple):
    """What speaks to a kind of broker: it connects and logs in, and fails in its own ways."""

    connect: Callable[[BrokerUrl, Dial], Link]
    failures: tuple[type[Exception], ...]


class _Slot:
    """The connection of one endpoint; whoever holds the lock sends."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.link: Link | None = None
        self.made_for: tuple[str, str | None] | None = None
        self.used_at = 0.0
        self.token: CancellationToken = Cancellation()
        self.sockets: list[socket.socket] = []

    def drop(self) -> None:
        """Close what is there, whatever state it is in."""
        link, self.link = self.link, None
        if link is not None:
            with suppress(Exception):  # it is broken already, or will be now
                link.close()
        for one in self.sockets:
            one.close()
        self.sockets = []

    def cut(self) -> None:
        """End the connection under whoever waits for it."""
        for one in list(self.sockets):
            with suppress(OSError):
                # Of the class, not of the object: a TLS socket would forget its state while the other thread uses it.
                socket.socket.shutdown(one, socket.SHUT_RDWR)


class BrokerChannel(ABC):
    """A kind of broker. All its refusals are passing failures: queues, rights and passwords are put right some day."""

    ready = True

    schemes: ClassVar[Mapping[str, tuple[int, bool]]]
    """By scheme: the port and whether TLS is used."""

    known_options: ClassVar[Sequence[str]]
    address_key: ClassVar[str]

    def __init__(self, policy: AddressPolicy, *, tls: ssl.SSLContext | None = None) -> None:
        self._policy = policy
        self._given_tls = tls
        self._slots: dict[str, _Slot] = {}
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def kind(self) -> ChannelKind:
        """Which broker."""

    @abstractmethod
    def _load(self) -> Library:
        """Import what speaks to the broker: it takes long, and most installations have no broker."""

    @cached_property
    def _library(self) -> Library:
        return self._load()

    @property
    def _failures(self) -> tuple[type[Exception], ...]:
        """What says that nothing was sent, or that nobody can say: of the network and of the broker's library."""
        return (*NETWORK_FAILURES, *self._library.failures)

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or ssl.create_default_context()

    def check(self, endpoint: Endpoint) -> Sequence[Problem]:
        """Return what is wrong with the address or the options."""
        if not endpoint.address.strip():
            return [Problem(path="address", key="channel.address_missing")]
        try:
            url = self._url(endpoint)
        except ValueError:
            return [Problem(path="address", key=self.address_key)]
        problems = list(refused_host(self._policy, url.host))
        for name, value in endpoint.options.items():
            if name not in self.known_options:
                params = {"name": name, "known": list(self.known_options)}
                problems.append(Problem(path=f"options.{name}", key="channel.option_unknown", params=params))
            elif not isinstance(value, str) or len(value.encode()) > _LONGEST_OPTION:
                params = {"name": name}
                problems.append(Problem(path=f"options.{name}", key="channel.option_no_text", params=params))
        return problems

    def send(self, message: OutgoingMessage, cancellation: CancellationToken) -> str | None:
        """Publish one message and return its receipt; a kept connection that broke meanwhile is renewed once."""
        endpoint = message.endpoint
        try:
            with self._slot(endpoint, cancellation) as slot, _guarded(slot):
                return self._publish(slot, message)
        except AddressDenied as error:
            raise SendingFailed(masked(str(error), endpoint), permanent=True) from error
        except OperationCancelled as error:
            raise SendingFailed(OUT_OF_TIME) from error
        except self._failures as error:
            reason = OUT_OF_TIME if cancellation.is_set else _said(error)
            raise SendingFailed(masked(reason, endpoint)) from error

    def close(self) -> None:
        """Let go of all connections; whoever is sending fails."""
        with self._lock:
            slots, self._slots = list(self._slots.values()), {}
        for slot in slots:
            slot.cut()
            if slot.lock.acquire(timeout=1):
                try:
                    slot.drop()
                finally:
                    slot.lock.release()

    @contextmanager
    def _slot(self, endpoint: Endpoint, token: CancellationToken) -> Iterator[_Slot]:
        """Take the endpoint's connection for oneself; it is dropped when anything goes wrong with it."""
        with self._lock:
            slot = self._slots.setdefault(endpoint.id, _Slot())
        while not slot.lock.acquire(timeout=SLICE_SECONDS):
            token.check()
        try:
            slot.token = token
            yield slot
            slot.used_at = time.monotonic()
        except SendingFailed:
            raise  # the broker has answered: the connection is as good as before
        except BaseException:
            slot.drop()
            raise
        finally:
            slot.lock.release()
        self._drop_idle()

    def _publish(self, slot: _Slot, message: OutgoingMessage) -> str:
        endpoint = message.endpoint
        made_for = (endpoint.address, endpoint.secret)
        if slot.made_for != made_for or time.monotonic() - slot.used_at > IDLE_SECONDS:
            slot.drop()
        slot.made_for = made_for
        if slot.link is not None:
            try:
                return slot.link.publish(message)
            except self._failures:
                slot.drop()
                slot.token.check()
        url = self._url(endpoint)
        slot.link = self._library.connect(url, lambda: self._dial(slot, url))
        return slot.link.publish(message)

    def _dial(self, slot: _Slot, url: BrokerUrl) -> socket.socket:
        tls = self._tls if url.secure else None
        made = dial(url.host, url.port, slot.token, policy=self._policy, tls=tls).release()
        slot.sockets.append(made)
        return made

    def _drop_idle(self) -> None:
        """Close the connections of endpoints that are not used, or are no more."""
        now = time.monotonic()
        with self._lock:
            idle = [(key, slot) for key, slot in self._slots.items() if now - slot.used_at > IDLE_SECONDS]
            for key, slot in idle:
                if slot.lock.acquire(blocking=False):
                    slot.drop()
                    slot.lock.release()
                    del self._slots[key]

    def _url(self, endpoint: Endpoint) -> BrokerUrl:
        """Take the address apart; the endpoint's secret is the password. :raises ValueError: it is none."""
        if not endpoint.address.isprintable() or " " in endpoint.address:
            raise ValueError("the address is none")
        parts = urlsplit(endpoint.address)
        if parts.scheme not in self.schemes or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("the address is none")
        port, secure = self.schemes[parts.scheme]
        password = endpoint.secret or (unquote(parts.password) if parts.password else None)
        user = unquote(parts.username) if parts.username else None
        return BrokerUrl(parts.hostname, parts.port or port, secure, user, password, unquote(parts.path[1:]))


def option(endpoint: Endpoint, name: str) -> str | None:
    """Return one of the endpoint's options; one that is empty is not there."""
    value = endpoint.options.get(name)
    return value if isinstance(value, str) and value else None


@contextmanager
def _guarded(slot: _Slot) -> Iterator[None]:
    """Cut the connection when the token is set while the block runs."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(SLICE_SECONDS):
            if slot.token.is_set:
                slot.cut()
                return

    guard = threading.Thread(target=look, name="waypost-broker-guard", daemon=True)
    guard.start()
    try:
        yield
    finally:
        done.set()
        guard.join()


def _said(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
