"""Fixtures that every folder of tests may use."""

from tests.support.stores import migrated_postgresql, migrated_sqlite, stores

__all__ = ["migrated_postgresql", "migrated_sqlite", "stores"]
