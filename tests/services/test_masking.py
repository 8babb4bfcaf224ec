"""Addresses as they may be shown: whoever reads over a shoulder cannot use them (spec 10, Privacy)."""

from __future__ import annotations

import pytest

from webapp.engine.notifications.model import ChannelKind
from webapp.services.masking import masked_address, masked_handle

K = ChannelKind
SECRETS = ("s3cret", "t0ken", "k3y")


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("anna.lee@example.org", "a***@example.org"),
        ("a@example.org", "a***@example.org"),
        ('"odd@name"@example.org', '"***@example.org'),
        ("@example.org", "@e***"),
        ("13800138000", "13***"),
        ("U012AB3CD", "U0***"),
        ("abcd", "***"),
        ("张伟", "***"),
        ("", ""),
        (None, None),
    ],
)
def test_a_persons_address_is_recognised_and_not_told(address: str | None, shown: str | None) -> None:
    assert masked_handle(address) == shown


@pytest.mark.parametrize(
    ("kind", "address", "shown"),
    [
        (K.WEBHOOK, "https://erp.example.org/in", "https://erp.example.org/in"),
        (K.WEBHOOK, "https://erp.example.org:8443/in?key=t0ken&x=k3y", "https://erp.example.org:8443/in?key=***&x=***"),
        (K.WEBHOOK, "https://erp.example.org/in?t0ken", "https://erp.example.org/in?***"),
        (K.WEBHOOK, "https://erp.example.org/in?a=k3y&t0ken", "https://erp.example.org/in?a=***&***"),
        (K.WEBHOOK, "https://erp.example.org/in?=t0ken", "https://erp.example.org/in?=***"),
        (K.WEBHOOK, "https://erp.example.org/in?a=k3y;b=t0ken", "https://erp.example.org/in?a=***"),
        (K.WEBHOOK, "https://erp.example.org/in#t0ken", "https://erp.example.org/in"),
        (K.WEBHOOK, "https://user:s3cret@erp.example.org/in", "https://user:***@erp.example.org/in"),
        (K.WEBHOOK, "https://user:s3:c@ret@erp.example.org/in", "https://user:***@erp.example.org/in"),
        # What stands alone before the host is a key as often as a name.
        (K.WEBHOOK, "https://t0ken@erp.example.org/in", "https://***@erp.example.org/in"),
        (K.WEBHOOK, "https://t0ken:@erp.example.org/in", "https://***:***@erp.example.org/in"),
        (K.WEBHOOK, "https://[::1/t0ken", "***"),
        (K.DINGTALK, "https://oapi.dingtalk.com/robot/send?access_token=t0ken",
         "https://oapi.dingtalk.com/robot/send?access_token=***"),
        (K.WECOM, "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=k3y",
         "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=***"),
        (K.FEISHU, "https://open.feishu.cn/open-apis/bot/v2/hook/t0ken", "https://open.feishu.cn/open-apis/bot/v2/hook/***"),
        (K.FEISHU, "https://open.feishu.cn/open-apis/bot/v2/hook/t0ken/", "https://open.feishu.cn/open-apis/bot/v2/hook/***"),
        (K.FEISHU, "https://open.feishu.cn/open-apis/bot/v2/hook/t0ken?lang=k3y",
         "https://open.feishu.cn/open-apis/bot/v2/hook/***?lang=***"),
        (K.SLACK, "https://hooks.slack.com/services/T0001/B0001/t0ken", "https://hooks.slack.com/services/T0001/B0001/***"),
        (K.AMQP, "amqp://flow:s3cret@mq.example.org:5672/main", "amqp://flow:***@mq.example.org:5672/main"),
        (K.AMQP, "amqps://flow@mq.example.org/main", "amqps://flow@mq.example.org/main"),
        (K.REDIS, "redis://:s3cret@cache.example.org:6379/3", "redis://:***@cache.example.org:6379/3"),
        (K.REDIS, "redis://cache.example.org/0", "redis://cache.example.org/0"),
        (K.EMAIL, "", ""),
    ],
)  # fmt: skip
def test_what_opens_an_address_is_not_told(kind: ChannelKind, address: str, shown: str) -> None:
    found = masked_address(kind, address)
    assert found == shown
    assert not [secret for secret in SECRETS if secret in found]
    # A form sends back what it was shown, and may send it twice.
    assert masked_address(kind, found) == found
