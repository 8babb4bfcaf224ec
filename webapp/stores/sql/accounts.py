"""Accounts, roles, tokens and tenants in SQL; each method is a transaction of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, bindparam, delete, insert, or_, select, update

from webapp.accounts.model import Account, Substitution, Tenant, Token
from webapp.engine.numbers import decode, encode
from webapp.stores.keywords import fold, fold_keyword
from webapp.stores.rows import Columns
from webapp.stores.sql.database import Database, Transaction
from webapp.stores.sql.dialects import Instant, upsert
from webapp.stores.sql.platform_tables import ACCOUNT_ROLES, ACCOUNTS, ROLES, SUBSTITUTIONS, TENANTS, TOKENS

_WITH_ROLES = ACCOUNTS.outerjoin(ACCOUNT_ROLES)
_BY_ROLE = ACCOUNT_ROLES.c.role_name


def _accounts(*conditions: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    return select(*ACCOUNTS.c, _BY_ROLE).select_from(_WITH_ROLES).where(*conditions).order_by(ACCOUNTS.c.name, _BY_ROLE)


_FIND = _accounts(ACCOUNTS.c.id == bindparam("p_id"))
_FIND_BY_NAME = _accounts(ACCOUNTS.c.name == bindparam("p_name"))
_ALL = _accounts()
_OF_TENANT = _accounts(ACCOUNTS.c.tenant_id.is_not_distinct_from(bindparam("p_tenant", type_=ACCOUNTS.c.id.type)))
_INSERT = insert(ACCOUNTS)
_UPDATE = update(ACCOUNTS).where(ACCOUNTS.c.id == bindparam("p_id"))
_TOUCH = _UPDATE.values(last_seen_at=bindparam("p_at", type_=Instant()))
_LEAVE_ROLES = delete(ACCOUNT_ROLES).where(ACCOUNT_ROLES.c.account_id == bindparam("p_id"))
_TAKE_ROLE = insert(ACCOUNT_ROLES)
_NAMES = select(ACCOUNTS.c.name, ACCOUNTS.c.display_name).where(
    ACCOUNTS.c.name.in_(bindparam("p_names", expanding=True)),
    ACCOUNTS.c.tenant_id.is_not_distinct_from(bindparam("p_tenant", type_=ACCOUNTS.c.id.type)),
)
_S = SUBSTITUTIONS.c
_SAME_TENANT = _S.tenant_id.is_not_distinct_from(bindparam("p_tenant", type_=_S.tenant_id.type))
_SUBSTITUTIONS = select(*_S).order_by(_S.starts_at, _S.id)
_FIND_SUBSTITUTION = _SUBSTITUTIONS.where(_SAME_TENANT, _S.id == bindparam("p_id"))
_SUBSTITUTIONS_OF_TENANT = _SUBSTITUTIONS.where(_SAME_TENANT)
_SUBSTITUTIONS_OF_ACCOUNT = _SUBSTITUTIONS_OF_TENANT.where(
    or_(_S.absent_id == bindparam("p_account"), _S.substitute_id == bindparam("p_account"))
)
_SUBSTITUTIONS_AFTER = _SUBSTITUTIONS.where(_S.ends_at > bindparam("p_at", type_=Instant()))
_INSERT_SUBSTITUTION = insert(SUBSTITUTIONS)
_DELETE_SUBSTITUTION = delete(SUBSTITUTIONS).where(_SAME_TENANT, _S.id == bindparam("p_id"))
_INSERT_TOKEN = insert(TOKENS)
_TOKEN_COLUMNS = [column.label(f"token_{column.name}") for column in TOKENS.c]
_FIND_TOKEN = (
    select(*_TOKEN_COLUMNS, *ACCOUNTS.c, _BY_ROLE)
    .select_from(TOKENS.join(ACCOUNTS).outerjoin(ACCOUNT_ROLES, ACCOUNT_ROLES.c.account_id == ACCOUNTS.c.id))
    .where(TOKENS.c.token_hash == bindparam("p_hash"))
    .order_by(_BY_ROLE)
)
_TOKENS = (
    select(*TOKENS.c)
    .where(TOKENS.c.account_id == bindparam("p_id"))
    .order_by(TOKENS.c.created_at.desc(), TOKENS.c.id.desc())
)
_DELETE_TOKEN = delete(TOKENS).where(TOKENS.c.id == bindparam("p_token"), TOKENS.c.account_id == bindparam("p_id"))
_FIND_TENANT = select(*TENANTS.c).where(TENANTS.c.id == bindparam("p_id"))
_INSERT_TENANT = insert(TENANTS)
_UPDATE_TENANT = (
    update(TENANTS)
    .where(TENANTS.c.id == bindparam("p_id"))
    .values({column.name: bindparam(f"p_{column.name}", type_=column.type) for column in TENANTS.c})
)
_TENANTS = select(*TENANTS.c).order_by(TENANTS.c.id)


@lru_cache(maxsize=4)
def _ensure_role(dialect: str) -> Any:
    return upsert(dialect, ROLES, replace=False)


class SqlAccounts:
    """The account store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, account_id: str) -> Account | None:
        """Return the account with its roles, or None."""
        return self._one(_FIND, p_id=account_id)

    def find_by_name(self, name: str) -> Account | None:
        """Return the account with that login name, or None."""
        return self._one(_FIND_BY_NAME, p_name=name)

    def insert(self, account: Account) -> None:
        """Insert the account and its roles. :raises DuplicateRecord: the name is taken."""
        self.insert_all([account])

    def insert_all(self, accounts: Sequence[Account]) -> None:
        """Insert accounts and their roles, all or none. :raises DuplicateRecord: a name is taken."""
        if accounts:
            with self._database.writing() as transaction:
                transaction.write(_INSERT, [_row(account) for account in accounts])
                _take_roles(transaction, *accounts)

    def update(self, account: Account) -> None:
        """Replace the account's row and its roles."""
        with self._database.writing() as transaction:
            if transaction.write(_UPDATE, {**_row(account), "p_id": account.id}).rowcount:
                transaction.write(_LEAVE_ROLES, {"p_id": account.id})
                _take_roles(transaction, account)

    def touch(self, account_id: str, at: datetime) -> None:
        """Set lastSeenAt."""
        with self._database.writing() as transaction:
            transaction.write(_TOUCH, {"p_id": account_id, "p_at": at})

    def list(self, tenant_id: str | None, keyword: str | None = None, limit: int = 100) -> Sequence[Account]:
        """Return the partition's accounts by name."""
        folded = fold_keyword(keyword)
        with self._database.reading() as transaction:
            found = _grouped(transaction.read(_OF_TENANT, {"p_tenant": tenant_id}).mappings())
        matching = (
            account
            for account in found
            # Accounts have no folded column; a partition's are few enough to look through.
            if folded is None or folded in fold(account.name) or folded in fold(account.display_name)
        )
        return [account for account, _ in zip(matching, range(limit), strict=False)]

    def display_names(self, tenant_id: str | None, names: Collection[str]) -> dict[str, str]:
        """Return login name → shown name for those that exist."""
        if not names:
            return {}
        with self._database.reading() as transaction:
            found = transaction.read(_NAMES, {"p_names": sorted(set(names)), "p_tenant": tenant_id})
            return {name: display_name or name for name, display_name in found}

    def directory(self) -> Sequence[Account]:
        """Return all accounts without password hashes."""
        with self._database.reading() as transaction:
            found = _grouped(transaction.read(_ALL).mappings())
        return [msgspec.structs.replace(account, password_hash=None) for account in found]

    def insert_substitution(self, substitution: Substitution) -> None:
        """Store a substitution."""
        row = {**msgspec.structs.asdict(substitution), "definitions": encode(substitution.definitions).decode()}
        with self._database.writing() as transaction:
            transaction.write(_INSERT_SUBSTITUTION, row)

    def delete_substitution(self, tenant_id: str | None, substitution_id: str) -> None:
        """Delete a substitution of that partition."""
        with self._database.writing() as transaction:
            transaction.write(_DELETE_SUBSTITUTION, {"p_tenant": tenant_id, "p_id": substitution_id})

    def find_substitution(self, tenant_id: str | None, substitution_id: str) -> Substitution | None:
        """Return the partition's substitution of that id, or None."""
        found = self._substitutions(_FIND_SUBSTITUTION, p_tenant=tenant_id, p_id=substitution_id)
        return found[0] if found else None

    def substitutions(self, tenant_id: str | None, account: str | None = None) -> Sequence[Substitution]:
        """Return the partition's substitutions, of *account* those it has a part in: start, then id."""
        if account is None:
            return self._substitutions(_SUBSTITUTIONS_OF_TENANT, p_tenant=tenant_id)
        return self._substitutions(_SUBSTITUTIONS_OF_ACCOUNT, p_tenant=tenant_id, p_account=account)

    def substitutions_ending_after(self, at: datetime) -> Sequence[Substitution]:
        """Return the substitutions of all partitions that are not over: start, then id."""
        return self._substitutions(_SUBSTITUTIONS_AFTER, p_at=at)

    def _substitutions(self, statement: Select[*tuple[Any, ...]], **parameters: object) -> Sequence[Substitution]:
        with self._database.reading() as transaction:
            found = transaction.read(statement, parameters).mappings().all()
        return [Substitution(**{**row, "definitions": decode(row["definitions"], tuple[str, ...])}) for row in found]

    def insert_token(self, token: Token) -> None:
        """Store a token."""
        with self._database.writing() as transaction:
            transaction.write(_INSERT_TOKEN, msgspec.structs.asdict(token))

    def find_token(self, token_hash: str) -> tuple[Token, Account] | None:
        """Return the token with that hash and its account, or None."""
        with self._database.reading() as transaction:
            found = transaction.read(_FIND_TOKEN, {"p_hash": token_hash}).mappings().all()
        if not found:
            return None
        token = Token(**{name: found[0][f"token_{name}"] for name in Token.__struct_fields__})
        return token, _grouped(found)[0]

    def tokens(self, account_id: str) -> Sequence[Token]:
        """Return the account's tokens, newest first."""
        with self._database.reading() as transaction:
            found = transaction.read(_TOKENS, {"p_id": account_id}).mappings()
            return [Token(**{name: row[name] for name in Token.__struct_fields__}) for row in found]

    def delete_token(self, account_id: str, token_id: str) -> None:
        """Delete a token of that account."""
        with self._database.writing() as transaction:
            transaction.write(_DELETE_TOKEN, {"p_id": account_id, "p_token": token_id})

    def find_tenant(self, tenant_id: str) -> Tenant | None:
        """Return the tenant, or None."""
        with self._database.reading() as transaction:
            row = transaction.read(_FIND_TENANT, {"p_id": tenant_id}).mappings().first()
        return None if row is None else Tenant(**row)

    def insert_tenant(self, tenant: Tenant) -> None:
        """Insert a tenant. :raises DuplicateRecord: the id is taken."""
        with self._database.writing() as transaction:
            transaction.write(_INSERT_TENANT, msgspec.structs.asdict(tenant))

    def update_tenant(self, tenant: Tenant) -> None:
        """Replace the tenant's row."""
        values = {f"p_{name}": value for name, value in msgspec.structs.asdict(tenant).items()}
        with self._database.writing() as transaction:
            transaction.write(_UPDATE_TENANT, values)

    def tenants(self) -> Sequence[Tenant]:
        """Return all tenants by id."""
        with self._database.reading() as transaction:
            return [Tenant(**row) for row in transaction.read(_TENANTS).mappings()]

    def _one(self, statement: Select[*tuple[Any, ...]], **parameters: str) -> Account | None:
        with self._database.reading() as transaction:
            found = _grouped(transaction.read(statement, parameters).mappings())
        return found[0] if found else None


def _row(account: Account) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(account).items() if name != "roles"}


def _take_roles(transaction: Transaction, *accounts: Account) -> None:
    roles = sorted({role for account in accounts for role in account.roles})
    if roles:
        taken = [(account.id, role) for account in accounts for role in sorted(set(account.roles))]
        transaction.write(_ensure_role(transaction.dialect), [{"name": role} for role in roles])
        transaction.write(_TAKE_ROLE, [{"account_id": account_id, "role_name": role} for account_id, role in taken])


def _grouped(found: Iterable[Columns]) -> list[Account]:
    """Return the accounts of rows that hold one role each."""
    accounts: dict[str, dict[str, Any]] = {}
    roles: dict[str, list[str]] = {}
    for row in found:
        key = row["id"]
        accounts.setdefault(key, {name: row[name] for name in Account.__struct_fields__ if name != "roles"})
        if row["role_name"] is not None:
            roles.setdefault(key, []).append(row["role_name"])
    return [Account(**values, roles=tuple(roles.get(key, ()))) for key, values in accounts.items()]
