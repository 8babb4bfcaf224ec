"""Fences: the tenants whose rows in this database are not to be changed, because they are disabled or lie elsewhere.

The table is empty but for them. What a writer asks of it locks no row, only the table, against the one who puts up a
fence (``fences``); backups and reads do not meet that lock.
"""

from __future__ import annotations

from sqlalchemy import (
    ColumnElement,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    bindparam,
    cast,
    literal_column,
    select,
)

from webapp.stores.sql.columns import METADATA, text
from webapp.stores.sql.dialects.errors import FENCED
from webapp.stores.sql.table_factory import TENANT_LENGTH

FENCES = Table(
    "fences", METADATA, text("tenant_id", required=True, length=TENANT_LENGTH), PrimaryKeyConstraint("tenant_id")
)

OF_TENANT = FENCES.c.tenant_id == bindparam("p_tenant", type_=Text())

IS_FENCED = select(FENCES.c.tenant_id).where(OF_TENANT).with_for_update(read=True, key_share=True)
"""Returns a row when there is a fence; until the transaction ends none can be put up."""

FAILS_FENCED = (
    select(cast(literal_column(f"'{FENCED}: '") + FENCES.c.tenant_id, Integer))
    .where(OF_TENANT)
    .with_for_update(read=True, key_share=True)
)
"""The same for PostgreSQL, where it travels with the commit: nobody looks at its answer, so a fence is an error."""


def is_unfenced(table: Table) -> ColumnElement[bool]:
    """Return the condition that there is no fence for the row's tenant."""
    return table.c.tenant_id.not_in(select(FENCES.c.tenant_id))
