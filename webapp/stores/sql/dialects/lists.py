"""Lists of texts as one parameter, so that a statement's text does not depend on how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Text, any_, bindparam, func, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql import ColumnElement

from webapp.engine.numbers import encode
from webapp.stores.sql.dialects.names import POSTGRESQL, SQLITE


def listed(dialect: str, values: Sequence[str]) -> Any:
    """Return a list of texts as a parameter for :func:`among` and :func:`each`."""
    return encode(list(values)).decode() if dialect == SQLITE else list(values)


def among(dialect: str, column: ColumnElement[Any], name: str) -> ColumnElement[bool]:
    """Return the condition that a text column has one of the values of a parameter made by :func:`listed`."""
    if dialect == POSTGRESQL:
        return column == any_(bindparam(name, type_=postgresql.ARRAY(Text())))
    values = each(dialect, name)
    if values is not None:
        return column.in_(select(values))
    # MariaDB's tables made of JSON know nothing of the indexes of what they are compared with.
    return column.in_(bindparam(name, expanding=True))


def each(dialect: str, name: str) -> ColumnElement[Any] | None:
    """Return the column of the values of a parameter made by :func:`listed`, a row each; MariaDB has none."""
    if dialect == POSTGRESQL:
        return func.unnest(bindparam(name, type_=postgresql.ARRAY(Text()))).column_valued("listed")
    if dialect == SQLITE:
        return func.json_each(bindparam(name, type_=Text())).table_valued("value", name="listed").c.value
    return None
