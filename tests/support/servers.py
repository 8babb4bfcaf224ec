"""Database servers of the tests: where they are, whether they answer, and databases made and dropped on them."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import pytest
from sqlalchemy import URL, make_url

Execute = Callable[[str], object]
"""Runs a statement that commits by itself."""


@dataclass(frozen=True)
class Server:
    """A kind of server, at the address that ``WAYPOST_TEST_<KIND>_URL`` names."""

    kind: str
    default_url: str
    connected: Callable[[URL], AbstractContextManager[Execute]]
    """Connects for a block; fails with ``failure`` when nobody answers within three seconds."""
    failure: type[Exception]
    create: tuple[str, ...]
    """The statements that make a database of the name ``{name}``."""
    drop: str

    @property
    def unreachable(self) -> str:
        """What begins the line about a server that does not answer."""
        return f"{self.kind.upper()} IS NOT REACHABLE"

    def url(self) -> URL:
        """Return the address of the server."""
        variable = f"WAYPOST_TEST_{self.kind.upper()}_URL"
        return make_url(os.environ.get(variable, self.default_url)).set(drivername=self.kind)

    def require(self) -> None:
        """Skip the test with one loud line when there is no server; fail when CI=true."""
        url = self.url()
        try:
            with self.connected(url):
                pass
        except self.failure as error:
            reason = f"{self.unreachable} at {url!r}: {str(error).splitlines()[0]}"
            if os.environ.get("CI") == "true":
                pytest.fail(reason)
            pytest.skip(reason)

    @contextmanager
    def new_database(self) -> Iterator[URL]:
        """Make an empty database and drop it in the end."""
        name = f"waypost_test_{secrets.token_hex(6)}"
        with self.connected(self.url()) as execute:
            for statement in self.create:
                execute(statement.format(name=name))
        try:
            yield self.url().set(database=name)
        finally:
            with self.connected(self.url()) as execute:
                execute(self.drop.format(name=name))

    def run(self, statement: str) -> None:
        """Run a statement on the server."""
        with self.connected(self.url()) as execute:
            execute(statement)
