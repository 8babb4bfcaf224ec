"""What people do with a task beside deciding it: claim, hand over, add signers, send back … (spec 6.4, 6.7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response

from webapp.accounts.model import Actor
from webapp.engine.errors import Denied, NotFound, WorkflowError
from webapp.services.views import TaskResult
from webapp.web.deps import current_actor, services
from webapp.web.inbox_page import refuse
from webapp.web.listing import list_url
from webapp.web.shell import page_text, require_sign_in, toast

blueprint = Blueprint("task_actions", __name__, url_prefix="/inbox")
blueprint.before_request(require_sign_in)

Posted = Mapping[str, str]
Run = Callable[[Actor, str, Posted], TaskResult]


def _who(posted: Posted) -> str:
    return posted.get("who", "").strip()


def _comment(posted: Posted) -> str | None:
    return posted.get("comment", "").strip() or None


def _claim(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().inbox.claim(actor, task_id)


def _release(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().inbox.release(actor, task_id)


def _transfer(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().inbox.transfer(actor, task_id, _who(posted), _comment(posted))


def _delegate(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().inbox.delegate(actor, task_id, _who(posted), _comment(posted))


def _add(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    position = posted.get("position") or "parallel"
    return services().inbox.add(actor, task_id, [_who(posted)], position, _comment(posted))


def _remove(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().inbox.remove(actor, task_id, [_who(posted)], _comment(posted))


def _return(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().returns.return_task(
        actor,
        task_id,
        comment=_comment(posted),
        to_node_id=posted.get("to") or None,
        resubmit=posted.get("resubmit") or None,
    )


def _urge(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().inbox.urge(actor, task_id, _comment(posted))


def _recall(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().returns.recall(actor, task_id)


def _undo(actor: Actor, task_id: str, posted: Posted) -> TaskResult:
    return services().inbox.undo(actor, task_id)


_ACTIONS: Mapping[str, Run] = {
    "claim": _claim,
    "release": _release,
    "transfer": _transfer,
    "delegate": _delegate,
    "add": _add,
    "remove": _remove,
    "return": _return,
    "urge": _urge,
    "recall": _recall,
    "undo": _undo,
}
_MINE_AFTERWARDS = ("claim", "recall", "undo")
_STAYS = ("add", "remove", "urge")


@blueprint.post(f"/<task_id>/<any({', '.join(_ACTIONS)}):action>")
def act(task_id: str, action: str) -> Response:
    """Run an action; what is refused opens its question again with all that was typed."""
    posted = request.form
    try:
        done = _ACTIONS[action](current_actor(), task_id, posted)
    except (Denied, NotFound):
        raise
    except WorkflowError as refusal:
        return refuse(task_id, refusal, action=action, posted=posted)
    services().notices.task_opened(current_actor(), task_id)
    # Who is asked first takes the task's place; it comes back later.
    gone = action == "add" and posted.get("position") == "before"
    words = page_text().text(f"inbox.{action}.done{'_before' if gone else ''}", name=_name(_who(posted)))
    toast("completed", words, done.task.title)
    return redirect(list_url("/inbox") if gone else _afterwards(task_id, action), 303)


def _afterwards(task_id: str, action: str) -> str:
    if action in _MINE_AFTERWARDS:
        return list_url(f"/inbox/{task_id}", scope=None)
    return list_url(f"/inbox/{task_id}" if action in _STAYS else "/inbox")


def _name(login: str) -> str:
    return services().accounts.names(current_actor(), [login]).get(login, login) if login else ""
