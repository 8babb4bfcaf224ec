"""One conversation with a mail server, over a connection that can be given up at any moment."""

from __future__ import annotations

import smtplib
import ssl
from dataclasses import dataclass, field
from typing import Literal

from webapp.channels.wire import Wire, dial
from webapp.engine.cancellation import CancellationToken

Security = Literal["none", "starttls", "tls"]

_READY = 220
_TAKEN = 250
_ALSO_TAKEN = 251


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where mail is handed in. ``user`` None: without a login."""

    host: str
    port: int
    security: Security
    user: str | None = None
    password: str | None = field(default=None, repr=False)


class ServerRefuses(Exception):
    """The server said no. ``permanent``: to this mail or its recipient, for good."""

    def __init__(self, code: int, said: str, *, permanent: bool) -> None:
        self.permanent = permanent
        super().__init__(f"{code} {said}")


class Conversation:
    """Greets, secures, logs in; a ``with`` block around one mail or several."""

    def __init__(
        self, server: MailServer, token: CancellationToken, *, local_name: str, tls: ssl.SSLContext | None
    ) -> None:
        # The server stands in the installation's own settings: no policy of addresses is asked.
        self._wire: Wire = dial(server.host, server.port, token, policy=None, tls=self._first_tls(server, tls))
        self._smtp = smtplib.SMTP(local_hostname=local_name)
        self._smtp.sock = self._wire  # type: ignore[assignment]  # it has all that smtplib asks of one
        try:
            self._greet(server, tls)
        except BaseException:
            self._wire.shut()
            raise

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self._wire.shut()

    def send(self, sender: str, recipient: str, mail: bytes, *, international: bool) -> str:
        """Hand in one mail and return the server's last words.

        :raises ServerRefuses: it does not take it. :raises OSError, smtplib.SMTPException: the connection broke.
        """
        options = ["SMTPUTF8"] if international else []
        if international and not self._smtp.has_extn("smtputf8"):
            raise ServerRefuses(550, "the server takes no addresses in other scripts", permanent=True)
        if self._smtp.has_extn("size"):
            options.append(f"SIZE={len(mail)}")
        self._expect(self._smtp.mail(sender, options), permanent=False)
        self._expect(self._smtp.rcpt(recipient), permanent=True)
        try:
            answer = self._smtp.data(mail)
        except smtplib.SMTPDataError as error:
            answer = error.smtp_code, _bytes(error.smtp_error)
        code, said = self._expect(answer, permanent=True)
        return f"{code} {said}"

    def bye(self) -> None:
        """Take leave; what the server says to that does not matter any more."""
        self._smtp.putcmd("QUIT")

    @staticmethod
    def _first_tls(server: MailServer, tls: ssl.SSLContext | None) -> ssl.SSLContext | None:
        return tls if server.security == "tls" else None

    def _greet(self, server: MailServer, tls: ssl.SSLContext | None) -> None:
        self._expect(self._smtp.getreply(), permanent=False, wanted=(_READY,))
        self._smtp.ehlo_or_helo_if_needed()
        if server.security == "starttls" and tls is not None:
            self._start_tls(server.host, tls)
        if server.user is not None:
            try:
                self._smtp.login(server.user, server.password or "")
            except smtplib.SMTPNotSupportedError as error:
                raise ServerRefuses(503, "the server offers no login", permanent=False) from error

    def _start_tls(self, host: str, tls: ssl.SSLContext) -> None:
        if not self._smtp.has_extn("starttls"):
            # Never without: whoever sits in between could take the offer out.
            raise ServerRefuses(502, "the server offers no STARTTLS", permanent=False)
        self._expect(self._smtp.docmd("STARTTLS"), permanent=False, wanted=(_READY,))
        self._wire.secure(tls, host)
        # Nothing that was said before counts, not even what lies in the reader's buffer.
        self._smtp.file = None
        self._smtp.helo_resp = self._smtp.ehlo_resp = None
        self._smtp.esmtp_features = {}
        self._smtp.ehlo_or_helo_if_needed()

    @staticmethod
    def _expect(
        answer: tuple[int, bytes], *, permanent: bool, wanted: tuple[int, ...] = (_TAKEN, _ALSO_TAKEN)
    ) -> tuple[int, str]:
        code, text = answer
        said = text.decode(errors="replace")
        if code not in wanted:
            raise ServerRefuses(code, said, permanent=permanent and 500 <= code < 600)
        return code, said


def _bytes(said: bytes | str) -> bytes:
    return said if isinstance(said, bytes) else said.encode()
