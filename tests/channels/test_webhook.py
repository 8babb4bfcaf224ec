"""Webhooks against a receiver that checks what it is told to check (spec 10)."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import FakeClock
from tests.support.http_server import Answer, reply, serving, slowly
from tests.support.outgoing import LINK, TASK, document, endpoint, event, notice, posting, soon, split
from webapp.channels.addresses import AddressPolicy
from webapp.channels.signatures import verify
from webapp.channels.webhook import WebhookChannel
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import SendingFailed

SECRET = "sesame-sesame-open"
HELP = Path(__file__).parents[2] / "templates" / "help" / "_verify.py"
CLOCK = FakeClock()
CHANNEL = WebhookChannel(posting(CLOCK))


def hook(address: str) -> Endpoint:
    return endpoint(ChannelKind.WEBHOOK, address, SECRET)


def failure(answer: Answer, seconds: float = 20) -> SendingFailed:
    with serving(answer) as server, pytest.raises(SendingFailed) as caught:
        CHANNEL.send(event(hook(server.url("/in?key=hidden-key"))), soon(seconds))
    assert SECRET not in caught.value.reason
    assert "hidden-key" not in caught.value.reason
    return caught.value


def test_an_event_goes_out_signed_and_its_answer_is_the_receipt() -> None:
    with serving(reply(b"thanks", status="202 Accepted")) as server:
        receipt = CHANNEL.send(event(hook(server.url("/in")), amount=3), soon())
        (request,) = server.requests
    first, headers, body = split(request)
    assert receipt == "HTTP 202"
    assert first == "POST /in HTTP/1.1"
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert headers["x-delivery-id"] == "d-2"
    assert json.loads(body) == {
        "id": "d-2",
        "topic": "workflow.task.created",
        "tenantId": "north",
        "instanceId": "i-1",
        "sequence": 8,
        "occurredAt": "2026-07-16T08:00:00Z",
        "data": {"taskId": "t-1", "amount": 3},
    }
    # 2026-07-16 08:00 UTC, the moment of the clock, by `date -u -d … +%s`.
    assert headers["x-waypost-timestamp"] == "1784188800"
    expected = hmac.new(SECRET.encode(), b"1784188800." + body.encode(), hashlib.sha256).hexdigest()
    assert headers["x-waypost-signature"] == f"v1={expected}"


def test_a_notice_goes_out_with_its_texts_and_link() -> None:
    with serving(reply()) as server:
        CHANNEL.send(notice(hook(server.url("/")), address="anna", language="zh"), soon())
        told = document(server.requests[0])
    assert (told["id"], told["topic"], told["instanceId"]) == ("d-1", "workflow.notice", "i-1")
    assert told["data"] == {
        "recipient": "anna",
        "language": "zh",
        "subject": TASK.title,
        "parts": [{"title": TASK.title, "body": TASK.body, "link": LINK}],
    }


def as_the_help_says(secret: str, timestamp: str, given: str, body: bytes, now: float) -> bool:
    """Check a request by the code that the help page shows to who writes a receiver."""
    shown: dict[str, Any] = {}
    exec(HELP.read_text(), shown)  # noqa: S102  # it is our own page
    headers = {"X-Waypost-Timestamp": timestamp, "X-Waypost-Signature": given}
    return bool(shown["is_genuine"](secret, headers, body, now))


@pytest.mark.parametrize("check", [verify, as_the_help_says])
def test_a_receiver_takes_what_is_genuine_and_fresh_and_nothing_else(check: Callable[..., bool]) -> None:
    with serving(reply()) as server:
        CHANNEL.send(event(hook(server.url("/"))), soon())
        _, headers, text = split(server.requests[0])
    at, given, body = headers["x-waypost-timestamp"], headers["x-waypost-signature"], text.encode()
    now = CLOCK.now().timestamp()
    assert check(SECRET, at, given, body, now)
    assert check(SECRET, at, given, body, now + 300)
    assert check(SECRET, at, given, body, now - 300)
    assert not check(SECRET, at, given, body, now + 301)
    assert not check(SECRET, at, given, body, now - 301)
    assert not check(SECRET, str(int(at) + 1), given, body, now)
    assert not check(SECRET, at, given, body + b" ", now)
    assert not check("another-secret-of-ours", at, given, body, now)
    for odd in ("", "soon", "-1", "1e9", "\u00b2", "\u0661"):
        assert not check(SECRET, odd, given, body, now)
    for odd in ("", "v1=", "v1=\u00e9", given.removeprefix("v1="), given.upper()):
        assert not check(SECRET, at, odd, body, now)


def test_two_attempts_differ_in_nothing_but_time_and_signature() -> None:
    clock = FakeClock()
    channel = WebhookChannel(posting(clock))
    with serving(reply()) as server:
        channel.send(event(hook(server.url("/"))), soon())
        clock.advance(60)
        channel.send(event(hook(server.url("/"))), soon())
        one, two = (split(request) for request in server.requests)
    assert one[2] == two[2]
    assert one[1]["x-delivery-id"] == two[1]["x-delivery-id"]
    assert int(two[1]["x-waypost-timestamp"]) - int(one[1]["x-waypost-timestamp"]) == 60
    assert one[1]["x-waypost-signature"] != two[1]["x-waypost-signature"]


@pytest.mark.parametrize("status", ["400 Bad", "405 No", "410 Gone", "413 Big", "422 What"])
def test_what_will_never_be_taken_is_given_up_at_once(status: str) -> None:
    found = failure(reply(b"secret words", status=status))
    assert (found.permanent, found.reason) == (True, f"HTTP {status}")


@pytest.mark.parametrize("status", ["401 No", "403 No", "404 None", "408 Late", "409 Busy", "500 Oops", "503 Later"])
def test_everything_else_is_tried_again(status: str) -> None:
    found = failure(reply(b"secret words", status=status))
    assert (found.permanent, found.reason) == (False, f"HTTP {status}")


@pytest.mark.parametrize("status", ["429 Slow", "503 Later"])
@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("17", 17.0),
        ("0", 0.0),
        ("999999", 86400.0),
        (format_datetime(CLOCK.now() + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(CLOCK.now() - timedelta(seconds=90), usegmt=True), 0.0),
        ("soon", None),
        ("-5", None),
    ],
)
def test_how_long_to_wait_is_told_as_a_number_or_a_date(status: str, given: str, seconds: float | None) -> None:
    found = failure(reply(b"", f"Retry-After: {given}", status=status))
    assert (found.permanent, found.retry_after) == (False, seconds)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 There", "308 There"])
def test_a_redirect_is_not_followed_and_is_no_success(status: str) -> None:
    with serving(reply(b"here")) as elsewhere:
        found = failure(reply(b"", f"Location: {elsewhere.url('/')}", status=status))
        assert elsewhere.requests == []
    assert (found.permanent, found.reason) == (False, f"HTTP {status}")


def test_an_answer_may_not_be_long() -> None:
    assert failure(reply(b"x" * 1001)).reason == "the answer is longer than 1000 bytes"


def test_a_receiver_that_does_not_answer_in_time_is_tried_again() -> None:
    found = failure(slowly(b"HTTP/1.1 200 OK\r\n", b"Content-Length: 0\r\n\r\n", pause=3), seconds=0.3)
    assert (found.permanent, found.reason) == (False, "no answer within the time of one attempt")


def test_a_receiver_that_hangs_up_is_tried_again() -> None:
    assert not failure(slowly(b"", pause=0)).permanent


def test_a_receiver_that_is_not_there_is_tried_again() -> None:
    with pytest.raises(SendingFailed) as caught:
        CHANNEL.send(event(hook("http://127.0.0.1:1/in?key=hidden-key")), soon())
    assert (caught.value.permanent, caught.value.reason) == (False, "Connection refused")


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1/", "http://localhost/", "http://10.1.2.3/", "http://169.254.169.254/x", "http://[::1]/",
     "http://[::ffff:10.0.0.1]/"],
)  # fmt: skip
def test_an_address_inside_is_refused_however_it_is_written(address: str) -> None:
    channel = WebhookChannel(posting(policy=AddressPolicy()))
    with pytest.raises(SendingFailed) as caught:
        channel.send(event(hook(address)), soon())
    assert caught.value.permanent
    assert "an address that is not public" in caught.value.reason


@pytest.mark.parametrize(
    ("address", "key"),
    [
        ("", "channel.address_missing"),
        ("ftp://example.org/", "channel.address_no_url"),
        ("example.org/in", "channel.address_no_url"),
        ("https:///in", "channel.address_no_url"),
        ("https://u:p@example.org/", "channel.address_no_url"),
        ("https://example.org/a\nb", "channel.address_no_url"),
        ("https://[::1", "channel.address_no_url"),
        ("https://example.org:x/", "channel.address_no_url"),
        ("https://10.0.0.1/in", "channel.address_denied"),
    ],
)
def test_an_address_is_looked_at_before_it_is_stored(address: str, key: str) -> None:
    assert [(one.path, one.key) for one in CHANNEL.check(hook(address))] == [("address", key)]


def test_a_secret_is_needed() -> None:
    good = "https://example.org/in"
    assert CHANNEL.check(hook(good)) == []
    for secret in (None, "short"):
        (problem,) = CHANNEL.check(endpoint(ChannelKind.WEBHOOK, good, secret))
        assert (problem.path, problem.key, problem.params) == ("secret", "channel.secret_short", {"minimum": 16})
