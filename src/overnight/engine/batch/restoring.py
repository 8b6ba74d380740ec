"""Downloads that were damaged on disk, brought again from providers that still keep them."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from overnight.core.attempt import Attempt
from overnight.core.errors import ProviderError
from overnight.engine.batch.evidence import part_names
from overnight.engine.context import RunContext
from overnight.ledger.raw import file_problem


class _Lost(NamedTuple):
    """A raw file that is not the one on record, and where it came from."""

    attempt: Attempt
    path: str
    size: int
    sha256: str
    refs: tuple[str, ...]


async def restore_downloads(context: RunContext) -> int:
    """How many are back. A file counts when it is the one on record, byte for byte."""
    restored = 0
    for lost in list(_lost(context)):
        if await _brought(context, lost):
            context.say(f"{lost.path} was damaged, and is downloaded again")
            await context.note("restored", lost.path, lost.attempt)
            restored += 1
    return restored


def _lost(context: RunContext) -> Iterator[_Lost]:
    view = context.ledger.view()
    for attempt in view.attempts.everything():
        parts = attempt.ended.parts if attempt.ended is not None else ()
        for _, path, size, sha256 in view.files.on_record(attempt.files if parts else ()):
            if file_problem(context.files, path, size, sha256) is not None:
                start = f"raw/{attempt.token}-"
                named = ((f"{start}{name}", ref) for name, _, ref in part_names(parts))
                refs = tuple(ref for name, ref in named if path.startswith((f"{name}.jsonl", f"{name}-")))
                yield _Lost(attempt, path, size, sha256, refs)


async def _brought(context: RunContext, lost: _Lost) -> bool:
    for ref in lost.refs:
        file = await asyncio.to_thread(context.files.put, lost.path, over_anything=True)
        try:
            await context.account_for(lost.attempt).batches.fetch(ref, file.write)
        except ProviderError as error:
            context.say(f"{lost.path} is damaged, and cannot be downloaded again: {error}")
            file.drop()
            continue
        if (file.size, file.sha256) == (lost.size, lost.sha256):
            await asyncio.to_thread(file.keep)
            return True
        context.say(f"{lost.path} is damaged, and the provider now gives another file")
        file.drop()
    return False
