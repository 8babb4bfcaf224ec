"""The error tree: a stable code, a message key with its arguments, and where it went wrong (spec 9.2).

    WorkflowError
    ├── DefinitionInvalid      WORKFLOW_VALIDATION_001   every problem of a definition
    ├── InputInvalid           WORKFLOW_VALIDATION_002   input of a start, an operation, a query
    ├── ExpressionError        WORKFLOW_VALIDATION_003   in engine.expressions
    ├── NotFound               WORKFLOW_NOTFOUND_00x
    ├── Conflict               WORKFLOW_CONFLICT_00x
    ├── Denied                 WORKFLOW_DENIED_00x, ACCESS_DENIED_001
    ├── LockTimeout            WORKFLOW_TIMEOUT_001
    ├── Unavailable            WORKFLOW_UNAVAILABLE_00x
    └── Unexpected             WORKFLOW_UNEXPECTED_001

Nothing here knows a status code or a rendered text: ``web/errors.py`` is the one table for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

VALIDATION_DEFINITION = "WORKFLOW_VALIDATION_001"
VALIDATION_INPUT = "WORKFLOW_VALIDATION_002"
VALIDATION_EXPRESSION = "WORKFLOW_VALIDATION_003"
NOTFOUND_DEFINITION = "WORKFLOW_NOTFOUND_001"
NOTFOUND_INSTANCE = "WORKFLOW_NOTFOUND_002"
NOTFOUND_BOOKMARK = "WORKFLOW_NOTFOUND_003"
NOTFOUND_TYPE = "WORKFLOW_NOTFOUND_004"
CONFLICT_INSTANCE = "WORKFLOW_CONFLICT_001"
CONFLICT_DEFINITION = "WORKFLOW_CONFLICT_002"
CONFLICT_BOOKMARK = "WORKFLOW_CONFLICT_003"
CONFLICT_ASSIGNEE = "WORKFLOW_CONFLICT_004"
CONFLICT_CORRELATION = "WORKFLOW_CONFLICT_005"
DENIED_ACTOR = "WORKFLOW_DENIED_001"
DENIED_WORKER = "WORKFLOW_DENIED_002"
DENIED_PERMISSION = "ACCESS_DENIED_001"
TIMEOUT_LOCK = "WORKFLOW_TIMEOUT_001"
UNAVAILABLE_STORE = "WORKFLOW_UNAVAILABLE_001"
UNAVAILABLE_CAPACITY = "WORKFLOW_UNAVAILABLE_002"
UNEXPECTED = "WORKFLOW_UNEXPECTED_001"
READ_ONLY = "PERSISTENCE_UNEXPECTED_001"
STALE = "REQUEST_STALE_001"
TOO_LARGE = "REQUEST_TOOLARGE_001"


class Problem(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that is wrong with an input: where (JSON path), what (message key) and with which arguments."""

    path: str
    key: str
    params: dict[str, Any] = {}
    severity: Literal["error", "warning"] = "error"
    node_id: str | None = None
    transition_id: str | None = None
    line: int | None = None
    column: int | None = None


class WorkflowError(Exception):
    """A refusal: ``code`` is stable API, ``key`` and ``params`` become a text in the reader's language.

    ``problems`` lists what is wrong field by field; ``details`` holds facts about a conflict.
    """

    code = UNEXPECTED

    def __init__(
        self,
        key: str,
        *,
        code: str | None = None,
        params: Mapping[str, Any] | None = None,
        problems: Iterable[Problem] = (),
        details: Mapping[str, Any] | None = None,
        path: str | None = None,
    ) -> None:
        self.code = code or type(self).code
        self.key = key
        self.params = dict(params or {})
        self.problems = tuple(problems)
        if path is not None and not self.problems:
            self.problems = (Problem(path=path, key=key, params=self.params),)
        self.details = dict(details or {})
        super().__init__(f"{self.code} {key} {self.params or ''}".rstrip())


class DefinitionInvalid(WorkflowError):
    """A definition cannot be published or started; ``problems`` lists every reason at once (spec 2.4)."""

    code = VALIDATION_DEFINITION


class InputInvalid(WorkflowError):
    """The input of a start, an operation or a query is not acceptable; the path says which part."""

    code = VALIDATION_INPUT


class NotFound(WorkflowError):
    """What was asked for is not there, or is in another partition: both look the same (spec 9.2)."""

    code = NOTFOUND_INSTANCE


class Conflict(WorkflowError):
    """The present state forbids the operation, or somebody else was faster.

    A ``status`` among the *params* is a fact of the conflict too: programs read it, people read the text.
    """

    code = CONFLICT_INSTANCE

    def __init__(self, key: str, **more: Any) -> None:
        super().__init__(key, **more)
        if "status" in self.params:
            self.details.setdefault("status", str(self.params["status"]))


class StaleRevision(WorkflowError):
    """A definition was changed since it was read; details: revision, updatedBy, updatedAt."""

    code = STALE


class Denied(WorkflowError):
    """The actor may not do this."""

    code = DENIED_PERMISSION


class LockTimeout(WorkflowError):
    """The instance's lease was not to be had in time."""

    code = TIMEOUT_LOCK


class Unavailable(WorkflowError):
    """The store cannot be reached or is full; ``details['reason']`` names the original error."""

    code = UNAVAILABLE_STORE


class Unexpected(WorkflowError):
    """The engine itself failed."""

    code = UNEXPECTED


class OperationCancelled(Exception):
    """Raised by ``context.cancellation.check()``: the call's token is set, the whole call rolls back (spec 3.22)."""
