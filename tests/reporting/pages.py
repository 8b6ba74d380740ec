"""A page as a browser would take it apart, and packed rows as its script would unpack them."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser
from typing import Any


class Page(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def unpacked(text: str) -> dict[str, list[Any]]:
    """The columns of packed rows, as page.js reads them."""
    plain = zlib.decompress(base64.b64decode(text))
    length = int.from_bytes(plain[:4], "big")
    head = json.loads(plain[4 : 4 + length])
    at, found = 4 + length, {}
    for column in head["columns"]:
        codes = [0] * head["rows"]
        for _ in range(column["bytes"]):
            codes = [code * 256 + byte for code, byte in zip(codes, plain[at : at + head["rows"]], strict=True)]
            at += head["rows"]
        if "words" in column:
            found[column["name"]] = [column["words"][code] for code in codes]
        else:
            scale = 10 ** column["decimals"]
            found[column["name"]] = [None if code == 0 else (code - 1 + column["least"]) / scale for code in codes]
    assert at == len(plain)
    return found
