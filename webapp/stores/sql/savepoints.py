"""Savepoints in SQL."""

from __future__ import annotations

from sqlalchemy import NestedTransaction
from sqlalchemy.exc import SQLAlchemyError

from webapp.stores.sql.database import Transaction, failure


class SqlSavepoint:
    """A SAVEPOINT of the transaction's connection."""

    def __init__(self, transaction: Transaction) -> None:
        try:
            self._nested: NestedTransaction = transaction.connection.begin_nested()
        except SQLAlchemyError as error:
            raise failure(error) from error

    def keep(self) -> None:
        """Release the savepoint."""
        try:
            self._nested.commit()
        except SQLAlchemyError as error:
            raise failure(error) from error

    def undo(self) -> None:
        """Roll back to the savepoint."""
        try:
            self._nested.rollback()
        except SQLAlchemyError as error:
            raise failure(error) from error
