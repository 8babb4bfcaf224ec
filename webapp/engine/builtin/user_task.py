"""UserTask: people decide; policies, signers and outcomes (spec 4.9, 4.20, 6)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

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
from webapp.engine.activities.reminders import reminders
from webapp.engine.descriptors import ActivityDescriptor, Category
from webapp.engine.errors import UNEXPECTED
from webapp.engine.instances.bookmarks import Bookmark, BookmarkKind, Priority
from webapp.engine.instances.limits import MAX_TITLE
from webapp.engine.instances.model import APPROVED, OUTCOME, REJECTED, TIMEOUT
from webapp.engine.numbers import JsonObject, JsonValue, copy_json
from webapp.engine.schedules import instant_text, parse_instant
from webapp.engine.tasks import signers as signing
from webapp.engine.tasks.policies import (
    POLICY,
    THRESHOLD,
    Policy,
    Rule,
    Verdict,
    claimable,
    evaluate,
    is_threshold,
)
from webapp.engine.tasks.properties import COMPLETION_POLICY, COMPLETION_THRESHOLD, PROPERTIES, SKIP_IF_APPROVED
from webapp.engine.tasks.signers import Signer
from webapp.engine.tasks.user_tasks import (
    ACTOR,
    ALLOWED,
    AUTO_APPROVED,
    COMMENT,
    COMMENT_REQUIRED,
    COPIES,
    DELEGATED_BY,
    FORM_DATA,
    SHOWN,
    TITLE,
    WRITABLE,
    allows,
    extra_variables,
    remember,
)

_PAYLOAD = (TITLE, FORM_DATA, COPIES, ALLOWED, COMMENT_REQUIRED, SHOWN, WRITABLE, POLICY)
DUE_AT = "dueAt"
_PRIORITY = "priority"


class UserTaskActivity:
    """Makes tasks for its signers and waits for what they decide."""

    descriptor = ActivityDescriptor(
        type="UserTask",
        category=Category.PEOPLE,
        icon="user-check",
        outcomes=(APPROVED, REJECTED, TIMEOUT),
        waits=True,
        properties=PROPERTIES,
    )

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Find the assignees and make the tasks that the policy wants at once."""
        rule = _rule(context)
        state = context.state
        found = context.assignees()
        if found.fault is not None:
            return Fault(fault=found.fault)
        if found.label is not None:
            _note(context, None, found.label)
            return Complete(label=found.label)
        state.update(_task_state(context, rule))
        signers = signing.create(found.ids, _approved_before(context, found.ids), instant_text(context.now))
        outcome = _next(state, signers, evaluate(rule, signers), {})
        if isinstance(outcome, Complete):
            return outcome
        due = state[DUE_AT]
        armed = reminders(context, None if due is None else parse_instant(due))
        return structs.replace(outcome, bookmarks=(*outcome.bookmarks, *armed))

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
        signers = signing.load(state)
        holder = resume.bookmark.key or ""
        if signing.vote(signers, holder, outcome, instant_text(context.now)) is None:
            raise ActivityFault("workflow.task.not_signer", code=UNEXPECTED, args={"id": holder})
        verdict = evaluate(Rule.of(state), signers)
        actor, comment = resume.inputs.get(ACTOR), resume.inputs.get(COMMENT)
        actor = actor if isinstance(actor, str) else holder
        _note(context, actor, outcome, comment, None if actor == holder else holder)
        return _next(state, signers, verdict, extra_variables(resume.inputs))


def _approved_before(context: ActivityContext, ids: Sequence[str]) -> list[str]:
    """Return the signers who count as having approved, because they did so earlier; the trail names each."""
    if context.literal(SKIP_IF_APPROVED) is not True:
        return []
    earlier = context.approvers()
    found = [name for name in ids if name in earlier]
    for name in found:
        context.remark(AUTO_APPROVED, {"id": name})
    return found


def _next(state: JsonObject, signers: list[Signer], verdict: Verdict, outputs: JsonObject) -> Complete | Suspend:
    """Return what a verdict means for the node, with the signers kept."""
    requests = task_requests(state, signers, verdict.opened)
    signing.store(state, signers)
    if verdict.label is not None:
        return Complete(outputs=outputs, label=verdict.label)
    done, total = signing.progress(signers)
    return Suspend(bookmarks=requests, outputs=outputs, signers_done=done, signers_total=total)


def task_requests(
    state: JsonObject, signers: list[Signer], opened: Sequence[str], claimed_by: str | None = None
) -> tuple[BookmarkRequest, ...]:
    """Return the bookmarks of the signers whose turn it is, made from what the node's state keeps of the task.

    A task that was withdrawn comes back under its id, as its next round; nobody gets a copy of it, nor of the task of
    an added signer (spec 6.4).
    """
    rule, here = Rule.of(state), {signer.id: signer for signer in signing.present(signers)}
    return tuple(_request(state, rule, len(here), here[name], claimed_by) for name in opened)


def _request(state: JsonObject, rule: Rule, count: int, signer: Signer, claimed_by: str | None) -> BookmarkRequest:
    payload = {name: copy_json(state[name]) for name in _PAYLOAD if name in state}
    if signer.added_by is not None or signer.task_id is not None:
        payload[COPIES] = []
    if signer.delegate is not None:
        payload[DELEGATED_BY] = signer.id
    due = state.get(DUE_AT)
    task_id, last_round = signer.task_id, signer.round or 0
    signer.task_id = signer.round = None
    return BookmarkRequest(
        kind=BookmarkKind.USER_TASK,
        id=task_id,
        round=last_round + 1,
        key=signer.holder,
        payload=payload,
        title=state[TITLE],
        task_due_at=None if due is None else parse_instant(due),
        priority=Priority(state[_PRIORITY]),
        claimable=claimable(rule, count, signer),
        claimed_by=claimed_by,
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
        claimed_by=bookmark.claimed_by,
        copy_user_ids=tuple(bookmark.payload.get(COPIES, ())),
    )


def _rule(context: ActivityContext) -> Rule:
    policy = Policy.read(context.literal(COMPLETION_POLICY))
    if policy is None:
        args = {"policy": context.literal(COMPLETION_POLICY)}
        raise ActivityFault("workflow.task.unknown_policy", code=UNEXPECTED, args=args)
    if policy is not Policy.RATIO:
        return Rule(policy=policy)
    threshold = context.evaluate(COMPLETION_THRESHOLD)
    if not is_threshold(threshold):
        raise ActivityFault("workflow.task.threshold", code=UNEXPECTED, args={"value": threshold})
    return Rule(policy=policy, threshold=threshold)


def _task_state(context: ActivityContext, rule: Rule) -> JsonObject:
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
        POLICY: rule.policy.value,
        _PRIORITY: _priority(context),
        DUE_AT: _due(context),
    }
    if rule.policy is Policy.RATIO:
        task[THRESHOLD] = rule.threshold
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
        end = context.later(seconds)
        if end is None:
            raise _due_invalid(seconds)
        return end.isoformat()
    moment = context.evaluate("DueAt")
    if moment is None:
        return None
    instant = context.instant(moment)
    if instant is None:
        raise _due_invalid(moment)
    return instant.isoformat()


def _due_invalid(value: JsonValue) -> ActivityFault:
    return ActivityFault("workflow.task.due_invalid", code=UNEXPECTED, args={"value": value})


def _note(
    context: ActivityContext,
    actor: str | None,
    outcome: str,
    comment: JsonValue = None,
    on_behalf_of: str | None = None,
) -> None:
    remember(
        context.state,
        action="complete",
        at=instant_text(context.now),
        node_id=context.node_id,
        actor_id=actor,
        on_behalf_of=on_behalf_of,
        outcome=outcome,
        comment=comment if isinstance(comment, str) else None,
    )
