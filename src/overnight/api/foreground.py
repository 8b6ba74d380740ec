"""The engine in a thread of its own, so that the verbs are plain functions and Ctrl-C reaches the caller."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class _Background(threading.Thread, Generic[T]):
    def __init__(self, work: Callable[[], Coroutine[Any, Any, T]]) -> None:
        super().__init__(name="engine", daemon=True)
        self._work = work
        self.value: T | None = None
        self.error: BaseException | None = None
        # Waited for instead of joining: a join that Ctrl-C interrupts may take the thread for finished.
        self.finished = threading.Event()

    def run(self) -> None:
        try:
            self.value = asyncio.run(self._work())
        except BaseException as error:  # noqa: BLE001 - the worker's edge: the caller's thread raises it
            self.error = error
        finally:
            self.finished.set()


def run_engine(work: Callable[[], Coroutine[Any, Any, T]], stop: Callable[[], None], say: Callable[[str], None]) -> T:
    """Wait for the engine. The first Ctrl-C asks it to stop safely; the second leaves at once."""
    background = _Background(work)
    background.start()
    asked = False
    while not background.finished.is_set():
        try:
            background.finished.wait(0.2)
        except KeyboardInterrupt:
            if asked:
                raise
            asked = True
            say("stopping: finishing the step at hand (Ctrl-C again leaves at once)")
            stop()
    if background.error is not None:
        raise background.error
    return background.value  # type: ignore[return-value]
