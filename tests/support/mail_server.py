"""A mail server on the loopback that keeps what it is given, or answers as a test wants it to."""

from __future__ import annotations

import ssl
import subprocess
from asyncio import Server
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

USER, PASSWORD = "sender", "sesame-mail"


class MailHandler:
    """``mails`` holds what was taken; ``refusals`` maps a command to the answer that it gets instead."""

    def __init__(self, refusals: dict[str, str] | None = None) -> None:
        self.mails: list[Envelope] = []
        self.secured: list[bool] = []
        self.users: list[str | None] = []
        self.refusals = refusals or {}
        self._read: list[tuple[Envelope, EmailMessage]] = []

    @property
    def messages(self) -> list[EmailMessage]:
        """What was taken, read as mail programs do: each once, as aiosmtpd asks for it at each greeting."""
        if self.mails[: len(self._read)] != [mail for mail, _ in self._read]:
            self._read = []
        for mail in self.mails[len(self._read) :]:
            self._read.append((mail, message_from_bytes(mail.original_content or b"", policy=policy.default)))
        return [message for _, message in self._read]

    async def handle_MAIL(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any) -> str:
        """Take the sender, or not."""
        if "MAIL" in self.refusals:
            return self.refusals["MAIL"]
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server: SMTP, session: Session, envelope: Envelope, address: str, options: Any) -> str:
        """Take the recipient, or not."""
        if "RCPT" in self.refusals:
            return self.refusals["RCPT"].format(address=address)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        """Take the mail, or not."""
        if "DATA" in self.refusals:
            return self.refusals["DATA"]
        self.mails.append(envelope)
        assert server.transport is not None
        data: Any = session.auth_data
        self.secured.append(server.transport.get_extra_info("ssl_object") is not None)
        self.users.append(data.login.decode() if isinstance(data, LoginPassword) else None)
        return "250 2.0.0 Ok: queued as 4F3A1"


def _authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
    good = isinstance(data, LoginPassword) and (data.login, data.password) == (USER.encode(), PASSWORD.encode())
    return AuthResult(success=good, handled=False, auth_data=data)


class _Controller(Controller):
    def __init__(self, handler: MailHandler, *, implicit: ssl.SSLContext | None, port: int, **server: Any) -> None:
        super().__init__(handler, hostname="127.0.0.1", port=port, ssl_context=implicit, **server)

    def _trigger_server(self) -> None:
        # The port is the system's choice; aiosmtpd would call port 0.
        assert isinstance(self.server, Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]  # its package is typed in parts


@contextmanager
def mail_server(
    handler: MailHandler,
    *,
    implicit: ssl.SSLContext | None = None,
    starttls: ssl.SSLContext | None = None,
    login: bool = False,
    international: bool = True,
    port: int = 0,
) -> Iterator[int]:
    """Run a server while the block runs; yields its port, which is *port* where one was before."""
    more: dict[str, Any] = {"tls_context": starttls} if starttls else {}
    if login:
        secured = starttls is not None
        more |= {"authenticator": _authenticate, "auth_required": secured, "auth_require_tls": secured}
    controller = _Controller(handler, implicit=implicit, port=port, enable_SMTPUTF8=international, **more)
    controller.start()
    try:
        yield controller.port
    finally:
        controller.stop()


def certificate(folder: Path, names: str = "DNS:localhost,IP:127.0.0.1") -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Make a certificate, for this machine; return a server's context and that of a client who trusts it."""
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", f"subjectAltName={names}", "-keyout", str(key), "-out", str(cert)],
        check=True,
        capture_output=True,
    )  # fmt: skip
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(cert, key)
    return server, ssl.create_default_context(cafile=str(cert))
