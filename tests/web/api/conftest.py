"""A fresh application with one account of each role."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.web import Caller, Site, make_site

ROLES = {
    "ada": "administrator",
    "dan": "designer",
    "emma": "user",
    "manager": "user",
    "operator": "operator",
    "wes": "worker",
}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    site = make_site(tmp_path)
    for name, role in ROLES.items():
        site.account(name, role)
    return site


@pytest.fixture
def designer(site: Site) -> Caller:
    return site.caller("dan")


@pytest.fixture
def employee(site: Site) -> Caller:
    return site.caller("emma")


@pytest.fixture
def manager(site: Site) -> Caller:
    return site.caller("manager")


@pytest.fixture
def operator(site: Site) -> Caller:
    return site.caller("operator")
