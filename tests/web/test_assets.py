"""Built files: names with hashes, kept by browsers for good."""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask

from webapp.web.assets import Manifest, init_assets


def write(folder: Path, text: str, stamp: int) -> None:
    path = folder / "manifest.json"
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(stamp, stamp))


def test_a_name_becomes_the_address_of_its_file_and_follows_a_new_build(tmp_path: Path) -> None:
    write(tmp_path, '{"app.js": "app-1.js"}', 1_000)
    manifest = Manifest(tmp_path)
    assert manifest.url("app.js") == "/static/app-1.js"
    write(tmp_path, '{"app.js": "app-2.js"}', 2_000)
    assert manifest.url("app.js") == "/static/app-2.js"


def test_what_was_never_built_keeps_its_name(tmp_path: Path) -> None:
    assert Manifest(tmp_path).url("app.js") == "/static/app.js"


def test_a_file_may_be_kept_for_good_and_a_missing_one_not(tmp_path: Path) -> None:
    (tmp_path / "app-1.js").write_text("1", encoding="utf-8")
    app = Flask("assets", static_folder=str(tmp_path), static_url_path="/static")
    init_assets(app, tmp_path)
    with app.test_client().get("/static/app-1.js") as found:
        assert found.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    with app.test_client().get("/static/app-9.js") as missing:
        assert missing.status_code == 404
        assert "immutable" not in missing.headers.get("Cache-Control", "")
