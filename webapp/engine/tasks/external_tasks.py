"""External tasks: what their bookmark holds, what a worker may ask for, and what it means to fail (spec 7)."""

from __future__ import annotations

from datetime import datetime

from webapp.engine.errors import (
    DENIED_WORKER,
    NOTFOUND_BOOKMARK,
    UNEXPECTED,
    Denied,
    NotFound,
    Problem,
)
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.limits import MAX_OUTCOME, MAX_REMARK, blank_problems, length_problems
from webapp.engine.instances.model import LAST_ERROR, OUTCOME, WorkflowFault
from webapp.engine.json_input import member_path
from webapp.engine.numbers import JsonObject

DEFAULT_RETRIES = 3
MAX_WORKER = 200
MAX_ERROR = MAX_REMARK
"""How long a worker's error text, or its details, may be."""

VARIABLES = "variables"
RETRIES = "retries"
LAST_FAILURE = "error"
_FAILURE = "__failure"
_ERROR = "error"
_DETAILS = "details"
_RESERVED = (OUTCOME, LAST_ERROR)


def external_task_id(instance_id: str, sequence: int) -> str:
    """Return the id of a new task: it names its instance, so that a late worker learns that the task is over (9.4)."""
    return f"{instance_id}.{sequence}"


def named_instance(task_id: str) -> tuple[str, int] | None:
    """Return the instance and the number that a task's id names; None when it is no such id."""
    instance_id, dot, number = task_id.rpartition(".")
    return (instance_id, int(number)) if dot and number.isascii() and number.isdecimal() and len(number) <= 18 else None


def payload_of(variables: JsonObject, retries: int) -> JsonObject:
    """Return the payload of a new external task."""
    return {VARIABLES: variables, RETRIES: retries}


def failure_inputs(error: str, details: str | None) -> JsonObject:
    """Return the inputs that make a node fail with a worker's error."""
    return {_FAILURE: {_ERROR: error, _DETAILS: details}}


def failure_of(inputs: JsonObject) -> WorkflowFault | None:
    """Return the fault that a worker's error means, if the inputs tell of one; its texts stand verbatim in ``args``."""
    failure = inputs.get(_FAILURE)
    if not isinstance(failure, dict):
        return None
    args = {"text": failure.get(_ERROR), "details": failure.get(_DETAILS)}
    return WorkflowFault(code=UNEXPECTED, key="workflow.external.failed", args=args)


def retries_left(bookmark: Bookmark) -> int:
    """Return how many attempts are left."""
    retries = bookmark.payload.get(RETRIES)
    return retries if isinstance(retries, int) else DEFAULT_RETRIES


def check_held(bookmark: Bookmark | None, worker_id: str, now: datetime) -> Bookmark:
    """Return the task if the worker holds its lock now.

    :raises NotFound: there is no such external task. :raises Denied: the lock is another's, or over.
    """
    if bookmark is None or bookmark.kind is not BookmarkKind.EXTERNAL_TASK:
        raise NotFound("workflow.external.not_found", code=NOTFOUND_BOOKMARK)
    until = bookmark.available_at
    if bookmark.worker_id != worker_id or until is None or until <= now:
        raise Denied("workflow.external.not_locked", code=DENIED_WORKER, params={"worker": worker_id})
    return bookmark


def worker_problems(worker_id: str | None) -> list[Problem]:
    """Return what is wrong with a worker's name."""
    return [*blank_problems("workerId", worker_id), *length_problems("workerId", worker_id, MAX_WORKER)]


def completion_problems(variables: JsonObject, outcome: str | None) -> list[Problem]:
    """Return what is wrong with a worker's result: names that only the engine may write, an outcome too long."""
    problems = length_problems(OUTCOME, outcome, MAX_OUTCOME)
    if outcome is not None:
        problems += blank_problems(OUTCOME, outcome)
    for name in variables:
        if name in _RESERVED or name.startswith("__"):
            path = member_path(VARIABLES, name)
            problems.append(Problem(path=path, key="workflow.external.reserved", params={"name": name}))
    return problems


def failure_problems(error: str | None, details: str | None) -> list[Problem]:
    """Return what is wrong with a worker's error text."""
    return [
        *blank_problems(_ERROR, error),
        *length_problems(_ERROR, error, MAX_ERROR),
        *length_problems(_DETAILS, details, MAX_ERROR),
    ]
