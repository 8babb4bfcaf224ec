"""Refusals on the wire: the one table of codes and statuses, Problem Details and error pages (spec 9.2, 11, 25)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, cast

from flask import Flask, Response, current_app, g, render_template, request
from flask_wtf.csrf import CSRFError
from jinja2 import TemplateNotFound
from werkzeug.exceptions import HTTPException

from webapp.engine import errors as engine
from webapp.engine.errors import Problem, Unexpected, WorkflowError
from webapp.engine.numbers import JsonObject, encode
from webapp.messages.catalog import Catalog
from webapp.web.i18n import Language, language
from webapp.web.wire import instant_text

log = logging.getLogger("waypost.web")

UNAUTHENTICATED: Final = "ACCESS_UNAUTHENTICATED_001"
CSRF_REFUSED: Final = "ACCESS_DENIED_002"
NO_SUCH_ADDRESS: Final = "REQUEST_NOTFOUND_001"
NO_SUCH_METHOD: Final = "REQUEST_METHOD_001"
TOO_LARGE: Final = "REQUEST_TOOLARGE_001"
MEDIA_TYPE: Final = "REQUEST_MEDIATYPE_001"
REUSED_KEY: Final = "REQUEST_REUSED_001"
PRECONDITION: Final = "REQUEST_PRECONDITION_001"
TOO_MANY: Final = "REQUEST_RATE_001"

PROBLEM_JSON: Final = "application/problem+json"

STATUS: Final[Mapping[str, int]] = {
    engine.VALIDATION_DEFINITION: 400,
    engine.VALIDATION_INPUT: 400,
    engine.VALIDATION_EXPRESSION: 400,
    engine.NOTFOUND_DEFINITION: 404,
    engine.NOTFOUND_INSTANCE: 404,
    engine.NOTFOUND_BOOKMARK: 404,
    engine.NOTFOUND_TYPE: 404,
    engine.CONFLICT_INSTANCE: 409,
    engine.CONFLICT_DEFINITION: 409,
    engine.CONFLICT_BOOKMARK: 409,
    engine.CONFLICT_ASSIGNEE: 409,
    engine.CONFLICT_CORRELATION: 409,
    engine.DENIED_ACTOR: 403,
    engine.DENIED_WORKER: 403,
    engine.TIMEOUT_LOCK: 503,
    engine.UNAVAILABLE_STORE: 503,
    engine.UNAVAILABLE_CAPACITY: 503,
    engine.READ_ONLY: 503,
    engine.UNEXPECTED: 500,
    UNAUTHENTICATED: 401,
    engine.DENIED_PERMISSION: 403,
    CSRF_REFUSED: 403,
    NO_SUCH_ADDRESS: 404,
    NO_SUCH_METHOD: 405,
    engine.STALE: 412,
    TOO_LARGE: 413,
    MEDIA_TYPE: 415,
    REUSED_KEY: 422,
    PRECONDITION: 428,
    TOO_MANY: 429,
}
"""The status of every code there is; nothing below ``web`` knows one."""

RETRY_AFTER: Final[Mapping[str, int]] = {
    engine.TIMEOUT_LOCK: 1,
    engine.UNAVAILABLE_STORE: 5,
    engine.UNAVAILABLE_CAPACITY: 5,
}
"""Seconds after which the same request may be tried again."""

_EXPRESSION: Final = "workflow.expression."

_OF_HTTP: Final[Mapping[int, tuple[str, str]]] = {
    404: (NO_SUCH_ADDRESS, "errors.no_such_address"),
    405: (NO_SUCH_METHOD, "errors.no_such_method"),
    413: (TOO_LARGE, "errors.body_too_large"),
    415: (MEDIA_TYPE, "errors.media_type"),
}


class RequestRefused(WorkflowError):
    """The request itself is refused before, or whatever, the service would say; ``retry_after`` in seconds."""

    def __init__(self, key: str, *, code: str, retry_after: int | None = None, **rest: Any) -> None:
        super().__init__(key, code=code, **rest)
        self.retry_after = retry_after


def unauthenticated(key: str = "errors.not_signed_in") -> RequestRefused:
    """Return the refusal of a call without credentials, or with bad ones (401)."""
    return RequestRefused(key, code=UNAUTHENTICATED)


def too_many_attempts(seconds: int) -> RequestRefused:
    """Return the refusal of a sign-in or token after too many failures (429)."""
    return RequestRefused("errors.too_many_attempts", code=TOO_MANY, retry_after=seconds, params={"count": seconds})


def status_of(error: WorkflowError) -> int:
    """Return the HTTP status of a refusal."""
    return STATUS.get(error.code, 500)


def problem_document(error: WorkflowError, catalog: Catalog, lang: Language) -> JsonObject:
    """Return the Problem Details document of a refusal in the reader's language (RFC 9457)."""
    document: JsonObject = {
        "type": f"urn:waypost:error:{error.code}",
        "title": catalog.text(f"errors.{error.code}.title", {}, lang),
        "status": status_of(error),
        "detail": _detail(error, catalog, lang),
        "code": error.code,
    }
    if error.problems:
        document["errors"] = [problem_item(problem, catalog, lang) for problem in error.problems]
    if error.details:
        document["details"] = _plain(error.details)
    if "request_id" in g:
        document["requestId"] = g.request_id
    return document


def wire_key(key: str) -> str:
    """Return the settled key of a problem (spec 25): a finer one of an expression's mistake only chooses the text."""
    if key.startswith(_EXPRESSION):
        return _EXPRESSION + key.removeprefix(_EXPRESSION).partition(".")[0]
    return key


def problem_item(problem: Problem, catalog: Catalog, lang: Language) -> JsonObject:
    """Return one thing that is wrong: where, which message, and the message in the reader's language."""
    item: JsonObject = {
        "path": problem.path,
        "key": wire_key(problem.key),
        "params": _plain(problem.params),
        "message": catalog.text(problem.key, problem.params, lang),
    }
    extras = {
        "nodeId": problem.node_id,
        "transitionId": problem.transition_id,
        "line": problem.line,
        "column": problem.column,
    }
    item.update({name: value for name, value in extras.items() if value is not None})
    return item


def init_errors(app: Flask) -> None:
    """Answer every refusal and every failure: Problem Details for the API, a page for people."""
    app.register_error_handler(WorkflowError, cast("Callable[[Exception], Response]", _answer))
    app.register_error_handler(HTTPException, _answer_http)
    app.register_error_handler(Exception, _answer_failure)


def _detail(error: WorkflowError, catalog: Catalog, lang: Language) -> str:
    """What happened, and what to do about it where the message does not say so itself."""
    sentences = [_what_happened(error, catalog, lang)]
    remedy = f"errors.{error.code}.remedy"
    if catalog.has(remedy):
        sentences.append(catalog.text(remedy, {}, lang))
    elif error.problems and error.problems[0].key == error.key:
        # The message is about one member and says what is wrong with it, nothing more.
        sentences.append(catalog.text("errors.correct_it", {}, lang))
    return ("" if lang == "zh" else " ").join(_sentence(text, lang) for text in sentences)


def _what_happened(error: WorkflowError, catalog: Catalog, lang: Language) -> str:
    if error.code == engine.UNEXPECTED:
        return catalog.text("errors.unexpected", {}, lang)
    facts = error.details
    if error.code == engine.CONFLICT_BOOKMARK and facts.get("completedBy") and isinstance(facts.get("at"), datetime):
        label = f"workflow.outcome.{facts.get('outcome')}"
        outcome = catalog.text(label, {}, lang) if catalog.has(label) else facts.get("outcome")
        args = {"who": facts["completedBy"], "outcome": outcome, "at": instant_text(facts["at"])}
        return catalog.text("errors.decided_already", args, lang)
    return catalog.text(error.key, error.params, lang)


def _sentence(text: str, lang: Language) -> str:
    """Return a text with its full stop."""
    return text if text.endswith((".", "!", "?", "。", "！", "？", "”")) else text + ("。" if lang == "zh" else ".")


def _plain(value: Any) -> Any:
    """Return facts as JSON: instants as the API writes them, a set as a sorted list, anything unknown as text."""
    match value:
        case None | bool() | int() | str():
            return value
        case datetime():
            return instant_text(value)
        case Mapping():
            return {str(name): _plain(member) for name, member in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case set() | frozenset():
            return sorted(str(item) for item in value)
        case _:
            return value if hasattr(value, "as_tuple") else str(value)


def _answer(error: WorkflowError) -> Response:
    status = status_of(error)
    if status >= 500:
        log.error("request failed: %s", error, exc_info=error, extra={"code": error.code})
    document = problem_document(error, _catalog(), language())
    response = _problem_json(document) if _wants_json() else _page(document)
    response.status_code = status
    wait = getattr(error, "retry_after", None) or RETRY_AFTER.get(error.code)
    if wait is not None:
        response.headers["Retry-After"] = str(wait)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _answer_http(error: HTTPException) -> Response:
    if error.response is not None or (error.code or 500) < 400:
        return cast("Response", error.get_response())
    response = _answer(_as_refusal(error))
    for name, value in error.get_headers():
        if name in ("Allow", "Retry-After"):
            response.headers[name] = value
    return response


def _as_refusal(error: HTTPException) -> WorkflowError:
    if isinstance(error, CSRFError):
        return RequestRefused("errors.csrf", code=CSRF_REFUSED)
    status = error.code or 500
    if status >= 500:
        return Unexpected("errors.unexpected")
    code, key = _OF_HTTP.get(status, (engine.VALIDATION_INPUT, "errors.bad_request"))
    return RequestRefused(key, code=code, params={"method": request.method, "path": request.path})


def _answer_failure(error: Exception) -> Response:
    failure = Unexpected("errors.unexpected")
    failure.__cause__ = error
    return _answer(failure)


def _catalog() -> Catalog:
    return cast("Catalog", current_app.extensions["waypost"].catalog)


def _wants_json() -> bool:
    return request.path.startswith("/api/") or request.path in ("/healthz", "/readyz")


def _problem_json(document: JsonObject) -> Response:
    return Response(encode(document), content_type=PROBLEM_JSON)


def _page(document: JsonObject) -> Response:
    """Render ``errors/<status>.html``, else ``errors/error.html``; plain text if even that cannot be rendered."""
    try:
        html = render_template(
            [f"errors/{document['status']}.html", "errors/error.html"],
            status=document["status"],
            title=document["title"],
            detail=document["detail"],
            problems=document.get("errors", []),
            request_id=document.get("requestId", ""),
        )
    except TemplateNotFound:
        text = f"{document['title']}\n\n{document['detail']}\n\n{document.get('requestId', '')}\n"
        return Response(text, content_type="text/plain; charset=utf-8")
    return Response(html, content_type="text/html; charset=utf-8")
