"""Why a delivery did not go out, where the reason is the house's own and not the other side's (spec 10).

They stand in attempts and deliveries as keys of the catalogue, so that each reader gets them in the own language; what
a channel says of the other side is kept as it was said.
"""

from __future__ import annotations

from typing import Final

ENDPOINT_DELETED: Final = "deliveries.reason.endpoint_deleted"
ENDPOINT_DISABLED: Final = "deliveries.reason.endpoint_disabled"
CHANNEL_NOT_READY: Final = "deliveries.reason.channel_not_ready"
ACCOUNT_DISABLED: Final = "deliveries.reason.account_disabled"
NO_ANSWER: Final = "deliveries.reason.no_answer"
FAILED_INSIDE: Final = "deliveries.reason.failed_inside"
SECRET_UNREADABLE: Final = "deliveries.reason.secret_unreadable"  # noqa: S105  # a message key
PROCESS_LOST: Final = "deliveries.reason.process_lost"

REASONS: Final = (
    ENDPOINT_DELETED,
    ENDPOINT_DISABLED,
    CHANNEL_NOT_READY,
    ACCOUNT_DISABLED,
    NO_ANSWER,
    FAILED_INSIDE,
    SECRET_UNREADABLE,
    PROCESS_LOST,
)
