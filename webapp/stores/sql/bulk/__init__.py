"""Many rows at once: copies of patterns for trials and benches (spec 8, ``demo fill``)."""

from webapp.stores.sql.bulk.loading import SqlBulk

__all__ = ["SqlBulk"]
