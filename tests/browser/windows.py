"""Browser contexts that are used again: signing in and filling the cache cost more than most of what a journey does."""

from __future__ import annotations

from playwright.sync_api import Browser, BrowserContext

from tests.browser.visitor import Visitor, watch_policy

Key = tuple[str | None, str]


class Windows:
    """Contexts by account and language; what a visitor kept in the browser is gone before the next one comes."""

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser = browser
        self._address = address
        self._free: dict[Key, list[BrowserContext]] = {}
        self._lent: dict[Visitor, Key] = {}

    def visitor(self, account: str | None, language: str) -> Visitor:
        """Return a visitor with a new page, in a context that nobody else uses."""
        key = (account, language)
        rested = self._free.get(key)
        visitor = Visitor(rested.pop() if rested else self._made(language))
        self._lent[visitor] = key
        return visitor

    def give_back(self, visitor: Visitor) -> None:
        """Close a visitor's pages and forget what they stored; who was not signed in leaves nothing to use again."""
        key, context = self._lent.pop(visitor), visitor.context
        if key[0] is None:
            context.close()
            return
        session = context.new_cdp_session(visitor.page)
        stored = {"origin": self._address, "storageTypes": "local_storage,indexeddb,cache_storage"}
        session.send("Storage.clearDataForOrigin", stored)
        for page in context.pages:
            page.close()
        context.clear_permissions()
        self._free.setdefault(key, []).append(context)

    def close(self) -> None:
        """Close all contexts."""
        for contexts in self._free.values():
            for context in contexts:
                context.close()

    def _made(self, language: str) -> BrowserContext:
        locale = "zh-CN" if language == "zh" else "en-GB"
        context = self._browser.new_context(base_url=self._address, locale=locale)
        watch_policy(context)
        return context
