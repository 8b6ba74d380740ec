"""A run's files while this process holds the run: one that has slept past its lease writes and removes none.

A database fences every commit. A folder cannot, so what is written there is held back here, by a clock that counts
sleep: the lease may be somebody else's by now, and so may be the file of that name.
"""

from collections.abc import Callable
from typing import Any, BinaryIO, cast

from overnight.core.clock import steady
from overnight.core.errors import LeaseLost, LedgerError
from overnight.ledger.postgres.lease import Lease
from overnight.store.contract import Appender, Kept, Reader, Store, Writer


class HeldStore:
    """The same verbs as the store's own; those that change something are for who holds the run."""

    def __init__(self, store: Store, lease: Callable[[], Lease | None]) -> None:
        self._store = store
        self._lease = lease
        self.home = store.home

    def _check(self) -> None:
        lease = self._lease()
        if lease is not None and steady() > lease.sure_until:
            raise LeaseLost(
                f"{self.home}: this process was not heard of for longer than its lease on run '{lease.run.name}'; "
                "nothing more is written from here. Run the same command again: it goes on where the run is by now"
            )

    def _only_held(self, verb: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*values: Any, **named: Any) -> Any:
            self._check()
            try:
                return verb(*values, **named)
            except LedgerError:
                self._check()  # what is gone may be gone because somebody else has the run by now
                raise

        return checked

    def put(self, name: str, *, over_anything: bool = False) -> Writer:
        writer = cast("Writer", self._only_held(self._store.put)(name, over_anything=over_anything))
        cast("Any", writer).keep = self._only_held(writer.keep)
        return writer

    def append(self, name: str, *, anew: bool = False) -> Appender:
        appender = cast("Appender", self._only_held(self._store.append)(name, anew=anew))
        cast("Any", appender).add = self._only_held(appender.add)
        return appender

    def mend(self, name: str, end: int) -> Kept:
        return cast("Kept", self._only_held(self._store.mend)(name, end))

    def remove(self, name: str) -> None:
        self._only_held(self._store.remove)(name)

    def where(self, name: str) -> str:
        return self._store.where(name)

    def reader(self, name: str) -> Reader:
        return self._store.reader(name)

    def stream(self, name: str, start: int = 0) -> BinaryIO:
        return self._store.stream(name, start)

    def problem(self, name: str) -> str | None:
        return self._store.problem(name)

    def exists(self, name: str) -> bool:
        return self._store.exists(name)

    def size(self, name: str) -> int:
        return self._store.size(name)

    def names(self, part: str) -> list[str]:
        return self._store.names(part)

    def prepare(self) -> None:
        self._store.prepare()

    def clear(self) -> None:
        self._only_held(self._store.clear)()
