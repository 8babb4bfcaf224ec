"""The filters of the monitor's list as an address has them; a batch is made over the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo
from typing import Final

from webapp.engine.instances.model import InstanceStatus
from webapp.services.queries import InstanceQuery
from webapp.web.listing import read_choice, read_day, read_integer, read_paging

STATUSES: Final = [status.value for status in InstanceStatus]
DAYS: Final = ("createdFrom", "createdTo", "endedFrom", "endedTo")
MORE: Final = ("version", "correlation", "starter", *DAYS)
FILTERS: Final = ("keyword", "definition", "children", *MORE)


def read_query(args: Mapping[str, str], zone: tzinfo) -> InstanceQuery:
    """Return the query that an address asks for. :raises InputInvalid: a filter that cannot be read."""
    status = read_choice(args, "status", STATUSES)
    return InstanceQuery(
        statuses=(InstanceStatus(status),) if status else (),
        keyword=args.get("keyword", "").strip() or None,
        definition_name=args.get("definition", "").strip() or None,
        definition_version=read_integer(args, "version", 0) or None,
        correlation_id=args.get("correlation", "").strip() or None,
        starter_id=args.get("starter", "").strip() or None,
        top_level_only=args.get("children") != "1",
        created_from=read_day(args, "createdFrom", zone),
        created_to=read_day(args, "createdTo", zone, end=True),
        ended_from=read_day(args, "endedFrom", zone),
        ended_to=read_day(args, "endedTo", zone, end=True),
        paging=read_paging(args, "-createdAt"),
    )
