"""Bundles the front end before a wheel or an sdist is made, unless the bundle is there and up to date."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontendBuildHook(BuildHookInterface):
    """Runs npm and the bundler in a checkout; an sdist brings its bundle along and needs no Node."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        bundle = root / "static" / "dist" / "manifest.json"
        if version == "editable" or ((root / "PKG-INFO").exists() and bundle.exists()):
            return
        if not (root / "node_modules" / "esbuild").exists():
            subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=root, check=True)
        subprocess.run(["node", "static/build.mjs", "--if-changed", "--release"], cwd=root, check=True)
