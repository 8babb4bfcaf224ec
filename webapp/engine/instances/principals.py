"""What an assignee id may be: an account, or a group of accounts (spec 6.7, Principals)."""

from __future__ import annotations

ROLE = "role:"
DEPARTMENT = "department:"


def is_group(name: str) -> bool:
    """Whether an assignee id names a group: ``role:NAME`` or ``department:NAME``. No account's name holds a colon."""
    return name.startswith((ROLE, DEPARTMENT))
