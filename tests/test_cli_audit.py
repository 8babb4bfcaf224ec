"""``audit verify``: what it prints, and with which status it ends (spec 13)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stores.records import audit
from tests.support.web import Site, make_site
from tests.test_cli import run


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


def append(site: Site, *ids: str, partition: str | None = None) -> None:
    with site.installation.stores.writing(partition) as work:  # type: ignore[attr-defined]  # stores, for tests
        entries = [
            audit(name, sequence=number, tenant_id=partition, at=site.clock.now())
            for number, name in enumerate(ids, start=1)
        ]
        work.audit.append(partition, entries)


def forge(site: Site) -> None:
    table = site.installation.stores._database.tables["audit"]  # type: ignore[attr-defined]  # behind the stores' back
    table[(True, "b")] = {**table[(True, "b")], "comment": "forged"}


def test_an_empty_trail(site: Site) -> None:
    result = run(site, "audit", "verify")
    assert (result.exit_code, result.output) == (0, "There is no audit trail yet.\n")


def test_a_whole_trail_of_each_partition(site: Site) -> None:
    append(site, "a", "b")
    append(site, "x", partition="acme")
    site.services.sealing.seal()
    append(site, "c")
    head = site.services.audit.verify(None).head
    assert head is not None
    now = site.clock.now().isoformat()
    result = run(site, "audit", "verify")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[:3] == [
        "platform: the trail is as it was sealed. Rows: 2, heads: 1.",
        f"platform: newest head 2:{head.hash} of {now}.",
        f"platform: 1 row waits to be sealed, since {now}.",
    ]
    assert lines[3] == "tenant acme: the trail is as it was sealed. Rows: 1, heads: 1."
    assert len(lines) == 5
    assert run(site, "audit", "verify", "--platform", "--head", f"2:{head.hash}").exit_code == 0
    assert run(site, "audit", "verify", "--platform", "--head", f"1:{head.hash}").exit_code == 1


def test_a_broken_trail_is_named_and_fails(site: Site) -> None:
    append(site, "a", "b", "c")
    append(site, "x", partition="acme")
    site.services.sealing.seal()
    forge(site)
    result = run(site, "audit", "verify")
    assert result.exit_code == 1
    assert (
        "platform: row 2 (id b) was changed after it was sealed. Whole rows before it: 1." in result.output.splitlines()
    )
    assert run(site, "audit", "verify", "--tenant", "acme").exit_code == 0
    assert "平台：第 2 行（id b）在封存后被修改" in run(site, "audit", "verify", "--language", "zh").output


@pytest.mark.parametrize("noted", ["2", "x:y", f"0:{'0' * 64}"])
def test_a_head_that_is_none(site: Site, noted: str) -> None:
    result = run(site, "audit", "verify", "--platform", "--head", noted)
    assert result.exit_code == 2
    assert "is no head" in result.output


def test_a_head_needs_its_partition(site: Site) -> None:
    result = run(site, "audit", "verify", "--head", f"1:{'0' * 64}")
    assert result.exit_code == 2
    assert "--tenant" in result.output
