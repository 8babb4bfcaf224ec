"""UserTask: people decide; policies, signers and outcomes (spec 4.9, 4.20, 6)."""

from __future__ import annotations

from webapp.engine.activities.api import (
    ActivityContext,
    ActivityFault,
    ActivityOutcome,
    BookmarkRequest,
    Complete,
    Fault,
    ResumeInput,
    Suspend,
)
from webapp.engine.activities.compiled import INSTANT
from webapp.engine.assignees import EmptyAssigneeStrategy
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Priority
from webapp.engine.instances.limits import MAX_TITLE
from webapp.engine.instances.model import APPROVED, OUTCOME, REJECTED, TIMEOUT
from webapp.engine.numbers import JsonObject, JsonValue, copy_json
from webapp.engine.schedules import instant_text, later, parse_instant, positive
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.signers import Policy
from webapp.engine.tasks.user_tasks import (
    ACTOR,
    ALLOWED,
    COMMENT,
    COMMENT_REQUIRED,
    COPIES,
    FORM_DATA,
    POLICY,
    SHOWN,
    TITLE,
    WRITABLE,
    allows,
    extra_variables,
    remember,
)

_PAYLOAD = (TITLE, FORM_DATA, COPIES, ALLOWED, COMMENT_REQUIRED, SHOWN, WRITABLE, POLICY)
_DUE = "dueAt"
_PRIORITY = "priority"


class UserTaskActivity:
    """Makes tasks for its signers and waits for what they decide."""

    descriptor = ActivityDescriptor(
        type="UserTask",
        category=Category.PEOPLE,
        icon="user-check",
        outcomes=(APPROVED, REJECTED, TIMEOUT),
        waits=True,
        properties=(
            PropertyDescriptor(name="Title", editor=Editor.TEMPLATE, kind=Kind.TEMPLATE),
            PropertyDescriptor(name="AssigneeRules", editor=Editor.ASSIGNEE_RULES, type="array", section="people"),
            PropertyDescriptor(name="Assignees", editor=Editor.LIST, type="array", section="people"),
            PropertyDescriptor(
                name="AssigneesExpression", editor=Editor.EXPRESSION, kind=Kind.EXPRESSION, section="people"
            ),
            PropertyDescriptor(
                name="CompletionPolicy",
                editor=Editor.CHOICE,
                default=Policy.ANY.value,
                options=tuple(Policy),
                section="people",
            ),
            PropertyDescriptor(
                name="EmptyAssigneeStrategy",
                editor=Editor.CHOICE,
                default=EmptyAssigneeStrategy.FAULT.value,
                options=tuple(EmptyAssigneeStrategy),
                section="people",
            ),
            PropertyDescriptor(name="FallbackAssignees", editor=Editor.LIST, type="array", section="people"),
            PropertyDescriptor(name="CcUserIds", editor=Editor.LIST, type="array", section="people"),
            PropertyDescriptor(name="AllowedOutcomes", editor=Editor.LIST, type="array", section="decision"),
            PropertyDescriptor(name="CommentRequired", editor=Editor.LIST, type="array", section="decision"),
            PropertyDescriptor(name="FormData", editor=Editor.JSON, type="object", section="data"),
            PropertyDescriptor(name="ShowVariables", editor=Editor.LIST, type="array", section="data"),
            PropertyDescriptor(name="WritableVariables", editor=Editor.LIST, type="array", section="data"),
            PropertyDescriptor(
                name="Priority",
                editor=Editor.CHOICE,
                kind=Kind.TEMPLATE,
                default=Priority.NORMAL.value,
                options=tuple(Priority),
                section="time",
            ),
            PropertyDescriptor(
                name="DueInSeconds",
                editor=Editor.DURATION,
                kind=Kind.LITERAL_OR_EXPRESSION,
                type="number",
                section="time",
            ),
            PropertyDescriptor(
                name="DueAt", editor=Editor.EXPRESSION, kind=Kind.LITERAL_OR_EXPRESSION, type=INSTANT, section="time"
            ),
        ),
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Find the assignees and make the tasks that the policy wants at once."""
        policy = Policy.read(context.literal("CompletionPolicy"))
        if policy is None:
            args = {"policy": context.literal("CompletionPolicy")}
            raise ActivityFault("workflow.task.unknown_policy", code=UNEXPECTED, args=args)
        state = context.state
        found = context.assignees()
        if found.fault is not None:
            return Fault(fault=found.fault)
        if found.label is not None:
            _note(context, None, found.label)
            return Complete(label=found.label)
        state.update(_task_state(context, policy))
        signers, opened = signing.begin(policy, found.ids)
        signing.store(state, signers)
        requests = tuple(task_request(state, name) for name in opened)
        return Suspend(bookmarks=requests, signers_done=0, signers_total=len(signers))

    def resume(self, context: ActivityContext, resume: ResumeInput) -> ActivityOutcome:
        """Count the decision; without a valid one the task is made anew and nothing is decided (spec 6.3)."""
        if resume.bookmark.kind is BookmarkKind.NODE_TIMEOUT:
            _note(context, None, TIMEOUT)
            return Complete(label=TIMEOUT)
        outcome = resume.inputs.get(OUTCOME)
        if not isinstance(outcome, str) or not outcome.strip() or not allows(resume.bookmark.payload, outcome):
            done, total = signing.progress(signing.load(context.state))
            return Suspend(bookmarks=(_again(resume.bookmark),), signers_done=done, signers_total=total, rebuilt=True)
        return self._decide(context, resume, outcome)

    def _decide(self, context: ActivityContext, resume: ResumeInput, outcome: str) -> ActivityOutcome:
        state = context.state
        policy = Policy(state[POLICY])
        signers = signing.load(state)
        holder = resume.bookmark.key or ""
        verdict = signing.vote(policy, signers, holder, outcome, instant_text(context.now))
        if verdict is None:
            raise ActivityFault("workflow.task.not_signer", code=UNEXPECTED, args={"id": holder})
        signing.store(state, signers)
        actor, comment = resume.inputs.get(ACTOR), resume.inputs.get(COMMENT)
        _note(context, actor if isinstance(actor, str) else holder, outcome, comment)
        outputs = extra_variables(resume.inputs)
        if verdict.label is not None:
            return Complete(outputs=outputs, label=verdict.label)
        done, total = signing.progress(signers)
        requests = tuple(task_request(state, name) for name in verdict.opened)
        return Suspend(bookmarks=requests, outputs=outputs, signers_done=done, signers_total=total)


def task_request(state: JsonObject, assignee: str, *, copies: bool = True) -> BookmarkRequest:
    """Return the bookmark of a task for one signer, made from what the node's state keeps of the task."""
    payload = {name: copy_json(state[name]) for name in _PAYLOAD if name in state}
    if not copies:
        payload[COPIES] = []
    due = state.get(_DUE)
    return BookmarkRequest(
        kind=BookmarkKind.USER_TASK,
        key=assignee,
        payload=payload,
        title=state[TITLE],
        task_due_at=None if due is None else parse_instant(due),
        priority=Priority(state[_PRIORITY]),
        copy_user_ids=tuple(payload[COPIES]),
    )


def _again(bookmark: Bookmark) -> BookmarkRequest:
    return BookmarkRequest(
        kind=bookmark.kind,
        key=bookmark.key,
        payload=copy_json(bookmark.payload),
        title=bookmark.title,
        task_due_at=bookmark.task_due_at,
        priority=bookmark.priority,
        claimable=bookmark.claimable,
        copy_user_ids=tuple(bookmark.payload.get(COPIES, ())),
    )


def _task_state(context: ActivityContext, policy: Policy) -> JsonObject:
    title = context.text("Title")
    if title is None or not title.strip():
        title = context.node_name
    if len(title) > MAX_TITLE:
        raise ActivityFault("workflow.property.too_long", code=UNEXPECTED, args={"name": "Title", "max": MAX_TITLE})
    form = context.literal("FormData", {})
    if not isinstance(form, dict):
        raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": "FormData", "type": "object"})
    task: JsonObject = {
        TITLE: title,
        FORM_DATA: form,
        COPIES: _names(context, "CcUserIds"),
        ALLOWED: _names(context, "AllowedOutcomes"),
        COMMENT_REQUIRED: _names(context, "CommentRequired"),
        SHOWN: _names(context, "ShowVariables"),
        POLICY: policy.value,
        _PRIORITY: _priority(context),
        _DUE: _due(context),
    }
    if context.literal("WritableVariables") is not None:
        task[WRITABLE] = _names(context, "WritableVariables")
    return task


def _names(context: ActivityContext, name: str) -> list[str]:
    value = context.literal(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": name, "type": "array"})
    return list(dict.fromkeys(item for item in value if item.strip()))


def _priority(context: ActivityContext) -> str:
    text = context.text("Priority")
    if text is None or not text.strip():
        text = context.default_priority or Priority.NORMAL
    wanted = text.strip().lower()
    if wanted not in Priority.__members__.values():
        raise ActivityFault("workflow.task.unknown_priority", code=UNEXPECTED, args={"priority": text})
    return wanted


def _due(context: ActivityContext) -> str | None:
    seconds = context.evaluate("DueInSeconds")
    if seconds is not None:
        span = positive(seconds)
        if span is None:
            raise _due_invalid(seconds)
        return later(context.now, span).isoformat()
    moment = context.evaluate("DueAt")
    if moment is None:
        return None
    instant = parse_instant(moment) if isinstance(moment, str) else None
    if instant is None:
        raise _due_invalid(moment)
    return instant.isoformat()


def _due_invalid(value: JsonValue) -> ActivityFault:
    return ActivityFault("workflow.task.due_invalid", code=UNEXPECTED, args={"value": value})


def _note(context: ActivityContext, actor: str | None, outcome: str, comment: JsonValue = None) -> None:
    remember(
        context.state,
        action="complete",
        at=instant_text(context.now),
        node_id=context.node_id,
        actor_id=actor,
        outcome=outcome,
        comment=comment if isinstance(comment, str) else None,
    )
