"""A connection that can be given up at any moment: it waits in small slices and looks at a token between them."""

from __future__ import annotations

import io
import ipaddress
import os
import select
import socket
import ssl
import threading
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address
from typing import Any

from webapp.channels.addresses import AddressPolicy
from webapp.engine.cancellation import CancellationToken
from webapp.engine.ports.http import AddressDenied, HttpFailure

SLICE_SECONDS = 0.05
"""How late a token is noticed at most."""

_CHUNK = 64 * 1024

SocketAddress = tuple[Any, ...]
Found = list[tuple[socket.AddressFamily, SocketAddress]]
Resolve = Callable[[str, int, CancellationToken], Found]


def resolve(host: str, port: int, token: CancellationToken) -> Found:
    """Return the addresses of a host, in the order in which to try them; a slow name server does not hold the caller.

    :raises OperationCancelled: the token was set. :raises HttpFailure: the name has no address.
    """
    found: Found = []
    failures: list[OSError] = []
    done = threading.Event()

    def ask() -> None:
        try:
            answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
            found.extend((family, address) for family, _, _, _, address in answers)
        except OSError as error:
            failures.append(error)
        finally:
            done.set()

    threading.Thread(target=ask, name="waypost-resolve", daemon=True).start()
    while not done.wait(SLICE_SECONDS):
        token.check()
    token.check()
    if failures:
        raise HttpFailure(f"{host} cannot be found: {failures[0].strerror}") from failures[0]
    return found


def dial(
    host: str,
    port: int,
    token: CancellationToken,
    *,
    policy: AddressPolicy | None,
    tls: ssl.SSLContext | None = None,
    resolver: Resolve = resolve,
) -> Wire:
    """Connect to the first address of a host that answers, with TLS when there is a context for it.

    Each address is checked as it is connected to, so that a name cannot change its mind in between; without a policy
    any may be called, as a host of the installation's own settings.

    :raises AddressDenied: the policy refuses an address. :raises HttpFailure: the name has none.
    :raises OperationCancelled: the token was set. :raises OSError: none answers, or its certificate is not accepted.
    """
    addresses = resolver(host, port, token)
    for _, (text, *_) in addresses:
        if policy is not None and not policy.admits(host, _address(text)):
            raise AddressDenied(host, "an address that is not public")
    failure: OSError | None = None
    for family, address in addresses:
        try:
            wire = Wire(family, address, token)
            if tls is not None:
                wire.secure(tls, host)
            return wire
        except ssl.SSLError:
            raise
        except OSError as error:
            failure = error
    raise failure or HttpFailure(f"{host} has no address")


def _address(text: str) -> IPv4Address | IPv6Address:
    # A link-local address carries its interface: fe80::1%eth0.
    return ipaddress.ip_address(text.partition("%")[0])


class Wire:
    """A connected socket, with or without TLS, in the shape that ``http.client`` asks of one."""

    def __init__(self, family: socket.AddressFamily, address: SocketAddress, token: CancellationToken) -> None:
        self._token = token
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        try:
            self._connect(address)
        except BaseException:
            self.shut()
            raise

    def _connect(self, address: SocketAddress) -> None:
        try:
            self._socket.connect(address)
        except BlockingIOError:
            self._wait(select.POLLOUT)
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))

    def secure(self, context: ssl.SSLContext, host: str) -> None:
        """Begin TLS, for the name and not for the address."""
        try:
            wrapped = context.wrap_socket(self._socket, server_hostname=host, do_handshake_on_connect=False)
            self._socket = wrapped
            self._again(select.POLLIN, wrapped.do_handshake)
        except BaseException:
            self.shut()
            raise

    def sendall(self, data: Any) -> None:
        """Send all of it."""
        view = memoryview(data).cast("B")
        while view:
            sent = self._again(select.POLLOUT, self._socket.send, view[:_CHUNK])
            view = view[sent:]

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return a reader of what the other side sends."""
        return io.BufferedReader(_Reader(self))

    def receive_into(self, buffer: Any) -> int:
        """Wait for something and read it; 0 at the end."""
        count: int = self._again(select.POLLIN, self._socket.recv_into, buffer)
        return count

    def close(self) -> None:
        """Nothing yet: ``http.client`` lets go of the socket before the body has been read."""

    def shut(self) -> None:
        """Close the connection."""
        self._socket.close()

    def release(self) -> socket.socket:
        """Hand the socket over, blocking, to a library that knows no tokens; the wire is of no more use."""
        self._socket.setblocking(True)
        return self._socket

    def _again(self, events: int, act: Callable[..., Any], *args: Any) -> Any:
        while True:
            self._token.check()
            try:
                return act(*args)
            except BlockingIOError:
                self._wait(events)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)

    def _wait(self, events: int) -> None:
        poll = select.poll()
        poll.register(self._socket, events)
        while not poll.poll(SLICE_SECONDS * 1000):
            self._token.check()


class _Reader(io.RawIOBase):
    """What comes over a wire, as a file."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there, waiting for the first byte."""
        return self._wire.receive_into(buffer)
