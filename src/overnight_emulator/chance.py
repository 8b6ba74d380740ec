"""Seeded chance: every draw is a hash of the seed, its purpose and the content it is about.

Nothing here remembers anything, so that an answer cannot depend on the order in which requests arrive.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import TypeVar

import msgspec

Item = TypeVar("Item")
Content = str | bytes | int

_SPAN = 1 << 64


class Chance(msgspec.Struct, frozen=True):
    seed: int

    def number(self, purpose: str, *content: Content) -> int:
        """A whole number of 64 bits."""
        return int.from_bytes(self._digest(purpose, content, 8), "big")

    def hexadecimal(self, length: int, purpose: str, *content: Content) -> str:
        return self._digest(purpose, content, (length + 1) // 2).hex()[:length]

    def share(self, purpose: str, *content: Content) -> float:
        """A number in [0, 1)."""
        return self.number(purpose, *content) / _SPAN

    def between(self, low: float, high: float, purpose: str, *content: Content) -> float:
        return low + (high - low) * self.share(purpose, *content)

    def pick(self, items: Sequence[Item], purpose: str, *content: Content) -> Item:
        return items[self.number(purpose, *content) % len(items)]

    def _digest(self, purpose: str, content: tuple[Content, ...], size: int) -> bytes:
        said = _opening(self.seed, purpose)
        for part in content:
            if type(part) is int:
                said += _number(part)
            else:
                raw = part if type(part) is bytes else _encoded(str(part))
                said += _length(len(raw)) + raw
        return blake2b(said, digest_size=size).digest()


@lru_cache(1_000)
def _opening(seed: int, purpose: str) -> bytes:
    return b"%d:%b" % (seed, purpose.encode())


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # rare, and the other way is twice as slow
        return text.encode("utf-8", "surrogatepass")


# Nearly always the number of a choice.
@lru_cache(100)
def _number(part: int) -> bytes:
    raw = b"%d" % part
    return _length(len(raw)) + raw


_length = struct.Struct(">Q").pack
