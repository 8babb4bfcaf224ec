"""``audit verify``: proves that the trail is as it was sealed, or says where it is not (spec 13)."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime

import click
from flask.cli import AppGroup

from webapp.cli.refusals import refusals_shown
from webapp.engine.instances.seals import AuditHead
from webapp.services.audit import Verification
from webapp.web.deps import installation, services
from webapp.web.i18n import LANGUAGES, Language

audit = AppGroup("audit", help="The audit trail.")

_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")


@audit.command("verify")
@click.option("--tenant", "tenants", multiple=True, help="Check this tenant's trail, may be repeated. Default: all.")
@click.option("--platform", is_flag=True, help="Check the platform's trail.")
@click.option("--head", "noted", help="A head noted earlier, NUMBER:HASH: the trail must still lead to it.")
@click.option("--language", "lang", type=click.Choice(LANGUAGES), default="en", help="The language of the report.")
@refusals_shown
def verify(tenants: tuple[str, ...], platform: bool, noted: str | None, lang: Language) -> None:
    """Check the chain of the audit trail and its heads; exit with 1 when a row was changed, removed, put in or moved.

    Rows that no job has sealed yet are counted and not checked. Note the head that is printed at a place that whoever
    can change the database cannot change: with it even a trail that was deleted as a whole is found out.
    """
    chosen = [*([None] if platform else []), *tenants]
    catalog = installation().catalog
    if noted is not None and len(chosen) != 1:
        raise click.UsageError(catalog.text("audit.head_of_one", lang=lang))
    head = None if noted is None else _head(noted, lang)
    partitions = chosen or services().audit.partitions()
    if not partitions:
        click.echo(catalog.text("audit.none", lang=lang))
    whole = True
    for partition in partitions:
        found = services().audit.verify(partition, head)
        whole = whole and found.is_whole
        for line in _lines(found, lang):
            click.echo(line)
    if not whole:
        sys.exit(1)


def _head(text: str, lang: Language) -> AuditHead:
    match = _HEAD.fullmatch(text)
    if match is None:
        raise click.UsageError(installation().catalog.text("audit.head_unreadable", {"text": text}, lang))
    return AuditHead(seal_number=int(match[1]), hash=match[2], at=installation().now())


def _lines(found: Verification, lang: Language) -> list[str]:
    catalog, lines = installation().catalog, []
    name = (
        catalog.text("audit.partition.platform", lang=lang)
        if found.partition is None
        else catalog.text("audit.partition.tenant", {"tenant": found.partition}, lang)
    )

    def say(key: str, **values: object) -> None:
        lines.append(catalog.text(key, {"partition": name, **values}, lang))

    broken = found.broken
    if broken is None:
        say("audit.checked", rows=found.rows, heads=found.heads)
    else:
        since = broken.since or 0
        say(
            f"audit.broken.{broken.kind}", number=broken.number, id=broken.row_id or "?", before=found.rows, since=since
        )
    if found.head is None:
        say("audit.head_none")
    else:
        head = found.head
        say("audit.head", number=head.seal_number, hash=head.hash, at=_moment(head.at))
    if found.unsealed.count:
        say("audit.unsealed", count=found.unsealed.count, at=_moment(found.unsealed.oldest))
    return lines


def _moment(at: datetime | None) -> str:
    """Return an instant as it is printed; one that nobody can read was changed in the database."""
    return "?" if at is None else at.astimezone(UTC).isoformat()
