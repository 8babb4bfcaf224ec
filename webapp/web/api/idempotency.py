"""The header Idempotency-Key of calls that create or act (spec 11, Amendments)."""

from __future__ import annotations

import re
from collections.abc import Callable

from flask import Response, request

from webapp.accounts.model import Actor
from webapp.engine.errors import InputInvalid
from webapp.services.answers import Answer, AnswerService, KeyedRequest, KeyReused
from webapp.web.errors import REUSED_KEY, RequestRefused

HEADER = "Idempotency-Key"
MAX_KEY = 200

_KEY = re.compile(r"[\x21-\x7e]{1,200}")


def read_key() -> str | None:
    """Return the key that the request came with. :raises InputInvalid: it is no key."""
    given = request.headers.get(HEADER)
    if given is None:
        return None
    if not _KEY.fullmatch(given):
        raise InputInvalid("api.idempotency_key.invalid", path=HEADER, params={"max": MAX_KEY})
    return given


def answered_once(
    answers: AnswerService, actor: Actor, key: str, respond: Callable[[], Response], *, several: bool
) -> Response:
    """Return the answer that this key got first, or give it now."""
    keyed = KeyedRequest(
        method=request.method, path=request.full_path.rstrip("?"), key=key, body=request.get_data(cache=True)
    )
    try:
        answer = answers.once(actor, keyed, lambda: _answer(respond()), several=several)
    except KeyReused:
        raise RequestRefused("errors.key_reused", code=REUSED_KEY) from None
    response = Response(answer.body, status=answer.status)
    response.headers.clear()
    response.headers.extend(answer.headers)
    return response


def _answer(response: Response) -> Answer:
    return Answer(status=response.status_code, headers=dict(response.headers), body=response.get_data())
