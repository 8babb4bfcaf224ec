"""Sign-in, the own account, and where one may be sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import visit
from tests.support.web import Site, make_site
from webapp.web.shell import safe_next


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_site(tmp_path)
    made.account("emma", "user", display_name="Emma Novak")
    return made


def test_a_visitor_is_asked_to_sign_in_and_comes_back(site: Site) -> None:
    visitor = visit(site)
    asked = visitor.get("/requests?tab=done")
    assert asked.status == 303
    assert asked.location == "/sign-in?next=/requests?tab%3Ddone"
    form = visitor.get(asked.location)
    assert 'name="next" value="/requests?tab=done"' in form.html
    assert visitor.post("/sign-in", name="emma", password="emma!", next="/requests?tab=done").location == (
        "/requests?tab=done"
    )


def test_htmx_is_sent_to_the_sign_in_as_a_whole(site: Site) -> None:
    answer = visit(site).get("/inbox", target="list", **{"HX-Current-URL": "http://localhost/monitor"})
    assert answer.status == 204
    assert answer.response.headers["HX-Redirect"] == "/sign-in?next=/monitor"


def test_a_wrong_password_says_nothing_about_the_name(site: Site) -> None:
    visitor = visit(site)
    wrong = visitor.post("/sign-in", name="emma", password="no")
    unknown = visitor.post("/sign-in", name="nobody", password="no")
    assert wrong.status == unknown.status == 422
    assert "Name and password do not fit" in wrong.text and "Name and password do not fit" in unknown.text
    assert 'value="emma"' in wrong.html and "no" not in wrong.html.split('id="password"')[1].split(">")[0].split(
        "value"
    )


def test_demo_accounts_show_in_a_demo_only(site: Site, tmp_path: Path) -> None:
    assert "Marta Ruiz" not in visit(site).get("/sign-in").html
    assert "Marta Ruiz" in visit(make_site(tmp_path, WAYPOST_DEMO="1")).get("/sign-in").html


def test_signing_out_ends_the_session(site: Site) -> None:
    visitor = visit(site, "emma")
    assert visitor.get("/account").status == 200
    assert visitor.post("/sign-out").location == "/sign-in"
    assert visitor.get("/account").status == 303


def test_language_and_theme_are_kept(site: Site) -> None:
    visitor = visit(site, "emma")
    assert visitor.post("/account/look", language="zh", theme="dark").location == "/account"
    assert '<html lang="zh-CN" data-theme="dark">' in visitor.get("/account").html
    account = site.services.accounts.find_by_name("emma")
    assert account is not None and (account.language, account.theme) == ("zh", "dark")
    visitor.post("/account/look", language="zh", theme="")
    assert "data-theme" not in visitor.get("/account").html


def test_a_changed_password_keeps_this_session(site: Site) -> None:
    visitor, elsewhere = visit(site, "emma"), visit(site, "emma")
    changed = visitor.post("/account/password", current="emma!", new="another one", again="another one", follow=True)
    assert "Password changed" in changed.text
    assert visitor.get("/account").status == 200
    assert elsewhere.get("/account").status == 303, "the account's other sessions end"
    assert visit(site).post("/sign-in", name="emma", password="another one").status == 303


def test_what_is_wrong_with_a_password_stands_at_its_field(site: Site) -> None:
    visitor = visit(site, "emma")
    differ = visitor.post("/account/password", current="emma!", new="one", again="two")
    assert differ.status == 422
    assert 'id="f-again-error"' in differ.html
    wrong = visitor.post("/account/password", current="no", new="one", again="one")
    assert wrong.status == 422
    assert 'id="f-current-error"' in wrong.html


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/monitor?status=Faulted", "/monitor?status=Faulted"),
        ("https://evil.example/", "/inbox"),
        ("//evil.example/", "/inbox"),
        ("/\\evil.example", "/inbox"),
        ("/\n/evil.example", "/inbox"),
        ("javascript:alert(1)", "/inbox"),
        ("", "/inbox"),
        (None, "/inbox"),
    ],
)
def test_nobody_is_sent_elsewhere(target: str | None, expected: str) -> None:
    assert safe_next(target) == expected


def test_the_navigation_shows_what_the_account_may_see(site: Site) -> None:
    site.account("oskar", "operator")
    plain, operator = visit(site, "emma").get("/account").html, visit(site, "oskar").get("/account").html
    assert 'href="/monitor"' not in plain and 'href="/designer"' not in plain
    assert 'href="/monitor"' in operator and 'href="/designer"' in operator
    assert 'href="#main"' in plain


def test_the_address_without_a_path_is_the_inbox(site: Site) -> None:
    assert visit(site, "emma").get("/").location == "/inbox"


@pytest.mark.parametrize("path", ["/account/look", "/account/password"])
def test_settings_need_a_session(site: Site, path: str) -> None:
    assert visit(site).post(path, language="zh").location.startswith("/sign-in")


def test_the_account_menu_says_as_whom_one_is_signed_in(site: Site) -> None:
    account = site.services.accounts.find_by_name("emma")
    assert account is not None
    page = visit(site, "emma").get("/inbox")
    assert "Emma Novak emma" in page.text
    assert account.id not in page.html


def test_who_is_signed_in_needs_no_form(site: Site) -> None:
    assert visit(site, "emma").get("/sign-in?next=/requests").location == "/requests"
