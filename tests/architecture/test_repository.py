"""What lies in the repository: nothing that ties it to one machine, one registry or one folder beside it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Written in two parts, so that this file does not find itself.
REGISTRY_HOSTS = tuple(
    f"{name}.{domain}"
    for name, domain in [
        ("pypi", "org"), ("pythonhosted", "org"), ("npmjs", "org"), ("npmjs", "com"), ("yarnpkg", "com"),
        ("deb.debian", "org"), ("archive.ubuntu", "com"),
    ]
)  # fmt: skip
OUTSIDE_PATHS = tuple(
    first + second for first, second in [("/wo", "rk/"), ("../sha", "red"), ("/opt/", "wheels"), ("/etc/", "xdg")]
)
TOP_FOLDERS = {".ci", "migrations", "static", "templates", "tests", "webapp"}


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def test_no_file_names_a_registry_or_a_path_outside() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in tracked_files()
        if (text := text_of(path))
        for word in (*REGISTRY_HOSTS, *OUTSIDE_PATHS)
        if word in text
    ]
    assert found == []


def test_the_top_level_is_what_the_architecture_says() -> None:
    folders = {path.relative_to(ROOT).parts[0] for path in tracked_files() if path.parent != ROOT}
    assert folders <= TOP_FOLDERS


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_locked_package_has_a_hash(name: str) -> None:
    packages = [block for block in (ROOT / name).read_text("utf-8").replace("\\\n", "").splitlines() if "==" in block]
    assert packages
    assert [line.split()[0] for line in packages if "--hash=sha256:" not in line] == []


def test_the_development_lock_contains_the_runtime_lock() -> None:
    def pins(name: str) -> set[str]:
        return {line.split()[0] for line in (ROOT / name).read_text("utf-8").splitlines() if "==" in line}

    assert pins("requirements.lock") <= pins("requirements-dev.lock")
