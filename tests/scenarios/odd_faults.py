"""A run whose provider raises what nobody expects, in a process of its own."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import overnight.api
from overnight.providers.openai_api.connection import FileBatchConnection


class Odd(Exception):
    """Of all things."""


def run_with_fault(study: str, verb: str, at: int, *, say: Callable[[str], None], **options: Any) -> Any:
    """From its `at`th call on, the verb raises."""
    whole, calls = getattr(FileBatchConnection, verb), itertools.count(1)

    async def odd(self: FileBatchConnection, *arguments: Any, **named: Any) -> Any:
        if next(calls) >= at:
            raise Odd("of all things")
        return await whole(self, *arguments, **named)

    setattr(FileBatchConnection, verb, odd)
    return overnight.api.run(study, say=say, **options)
