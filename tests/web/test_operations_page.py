"""The operations page: who sees it, and what it says of tenants' databases (spec 8.10, 12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import visit
from tests.support.stores import OWN, StoreSet
from tests.support.web import Site, make_site
from webapp.engine.ports.partitions import Refusal
from webapp.web.admin import SECTIONS

pytestmark = pytest.mark.parametrize("stores", ["memory-apart"], indirect=True)


@pytest.fixture
def site(stores: StoreSet, tmp_path: Path) -> Site:
    made = make_site(tmp_path, stores)
    for name, role, tenant in (
        ("ada", "administrator", None),
        ("olga", "operator", None),
        ("emma", "user", None),
        ("dan", "designer", None),
        ("nora", "administrator", OWN),
        ("sue", "administrator", "t2"),
    ):
        made.account(name, role, tenant_id=tenant)
    return made


def shown(site: Site, name: str, language: str = "en") -> str:
    visitor = visit(site, name)
    visitor.post("/language", language=language, next="/help")
    return str(visitor.get("/admin/operations").text)


def fail(stores: StoreSet, refusal: Refusal) -> None:
    place = stores.stores._place(OWN)  # type: ignore[attr-defined]  # routed stores
    place._refuse(refusal, "for a test")
    place._sound = False


@pytest.mark.parametrize(("name", "status"), [("ada", 200), ("olga", 200), ("emma", 403), ("dan", 403), ("nora", 200)])
def test_operators_and_administrators_see_it(site: Site, name: str, status: int) -> None:
    page = visit(site, name).get("/admin/operations")
    assert page.status == status
    assert ('href="/admin/operations"' in visit(site, name).get("/inbox").html) is (status == 200)


def test_a_visitor_is_asked_to_sign_in(site: Site) -> None:
    answer = site.app.test_client().get("/admin/operations")
    assert answer.status_code == 303
    assert "/sign-in" in answer.headers["Location"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_says_how_each_database_is_doing(site: Site, stores: StoreSet, language: str) -> None:
    words = {
        "en": ("Not used yet", "Served", "Unreachable", "Behind"),
        "zh": ("尚未使用", "正常", "无法连接", "版本落后"),
    }
    unused, served, unreachable, behind = words[language]
    assert unused in shown(site, "ada", language)
    site.caller("nora").get("/definitions").expect(200)
    assert served in shown(site, "ada", language)
    fail(stores, Refusal.UNREACHABLE)
    assert unreachable in shown(site, "ada", language)
    stores.clock.advance(20)
    site.caller("nora").get("/definitions").expect(200)
    fail(stores, Refusal.BEHIND)
    text = shown(site, "ada", language)
    assert behind in text
    assert "flask --app webapp db upgrade" in text


def test_a_tenant_sees_its_own_database_without_its_address(site: Site) -> None:
    site.caller("nora").get("/definitions").expect(200)
    assert "Served" in shown(site, "nora")
    assert "nowhere" not in shown(site, "nora")
    assert "nowhere" in shown(site, "ada")
    assert "Databases of tenants" not in shown(site, "sue")


def test_the_page_of_a_tenant_is_there_while_its_database_is_not(site: Site, stores: StoreSet) -> None:
    fail(stores, Refusal.UNREACHABLE)
    visitor = visit(site, "nora")
    assert visitor.get("/designer").status == 503
    page = visitor.get("/admin/operations")
    assert page.status == 200
    assert "Unreachable" in page.text


def test_every_section_has_its_part_of_the_page(site: Site) -> None:
    html = visit(site, "ada").get("/admin/operations").html
    for section in SECTIONS:
        assert f'id="{section.name}"' in html


@pytest.mark.parametrize(
    ("language", "sealed", "kept"),
    [("en", "Sealed rows of the audit trail", "for good"), ("zh", "已封存的审计记录行", "永久")],
)
def test_it_says_how_housekeeping_and_the_trail_stand(site: Site, language: str, sealed: str, kept: str) -> None:
    site.services.sealing.seal()
    text = shown(site, "ada", language)
    assert sealed in text
    assert kept in text
    head = site.services.sealing.state(None).head
    assert head is None or head.hash[:16] in text
