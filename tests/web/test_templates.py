"""Rules for every template: it compiles, has a title, knows its texts, and holds nothing the content policy forbids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import nodes

from tests.support.web import CATALOG, Site, make_site

ROOT = Path(__file__).parents[2] / "templates"
TEMPLATES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.html") if path.parent.name != "email")
PAGES = [name for name in TEMPLATES if "/_" not in name and not name.startswith("components/") and name != "base.html"]
ICONS = (ROOT.parent / "static" / "icons.json").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(tmp_path_factory.mktemp("data"))


def source(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_there_are_templates() -> None:
    assert len(PAGES) >= 10


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_compiles(site: Site, name: str) -> None:
    assert site.app.jinja_env.get_template(name).name == name


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_a_title(site: Site, name: str) -> None:
    tree = site.app.jinja_env.parse(source(name))
    title = [block for block in tree.find_all(nodes.Block) if block.name == "title"]
    assert title and title[0].body, f"{name} has no title block"


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_has_nothing_inline(name: str) -> None:
    markup = source(name)
    assert not re.search(r"<[^>]*\sstyle\s*=", markup), "style= breaks the content policy"
    assert not re.search(r"<[^>]*\s(on\w+|hx-on\S*|hx-vars|hx-disable|hx-params)\s*=", markup)
    assert "<style" not in markup
    for script in re.findall(r"<script[^>]*>", markup):
        assert "src=" in script or 'type="application/json"' in script, script


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_texts_of_a_template_exist_in_both_languages(site: Site, name: str) -> None:
    tree = site.app.jinja_env.parse(source(name))
    for call in tree.find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name in ("t", "th") and call.args:
            key = call.args[0]
            if isinstance(key, nodes.Const):
                assert CATALOG.has(key.value), f"{name} shows {key.value}"


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_icons_of_a_template_are_in_the_sprite(name: str) -> None:
    for icon in re.findall(r"icon\('([a-z0-9-]+)'", source(name)):
        assert f'"{icon}"' in ICONS, f"{name} shows {icon}"


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_form_that_posts_carries_the_csrf_token(name: str) -> None:
    for form in re.findall(r'<form[^>]*method="post".*?</form>', source(name), flags=re.DOTALL):
        assert "csrf()" in form or "csrf_token" in form, f"{name}: {form[:80]}"
