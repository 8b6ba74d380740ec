"""The engine in a thread of its own, so that the verbs are plain functions and Ctrl-C reaches the caller."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Generic, NamedTuple, TypeVar

from overnight.core.errors import Interrupted

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


class Ended(NamedTuple, Generic[T]):
    """What the engine brought, and whether the user pressed Ctrl-C meanwhile."""

    value: T
    interrupted: bool


def run_engine(
    work: Callable[[], Coroutine[Any, Any, T]], stop: Callable[[], None], say: Callable[[str], None]
) -> Ended[T]:
    """Wait for the engine. The first Ctrl-C asks it to stop safely; the second leaves at once."""
    background = _Background(work)
    background.start()
    interrupted = _wait(background, stop, say)
    if background.error is not None:
        if interrupted and isinstance(background.error, Exception):
            # Whoever catches errors to go on with the next study must still see that the user wants to stop.
            raise Interrupted(f"stopped: {background.error}") from background.error
        raise background.error
    return Ended(background.value, interrupted)  # type: ignore[arg-type]


def _wait(background: "_Background[Any]", stop: Callable[[], None], say: Callable[[str], None]) -> bool:
    """Until it has ended; whether Ctrl-C came."""
    asked = False
    while True:
        try:
            if asked:
                stop()
            while not background.finished.wait(0.2):
                pass
        except KeyboardInterrupt:
            if asked:
                raise
            asked = True
            say("stopping: finishing the step at hand (Ctrl-C again leaves at once)")
        else:
            return asked
