"""Rules of user tasks: what a payload holds, who may act, what a completion may say and write (spec 6.2, 6.3, 6.7)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from webapp.engine.errors import (
    CONFLICT_ASSIGNEE,
    CONFLICT_BOOKMARK,
    DENIED_ACTOR,
    NOTFOUND_BOOKMARK,
    Conflict,
    Denied,
    InputInvalid,
    NotFound,
    Problem,
)
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind
from webapp.engine.instances.limits import MAX_ACCOUNT, MAX_OUTCOME, MAX_REMARK, blank_problems, length_problems
from webapp.engine.instances.model import LAST_ERROR, OUTCOME, InstanceStatus
from webapp.engine.instances.requests import check_document
from webapp.engine.numbers import JsonObject, JsonValue
from webapp.engine.schedules import instant_text
from webapp.engine.tasks.forms import data_problems

ACTOR = "actorId"
COMMENT = "comment"
DECISION = (ACTOR, OUTCOME, COMMENT)
"""Resume inputs that tell who decided what; they never reach the variables (spec 1.12)."""

TITLE = "title"
FORM_DATA = "formData"
COPIES = "ccUserIds"
ALLOWED = "allowedOutcomes"
COMMENT_REQUIRED = "commentRequired"
SHOWN = "showVariables"
WRITABLE = "writableVariables"
HISTORY = "history"
OUTCOME_BEFORE = "__outcomeBefore"
"""In the state of a decided node: what the variable ``outcome`` was before, for whoever takes the decision back."""
DELEGATED_BY = "delegatedBy"
AUTO_APPROVED = "autoApproved"
"""The trail's word for a signer whose earlier approval counts again."""

DECIDE_FAILED = "decideFailed"
"""The trail's word for a pending decision that could not be carried out."""

DECISION_MADE = "decision"
URGE_COUNT = "urgeCount"
LAST_URGED_AT = "lastUrgedAt"


def reserved(name: str) -> bool:
    """Whether a completion may not write a variable of that name (spec 25)."""
    return name in (*DECISION, LAST_ERROR) or name.startswith("__")


def allows(payload: JsonObject, outcome: str) -> bool:
    """Whether a task may end with an outcome; an empty list allows any, ids compare ordinally."""
    allowed = payload.get(ALLOWED)
    return not allowed or outcome in allowed


def check_action(
    bookmark: Bookmark | None,
    status: InstanceStatus,
    actor_id: str | None,
    *,
    operator: bool = False,
    problems: Iterable[Problem] = (),
) -> Bookmark:
    """Return the open task that *actor_id* may act on, after the checks of spec 6.2 in their order.

    An *operator* may transfer and add for others, but not decide (spec 6.7).

    :raises InputInvalid: *problems*. :raises NotFound: no such task. :raises Denied: not its assignee.
    :raises Conflict: claimed by another, or the instance does not run.
    """
    bookmark = check_task(bookmark, actor_id, problems)
    if not operator:
        if bookmark.key != actor_id:
            raise Denied("workflow.task.not_assignee", code=DENIED_ACTOR)
        if bookmark.claimed_by not in (None, actor_id):
            raise claimed(bookmark)
    check_undecided(bookmark)
    check_running(bookmark, status)
    return bookmark


def check_task(bookmark: Bookmark | None, actor_id: str | None, problems: Iterable[Problem] = ()) -> Bookmark:
    """Return the open task, whoever acts. :raises InputInvalid: *problems*. :raises NotFound: no such task."""
    found = [*blank_problems(ACTOR, actor_id), *problems]
    if found:
        raise InputInvalid("workflow.task.invalid", problems=found)
    if bookmark is None or bookmark.kind is not BookmarkKind.USER_TASK:
        raise NotFound("workflow.task.not_found", code=NOTFOUND_BOOKMARK)
    return bookmark


def check_running(bookmark: Bookmark, status: InstanceStatus) -> None:
    """Refuse a task of an instance that does not run."""
    if status is not InstanceStatus.RUNNING:
        raise Conflict(
            "workflow.task.not_running", code=CONFLICT_BOOKMARK, params={"status": status}, details={"status": status}
        )


def check_undecided(bookmark: Bookmark) -> None:
    """Refuse a task that has been decided, if the decision can still be undone (spec 6.7, Undo)."""
    if bookmark.available_at is not None:
        decision = bookmark.payload.get(DECISION_MADE) or {}
        details = {
            "endReason": None,
            "completedBy": decision.get(ACTOR),
            OUTCOME: decision.get(OUTCOME),
            "at": decision.get("at"),
            "undoUntil": instant_text(bookmark.available_at),
        }
        raise Conflict("workflow.task.decided", code=CONFLICT_BOOKMARK, details=details)


def undo_until(bookmark: Bookmark) -> datetime | None:
    """Return until when the decision on a task can be undone; None: nobody has decided it."""
    return bookmark.available_at if bookmark.kind is BookmarkKind.USER_TASK else None


def claimed(bookmark: Bookmark) -> Conflict:
    """Return the refusal of a task that somebody else has claimed."""
    return Conflict("workflow.task.claimed", code=CONFLICT_ASSIGNEE, details={"claimedBy": bookmark.claimed_by})


def text_problems(*, outcome: str, comment: str | None) -> list[Problem]:
    """Return what is wrong with the texts of a completion, whatever the task."""
    return [
        *blank_problems(OUTCOME, outcome),
        *length_problems(OUTCOME, outcome, MAX_OUTCOME),
        *length_problems(COMMENT, comment, MAX_REMARK),
    ]


def check_decision(
    payload: JsonObject,
    outcome: str,
    comment: str | None,
    variables: JsonObject,
    *,
    form: JsonObject | None = None,
    present: JsonObject | None = None,
) -> None:
    """Refuse a decision that the task does not offer, a missing comment, variables that it may not write.

    With a *form* its writable fields may be written, and what it requires must be there or among the variables that
    are *present*; without one the names in ``WritableVariables`` (spec 6.7).

    :raises InputInvalid: with the path of each.
    """
    problems = []
    if not allows(payload, outcome):
        params = {"outcome": outcome, "allowed": list(payload[ALLOWED])}
        problems.append(Problem(path=OUTCOME, key="workflow.task.outcome_not_allowed", params=params))
    elif outcome in (payload.get(COMMENT_REQUIRED) or ()) and not (comment and comment.strip()):
        params = {"outcome": outcome}
        problems.append(Problem(path=COMMENT, key="workflow.task.comment_required", params=params))
    writable = payload.get(WRITABLE)
    for name in variables:
        if reserved(name):
            problems.append(
                Problem(path=f"variables.{name}", key="workflow.task.variable_reserved", params={"name": name})
            )
        elif form is None and writable is not None and name not in writable:
            problems.append(
                Problem(path=f"variables.{name}", key="workflow.task.variable_not_writable", params={"name": name})
            )
    if form is not None:
        written = {name: value for name, value in variables.items() if not reserved(name)}
        problems += data_problems(form, written, present or {})
    if problems:
        raise InputInvalid("workflow.task.invalid", problems=problems)
    check_document(variables, "variables")


def person_problems(path: str, names: Sequence[str]) -> list[Problem]:
    """Return what is wrong with names that are to become assignees; blank ones are dropped elsewhere."""
    if not any(name.strip() for name in names):
        return [Problem(path=path, key="workflow.input.blank")]
    return [problem for name in names for problem in length_problems(path, name.strip(), MAX_ACCOUNT)]


def extra_variables(inputs: JsonObject) -> JsonObject:
    """Return what a resumed task writes: the inputs without the decision and without reserved names (spec 6.2)."""
    return {name: value for name, value in inputs.items() if not reserved(name)}


def remember(
    state: JsonObject,
    *,
    action: str,
    at: str,
    node_id: str,
    actor_id: str | None,
    on_behalf_of: str | None = None,
    outcome: str | None = None,
    comment: str | None = None,
    target: JsonValue = None,
) -> None:
    """Add an entry to a node's history (spec 1.12); ``target`` holds whom a transfer or an addition named."""
    entry: JsonObject = {
        "action": action,
        "at": at,
        "nodeId": node_id,
        ACTOR: actor_id,
        OUTCOME: outcome,
        COMMENT: comment,
    }
    if on_behalf_of is not None:
        entry["onBehalfOf"] = on_behalf_of
    if target is not None:
        entry["target"] = target
    state[HISTORY] = [*state.get(HISTORY, ()), entry]
