"""The robots of chats against receivers that check what the chats' documentation says (spec 10)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.clock import FakeClock
from tests.support.http_server import Answer, reply, serving
from tests.support.outgoing import LINK, TASK, document, endpoint, event, notice, posting, soon, split
from webapp.channels.dingtalk import DingTalkChannel
from webapp.channels.feishu import FeishuChannel
from webapp.channels.robots import Robot
from webapp.channels.slack import SlackChannel
from webapp.channels.wecom import WeComChannel
from webapp.engine.notifications.model import ChannelKind
from webapp.engine.ports.channels import OutgoingMessage, Part, SendingFailed
from webapp.messages.catalog import Catalog

CATALOG = Catalog.load(strict=True)
POSTING = posting(FakeClock())
DINGTALK, WECOM = DingTalkChannel(POSTING, CATALOG), WeComChannel(POSTING, CATALOG)
FEISHU, SLACK = FeishuChannel(POSTING, CATALOG), SlackChannel(POSTING, CATALOG)
ROBOTS = (DINGTALK, WECOM, FEISHU, SLACK)
PATHS = {
    ChannelKind.DINGTALK: "/robot/send?access_token=tok-secret-1",
    ChannelKind.WECOM: "/cgi-bin/webhook/send?key=tok-secret-1",
    ChannelKind.FEISHU: "/open-apis/bot/v2/hook/tok-secret-1",
    ChannelKind.SLACK: "/services/T0/B0/tok-secret-1",
}
TAKEN = {
    ChannelKind.DINGTALK: b'{"errcode":0,"errmsg":"ok"}',
    ChannelKind.WECOM: b'{"errcode":0,"errmsg":"ok"}',
    ChannelKind.FEISHU: b'{"code":0,"data":{},"msg":"success"}',
    ChannelKind.SLACK: b"ok",
}
BUTTONS = {"en": "Open", "zh": "打开"}
SECONDS = 1784188800
"""2026-07-16 08:00 UTC, the moment of the clock."""


def sent(robot: Robot, secret: str | None = None, **more: Any) -> tuple[str, Any]:
    """Send a notice; return the path that was called and the document."""
    parts = more.pop("parts", ())
    with serving(reply(TAKEN[robot.kind])) as server:
        robot.send(notice(endpoint(robot.kind, server.url(PATHS[robot.kind]), secret), *parts, **more), soon())
        (request,) = server.requests
    return split(request)[0].split()[1], document(request)


def failure(robot: Robot, answer: Answer) -> SendingFailed:
    with serving(answer) as server, pytest.raises(SendingFailed) as caught:
        robot.send(notice(endpoint(robot.kind, server.url(PATHS[robot.kind]), "hidden-secret")), soon())
    assert "tok-secret-1" not in caught.value.reason
    assert "hidden-secret" not in caught.value.reason
    return caught.value


def hmac_sha256(key: str, text: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), text.encode(), hashlib.sha256).digest()).decode()


# --- what they are sent ---------------------------------------------------------------------------


def test_dingtalk_gets_an_action_card_with_the_link() -> None:
    path, told = sent(DINGTALK)
    assert path == PATHS[ChannelKind.DINGTALK]
    assert told == {
        "msgtype": "actionCard",
        "actionCard": {
            "title": "New task: Leave of Anna",
            "text": "#### New task: Leave of Anna\n\nAnna asks for 3 days.\n\nPlease decide.",
            "btnOrientation": "0",
            "singleTitle": "Open",
            "singleURL": LINK,
        },
    }


def test_dingtalk_gets_time_and_signature_in_the_address() -> None:
    path, _ = sent(DINGTALK, secret="SEC-of-the-robot")
    given = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
    at = f"{SECONDS}000"
    assert given == {
        "access_token": "tok-secret-1",
        "timestamp": at,
        "sign": hmac_sha256("SEC-of-the-robot", f"{at}\nSEC-of-the-robot"),
    }
    # "+" in the signature would be read as a space if it were not escaped.
    assert "%2B" in DingTalkChannel(posting(at_a_plus()), CATALOG)._url(
        endpoint(ChannelKind.DINGTALK, "http://h/?a=b", "s")
    )


def at_a_plus() -> FakeClock:
    """Return a clock at a moment whose signature with the secret ``s`` holds a plus."""
    clock = FakeClock()
    while "+" not in hmac_sha256("s", f"{int(clock.now().timestamp() * 1000)}\ns"):
        clock.advance(1)
    return clock


@pytest.mark.parametrize(
    ("handle", "at"),
    [
        ("13800001111", {"atMobiles": ["13800001111"], "atUserIds": [], "isAtAll": False}),
        ("+86-13800001111", {"atMobiles": ["+86-13800001111"], "atUserIds": [], "isAtAll": False}),
        ("manager7675", {"atMobiles": [], "atUserIds": ["manager7675"], "isAtAll": False}),
    ],
)
def test_dingtalk_mentions_by_phone_or_user_id(handle: str, at: dict[str, Any]) -> None:
    _, told = sent(DINGTALK, address=handle)
    assert told["msgtype"] == "markdown"
    assert told["at"] == at
    assert told["markdown"]["title"] == TASK.title
    assert told["markdown"]["text"].endswith(f"[Open]({LINK})\n\n@{handle}")


def test_wecom_gets_markdown_with_the_link_and_a_mention() -> None:
    path, told = sent(WECOM, address="zhang.san", language="zh")
    assert path == PATHS[ChannelKind.WECOM]
    text = f"**New task: Leave of Anna**\nAnna asks for 3 days.\nPlease decide.\n[打开]({LINK})\n\n<@zhang.san>"
    assert told == {"msgtype": "markdown", "markdown": {"content": text}}


def test_feishu_gets_a_card_with_a_button_and_a_mention() -> None:
    path, told = sent(FEISHU, address="ou_7dab8a3d3cdcc9da365777c7ad535d62")
    assert path == PATHS[ChannelKind.FEISHU]
    assert told == {
        "msg_type": "interactive",
        "card": {
            "config": {"wide_screen_mode": True},
            "header": {"title": {"tag": "plain_text", "content": "New task: Leave of Anna"}, "template": "blue"},
            "elements": [
                {
                    "tag": "div",
                    "text": {"tag": "lark_md", "content": "<at id=ou_7dab8a3d3cdcc9da365777c7ad535d62></at>"},
                },
                {"tag": "div", "text": {"tag": "plain_text", "content": "Anna asks for 3 days.\nPlease decide."}},
                {
                    "tag": "action",
                    "actions": [
                        {
                            "tag": "button",
                            "text": {"tag": "plain_text", "content": "Open"},
                            "url": LINK,
                            "type": "primary",
                        }
                    ],
                },
            ],
        },
    }


def test_feishu_gets_time_and_signature_in_the_document() -> None:
    _, told = sent(FEISHU, secret="secret-of-the-robot")
    assert told["timestamp"] == str(SECONDS)
    assert told["sign"] == hmac_sha256(f"{SECONDS}\nsecret-of-the-robot", "")


def test_feishu_mentions_by_mail_address_too() -> None:
    _, told = sent(FEISHU, address="anna@example.org")
    assert told["card"]["elements"][0]["text"]["content"] == "<at email=anna@example.org></at>"


def test_slack_gets_blocks_with_a_button_and_a_mention() -> None:
    path, told = sent(SLACK, address="U024BE7LH")
    assert path == PATHS[ChannelKind.SLACK]
    assert told == {
        "text": "New task: Leave of Anna",
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": "<@U024BE7LH>"}},
            {"type": "header", "text": {"type": "plain_text", "text": "New task: Leave of Anna", "emoji": False}},
            {
                "type": "section",
                "text": {"type": "plain_text", "text": "Anna asks for 3 days.\nPlease decide.", "emoji": False},
            },
            {
                "type": "actions",
                "elements": [
                    {
                        "type": "button",
                        "action_id": "open-0",
                        "text": {"type": "plain_text", "text": "Open", "emoji": False},
                        "url": LINK,
                        "style": "primary",
                    }
                ],
            },
        ],
    }


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
def test_a_digest_is_one_message_with_every_part_and_link(robot: Robot) -> None:
    parts = [Part(title=f"Task {n}", body=f"body {n}", link=f"{LINK}{n}") for n in range(3)]
    _, told = sent(robot, parts=parts, subject="3 tasks", language="zh")
    text = json.dumps(told, ensure_ascii=False)
    for part in parts:
        assert part.title in text
        assert part.body in text
        assert str(part.link) in text
    assert text.count(BUTTONS["zh"]) == 3


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
def test_without_a_link_there_is_no_button(robot: Robot) -> None:
    _, told = sent(robot, parts=[Part(title="Done", body="It is over.")])
    text = json.dumps(told)
    assert "Open" not in text
    assert "None" not in text and "null" not in text


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
def test_an_event_is_told_with_its_plain_members(robot: Robot) -> None:
    with serving(reply(TAKEN[robot.kind])) as server:
        to = endpoint(robot.kind, server.url(PATHS[robot.kind]))
        robot.send(event(to, count=3, inner={"deep": 1}, nothing=None), soon())
        text = json.dumps(document(server.requests[0]))
    assert "workflow.task.created" in text
    assert "taskId: t-1" in text
    assert "count: 3" in text
    assert "deep" not in text and "nothing" not in text


HIDDEN = ("\u202e", "\u2066", "\u0007", "\u0085", "\u2028", "\ud800")
"""Marks that turn the direction of writing, a bell, line breaks that are none to every reader, half a character."""

TRICKY = "".join(f"a{mark}b" for mark in HIDDEN)


def texts_of(value: Any) -> list[str]:
    """Return every text in a document, the names of members too."""
    if isinstance(value, dict):
        return [text for pair in value.items() for one in pair for text in texts_of(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts_of(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
@pytest.mark.parametrize("of_event", [True, False])
def test_nothing_hidden_gets_into_a_chat(robot: Robot, of_event: bool) -> None:
    with serving(reply(TAKEN[robot.kind])) as server:
        to = endpoint(robot.kind, server.url(PATHS[robot.kind]))
        told = notice(to, Part(title=TRICKY, body=f"first{TRICKY}\nsecond"), subject=TRICKY)
        robot.send(event(to, comment=f"{TRICKY}\noutcome: approved") if of_event else told, soon())
        texts = texts_of(document(server.requests[0]))
    assert not [text for text in texts for mark in HIDDEN if mark in text]
    assert any("ab" in text for text in texts)
    # What somebody wrote passes for no member of the event.
    assert not of_event or not any("\noutcome" in text for text in texts)


# --- how much they take ---------------------------------------------------------------------------

HUGE = [Part(title="审" * 200, body="批" * 4000, link=LINK) for _ in range(60)]


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
def test_what_a_long_digest_leaves_out_is_counted_with_what_does_not_fit(robot: Robot) -> None:
    parts = [*HUGE, Part(title="and 37 more", body="")]
    _, told = sent(robot, parts=parts, left_out=37)
    shown = sum(text.count(LINK) for text in texts_of(told))
    # All 60 parts have a link, and the last line counts those that are not there.
    assert any(f"{60 - shown + 37} more" in text for text in texts_of(told)), shown


def test_the_limits_of_each_chat_are_kept() -> None:
    _, told = sent(WECOM, parts=HUGE, address="zhang.san", language="zh")
    content = told["markdown"]["content"]
    assert len(content.encode()) <= 4096
    assert content.endswith("…… 另有 59 条\n\n<@zhang.san>")
    assert LINK in content

    for handle in (None, "13800001111"):
        _, told = sent(DINGTALK, parts=HUGE, address=handle)
        assert len(json.dumps(told, ensure_ascii=False).encode()) <= 20_000
        assert "more" in told["markdown"]["text"]
    _, told = sent(DINGTALK, parts=HUGE[:1])
    assert len(json.dumps(told, ensure_ascii=False).encode()) <= 20_000

    _, told = sent(FEISHU, parts=HUGE, address="ou_1", secret="s")
    assert len(json.dumps(told, ensure_ascii=False).encode()) <= 20 * 1024
    assert "more" in told["card"]["elements"][-1]["text"]["content"]

    _, told = sent(SLACK, parts=HUGE, address="U1")
    assert len(told["blocks"]) <= 50
    for block in told["blocks"]:
        assert (
            len(block.get("text", {}).get("text", "")) <= {"header": 150, "section": 3000, "actions": 0}[block["type"]]
        )
    assert told["blocks"][-1]["text"]["text"] == "… and 44 more"


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
def test_a_small_digest_leaves_nothing_out(robot: Robot) -> None:
    parts = [Part(title=f"T{n}", body="b", link=LINK) for n in range(10)]
    _, told = sent(robot, parts=parts)
    text = json.dumps(told)
    assert all(f"T{n}" in text for n in range(10))
    assert "more" not in text


# --- hostile texts --------------------------------------------------------------------------------

HOSTILE = Part(title="a\nb](http://evil) <@all> <at id=all></at>", body="[click](http://evil) <!channel> & <@U1>")


def test_a_text_makes_no_link_and_no_mention() -> None:
    _, told = sent(DINGTALK, parts=[HOSTILE])
    assert "](http://evil" not in told["markdown"]["text"]
    _, told = sent(WECOM, parts=[HOSTILE])
    assert "](http://evil" not in told["markdown"]["content"]
    assert "<@" not in told["markdown"]["content"]
    _, told = sent(FEISHU, parts=[HOSTILE])
    assert {element["text"]["tag"] for element in told["card"]["elements"]} == {"plain_text"}
    assert "\n" not in told["card"]["header"]["title"]["content"]
    _, told = sent(SLACK, parts=[HOSTILE])
    assert {block["text"]["type"] for block in told["blocks"]} == {"plain_text"}
    assert "<" not in told["text"]
    assert "\n" not in told["text"]


@pytest.mark.parametrize("handle", ["all></at><at id=x", "a b", "U1>\n<!channel", "张三", "x" * 129])
@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
def test_a_handle_that_is_no_name_mentions_nobody(robot: Robot, handle: str) -> None:
    assert sent(robot, address=handle) == sent(robot)


# --- what they answer -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("robot", "body", "receipt"),
    [
        (DINGTALK, b'{"errcode":0,"errmsg":"ok"}', "0 ok"),
        (WECOM, b'{"errcode":0,"errmsg":"ok"}', "0 ok"),
        (FEISHU, b'{"code":0,"msg":"success","data":{}}', "0 success"),
        (FEISHU, b'{"Extra":null,"StatusCode":0,"StatusMessage":"success"}', "0 success"),
        (SLACK, b"ok", "HTTP 200 ok"),
    ],
)
def test_what_they_say_is_the_receipt(robot: Robot, body: bytes, receipt: str) -> None:
    with serving(reply(body)) as server:
        assert robot.send(notice(endpoint(robot.kind, server.url("/"))), soon()) == receipt


CODES = [
    (DINGTALK, b'{"errcode":130101,"errmsg":"send too fast, exceed 20 times per minute"}', False),
    (DINGTALK, b'{"errcode":410100,"errmsg":"too fast"}', False),
    (DINGTALK, b'{"errcode":-1,"errmsg":"busy"}', False),
    (DINGTALK, b'{"errcode":310000,"errmsg":"sign not match"}', True),
    (DINGTALK, b'{"errcode":300001,"errmsg":"token is not exist"}', True),
    (DINGTALK, b'{"errcode":987654,"errmsg":"nobody knows"}', False),
    (WECOM, b'{"errcode":45009,"errmsg":"api freq out of limit"}', False),
    (WECOM, b'{"errcode":-1,"errmsg":"busy"}', False),
    (WECOM, b'{"errcode":93000,"errmsg":"invalid webhook url"}', True),
    (FEISHU, b'{"code":11232,"msg":"frequency limited"}', False),
    (FEISHU, b'{"code":9499,"msg":"too many request"}', False),
    (FEISHU, b'{"code":9499,"msg":"Bad Request"}', True),
    (FEISHU, b'{"code":19021,"msg":"sign match fail or timestamp is not within one hour"}', True),
]


@pytest.mark.parametrize(("robot", "body", "permanent"), CODES)
@pytest.mark.parametrize("status", ["200 OK", "400 Bad Request"])
def test_their_codes_count_and_not_the_status(robot: Robot, body: bytes, permanent: bool, status: str) -> None:
    found = failure(robot, reply(body, status=status))
    told = json.loads(body)
    code, said = told.get("errcode", told.get("code")), told.get("errmsg", told.get("msg"))
    assert (found.permanent, found.reason) == (permanent, f"{code} {said}")


@pytest.mark.parametrize(
    ("status", "body", "permanent", "reason"),
    [
        ("400 Bad Request", b"invalid_payload", True, "HTTP 400 Bad Request invalid_payload"),
        ("403 Forbidden", b"action_prohibited", True, "HTTP 403 Forbidden action_prohibited"),
        ("404 Not Found", b"channel_not_found", True, "HTTP 404 Not Found channel_not_found"),
        ("410 Gone", b"channel_is_archived", True, "HTTP 410 Gone channel_is_archived"),
        ("500 Error", b"rollup_error", False, "HTTP 500 Error rollup_error"),
        ("500 Error", b"<html>what we sent</html>", False, "HTTP 500 Error"),
    ],
)
def test_slack_answers_with_a_status_and_a_word(status: str, body: bytes, permanent: bool, reason: str) -> None:
    found = failure(SLACK, reply(body, status=status))
    assert (found.permanent, found.reason) == (permanent, reason)


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
def test_too_many_messages_are_tried_again_after_the_time_that_is_told(robot: Robot) -> None:
    found = failure(robot, reply(b"rate_limited", "Retry-After: 30", status="429 Too Many Requests"))
    assert (found.permanent, found.retry_after) == (False, 30.0)


@pytest.mark.parametrize("robot", [DINGTALK, WECOM, FEISHU], ids=lambda robot: robot.kind)
@pytest.mark.parametrize("body", [b"", b"ok", b"[]", b'{"errcode":"0"}', b"\xff", b"<html>"])
def test_an_answer_of_somebody_else_is_no_success(robot: Robot, body: bytes) -> None:
    found = failure(robot, reply(body))
    assert (found.permanent, found.reason) == (False, "the answer is not one that this chat gives")


@pytest.mark.parametrize("robot", [DINGTALK, WECOM, FEISHU], ids=lambda robot: robot.kind)
def test_an_answer_that_repeats_our_secrets_is_masked(robot: Robot) -> None:
    names = ("code", "msg") if robot.kind is ChannelKind.FEISHU else ("errcode", "errmsg")
    said = f"no {PATHS[robot.kind]}, token tok-secret-1, secret hidden-secret\r\n" + "x" * 500
    found = failure(robot, reply(json.dumps(dict(zip(names, (7, said), strict=True))).encode()))
    assert "\n" not in found.reason
    assert len(found.reason) == 300
    assert found.reason.startswith("7 no ")


@pytest.mark.parametrize("robot", ROBOTS, ids=lambda robot: robot.kind)
def test_the_address_is_needed_the_secret_is_not(robot: Robot) -> None:
    assert robot.check(endpoint(robot.kind, "https://example.org/hook")) == []
    assert [one.key for one in robot.check(endpoint(robot.kind))] == ["channel.address_missing"]
    assert [one.key for one in robot.check(endpoint(robot.kind, "http://10.0.0.1/"))] == ["channel.address_denied"]


def test_a_message_of_nothing_can_be_sent() -> None:
    for robot in ROBOTS:
        with serving(reply(TAKEN[robot.kind])) as server:
            message: OutgoingMessage = notice(endpoint(robot.kind, server.url("/")), Part(title="", body=""))
            robot.send(message, soon())
