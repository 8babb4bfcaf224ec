"""E-mail by SMTP (spec 10): one mail a message, a digest is one with several parts."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from functools import cached_property

from webapp.channels.mail_text import Mailbox, MailText, mailbox
from webapp.channels.posting import OUT_OF_TIME
from webapp.channels.reasons import masked
from webapp.channels.smtp import Conversation, MailServer, ServerRefuses
from webapp.engine.cancellation import CancellationToken
from webapp.engine.clock import Clock
from webapp.engine.errors import OperationCancelled, Problem
from webapp.engine.notifications.model import ChannelKind, Endpoint
from webapp.engine.ports.channels import OutgoingMessage, SendingFailed
from webapp.engine.ports.http import HttpFailure


class EmailChannel:
    """Hands mails to the installation's server; without one it is not ready.

    ``sender``: who mails come from. What the server answers for good to a recipient or a mail ends the delivery; what
    it answers to our greeting, login or sender may be put right in the settings, so that is tried again.
    """

    kind = ChannelKind.EMAIL

    def __init__(
        self,
        server: MailServer | None,
        sender: Mailbox | None,
        text: MailText,
        clock: Clock,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._server = server
        self._sender = sender
        self._text = text
        self._clock = clock
        self._given_tls = tls

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._given_tls or ssl.create_default_context()

    @property
    def ready(self) -> bool:
        """Whether there is a server and a sender."""
        return self._server is not None and self._sender is not None

    def check(self, endpoint: Endpoint) -> Sequence[Problem]:
        """Return nothing: the server stands in the settings, which are checked when the process starts."""
        return []

    def send(self, message: OutgoingMessage, cancellation: CancellationToken) -> str | None:
        """Send one mail; the receipt is what the server answered when it took it."""
        if self._server is None or self._sender is None:
            raise SendingFailed("no mail server is set")
        recipient = mailbox(message.address or "")
        if recipient is None:
            raise SendingFailed("the person has no valid e-mail address", permanent=True)
        try:
            receipt = self._send(message, self._server, self._sender, recipient, cancellation)
            return self._hide(message, recipient, receipt)
        except OperationCancelled as error:
            raise SendingFailed(OUT_OF_TIME) from error
        except ServerRefuses as error:
            raise SendingFailed(self._hide(message, recipient, str(error)), permanent=error.permanent) from error
        except (smtplib.SMTPException, HttpFailure, OSError, ValueError) as error:
            raise SendingFailed(self._hide(message, recipient, _said(error))) from error

    def _send(
        self,
        message: OutgoingMessage,
        server: MailServer,
        sender: Mailbox,
        recipient: Mailbox,
        cancellation: CancellationToken,
    ) -> str:
        mail = self._text.message(message, sender, recipient, self._clock.now())
        tls = None if server.security == "none" else self._tls
        with Conversation(server, cancellation, local_name=sender.host, tls=tls) as conversation:
            international = sender.international or recipient.international
            receipt = conversation.send(sender.spec, recipient.spec, mail.as_bytes(), international=international)
            try:
                conversation.bye()
            except (OperationCancelled, smtplib.SMTPException, OSError):
                return receipt  # it was taken, whatever comes after
            return receipt

    def _hide(self, message: OutgoingMessage, recipient: Mailbox, text: str) -> str:
        text = masked(text, message.endpoint, recipient.spec)
        secret = self._server.password if self._server else None
        return text.replace(secret, "***") if secret else text


def _said(error: Exception) -> str:
    match error:
        case smtplib.SMTPAuthenticationError():
            return f"the server refuses the login: {error.smtp_code}"
        case smtplib.SMTPResponseException():
            said = error.smtp_error
            return f"{error.smtp_code} {said.decode(errors='replace') if isinstance(said, bytes) else said}"
        case smtplib.SMTPServerDisconnected():
            return "the server hung up"
        case ssl.SSLCertVerificationError():
            return f"the server's certificate is not accepted: {error.verify_message}"
        case OSError():
            return error.strerror or str(error)
        case _:
            return str(error)
