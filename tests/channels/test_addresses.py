"""Which addresses a workflow may call (spec 4.18, 4.20)."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from webapp.channels.addresses import AddressPolicy, is_public

REFUSED = [
    "0.0.0.0", "0.255.1.2", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.8.8.8", "169.254.169.254",
    "172.16.0.1", "172.31.255.255", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
    "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "fe80::1", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "2001:db8::1", "3fff::1",
    "2001::1", "2001:10::1", "5f00::1", "100::1", "64:ff9b:1::1",
    # IPv4 in other clothes: mapped, NAT64, 6to4.
    "::ffff:127.0.0.1", "::ffff:10.1.2.3", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:c0a8:101::1",
]  # fmt: skip

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.0.1.1", "192.169.0.1",
    "198.17.0.1", "198.20.0.1", "223.255.255.255", "2606:4700:4700::1111", "2a00:1450::1", "2001:4860:4860::8888",
    "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_what_the_internet_cannot_reach_is_refused(address: str) -> None:
    assert not is_public(ip_address(address))
    assert not AddressPolicy().admits("example.org", ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_what_the_internet_reaches_is_not(address: str) -> None:
    assert is_public(ip_address(address))
    assert AddressPolicy().admits("example.org", ip_address(address))


def test_an_installation_allows_hosts_and_networks_by_name() -> None:
    policy = AddressPolicy(["ERP.intra.example", "10.20.0.0/16", "192.168.7.7", "fd00:1::/32"])
    assert policy.admits("erp.intra.example.", ip_address("10.1.1.1"))
    assert not policy.admits("other.intra.example", ip_address("10.1.1.1"))
    assert policy.admits("any.example", ip_address("10.20.255.1"))
    assert policy.admits("any.example", ip_address("::ffff:10.20.255.1"))
    assert not policy.admits("any.example", ip_address("10.21.0.1"))
    assert policy.admits("any.example", ip_address("192.168.7.7"))
    assert not policy.admits("any.example", ip_address("192.168.7.8"))
    assert policy.admits("any.example", ip_address("fd00:1:2::3"))
