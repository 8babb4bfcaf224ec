"""Http: calls a web service (spec 4.18)."""

from __future__ import annotations

import codecs
import re
from decimal import Decimal

from webapp.engine.activities.api import ActivityContext, ActivityFault, ActivityOutcome, Complete
from webapp.engine.cancellation import AnyOf
from webapp.engine.descriptors import ActivityDescriptor, Category, Editor, Kind, PropertyDescriptor
from webapp.engine.errors import UNEXPECTED, InputInvalid, OperationCancelled
from webapp.engine.json_input import read_json
from webapp.engine.numbers import JsonValue, encode
from webapp.engine.ports.http import (
    AddressDenied,
    HttpClient,
    HttpRequest,
    HttpResponse,
    ResponseTooLarge,
)
from webapp.engine.schedules import positive

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
MAX_SHOWN = 500
"""How much of an unwelcome answer a fault shows."""

IDEMPOTENCY_KEY = "Idempotency-Key"

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")
_OF_THE_CONNECTION = frozenset(
    ("host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer")
)
"""Headers that the client writes itself."""


class HttpActivity:
    """Sends one request and waits for the answer, by the engine's clock and no longer than the node allows.

    *client* None: the installation makes no calls, every run is a fault.
    """

    effects = True
    descriptor = ActivityDescriptor(
        type="Http",
        category=Category.CONNECT,
        icon="globe",
        properties=(
            PropertyDescriptor(
                name="Url",
                editor=Editor.TEMPLATE,
                kind=Kind.TEMPLATE,
                required=True,
                example="https://example.com/orders/{{orderId}}",
            ),
            PropertyDescriptor(name="Method", editor=Editor.CHOICE, default="GET", options=METHODS),
            PropertyDescriptor(
                name="Body", editor=Editor.LONG_TEXT, kind=Kind.TEMPLATE, type="any", example='{"amount": {{amount}}}'
            ),
            PropertyDescriptor(name="ContentType", editor=Editor.TEXT, default="application/json"),
            PropertyDescriptor(name="Headers", editor=Editor.KEY_VALUE, kind=Kind.TEMPLATE, type="object"),
            PropertyDescriptor(name="ResultVariable", editor=Editor.TEXT, section="data", example="answer"),
            PropertyDescriptor(
                name="FailOnErrorStatus", editor=Editor.SWITCH, type="boolean", default=True, section="data"
            ),
            PropertyDescriptor(name="TimeoutSeconds", editor=Editor.DURATION, type="number", section="time"),
        ),
    )

    def __init__(self, client: HttpClient | None = None, *, timeout_seconds: float = 30) -> None:
        self._client = client
        self._timeout_seconds = timeout_seconds

    def execute(self, context: ActivityContext) -> ActivityOutcome:
        """Complete with the status and, under ``ResultVariable``, the body; what is not 2xx is a fault by default."""
        response = self._send(context, _request(context))
        if context.literal("FailOnErrorStatus", True) is not False and not 200 <= response.status < 300:
            args = {"status": response.status, "reason": response.reason, "body": _text(response)[:MAX_SHOWN]}
            raise ActivityFault("workflow.http.status", code=UNEXPECTED, args=args)
        outputs: dict[str, JsonValue] = {"httpStatusCode": response.status}
        variable = context.literal("ResultVariable")
        if isinstance(variable, str) and variable.strip():
            outputs[variable] = _result(_text(response))
        return Complete(outputs=outputs)

    def _send(self, context: ActivityContext, request: HttpRequest) -> HttpResponse:
        """Send; whose token is set decides what became of it, whatever the client did (spec 4.18).

        The activity's own token: a timeout. Only the caller's: the call is rolled back. Neither, and yet the client
        gave up: a timeout as well.
        """
        if self._client is None:
            raise ActivityFault("workflow.http.no_client", code=UNEXPECTED)
        seconds = _seconds(context, self._timeout_seconds)
        timeout, caller = context.deadline(seconds), context.cancellation
        response, failure = None, None
        try:
            response = self._client.send(request, AnyOf(timeout, caller))
        except Exception as error:
            failure = error
        if timeout.is_set:
            raise _timed_out(seconds) from failure
        caller.check()
        if response is not None:
            return response
        raise _fault(failure, seconds) from failure


def _fault(failure: Exception | None, seconds: float) -> ActivityFault:
    if isinstance(failure, OperationCancelled | TimeoutError):
        return _timed_out(seconds)
    if isinstance(failure, AddressDenied):
        args = {"host": failure.host, "reason": failure.reason}
        return ActivityFault("workflow.http.address_denied", code=UNEXPECTED, args=args)
    if isinstance(failure, ResponseTooLarge):
        return ActivityFault("workflow.http.too_large", code=UNEXPECTED, args={"max": failure.limit})
    return ActivityFault("workflow.http.failed", code=UNEXPECTED, args={"text": str(failure) or type(failure).__name__})


def _timed_out(seconds: float) -> ActivityFault:
    # 5.0 is written as 5, and 0.25 exactly as it was given.
    shown = int(seconds) if seconds == int(seconds) else Decimal(str(seconds))
    return ActivityFault("workflow.http.timed_out", code=UNEXPECTED, args={"seconds": shown})


def _seconds(context: ActivityContext, default: float) -> float:
    value = context.literal("TimeoutSeconds")
    if value is None:
        return default
    seconds = positive(value)
    if seconds is None:
        raise ActivityFault("workflow.http.timeout_invalid", code=UNEXPECTED, args={"value": value})
    return float(seconds)


def _request(context: ActivityContext) -> HttpRequest:
    url = context.text("Url")
    if url is None or not url.strip():
        raise ActivityFault("workflow.property.missing", code=UNEXPECTED, args={"name": "Url"})
    method = context.literal("Method")
    method = "GET" if method is None or method == "" else method
    if not isinstance(method, str) or not _TOKEN.fullmatch(method):
        raise ActivityFault("workflow.http.method", code=UNEXPECTED, args={"method": method})
    if method.upper() in METHODS:
        method = method.upper()
    body = _body(context)
    return HttpRequest(method=method, url=url.strip(), headers=_headers(context, has_body=body is not None), body=body)


def _body(context: ActivityContext) -> bytes | None:
    value = context.literal("Body")
    if isinstance(value, dict | list):
        return encode(value)
    text = context.text("Body")
    return None if text is None else text.encode()


def _headers(context: ActivityContext, *, has_body: bool) -> dict[str, str]:
    headers: dict[str, str] = {}
    given = context.evaluate_each("Headers") if context.literal("Headers") is not None else {}
    for name, value in given.items():
        text = _header_text(value)
        if text is None:
            continue
        if not _TOKEN.fullmatch(name) or name.lower() in _OF_THE_CONNECTION or not _VALUE.fullmatch(text):
            raise ActivityFault("workflow.http.header", code=UNEXPECTED, args={"name": name})
        if has_body or not name.lower().startswith("content-"):
            headers[name] = text
    present = {name.lower() for name in headers}
    if has_body and "content-type" not in present:
        headers["Content-Type"] = _content_type(context)
    if IDEMPOTENCY_KEY.lower() not in present:
        headers[IDEMPOTENCY_KEY] = context.effect_key
    return headers


def _header_text(value: JsonValue) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | Decimal):
        return format(value, "d" if isinstance(value, int) else "f")
    if value is None or isinstance(value, str):
        return value
    raise ActivityFault("workflow.property.type", code=UNEXPECTED, args={"name": "Headers", "type": "string"})


def _content_type(context: ActivityContext) -> str:
    given = context.literal("ContentType")
    text = given.strip() if isinstance(given, str) and given.strip() else "application/json"
    if not _VALUE.fullmatch(text):
        raise ActivityFault("workflow.http.header", code=UNEXPECTED, args={"name": "Content-Type"})
    return text if "charset=" in text.lower() or "boundary=" in text.lower() else f"{text}; charset=utf-8"


def _text(response: HttpResponse) -> str:
    try:
        codec = codecs.lookup(response.charset or "utf-8").name
        text = response.body.decode("utf-8-sig" if codec == "utf-8" else codec, "replace")
    except (LookupError, UnicodeError):
        # A charset that nobody knows, or one that turns text into bytes.
        text = response.body.decode("utf-8-sig", "replace")
    return text


def _result(text: str) -> JsonValue:
    """Return a body as the variable holds it: null when blank, JSON that is an object or a list, else the text."""
    if not text.strip():
        return None
    if text.lstrip()[0] not in "{[":
        return text
    try:
        return read_json(text)
    except InputInvalid:
        return text
