"""Which addresses a workflow may call (spec 4.18, 4.20): what the whole internet reaches, and what is allowed by name.

The lists are our own, after the special-purpose registries of IANA: what ``ipaddress`` calls global differs between
versions of Python.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_REFUSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, the metadata services of clouds among it
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_UNICAST_V6 = IPv6Network("2000::/3")
_REFUSED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # protocol assignments, Teredo and ORCHID among them
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)
_MAPPED = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_6TO4 = IPv6Network("2002::/16")


def is_public(address: Address) -> bool:
    """Whether an address is globally routable; one that carries an IPv4 address is what that one is."""
    inner = _inner(address)
    if isinstance(inner, IPv4Address):
        return not any(inner in network for network in _REFUSED_V4)
    return inner in _UNICAST_V6 and not any(inner in network for network in _REFUSED_V6)


def _inner(address: Address) -> Address:
    if isinstance(address, IPv6Address):
        bits = int(address)
        if address in _MAPPED or address in _NAT64:
            return IPv4Address(bits & 0xFFFFFFFF)
        if address in _6TO4:
            return IPv4Address(bits >> 80 & 0xFFFFFFFF)
    return address


class AddressPolicy:
    """Public addresses, and those an installation names: hosts, addresses, networks (``WAYPOST_HTTP_ALLOW``)."""

    def __init__(self, allowed: Iterable[str] = ()) -> None:
        self._hosts: set[str] = set()
        self._networks: list[Network] = []
        for entry in allowed:
            try:
                self._networks.append(ipaddress.ip_network(entry, strict=False))
            except ValueError:
                self._hosts.add(entry.lower().rstrip("."))

    def admits(self, host: str, address: Address) -> bool:
        """Whether *host* may be called at the address that it was resolved to."""
        if host.lower().rstrip(".") in self._hosts:
            return True
        return is_public(address) or any(address in network or _inner(address) in network for network in self._networks)
