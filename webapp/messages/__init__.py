"""The words of the product in English and Simplified Chinese: message key and arguments in, text out.

One file an area and language (``en/inbox.json``, ``zh/inbox.json``), with the same keys in both. The engine makes
keys and never imports this package.
"""
