"""How a command says no: the refusal's own text on stderr, and a status that is not zero."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import click

from webapp.engine.errors import WorkflowError
from webapp.web.deps import installation

P = ParamSpec("P")
R = TypeVar("R")


def refusals_shown(command: Callable[P, R]) -> Callable[P, R]:
    """Show a refusal of a service as a message of the command, every problem on a line of its own."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except WorkflowError as refusal:
            raise click.ClickException(refusal_text(refusal)) from refusal

    return guarded


def refusal_text(refusal: WorkflowError) -> str:
    """Return a refusal's text, every problem on a line of its own, and what the database said."""
    catalog = installation().catalog
    lines = [catalog.text(refusal.key, refusal.params)]
    for problem in refusal.problems:
        line = f"{problem.path}: {catalog.text(problem.key, problem.params)}".removeprefix(": ")
        if line not in lines and catalog.text(problem.key, problem.params) != lines[0]:
            lines.append(line)
    reason = refusal.details.get("reason")
    if reason:
        # Who gives commands may see all that the database said.
        lines.append(str(refusal.__cause__ or reason))
    return "\n  ".join(lines)
