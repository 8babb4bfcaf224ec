"""A process killed after each of its commits in turn: others finish it as it would have finished itself (3.22)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from tests.services.subflows import children_of, parent, rows
from tests.services.test_child_retries import Doomed, Pay
from tests.support.engine import ADMIN, Installation, install
from tests.support.flows import END, START, flow, node
from tests.support.purging import purge_ended
from tests.support.stores import StoreSet

PAYING = flow("paying", [START, node("pay", "Pay"), node("book", "Doomed"), END])
ASKING = flow("asking", [START, node("pay", "Pay"), node("ask", "UserTask", {"Assignees": ["u1"]}), END])
ITEMS = ["a", "b", "c"]


class Killed(BaseException):
    """The process is gone."""


class MortalStores:
    """Stores whose process dies right after the *left*-th commit from now; None: it lives."""

    def __init__(self, stores: Any) -> None:
        self._stores = stores
        self.left: int | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stores, name)

    def writing(self, partition: str | None) -> AbstractContextManager[Any]:
        """Open a unit of work for writing."""
        return self._mortal(partition)

    @contextmanager
    def _mortal(self, partition: str | None) -> Iterator[Any]:
        with self._stores.writing(partition) as work:
            yield work
        if self.left is not None:
            self.left -= 1
            if self.left == 0:
                raise Killed


class Life:
    """One installation after the other over the same stores, with one ledger."""

    def __init__(self, stores: StoreSet) -> None:
        self.stores = stores
        self.pay, self.doomed = Pay(), Doomed()
        self.doomed.mended = True
        self.mortal = MortalStores(stores.stores)
        self.house = self._install(replace(stores, stores=self.mortal))

    def _install(self, stores: StoreSet) -> Installation:
        return install(stores, activities=[self.pay, self.doomed])

    def dies_after(self, commits: int, act: Callable[[], object]) -> bool:
        """Do something that is killed after so many commits; False when it was over before."""
        self.mortal.left = commits
        try:
            act()
        except Killed:
            return True
        finally:
            self.mortal.left = None
        return False

    def others_go_on(self) -> Installation:
        """Let another process, whose poller finds the claims run out, do the rest."""
        house = self._install(self.stores)
        for _ in range(20):
            house.store_set.clock.advance(61)
            house.services.housekeeping.poll_once()
            if not rows(house):
                return house
        raise AssertionError(f"left behind: {rows(house)}")


def each(**more: Any) -> Any:
    return parent("ForEach", DefinitionName="paying", ItemsExpression="names", ResultVariable="results", **more)


def the_parent(house: Installation) -> Any:
    (found,) = [one for one in house.services.instances.query(ADMIN).items if one.parent_instance_id is None]
    return house.instance(found.id)


def _points() -> Iterator[int]:
    return count(1)


@pytest.mark.parametrize("parallel", [True, False])
def test_a_list_of_children(stores: StoreSet, parallel: bool) -> None:
    ends = 0
    for point in _points():
        life = Life(stores)
        if point == 1:
            life.house.publish(PAYING)
            life.house.publish(each(Parallel=parallel))
        begun = life.dies_after(point, lambda life=life: life.house.start("parent", {"names": ITEMS}))
        house = life.others_go_on()
        instance = the_parent(house)
        assert instance.status.value == "Completed", point
        assert [one["item"] for one in instance.variables["results"]] == ITEMS, point
        assert len(children_of(house, instance.id)) == 3, point
        assert sorted(life.pay.paid) == ITEMS, point
        _purge(house)
        ends += 1
        if not begun:
            break
    # The parent, and for each child its claim, its start, its second look, the claim of its end, the parent again.
    assert ends == 17


@pytest.mark.parametrize("parallel", [True, False])
def test_a_retry_of_a_list(stores: StoreSet, parallel: bool) -> None:
    for point in _points():
        life = Life(stores)
        if point == 1:
            life.house.publish(PAYING)
            life.house.publish(each(Parallel=parallel))
        life.doomed.mended, life.doomed.only = False, "b"
        failed = life.house.start("parent", {"names": ITEMS}).id
        assert life.house.instance(failed).status.value == "Faulted"
        life.doomed.mended = True
        begun = life.dies_after(
            point, lambda life=life, failed=failed: life.house.services.instances.retry(ADMIN, failed)
        )
        house = life.others_go_on()
        instance = the_parent(house)
        assert instance.status.value == "Completed", point
        assert [one["item"] for one in instance.variables["results"]] == ITEMS, point
        assert life.pay.paid.count("b") == 1, point
        _purge(house)
        if not begun:
            break
    assert point > 3


def test_a_start_whose_child_fails(stores: StoreSet) -> None:
    """Whoever ends a start that was cut off must not close the child that failed: its retry would pay again."""
    for point in _points():
        life = Life(stores)
        if point == 1:
            life.house.publish(PAYING)
            life.house.publish(parent(DefinitionName="paying", VariableExpressions={"item": "'a'"}))
        life.doomed.mended = False
        begun = life.dies_after(point, lambda life=life: life.house.start("parent"))
        house = life.others_go_on()
        instance = the_parent(house)
        (child,) = children_of(house, instance.id)
        assert (instance.status.value, child.status.value) == ("Faulted", "Faulted"), point
        life.doomed.mended = True
        house.services.instances.retry(ADMIN, instance.id)
        assert the_parent(house).status.value == "Completed", point
        assert life.pay.paid == ["a"], point
        _purge(house)
        if not begun:
            break
    assert point == 7


def test_a_failure_beside_the_first_is_retried_and_not_started_anew(stores: StoreSet) -> None:
    """The first failure of a list cancels the others; one that has failed by then is left as it is."""
    life = Life(stores)
    house = life.house
    life.doomed.mended = False
    house.publish(PAYING)
    house.publish(each(Parallel=True))
    failed = house.start("parent", {"names": ITEMS}).id
    statuses = [one.status.value for one in children_of(house, failed)]
    assert statuses == ["Faulted", "Faulted", "Faulted"]
    life.doomed.mended = True
    house.services.instances.retry(ADMIN, failed)
    assert house.instance(failed).status.value == "Completed"
    assert sorted(life.pay.paid) == ITEMS
    assert len(children_of(house, failed)) == 3


def test_a_cancel(stores: StoreSet) -> None:
    for point in _points():
        life = Life(stores)
        if point == 1:
            life.house.publish(ASKING)
            life.house.publish({**each(Parallel=True), "name": "middle"} | {"nodes": _nodes("asking")})
            life.house.publish(parent(DefinitionName="middle", VariableExpressions={"names": "names"}, name="parent"))
        started = life.house.start("parent", {"names": ITEMS}).id
        assert len(life.house.tasks("u1")) == 3
        begun = life.dies_after(
            point, lambda life=life, started=started: life.house.services.instances.cancel(ADMIN, started, "stop")
        )
        house = life.others_go_on()
        assert the_parent(house).status.value == "Canceled"
        (middle,) = children_of(house, started)
        leaves = children_of(house, middle.id)
        assert [one.status.value for one in (middle, *leaves)] == ["Canceled"] * 4, point
        assert house.tasks("u1") == []
        _purge(house)
        if not begun:
            break
    assert point > 8


def _nodes(child: str) -> list[Any]:
    made = each(Parallel=True)
    (start, sub, end) = made["nodes"]
    return [start, {**sub, "properties": {**sub["properties"], "DefinitionName": child}}, end]


def _purge(house: Installation) -> None:
    """Make room for the next life; the definitions stay."""
    purge_ended(house.store_set, house.store_set.clock.now())
