"""E-mail against real servers on the loopback (spec 10)."""

from __future__ import annotations

import logging
import re
import socket
import ssl
import time
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import FakeClock
from tests.support.http_server import ScriptedServer
from tests.support.mail_server import PASSWORD, USER, MailHandler, certificate, mail_server
from tests.support.outgoing import LINK, TASK, endpoint, event, notice, soon
from webapp.channels.email import EmailChannel
from webapp.channels.mail_text import MailText, mailbox
from webapp.channels.smtp import MailServer, Security
from webapp.engine.notifications.model import ChannelKind
from webapp.engine.ports.channels import OutgoingMessage, Part, SendingFailed
from webapp.messages.catalog import Catalog

TEMPLATES = Path(__file__).parents[2] / "templates"
TEXT = MailText(Catalog.load(strict=True), TEMPLATES)
TO = endpoint(ChannelKind.EMAIL)


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    return certificate(tmp_path_factory.mktemp("tls"))


def channel(
    port: int,
    security: Security = "none",
    trusted: ssl.SSLContext | None = None,
    *,
    host: str = "127.0.0.1",
    password: str | None = None,
    sender: str = "Waypost Flow <waypost@example.org>",
) -> EmailChannel:
    user = USER if password else None
    server = MailServer(host=host, port=port, security=security, user=user, password=password)
    return EmailChannel(server, mailbox(sender), TEXT, FakeClock(), tls=trusted)


def anna(*parts: Part, **more: Any) -> OutgoingMessage:
    return notice(TO, *parts, **{"address": "anna@example.org", **more})


def sent(message: OutgoingMessage, **more: Any) -> EmailMessage:
    handler = MailHandler()
    with mail_server(handler) as port:
        channel(port, **more).send(message, soon())
    (mail,) = handler.messages
    return mail


def failure(sending: Callable[[], object]) -> SendingFailed:
    with pytest.raises(SendingFailed) as caught:
        sending()
    assert PASSWORD not in caught.value.reason
    assert "anna@example.org" not in caught.value.reason
    return caught.value


def body(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


# --- what a mail is -------------------------------------------------------------------------------


def test_a_mail_has_texts_headers_and_a_link_and_the_servers_word_is_the_receipt() -> None:
    handler = MailHandler()
    with mail_server(handler) as port:
        receipt = channel(port).send(anna(), soon())
    assert receipt == "250 2.0.0 Ok: queued as 4F3A1"
    (envelope,), (mail,) = handler.mails, handler.messages
    assert (envelope.mail_from, envelope.rcpt_tos) == ("waypost@example.org", ["anna@example.org"])
    assert {name: str(mail[name]) for name in ("From", "To", "Subject", "Message-ID", "X-Delivery-Id")} == {
        "From": "Waypost Flow <waypost@example.org>",
        "To": "anna@example.org",
        "Subject": "New task: Leave of Anna",
        "Message-ID": "<d-1@example.org>",
        "X-Delivery-Id": "d-1",
    }
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Date"] == "Thu, 16 Jul 2026 08:00:00 +0000"
    assert mail.get_content_type() == "multipart/alternative"
    plain, html = body(mail, "plain"), body(mail, "html")
    assert plain.startswith(f"{TASK.title}\n\nAnna asks for 3 days.\nPlease decide.\n\nOpen:\n{LINK}\n\n-- \n")
    assert '<html lang="en">' in html
    assert f'<a class="open" href="{LINK}">Open</a>' in html
    assert f'<a href="{LINK}">{LINK}</a>' in html


def test_a_mail_speaks_the_language_of_who_gets_it() -> None:
    mail = sent(anna(Part(title="新任务：审批", body="请审批。", link=LINK), language="zh"))
    assert mail["Subject"] == "新任务：审批"
    assert '<html lang="zh-CN">' in body(mail, "html")
    assert ">打开</a>" in body(mail, "html")
    assert "如果按钮没有反应" in body(mail, "html")
    assert "打开:\n" in body(mail, "plain")
    assert ">Open</a>" in body(sent(anna(language="xx")), "html")


def test_a_digest_is_one_mail_with_every_part() -> None:
    parts = [Part(title=f"Task {n}", body=f"body {n}", link=f"{LINK}{n}") for n in range(3)]
    mail = sent(anna(*parts, subject="3 notices"))
    assert mail["Subject"] == "3 notices"
    for text in (body(mail, "plain"), body(mail, "html")):
        for part in parts:
            assert part.title in text and part.body in text and str(part.link) in text


def test_without_a_link_there_is_no_button() -> None:
    mail = sent(anna(Part(title="Done", body="It is over.")))
    assert 'class="open"' not in body(mail, "html")
    assert "None" not in body(mail, "html") + body(mail, "plain")


def test_an_event_can_go_by_mail_too() -> None:
    message = event(TO)
    mail = sent(OutgoingMessage(**{**_fields(message), "address": "ops@example.org"}))
    assert mail["Subject"] == "workflow.task.created"
    assert "taskId: t-1" in body(mail, "plain")


def _fields(message: OutgoingMessage) -> dict[str, Any]:
    return {name: getattr(message, name) for name in message.__struct_fields__}


def test_each_attempt_is_the_same_mail() -> None:
    one, two = sent(anna(attempt=1)), sent(anna(attempt=2))
    assert one["Message-ID"] == two["Message-ID"]
    assert body(one, "plain") == body(two, "plain")


# --- hostile texts --------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\x0b", "\u2028", "\x00", "\x85"])
def test_a_title_makes_no_header(end: str) -> None:
    mail = sent(anna(Part(title=f"Hello{end}Bcc: eve@example.org{end}{end}Body", body="x"), subject=f"Hi{end}Bcc: e@e"))
    assert mail["Subject"] == "Hi Bcc: e@e"
    assert mail["Bcc"] is None


def test_a_long_title_is_cut_and_a_body_ends_no_mail_early() -> None:
    mail = sent(anna(Part(title="t" * 500, body="one\r\n.\r\nQUIT\r\n.two"), subject=""))
    assert mail["Subject"] == "t" * 199 + "…"
    assert body(mail, "plain").splitlines()[2:6] == ["one", ".", "QUIT", ".two"]


@pytest.mark.parametrize("of_event", [True, False])
def test_nothing_hidden_gets_into_a_mail(of_event: bool) -> None:
    hidden = ("\u202e", "\u2066", "\u0007", "\u0085", "\u2028", "\ud800")
    tricky = "".join(f"a{mark}b" for mark in hidden)
    told = anna(Part(title=tricky, body=f"first{tricky}\nsecond"), subject=tricky)
    happened = OutgoingMessage(
        **{**_fields(event(TO, comment=f"{tricky}\noutcome: approved")), "address": "anna@example.org"}
    )
    mail = sent(happened if of_event else told)
    for text in (body(mail, "plain"), body(mail, "html"), str(mail["Subject"])):
        assert not [mark for mark in hidden if mark in text]
    assert "ab" in body(mail, "plain")
    assert not of_event or "\noutcome" not in body(mail, "plain")


def test_html_is_escaped() -> None:
    html = body(sent(anna(Part(title="<b>x</b>", body="<script>alert(1)</script>", link='https://h/"><i>'))), "html")
    assert "<script>" not in html and "<b>" not in html and "<i>" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    "address",
    ["", "anna", "@example.org", "anna@", "anna@@example.org", "a b@example.org", "anna@exa mple.org",
     "anna@example.org\r\nRCPT TO:<eve@example.org>", "anna@example.org, eve@example.org",
     "<anna@example.org>,eve@e.org",
     "anna@example..org", "a" * 250 + "@example.org", "an\x00na@example.org"],
)  # fmt: skip
def test_an_address_that_is_none_is_given_up_without_asking_the_server(address: str) -> None:
    found = failure(lambda: channel(1).send(notice(TO, address=address), soon()))
    assert (found.permanent, found.reason) == (True, "the person has no valid e-mail address")


# --- the world's addresses ------------------------------------------------------------------------


def test_a_host_in_another_script_is_told_in_that_of_dns() -> None:
    handler = MailHandler()
    with mail_server(handler, international=False) as port:
        channel(port).send(notice(TO, address="anna@bücher.example"), soon())
    assert handler.mails[0].rcpt_tos == ["anna@xn--bcher-kva.example"]


def test_a_name_in_another_script_needs_a_server_that_takes_it() -> None:
    handler = MailHandler()
    with mail_server(handler) as port:
        channel(port).send(notice(TO, address="用户@example.org"), soon())
    assert handler.mails[0].rcpt_tos == ["用户@example.org"]
    assert "SMTPUTF8" in handler.mails[0].mail_options
    with mail_server(handler, international=False) as port:
        found = failure(lambda: channel(port).send(notice(TO, address="用户@example.org"), soon()))
    assert (found.permanent, found.reason) == (True, "550 the server takes no addresses in other scripts")
    assert len(handler.mails) == 1


def test_the_senders_name_may_be_in_any_script() -> None:
    assert str(sent(anna(), sender="流程中心 <flow@example.org>")["From"]) == "流程中心 <flow@example.org>"


# --- security -------------------------------------------------------------------------------------


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_mail_goes_over_tls_with_a_login(tls: tuple[ssl.SSLContext, ssl.SSLContext], security: Security) -> None:
    server, trusted = tls
    handler = MailHandler()
    how = {"starttls": server, "login": True} if security == "starttls" else {"implicit": server}
    with mail_server(handler, **how) as port:  # type: ignore[arg-type]  # by name
        channel(port, security, trusted, password=PASSWORD if security == "starttls" else None).send(anna(), soon())
    assert handler.secured == [True]
    assert handler.users == [USER if security == "starttls" else None]


def test_a_login_that_is_refused_is_tried_again() -> None:
    handler = MailHandler()
    with mail_server(handler, login=True) as port:
        channel(port, password=PASSWORD).send(anna(), soon())
        found = failure(lambda: channel(port, password="wrong-word").send(anna(), soon()))
    assert handler.users == [USER]
    assert (found.permanent, found.reason) == (False, "the server refuses the login: 535")


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_certificate_that_nobody_vouches_for_is_not_accepted(
    tls: tuple[ssl.SSLContext, ssl.SSLContext], security: Security
) -> None:
    handler = MailHandler()
    how = {"starttls": tls[0]} if security == "starttls" else {"implicit": tls[0]}
    with mail_server(handler, **how) as port:
        found = failure(lambda: channel(port, security, ssl.create_default_context()).send(anna(), soon()))
    assert not found.permanent
    assert found.reason.startswith("the server's certificate is not accepted")
    assert handler.mails == []


def test_without_starttls_nothing_is_said_at_all(tls: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    handler = MailHandler()
    with mail_server(handler) as port:
        found = failure(lambda: channel(port, "starttls", tls[1], password=PASSWORD).send(anna(), soon()))
    assert (found.permanent, found.reason) == (False, "502 the server offers no STARTTLS")
    assert handler.mails == []


def test_a_server_without_login_is_told_so() -> None:
    with mail_server(MailHandler()) as port:
        found = failure(lambda: channel(port, password=PASSWORD).send(anna(), soon()))
    assert (found.permanent, found.reason) == (False, "503 the server offers no login")


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "answer", "permanent"),
    [
        ("RCPT", "550 5.1.1 <{address}>: no such user", True),
        ("RCPT", "450 4.2.1 <{address}>: mailbox busy", False),
        ("RCPT", "421 going down", False),
        ("DATA", "554 5.7.1 looks like spam", True),
        ("DATA", "451 try later", False),
        ("MAIL", "553 5.7.1 sender not allowed", False),
        ("MAIL", "451 not now", False),
    ],
)
def test_what_a_server_refuses_for_good_is_given_up_unless_it_is_our_own_fault(
    command: str, answer: str, permanent: bool
) -> None:
    with mail_server(MailHandler({command: answer})) as port:
        found = failure(lambda: channel(port).send(anna(), soon()))
    assert (found.permanent, found.reason) == (permanent, answer.format(address="a***@example.org"))


def talk(*lines: bytes) -> Callable[[str, socket.socket], None]:
    def answer(request: str, connection: socket.socket) -> None:
        raise AssertionError("a mail server speaks first")

    return answer


class Script(ScriptedServer):
    """A server that says what a test wrote down, one line for each that it gets, and then does nothing or hangs up."""

    def __init__(self, *lines: bytes, then: float = 0) -> None:
        self._lines, self._then = lines, then
        super().__init__(talk())

    def _exchange(self, connection: socket.socket) -> None:
        for line in self._lines:
            connection.sendall(line)
            connection.recv(65536)
        time.sleep(self._then)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ((), "the server hung up"),
        ((b"220 hello\r\n",), "the server hung up"),
        ((b"220 hello\r\n", b"250 h\r\n", b"250 OK\r\n"), "the server hung up"),
        ((b"220 hello\r\n", b"250 h\r\n", b"250 OK\r\n", b"250 OK\r\n", b"354 go\r\n"), "the server hung up"),
        ((b"554 no service\r\n",), "554 no service"),
        ((b"HTTP/1.1 400 Bad Request\r\n",), "-1 "),
        ((b"220 hello\r\n", b"500 what\r\n", b"500 what\r\n"), "500 what"),
    ],
)
def test_a_server_that_breaks_off_is_tried_again(lines: tuple[bytes, ...], reason: str) -> None:
    server = Script(*lines)
    try:
        found = failure(lambda: channel(server.port).send(anna(), soon()))
    finally:
        server.close()
    assert (found.permanent, found.reason[: len(reason)].rstrip()) == (False, reason.rstrip())


@pytest.mark.parametrize("lines", [(), (b"220 hello\r\n", b"250 h\r\n"), (b"220 hel",)])
def test_a_slow_server_holds_nobody_longer_than_the_attempt_may_take(lines: tuple[bytes, ...]) -> None:
    server = Script(*lines, then=3)
    try:
        begun = time.monotonic()
        found = failure(lambda: channel(server.port).send(anna(), soon(0.4)))
        assert time.monotonic() - begun < 10
    finally:
        server.close()
    assert (found.permanent, found.reason) == (False, "no answer within the time of one attempt")


def test_a_mail_that_was_taken_is_sent_however_the_leave_goes() -> None:
    taken = (b"220 hello\r\n", b"250 h\r\n", b"250 OK\r\n", b"250 OK\r\n", b"354 go\r\n", b"250 queued as 1\r\n")
    server = Script(*taken)
    try:
        assert channel(server.port).send(anna(), soon()) == "250 queued as 1"
    finally:
        server.close()


def test_a_server_that_is_not_there_is_tried_again() -> None:
    found = failure(lambda: channel(1).send(anna(), soon()))
    assert (found.permanent, found.reason) == (False, "Connection refused")


def test_without_a_server_the_channel_is_not_ready() -> None:
    none = EmailChannel(None, None, TEXT, FakeClock())
    assert not none.ready
    assert not failure(lambda: none.send(anna(), soon())).permanent
    assert channel(25).ready
    assert channel(25).check(TO) == []


def test_nothing_of_a_mail_comes_into_the_log(
    caplog: pytest.LogCaptureFixture, tls: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    with caplog.at_level(logging.DEBUG), mail_server(MailHandler(), starttls=tls[0], login=True) as port:
        channel(port, "starttls", tls[1], password=PASSWORD).send(anna(), soon())
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("mail"))
    assert not re.search(f"{PASSWORD}|anna|Leave of", ours)
    assert PASSWORD not in repr(MailServer(host="h", port=1, security="none", user="u", password=PASSWORD))
