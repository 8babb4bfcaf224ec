"""Copies that a process keeps of what changes seldom: never gone under the hands of who reads them (spec 25)."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.clock import FakeClock
from webapp.engine.ports.stores import StoreFailure
from webapp.services.process_copies import ProcessCopy


class Source:
    """Something that can be changed, with what is done while it is read."""

    def __init__(self) -> None:
        self.text = "old"
        self.reads = 0
        self.meanwhile: Callable[[], None] = lambda: None
        self.failures: list[bool] = []

    def read(self) -> str:
        self.reads += 1
        found = self.text
        self.meanwhile()
        return found

    def failed(self, failure: StoreFailure, has_copy: bool) -> None:
        self.failures.append(has_copy)


def kept(source: Source, clock: FakeClock) -> ProcessCopy[str]:
    found = ProcessCopy(source.read, clock, 5, source.failed)
    found.refresh()
    return found


def test_who_reads_while_it_is_forgotten_still_finds_the_old_one() -> None:
    """A wave that has begun must not take everybody for unknown because an account is changed at that moment."""
    source = Source()
    copy = kept(source, FakeClock())
    copy.forget()
    assert copy.value == "old"
    source.text = "new"
    copy.refresh()
    assert (copy.value, source.reads) == ("new", 2)
    copy.refresh()
    assert source.reads == 2


def test_what_is_changed_while_it_is_read_is_read_again() -> None:
    source, clock = Source(), FakeClock()
    copy = kept(source, clock)
    clock.advance(5.1)

    def change() -> None:
        source.text = "new"
        copy.forget()

    source.meanwhile = change
    copy.refresh()
    source.meanwhile = lambda: None
    copy.refresh()
    assert copy.value == "new"


def test_what_was_forgotten_and_cannot_be_read_stays() -> None:
    source = Source()
    copy = kept(source, FakeClock())
    copy.forget()

    def fail() -> None:
        raise StoreFailure("away", transient=True)

    source.meanwhile = fail
    copy.refresh()
    assert (copy.value, source.failures) == ("old", [True])
