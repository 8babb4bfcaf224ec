"""The words of a filled installation: people, subjects, remarks, in English and Chinese, common and rare."""

from __future__ import annotations

GIVEN = ("Ada", "Lin", "Marta", "Wei", "Emma", "Jun", "Oskar", "Mei", "Daniel", "Tao", "Ines", "Fang")
FAMILY = ("Novak", "林伟", "Ruiz", "王芳", "Okafor", "李娜", "Lehmann", "张敏", "Lindqvist", "陈静", "Costa", "刘洋")

KINDS = (
    *(("Invoice", 12), ("发票", 12), ("Travel", 10), ("出差", 10), ("Contract", 8), ("合同", 8), ("Laptop", 6)),
    *(("培训", 6), ("Printer", 5), ("办公用品", 5), ("Licence", 4), ("服务器", 4), ("Catering", 3), ("会议室", 3)),
    *(("Forklift", 1), ("叉车", 1), ("Greenhouse", 1), ("温室", 1)),
)
"""What a request is about, and how often."""

PLACES = (
    *("Berlin", "北京", "Lisbon", "上海", "Oslo", "深圳", "Vienna", "广州", "Porto", "杭州", "Graz", "成都"),
    *("Turin", "武汉", "Ghent", "南京", "Malmö", "西安", "Lyon", "苏州", "Basel", "青岛", "Riga", "厦门"),
)

RARE = ("zeppelin", "琥珀")
"""One title in some ten thousand has such a word too."""

RARITY = 10_000

REMARKS = (
    *("as agreed", "照办", "please hurry", "请尽快", "not in the budget", "预算里没有", "see the attached offer"),
    *("附件里有报价", "no longer needed", "不需要了"),
)


def spread(weighted: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """Return each word as often as its weight says."""
    return tuple(word for word, weight in weighted for _ in range(weight))
