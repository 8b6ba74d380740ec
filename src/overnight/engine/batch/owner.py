"""Whose batch is this? Where a provider keeps no tag, the custom ids of its rows tell."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from overnight.core.errors import Gone
from overnight.core.result import Line
from overnight.core.shard import line_of
from overnight.engine.batch.line_splitting import LineSplitter
from overnight.engine.provider_account import ProviderAccount
from overnight.providers.contract import Batch

# So many rows with other ids, and the batch is somebody else's: one odd line must not decide.
_ENOUGH = 20


class _Told(Exception):
    """The rows have said enough: the rest need not come."""


class Opening:
    """The first rows of a batch, as they come down the wire."""

    def __init__(self, token: str, decode: Callable[[bytes], Line]) -> None:
        self._token = token
        self._decode = decode
        self._loose = LineSplitter()
        self._foreign = 0
        self._own = False

    @property
    def ours(self) -> bool | None:
        """None when no row could be read: then nobody can tell."""
        return self._own if self._own or self._foreign else None

    def write(self, chunk: bytes) -> None:
        for line in self._loose.add(chunk).split(b"\n"):
            self._read(line)

    def end(self) -> None:
        """A last line may lack its newline."""
        with suppress(_Told):
            self._read(self._loose.rest)

    def _read(self, line: bytes) -> None:
        custom_id = self._decode(line.strip()).custom_id if line.strip() else None
        if custom_id is None:
            return
        self._own = line_of(self._token, custom_id) is not None
        self._foreign += int(not self._own)
        if self._own or self._foreign >= _ENOUGH:
            raise _Told


async def carries(account: ProviderAccount, batch: Batch, token: str) -> bool | None:
    """Whether the rows of a batch that has ended bear this token; None when they are gone or unreadable."""
    for _, ref in batch.parts:
        try:
            told = (await account.patiently(partial(_opening, account, ref, token))).ours
        except Gone:
            return None
        if told is not None:
            return told
    return None


async def _opening(account: ProviderAccount, ref: str, token: str) -> Opening:
    opening = Opening(token, account.provider.format.decode)
    with suppress(_Told):
        await account.batches.fetch(ref, opening.write)
        opening.end()
    return opening
