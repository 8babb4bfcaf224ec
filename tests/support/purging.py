"""Getting rid of all that has ended, between the lives of one installation."""

from __future__ import annotations

from datetime import datetime

from tests.support.stores import StoreSet
from webapp.engine.ports.purge import PURGEABLE, PurgeWish


def purge_ended(stores: StoreSet, before: datetime) -> None:
    """Purge every tree of the platform that ended by then, however large."""
    wish = PurgeWish(before=before, statuses=PURGEABLE)
    with stores.stores.writing(None) as work:
        while trees := work.purges.pick(None, wish, trees=1_000, rows=100_000).trees:
            work.purges.take(None, trees, wish, before)
        while work.purges.sweep(None, 100_000, before).rows:
            pass
