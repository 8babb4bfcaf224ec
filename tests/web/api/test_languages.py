"""Whose language an answer speaks (spec 25, REST)."""

from __future__ import annotations

import pytest

from tests.support.web import Site

TITLES = {"en": "There is no such task", "zh": "没有这个任务"}


@pytest.mark.parametrize(
    ("account", "header", "spoken"),
    [
        (None, None, "en"),
        ("zh", None, "zh"),
        ("zh", "en", "en"),
        ("en", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("zh", "fr", "zh"),
        ("zh", "fr;q=1, en-GB;q=0.5", "en"),
    ],
)
def test_a_token_speaks_accept_language_else_the_accounts(
    site: Site, account: str | None, header: str | None, spoken: str
) -> None:
    site.account("li", "user", language=account)
    headers = {} if header is None else {"Accept_Language": header}
    problem = site.caller("li").get("/tasks/nothing", **headers).refused(404, "WORKFLOW_NOTFOUND_003")
    assert problem["title"] == TITLES[spoken]
