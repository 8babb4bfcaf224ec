"""Http (spec 4.18): what is sent, what becomes of the answer, and who is told when it takes too long."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.builtin.single import fault_of
from tests.engine.harness import Run, World
from tests.support.clock import FakeClock
from tests.support.flows import END, START, edge, flow, node
from tests.support.http_client import FakeHttp, json_response
from webapp.engine.builtin.http import HttpActivity
from webapp.engine.cancellation import Cancellation, CancellationToken
from webapp.engine.errors import OperationCancelled
from webapp.engine.instances.model import InstanceStatus
from webapp.engine.instances.requests import StartRequest
from webapp.engine.numbers import JsonDecimal, JsonObject
from webapp.engine.ports.http import AddressDenied, HttpFailure, HttpRequest, HttpResponse, ResponseTooLarge
from webapp.engine.runtime.commands import Command

URL = "https://api.example/orders"


def run(
    client: FakeHttp, properties: JsonObject | None = None, variables: JsonObject | None = None, **more: Any
) -> Run:
    it = node("call", "Http", {"Url": URL, **(properties or {})}, **more)
    world = World(activities=[HttpActivity(client)])
    return world.start(flow("calls", [START, it, END]), variables, instance_id="i-1")


def sent(properties: JsonObject, variables: JsonObject | None = None) -> HttpRequest:
    client = FakeHttp()
    run(client, properties, variables)
    (request,) = client.requests
    return request


def result(response: HttpResponse) -> object:
    instance = run(FakeHttp(response), {"ResultVariable": "answer"}).instance
    assert instance.status is InstanceStatus.COMPLETED
    assert instance.variables["httpStatusCode"] == response.status
    return instance.variables["answer"]


# --- what is sent ---------------------------------------------------------------------------------

KEY = hashlib.sha256(b"i-1\n0\ncall\n1").hexdigest()


def test_without_more_it_is_a_get_with_the_effect_key() -> None:
    assert sent({}) == HttpRequest(method="GET", url=URL, headers={"Idempotency-Key": KEY})


def test_address_headers_and_a_text_are_templates() -> None:
    request = sent(
        {
            "Url": " https://api.example/{{ id }} ",
            "Method": "post",
            "Headers": {"X-Who": "{{ who }}", "X-Count": 2, "X-Sum": JsonDecimal("1.50"), "X-On": True, "X-None": None},
            "Body": "Hello {{ who }}",
            "ContentType": "text/plain",
        },
        {"id": 7, "who": "Ada"},
    )
    assert request == HttpRequest(
        method="POST",
        url="https://api.example/7",
        headers={
            "X-Who": "Ada", "X-Count": "2", "X-Sum": "1.50", "X-On": "true",
            "Content-Type": "text/plain; charset=utf-8", "Idempotency-Key": KEY,
        },
        body=b"Hello Ada",
    )  # fmt: skip


def test_an_object_is_sent_as_json_and_is_no_template() -> None:
    request = sent({"Method": "PUT", "Body": {"text": "{{ who }}", "sum": JsonDecimal("1.50"), "list": [None, "ü"]}})
    assert request.body == '{"text":"{{ who }}","sum":1.50,"list":[null,"ü"]}'.encode()
    assert request.headers["Content-Type"] == "application/json; charset=utf-8"


def test_content_headers_are_sent_with_a_body_only() -> None:
    headers = {"content-type": "text/csv", "Content-Language": "de", "Accept": "x/y"}
    assert sent({"Headers": headers}).headers == {"Accept": "x/y", "Idempotency-Key": KEY}
    assert sent({"Headers": headers, "Body": ""}).headers == {**headers, "Idempotency-Key": KEY}


def test_an_own_idempotency_key_is_kept() -> None:
    headers = sent({"Headers": {"idempotency-key": "order-{{ id }}"}}, {"id": 4}).headers
    assert headers == {"idempotency-key": "order-4"}


def test_an_unusual_method_is_sent_as_written() -> None:
    assert sent({"Method": "Purge"}).method == "Purge"


@pytest.mark.parametrize(
    ("properties", "key", "args"),
    [
        ({"Url": " {{ none }} "}, "workflow.property.missing", {"name": "Url"}),
        ({"Method": "GET /x"}, "workflow.http.method", {"method": "GET /x"}),
        ({"Headers": {"X": "{{ two }}"}}, "workflow.http.header", {"name": "X"}),
        ({"Headers": {"X Y": "1"}}, "workflow.http.header", {"name": "X Y"}),
        ({"Headers": {"Host": "other"}}, "workflow.http.header", {"name": "Host"}),
        ({"Headers": {"content-length": 1}, "Body": "x"}, "workflow.http.header", {"name": "content-length"}),
        ({"Headers": {"X": [1]}}, "workflow.property.type", {"name": "Headers", "type": "string"}),
        ({"ContentType": "a\nb", "Body": "x"}, "workflow.http.header", {"name": "Content-Type"}),
        ({"TimeoutSeconds": 0}, "workflow.http.timeout_invalid", {"value": 0}),
    ],
)
def test_what_cannot_be_sent_is_a_fault(properties: JsonObject, key: str, args: JsonObject) -> None:
    client = FakeHttp()
    fault = fault_of(run(client, properties, {"none": "", "two": "a\r\nEvil: 1"}))
    assert (fault.key, fault.args, client.requests) == (key, args, [])


def test_an_installation_without_a_client_calls_nobody() -> None:
    world = World()
    assert fault_of(world.start(flow("f", [START, node("call", "Http", {"Url": URL}), END]))).key == (
        "workflow.http.no_client"
    )


# --- what comes back ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("", None),
        (" \n", None),
        ('{"total": 42}', {"total": 42}),
        ("\n [1.50, null]", [JsonDecimal("1.50"), None]),
        ("\ufeff{}", {}),
        ('"text"', '"text"'),
        ("42", "42"),
        ("{broken", "{broken"),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ("plain", "plain"),
    ],
)
def test_the_body_under_the_result_variable(body: str, value: object) -> None:
    assert result(json_response(body)) == value


def test_the_charset_of_the_answer_counts() -> None:
    assert result(HttpResponse(status=200, body="grün".encode("latin-1"), charset="iso-8859-1")) == "grün"
    assert result(HttpResponse(status=200, body="你好".encode("gbk"), charset="gb2312")) == "你好"
    assert result(HttpResponse(status=200, body="grün".encode(), charset="klingon")) == "grün"
    assert result(HttpResponse(status=200, body=b"gr\xfcn")) == "gr\ufffdn"


def test_without_a_result_variable_only_the_status_is_kept() -> None:
    assert run(FakeHttp(json_response("{}", 204))).instance.variables == {"httpStatusCode": 204}


def test_an_error_status_is_a_fault_that_shows_the_beginning_of_the_body() -> None:
    made = run(FakeHttp(json_response("x" * 600, 500, "Oops")), {"ResultVariable": "answer"})
    fault = fault_of(made)
    assert (fault.code, fault.key) == ("WORKFLOW_UNEXPECTED_001", "workflow.http.status")
    assert fault.args == {"status": 500, "reason": "Oops", "body": "x" * 500}
    assert made.instance.variables == {}


@pytest.mark.parametrize(("status", "faulted"), [(199, True), (200, False), (299, False), (300, True), (404, True)])
def test_only_200_to_299_is_a_success(status: int, faulted: bool) -> None:
    made = run(FakeHttp(HttpResponse(status=status)))
    assert (made.instance.status is InstanceStatus.FAULTED) is faulted


def test_an_error_status_may_be_taken() -> None:
    made = run(FakeHttp(json_response("[]", 500)), {"FailOnErrorStatus": False, "ResultVariable": "answer"})
    assert made.instance.status is InstanceStatus.COMPLETED
    assert made.instance.variables == {"httpStatusCode": 500, "answer": []}


@pytest.mark.parametrize(
    ("failure", "key", "args"),
    [
        (AddressDenied("inside", "not public"), "address_denied", {"host": "inside", "reason": "not public"}),
        (ResponseTooLarge(10), "too_large", {"max": 10}),
        (HttpFailure("refused"), "failed", {"text": "refused"}),
        (ConnectionResetError(), "failed", {"text": "ConnectionResetError"}),
    ],
)
def test_no_answer_is_a_fault_that_may_be_retried(failure: Exception, key: str, args: JsonObject) -> None:
    made = run(FakeHttp(failure))
    fault = fault_of(made)
    assert (fault.code, fault.key, fault.args) == ("WORKFLOW_UNEXPECTED_001", f"workflow.http.{key}", args)
    assert made.retry().instance.status is InstanceStatus.COMPLETED


# --- time: whose token is set decides, whatever the client did --------------------------------------


class Late:
    """A world in which the client takes 5 s while the node allows 5 s, or less, and the caller may go meanwhile."""

    def __init__(self, *, takes: float, caller_goes: bool, then: Callable[[CancellationToken], HttpResponse]) -> None:
        self.caller = Cancellation()
        self.tokens: list[bool] = []
        self.world = World(activities=[HttpActivity(FakeHttp(self._answer))])
        self._takes, self._caller_goes, self._then = takes, caller_goes, then

    def _answer(self, request: HttpRequest, token: CancellationToken) -> HttpResponse:
        assert not token.is_set
        self.world.clock.advance(self._takes)
        if self._caller_goes:
            self.caller.set()
        self.tokens.append(token.is_set)
        return self._then(token)

    def start(self) -> InstanceStatus:
        document = flow("late", [START, node("call", "Http", {"Url": URL, "TimeoutSeconds": 5}), END])
        command = Command(id="c", action="start", actor_id="a", cancellation=self.caller)
        wave = self.world.engine.start(self.world.compile(document), StartRequest(), command, None)
        fault = wave.instance.fault
        if fault is not None:
            assert (fault.code, fault.key) == ("WORKFLOW_UNEXPECTED_001", "workflow.http.timed_out")
            assert (fault.args, wave.instance.fault_node_id) == ({"seconds": 5}, "call")
        return wave.instance.status


def gives_up(token: CancellationToken) -> HttpResponse:
    raise OperationCancelled("the client gave up")


def times_out(token: CancellationToken) -> HttpResponse:
    raise TimeoutError("the client has a timer after all")


def breaks(token: CancellationToken) -> HttpResponse:
    raise HttpFailure("connection lost")


def answers(token: CancellationToken) -> HttpResponse:
    return HttpResponse(status=200)


@pytest.mark.parametrize("then", [gives_up, times_out, breaks])
def test_the_time_is_over_and_the_client_raised(then: Callable[[CancellationToken], HttpResponse]) -> None:
    late = Late(takes=5, caller_goes=False, then=then)
    assert (late.start(), late.tokens) == (InstanceStatus.FAULTED, [True])


def test_the_time_is_over_and_the_client_answered() -> None:
    assert Late(takes=5, caller_goes=False, then=answers).start() is InstanceStatus.FAULTED


@pytest.mark.parametrize("then", [gives_up, answers])
def test_the_time_is_over_and_the_caller_has_gone_too(then: Callable[[CancellationToken], HttpResponse]) -> None:
    assert Late(takes=5, caller_goes=True, then=then).start() is InstanceStatus.FAULTED


@pytest.mark.parametrize("then", [gives_up, breaks, answers])
def test_only_the_caller_has_gone(then: Callable[[CancellationToken], HttpResponse]) -> None:
    late = Late(takes=4.9, caller_goes=True, then=then)
    with pytest.raises(OperationCancelled):
        late.start()
    assert late.tokens == [True]


@pytest.mark.parametrize("then", [gives_up, times_out])
def test_the_client_gave_up_by_itself(then: Callable[[CancellationToken], HttpResponse]) -> None:
    late = Late(takes=4.9, caller_goes=False, then=then)
    assert (late.start(), late.tokens) == (InstanceStatus.FAULTED, [False])


def test_in_time_is_in_time() -> None:
    assert Late(takes=4.9, caller_goes=False, then=answers).start() is InstanceStatus.COMPLETED


def test_the_installation_has_a_longest_wait() -> None:
    def slow(request: HttpRequest, token: CancellationToken) -> HttpResponse:
        clock.advance(2)
        return HttpResponse(status=200)

    world = World(activities=[HttpActivity(FakeHttp(slow), timeout_seconds=1.5)])
    clock: FakeClock = world.clock
    fault = fault_of(world.start(flow("late", [START, node("call", "Http", {"Url": URL}), END])))
    assert (fault.key, fault.args) == ("workflow.http.timed_out", {"seconds": JsonDecimal("1.5")})


# --- the effect key ---------------------------------------------------------------------------------


def test_each_run_of_a_wave_has_a_key_of_its_own_and_the_same_again() -> None:
    def loop(client: FakeHttp) -> Run:
        count = node("count", "SetVariable", {"Expressions": {"n": "n + 1"}})
        nodes = [START, node("call", "Http", {"Url": URL}), count, node("more", "Decision"), END]
        edges = [edge("start", "call"), edge("call", "count"), edge("count", "more"), edge("more", "call", "n < 3"),
                 edge("more", "end", is_default=True)]  # fmt: skip
        world = World(activities=[HttpActivity(client)])
        return world.start(flow("loop", nodes, edges), {"n": 0}, instance_id="i-1")

    first, second = FakeHttp(), FakeHttp()
    assert loop(first).instance.status is InstanceStatus.COMPLETED
    loop(second)
    keys = [request.headers["Idempotency-Key"] for request in first.requests]
    assert keys == [hashlib.sha256(f"i-1\n0\ncall\n{number}".encode()).hexdigest() for number in (1, 2, 3)]
    assert keys == [request.headers["Idempotency-Key"] for request in second.requests]


def test_a_retry_is_another_wave_and_has_another_key() -> None:
    client = FakeHttp(HttpFailure("lost"))
    made = run(client).retry()
    first, second = (request.headers["Idempotency-Key"] for request in client.requests)
    assert (first, second) == (KEY, hashlib.sha256(b"i-1\n1\ncall\n1").hexdigest())
    assert made.last.outside_effects
