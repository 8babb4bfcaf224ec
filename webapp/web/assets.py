"""The built front end: where its files are, and the Jinja global ``asset`` that knows their hashed names."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from flask import Flask, Response, request

STATIC_PREFIX = "/static/"
_YEAR = 365 * 24 * 3600


class Manifest:
    """Names of assets to names of files; read again when a build has replaced it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "manifest.json"
        self._lock = threading.Lock()
        self._stamp = -1
        self._files: dict[str, str] = {}

    def url(self, name: str) -> str:
        """Return the address of an asset; one that was never built keeps its plain name and is not found."""
        self._refresh()
        return STATIC_PREFIX + self._files.get(name, name)

    def _refresh(self) -> None:
        try:
            stamp = self._path.stat().st_mtime_ns
        except OSError:
            return
        with self._lock:
            if stamp != self._stamp:
                self._files = json.loads(self._path.read_text(encoding="utf-8"))
                self._stamp = stamp


def init_assets(app: Flask, folder: Path) -> None:
    """Serve the built files: their names hold a hash of their content, so a browser may keep them for good."""
    app.jinja_env.globals["asset"] = Manifest(folder).url
    app.after_request(_keep)


def _keep(response: Response) -> Response:
    if request.path.startswith(STATIC_PREFIX) and response.status_code in (200, 304):
        response.headers["Cache-Control"] = f"public, max-age={_YEAR}, immutable"
    return response
