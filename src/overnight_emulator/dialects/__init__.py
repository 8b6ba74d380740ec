"""The dialects: one for each provider, mounted under a prefix of its own.

A dialect is a `Dialect` value. It builds an aiohttp application for its routes, tells which environment variables
point its SDK at the emulator, and knows how to read and write the rows of its batches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiohttp import web
from msgspec import Struct

from overnight_emulator.batches.rows import RowFormat
from overnight_emulator.truth import Truth
from overnight_emulator.world import World


class Dialect(Struct, frozen=True):
    name: str
    prefix: str
    application: Callable[[World], web.Application]
    rows: Callable[[Truth], RowFormat] | None
    """None where there are no batches."""
    environment: Callable[[str], Mapping[str, str]]
    """Given the emulator's origin, the variables that the provider's SDK reads."""
    more_prefixes: tuple[str, ...] = ()

    @property
    def prefixes(self) -> tuple[str, ...]:
        """Everywhere that the same routes are."""
        return (self.prefix, *self.more_prefixes)
