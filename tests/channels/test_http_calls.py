"""The HTTP client against real servers on the loopback (spec 4.18, 4.20)."""

from __future__ import annotations

import gzip
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.http_server import Answer, ScriptedServer, reply, serving, slowly
from webapp.channels.addresses import AddressPolicy
from webapp.channels.http_calls import HttpCalls
from webapp.channels.wire import Found, resolve
from webapp.engine.cancellation import Cancellation, CancellationToken, Deadline
from webapp.engine.clock import SystemClock
from webapp.engine.errors import OperationCancelled
from webapp.engine.ports.http import AddressDenied, HttpFailure, HttpRequest, HttpResponse, ResponseTooLarge

LOCAL = AddressPolicy(["127.0.0.0/8"])
CALLS = HttpCalls(LOCAL, max_bytes=1000)


def request(url: str, method: str = "GET", body: bytes | None = None, **headers: str) -> HttpRequest:
    return HttpRequest(
        method=method, url=url, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


def call(server: ScriptedServer, path: str = "/", calls: HttpCalls = CALLS, **more: str) -> HttpResponse:
    return calls.send(request(server.url(path), **more), Cancellation())  # type: ignore[arg-type]  # headers only


def head_of(text: str) -> dict[str, str]:
    lines = text.partition("\r\n\r\n")[0].split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def test_a_request_goes_out_as_written_and_the_answer_comes_back() -> None:
    answer = reply(b"\xe4\xbd\xa0", "Content-Type: text/plain; charset=UTF-8", status="201 Made")
    with serving(answer) as server:
        sent = request(server.url("/a b/ü?q=1&w=ö"), "POST", b"body", X_Id="7", Content_Type="text/plain")
        response = CALLS.send(sent, Cancellation())
        (received,) = server.requests
    assert response == HttpResponse(status=201, reason="Made", body="你".encode(), charset="utf-8")
    assert received.startswith("POST /a%20b/%C3%BC?q=1&w=%C3%B6 HTTP/1.1\r\n")
    assert received.endswith("\r\n\r\nbody")
    assert head_of(received) == {
        "host": f"127.0.0.1:{server.port}", "user-agent": "Waypost", "accept": "*/*", "accept-encoding": "gzip",
        "connection": "close", "x-id": "7", "content-type": "text/plain", "content-length": "4",
    }  # fmt: skip


def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serving(reply(b"direct")) as server:
        assert call(server).body == b"direct"


def test_no_cookie_is_kept() -> None:
    with serving(reply(b"", "Set-Cookie: session=1; Path=/")) as server:
        call(server)
        call(server)
        assert [("cookie" in head_of(one)) for one in server.requests] == [False, False]


def test_a_chunked_answer_is_put_together() -> None:
    chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    with serving(slowly(chunks, pause=0)) as server:
        assert call(server).body == b"abcde"


def test_a_compressed_answer_is_unpacked() -> None:
    with serving(reply(gzip.compress(b"hello" * 100), "Content-Encoding: gzip")) as server:
        assert call(server).body == b"hello" * 100


def test_an_answer_of_nothing_may_say_it_is_compressed() -> None:
    with serving(reply(b"", "Content-Encoding: gzip")) as server:
        assert call(server).body == b""


BROKEN: list[tuple[Answer, str]] = [
    (reply(b"abc", length=10), "the answer ended 7 bytes early"),
    (slowly(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", pause=0), "the answer ended early"),
    (reply(b"plain", "Content-Encoding: gzip"), "the answer is no gzip, although it says so"),
    (reply(gzip.compress(b"x" * 500)[:-9], "Content-Encoding: gzip"), "the answer ended in the middle of its gzip"),
    (reply(b"x", "Content-Encoding: br"), "the answer is encoded as br, which nobody asked for"),
    (slowly(b"SSH-2.0-hello\r\n", pause=0), "SSH-2.0-hello"),
    (slowly(b"", pause=0), "Remote end closed connection without response"),
]


@pytest.mark.parametrize(("answer", "said"), BROKEN)
def test_an_answer_that_cannot_be_read_is_a_failure(answer: Answer, said: str) -> None:
    with serving(answer) as server, pytest.raises(HttpFailure) as caught:
        call(server)
    assert str(caught.value).strip() == said


HUGE: list[Answer] = [
    reply(b"x" * 1001),
    reply(gzip.compress(b"0" * 1_000_000), "Content-Encoding: gzip"),
    slowly(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001, pause=0),
]


@pytest.mark.parametrize("answer", HUGE)
def test_an_answer_has_a_largest_size_also_after_unpacking(answer: Answer) -> None:
    with serving(answer) as server, pytest.raises(ResponseTooLarge) as caught:
        call(server)
    assert caught.value.limit == 1000
    with serving(reply(b"x" * 1000)) as server:
        assert len(call(server).body) == 1000


# --- who may be called ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://2130706433/",
     "http://169.254.169.254/latest/meta-data", "http://0x7f.1/"],
)  # fmt: skip
def test_an_address_inside_is_refused_however_it_is_written(url: str) -> None:
    with pytest.raises(AddressDenied):
        HttpCalls(AddressPolicy()).send(request(url), Cancellation())


@pytest.mark.parametrize(
    "url", ["ftp://example.org/", "file:///etc/passwd", "gopher://x/", "//example.org/", "example"]
)
def test_only_http_and_https_are_called(url: str) -> None:
    with pytest.raises(AddressDenied, match="use http or https"):
        CALLS.send(request(url), Cancellation())


@pytest.mark.parametrize("url", ["http:///x", "http://a:b@h/", "http://h:99999/", "http://[::1/", "http://h/\r\nX: 1"])
def test_an_address_that_is_none_is_a_failure(url: str) -> None:
    with pytest.raises(HttpFailure):
        CALLS.send(request(url), Cancellation())


class Names:
    """A name server that gives another answer each time."""

    def __init__(self, *answers: list[str]) -> None:
        self.asked = 0
        self._answers = list(answers)

    def __call__(self, host: str, port: int, token: CancellationToken) -> Found:
        """Answer with the next addresses."""
        self.asked += 1
        return [
            (socket.AF_INET6 if ":" in address else socket.AF_INET, (address, port)) for address in self._answers.pop(0)
        ]


def test_a_name_is_resolved_once_and_the_checked_address_is_called() -> None:
    names = Names(["127.0.0.1"], ["10.0.0.1"])
    with serving(reply(b"here")) as server:
        calls = HttpCalls(LOCAL, resolver=names)
        response = calls.send(request(server.url(host="rebound.test")), Cancellation())
        (received,) = server.requests
    assert (response.body, names.asked) == (b"here", 1)
    assert head_of(received)["host"] == f"rebound.test:{server.port}"


def test_one_address_that_is_refused_refuses_the_name() -> None:
    names = Names(["127.0.0.1", "10.0.0.1"])
    with pytest.raises(AddressDenied) as caught:
        HttpCalls(LOCAL, resolver=names).send(request("http://mixed.test/"), Cancellation())
    assert caught.value.host == "mixed.test"


def test_a_name_allowed_by_the_installation_may_lie_inside() -> None:
    with serving(reply(b"inside")) as server:
        calls = HttpCalls(AddressPolicy(["localhost"]))
        assert calls.send(request(server.url(host="localhost")), Cancellation()).body == b"inside"
        with pytest.raises(AddressDenied):
            calls.send(request(server.url()), Cancellation())


def test_the_next_address_is_tried_when_nobody_listens_at_the_first() -> None:
    with serving(reply(b"second")) as server:
        calls = HttpCalls(AddressPolicy(["two.test"]), resolver=Names(["::1", "127.0.0.1"]))
        assert calls.send(request(server.url(host="two.test")), Cancellation()).body == b"second"


def test_nobody_listening_is_a_failure() -> None:
    with serving(reply()) as server:
        url = server.url()
    with pytest.raises(HttpFailure, match="Connection refused"):
        CALLS.send(request(url), Cancellation())


# --- redirects ------------------------------------------------------------------------------------


def to(location: str, status: int = 302) -> Answer:
    return reply(b"moved", f"Location: {location}", status=f"{status} Found")


def test_a_redirect_is_followed() -> None:
    def answer(text: str, connection: socket.socket) -> None:
        (to("../done?x=1") if text.startswith("GET /a/b ") else reply(b"done"))(text, connection)

    with serving(answer) as server:
        assert call(server, "/a/b", X_Key="k").body == b"done"
        assert server.requests[1].startswith("GET /done?x=1 ")
        assert head_of(server.requests[1])["x-key"] == "k"


def test_five_redirects_are_followed_and_a_circle_ends() -> None:
    def counting(text: str, connection: socket.socket) -> None:
        number = int(text.split()[1].strip("/"))
        (to(f"/{number - 1}") if number else reply(b"end"))(text, connection)

    with serving(counting) as server:
        assert call(server, "/5").body == b"end"
        with pytest.raises(HttpFailure, match="more than 5 redirects"):
            call(server, "/6")


def test_a_redirect_is_checked_like_the_first_address() -> None:
    with serving(to("http://10.0.0.1/secret")) as server, pytest.raises(AddressDenied) as caught:
        call(server)
    assert caught.value.host == "10.0.0.1"
    with serving(to("file:///etc/passwd")) as server, pytest.raises(AddressDenied, match="scheme"):
        call(server)


def test_another_host_gets_no_credentials() -> None:
    with serving(reply(b"other")) as other, serving(to(f"http://localhost:{other.port}/x", 307)) as first:
        policy = AddressPolicy(["127.0.0.1", "localhost"])
        headers = {"Authorization": "Bearer 1", "Cookie": "a=b", "X-Api-Key": "k", "Content-Type": "text/plain",
                   "Idempotency-Key": "i"}  # fmt: skip
        sent = HttpRequest(method="POST", url=first.url(), headers=headers, body=b"data")
        assert HttpCalls(policy).send(sent, Cancellation()).body == b"other"
        (received,) = other.requests
    head = head_of(received)
    assert received.endswith("\r\n\r\ndata")
    assert (head["content-type"], head["idempotency-key"]) == ("text/plain", "i")
    assert not {"authorization", "cookie", "x-api-key"} & head.keys()


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [(301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT"),
     (302, "PUT", "PUT"), (303, "HEAD", "HEAD")],
)  # fmt: skip
def test_the_method_after_a_redirect(status: int, method: str, then: str) -> None:
    def answer(text: str, connection: socket.socket) -> None:
        (reply(b"") if " /done " in text else to("/done", status))(text, connection)

    with serving(answer) as server:
        body = None if method == "HEAD" else b"data"
        CALLS.send(request(server.url(), method, body, Content_Type="text/plain"), Cancellation())
        last = server.requests[1]
    assert last.startswith(f"{then} /done ")
    assert ("content-type" in head_of(last)) is last.endswith("data") is (then in ("POST", "PUT"))


# --- the token ------------------------------------------------------------------------------------

SLOW: list[Answer] = [
    slowly(b"", pause=3),
    slowly(b"HTTP/1.1 200 OK\r\nX-Slow: ", *[b"x"] * 60, pause=0.05),
    slowly(b"HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n", *[b"x"] * 60, pause=0.05),
    slowly(*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 60, pause=0.05),
]


@pytest.mark.parametrize("answer", SLOW)
def test_a_slow_server_is_given_up_when_the_token_is_set(answer: Answer) -> None:
    with serving(answer) as server:
        begun = time.monotonic()
        with pytest.raises(OperationCancelled):
            CALLS.send(request(server.url()), Deadline(SystemClock(), 0.3))
        assert 0.25 < time.monotonic() - begun < 2.9  # the whole answer takes 3 s


def test_a_server_that_takes_no_body_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf, pytest.raises(OperationCancelled):
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/"
        CALLS.send(request(url, "POST", b"x" * 50_000_000), Deadline(SystemClock(), 0.3))


def test_a_slow_name_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def slow(*args: object, **more: object) -> list[object]:
        answered.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    begun = time.monotonic()
    with pytest.raises(OperationCancelled):
        resolve("slow.test", 80, Deadline(SystemClock(), 0.2))
    assert time.monotonic() - begun < 15
    answered.set()


def test_a_name_that_is_not_there_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: object, **more: object) -> list[object]:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(HttpFailure, match=r"nowhere\.test cannot be found: Name or service not known"):
        CALLS.send(request("http://nowhere.test/"), Cancellation())


# --- TLS ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key and a certificate for intranet.test, signed by itself."""
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", certificate,
         "-subj", "/CN=intranet.test", "-addext", "subjectAltName=DNS:intranet.test"],
        check=True, capture_output=True,
    )  # fmt: skip
    return key, certificate


@pytest.fixture
def secure(certificate: tuple[Path, Path]) -> tuple[ssl.SSLContext, Callable[[], HttpCalls]]:
    """The server's side of TLS, and a client that trusts it and knows no address but its."""
    key, chain = certificate
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(chain, key)
    trusting = ssl.create_default_context(cafile=str(chain))

    def client() -> HttpCalls:
        return HttpCalls(LOCAL, tls=trusting, resolver=Names(["127.0.0.1"]))

    return server, client


Secure = tuple[ssl.SSLContext, Callable[[], HttpCalls]]


def test_https_asks_for_the_name_at_the_checked_address(secure: Secure) -> None:
    names: list[str | None] = []
    secure[0].sni_callback = lambda wrapped, name, context: names.append(name)
    with serving(reply(b"safe"), secure[0]) as server:
        url = server.url(host="intranet.test", scheme="https")
        assert secure[1]().send(request(url), Cancellation()).body == b"safe"
    assert names == ["intranet.test"]


def test_a_certificate_for_another_name_is_refused(secure: Secure) -> None:
    with serving(reply(b"safe"), secure[0]) as server, pytest.raises(HttpFailure, match=r"certificate of other\.test"):
        secure[1]().send(request(server.url(host="other.test", scheme="https")), Cancellation())


def test_a_certificate_that_nobody_signed_is_refused(secure: Secure) -> None:
    with (
        serving(reply(b"safe"), secure[0]) as server,
        pytest.raises(HttpFailure, match=r"certificate of intranet\.test"),
    ):
        calls = HttpCalls(LOCAL, resolver=Names(["127.0.0.1"]))
        calls.send(request(server.url(host="intranet.test", scheme="https")), Cancellation())


def test_a_redirect_never_leaves_https(secure: Secure) -> None:
    with serving(to("http://intranet.test/"), secure[0]) as server, pytest.raises(AddressDenied, match="https to http"):
        secure[1]().send(request(server.url(host="intranet.test", scheme="https")), Cancellation())


def test_a_handshake_that_never_comes_is_given_up(secure: Secure) -> None:
    with serving(slowly(b"", pause=2)) as server, pytest.raises(OperationCancelled):
        url = server.url(host="intranet.test", scheme="https")
        secure[1]().send(request(url), Deadline(SystemClock(), 0.3))
