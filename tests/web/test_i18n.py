"""The language rule, and texts that join with what people wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import g
from markupsafe import Markup

from tests.support.pages import visit
from tests.support.web import Site, make_site
from webapp.web.i18n import PageText, language, script_json


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = make_site(tmp_path)
    made.account("lena", "user", display_name="Lena", language="zh")
    made.account("sam", "user", display_name="Sam")
    return made


def shown_language(site: Site, name: str | None, path: str, **headers: str) -> str:
    html = visit(site, name).get(path, **headers).html
    return html.split('<html lang="')[1].split('"')[0]


def test_before_sign_in_the_browser_decides(site: Site) -> None:
    assert shown_language(site, None, "/sign-in", **{"Accept-Language": "zh-TW,zh;q=0.9"}) == "zh-CN"
    assert shown_language(site, None, "/sign-in", **{"Accept-Language": "fr,en;q=0.5"}) == "en"
    assert shown_language(site, None, "/sign-in") == "en"


def test_the_switch_beats_the_browser(site: Site) -> None:
    visitor = visit(site)
    assert visitor.post("/language", language="zh", next="/sign-in").location == "/sign-in"
    assert 'lang="zh-CN"' in visitor.get("/sign-in", **{"Accept-Language": "en"}).html


def test_the_account_beats_cookie_and_browser(site: Site) -> None:
    visitor = visit(site)
    visitor.post("/language", language="en", next="/")
    visitor.post("/sign-in", name="lena", password="lena!")
    assert '<html lang="zh-CN"' in visitor.get("/account", **{"Accept-Language": "en"}).html


def test_switching_while_signed_in_changes_the_account(site: Site) -> None:
    visit(site, "lena").post("/language", language="en", next="/account")
    assert shown_language(site, "lena", "/account", **{"Accept-Language": "zh"}) == "en"


def test_an_unknown_language_changes_nothing(site: Site) -> None:
    visitor = visit(site, "lena")
    visitor.post("/language", language="xx", next="/account")
    assert '<html lang="zh-CN"' in visitor.get("/account").html


def test_each_page_offers_the_other_language(site: Site) -> None:
    assert "切换到中文" in visit(site, "sam").get("/account").html
    assert "Switch to English" in visit(site, "lena").get("/account").html


def page_text(site: Site) -> PageText:
    made: PageText = site.app.extensions["waypost.page_text"]
    return made


def test_markup_escapes_arguments_that_are_not_markup(site: Site) -> None:
    with site.app.test_request_context("/"):
        page = page_text(site)
        html = page.markup("ui.trail.node.Completed", step="<img src=x>")
        assert html == Markup("&lt;img src=x&gt; completed")
        assert page.markup("ui.trail.node.Completed", step=page.strong("<b>")) == "<b>&lt;b&gt;</b> completed"


def test_an_argument_that_looks_like_a_placeholder_stays_text(site: Site) -> None:
    with site.app.test_request_context("/"):
        assert page_text(site).text("ui.trail.for", name="{name}") == "for {name}"


@pytest.mark.parametrize(
    ("name", "expected"), [("齐明", "齐明发起了申请"), ("Emma Novak", "Emma Novak 发起了申请"), ("", "发起了申请")]
)
def test_chinese_has_a_space_beside_latin_words_only(site: Site, name: str, expected: str) -> None:
    with site.app.test_request_context("/", headers={"Accept-Language": "zh"}):
        assert language() == "zh"
        assert page_text(site).text("ui.trail.command.start", name=name).strip() == expected


def test_an_outcome_that_a_definition_made_up_stands_for_itself(site: Site) -> None:
    with site.app.test_request_context("/"):
        g.actor = None
        page = page_text(site)
        assert page.outcome("approved") == "Approved"
        assert page.verb("approved") == "Approve"
        assert page.verb("needs <more>") == "needs <more>"


def test_json_in_a_script_element_cannot_end_it() -> None:
    assert "</script" not in script_json({"title": "</script><script>alert(1)</script>"})
