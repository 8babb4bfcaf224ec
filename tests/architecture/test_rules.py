"""The rules of ARCHITECTURE.md that import-linter cannot state, and import-linter's own."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WEBAPP = ROOT / "webapp"

FRAMEWORKS = (
    "flask", "werkzeug", "jinja2", "click", "sqlalchemy", "flask_sqlalchemy", "flask_wtf", "wtforms", "alembic",
    "apscheduler", "gunicorn", "psycopg",
)  # fmt: skip
PURE = (
    "webapp.engine",
    "webapp.accounts",
    "webapp.messages",
    "webapp.config",
    "webapp.services",
    "webapp.stores.memory",
)

MOST_LINES = 500
SAYS_NOTHING = {"utils", "util", "helpers", "helper", "common", "base", "manager", "managers", "misc"}
SUPPRESSION = re.compile(
    r"#\s*(noqa|type:\s*ignore)"
    r"(?P<code>:\s*[A-Z]+[0-9]+(,\s*[A-Z]+[0-9]+)*|\[[a-z, -]+\])?"
    r"(?P<reason>\s+(#|-)\s*\S.*)?"
)
CLOCK_HOMES = {"webapp/engine/clock.py", "webapp/app.py"}
CLOCK_CALLS = {
    ("datetime", "now"), ("datetime", "utcnow"), ("datetime", "today"), ("date", "today"), ("time", "time"),
    ("time", "time_ns"), ("uuid", "uuid1"), ("uuid", "uuid4"),
}  # fmt: skip

IMPORT_ALL_BELOW = """
import importlib, pkgutil, sys
module = importlib.import_module(sys.argv[1])
for found in pkgutil.walk_packages(getattr(module, "__path__", []), module.__name__ + "."):
    importlib.import_module(found.name)
print("\\n".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def python_files() -> list[Path]:
    return sorted(WEBAPP.rglob("*.py"))


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def says_what_it_is_for(source: str) -> bool:
    """Whether a module begins with a docstring; an empty one needs none: its package's modules say it."""
    return not source.strip() or bool(ast.get_docstring(ast.parse(source)))


def explained(line: str) -> bool:
    """Whether a suppression of the line, if it has one, gives its codes and its reason."""
    match = SUPPRESSION.search(line)
    return match is None or bool(match["code"] and match["reason"])


def imported_names(tree: ast.AST) -> dict[str, str]:
    """Return local name → the module or member it stands for, as far as the clock is concerned."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module in ("datetime", "time", "uuid"):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def clock_calls(source: str) -> Iterator[int]:
    """Yield the line of each use of the system's clock or of random ids."""
    tree = ast.parse(source)
    names = imported_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            owner = ast.unparse(node.value)
            full = names.get(owner, owner)
            if (full.rpartition(".")[2], node.attr) in CLOCK_CALLS:
                yield node.lineno
        elif isinstance(node, ast.Name) and node.id in names:
            module, _, member = names[node.id].rpartition(".")
            if (module, member) in CLOCK_CALLS:
                yield node.lineno


def test_the_rules_are_held_against_every_module() -> None:
    found = {named(path) for path in python_files()}
    assert {"webapp/app.py", "webapp/web/api/shapes.py", "webapp/services/filling/__init__.py"} <= found
    assert any(SUPPRESSION.search(path.read_text("utf-8")) for path in python_files())


@pytest.mark.parametrize("module", PURE)
def test_importing_the_core_loads_no_framework(module: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL_BELOW, module], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert set(run.stdout.split()).isdisjoint(FRAMEWORKS)


def test_the_import_rules_hold() -> None:
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_no_module_is_longer_than_it_can_be_read() -> None:
    scripts = [path for path in (ROOT / "static").rglob("*.ts") if "dist" not in path.parts]
    lengths = {named(path): len(path.read_text("utf-8").splitlines()) for path in [*python_files(), *scripts]}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def test_every_module_name_says_what_is_in_it() -> None:
    assert [named(path) for path in WEBAPP.rglob("*") if path.stem.lstrip("_") in SAYS_NOTHING] == []


def test_the_clock_and_random_ids_have_one_home() -> None:
    found = {
        f"{named(path)}:{line}"
        for path in python_files()
        if named(path) not in CLOCK_HOMES
        for line in clock_calls(path.read_text("utf-8"))
    }
    assert found == set()


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("from datetime import datetime\ndatetime.now()", [2]),
        ("import datetime\ndatetime.datetime.now(datetime.UTC)", [2]),
        ("import datetime as dt\nclock = dt.datetime.now", [2]),
        ("from time import time as t\nt()", [2]),
        ("import uuid\n\nuuid.uuid4()", [3]),
        ("from uuid import uuid4\nids = uuid4", [2]),
        ("import time\ntime.monotonic()", []),
        ("def f(clock):\n    return clock.now()", []),
    ],
)
def test_the_clock_rule_sees_every_way_to_write_it(source: str, lines: list[int]) -> None:
    assert sorted(clock_calls(source)) == lines


def test_every_module_begins_with_what_it_is_for() -> None:
    assert [named(path) for path in python_files() if not says_what_it_is_for(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ('"""Sums."""\n\nimport math', True),
        ("", True),
        ("\n", True),
        ("import math", False),
        ('""""""\n', False),
        ('import math\n\n"""Sums."""', False),
        ("# Sums.\nimport math", False),
    ],
)
def test_the_rule_of_beginnings_wants_a_docstring(source: str, told: bool) -> None:
    assert says_what_it_is_for(source) is told


def test_every_suppression_gives_its_reason() -> None:
    """``# noqa: X  # why`` and ``# type: ignore[x]  # why``, on one line, never without a code."""
    bare = [
        f"{named(path)}:{number}"
        for path in python_files()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if not explained(line)
    ]
    assert bare == []


@pytest.mark.parametrize(
    ("line", "complete"),
    [
        ("x = 1  # noqa: S105  # public", True),
        ("x = 1  # noqa: S105, E501 - public", True),
        ("x = 1  # type: ignore[arg-type, misc]  # why", True),
        ("x = 1  # noqa", False),
        ("x = 1  # noqa: S105", False),
        ("x = 1  # type: ignore", False),
        ("x = 1  # type: ignore  # why", False),
        ("x = 1  # type: ignore[misc]", False),
    ],
)
def test_the_suppression_rule_wants_code_and_reason(line: str, complete: bool) -> None:
    assert SUPPRESSION.search(line)
    assert explained(line) is complete
