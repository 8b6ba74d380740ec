"""Actors on Ray: a cluster that runs already, or one of this machine alone that ends with the pass.

Keys go to an actor by a call of its method, which Ray keeps in no log: it does write down environments and the
arguments that an actor is made with. Nothing here is asked again by Ray itself, which knows of no bill.
"""

import asyncio
import atexit
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from overnight.core.clock import WallClock
from overnight.core.errors import StudyError, Unavailable
from overnight.core.exit_codes import RAY_THREAD
from overnight.engine.spread.actor import Actor
from overnight.engine.spread.leader import ActorLost

T = TypeVar("T")
# Answers pass through Ray in small messages; nothing is kept there.
_OBJECT_STORE = 100 << 20
# To reach a cluster, and to get an actor there.
_REACHED_WITHIN = 90.0
_LEAVES_WITHIN = 5.0
# Ray ends the whole process when its head is not heard of for so many seconds; ours tells it, and ends in order.
_PATIENT = {"RAY_gcs_rpc_server_reconnect_timeout_s": "86400", "RAY_USAGE_STATS_ENABLED": "0"}
# Ray's word for "not a cluster": it takes the machine's own address for 127.0.0.1 otherwise.
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
# What processes of a Ray that we start see of our environment: keys are in none of these.
_HARMLESS = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TZ|TMPDIR|PYTHON\w*|VIRTUAL_ENV|LD_LIBRARY_PATH|RAY_\w+|SSL_CERT_\w+"
    r"|(?i:https?|all|no)_(?i:proxy)"
)


class RayLink:
    def __init__(self, ray: Any, actor: Any, asked: "_Asking") -> None:
        self._ray = ray
        self._actor = actor
        self._asked = asked

    async def tell(self, message: bytes) -> None:
        await self._answer(self._actor.tell.remote(message))

    async def collect(self) -> bytes:
        answer: bytes = await self._answer(self._actor.collect.remote())
        return answer

    async def _answer(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return await reference
        except errors.RayTaskError:
            raise  # a fault of our own
        except errors.RayError as error:
            raise ActorLost(_first_line(error)) from error

    async def end(self) -> None:
        with suppress(Exception):  # it is gone, or goes with the cluster
            async with asyncio.timeout(_LEAVES_WITHIN):
                await self._asked(lambda: self._ray.kill(self._actor))


class RayPlace:
    """`number`: so many actors, where the user has said it."""

    name = "Ray"

    def __init__(self, number: int | None, time_scale: float) -> None:
        if not os.environ.get("RAY_ADDRESS"):
            # A Ray of our own is nobody else's: who could reach it could run code beside our keys.
            os.environ.setdefault(_LOOPBACK, "0")
            if "RAY_AUTH_MODE" not in os.environ:
                os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
        self._ray = _library()
        self._asked = _Asking()
        self._number = number
        self._time_scale = time_scale
        self._ours = False

    async def join(self) -> int:
        try:
            async with asyncio.timeout(_REACHED_WITHIN):
                return await self._asked(self._join)
        except TimeoutError:
            raise Unavailable(f"Ray: no answer within {_REACHED_WITHIN:.0f} s ({_which()})") from None

    def _join(self) -> int:
        ray = self._ray
        try:
            if not ray.is_initialized():
                self._ours = True
                self._begin()
            room = int(ray.cluster_resources().get("CPU", 1))
        except (OSError, RuntimeError, ValueError) as error:  # all that Ray has for a cluster it cannot join
            raise Unavailable(f"Ray cannot be reached ({_which()}): {_first_line(error.__cause__ or error)}") from error
        if self._number is not None and self._number > room:
            raise Unavailable(f"Ray has room for {room} actors, and {self._number} are wanted (`--on ray:{room}`)")
        return self._number or max(1, room)

    def _begin(self) -> None:
        quiet = {"log_to_driver": False, "logging_level": "ERROR"}
        if os.environ.get("RAY_ADDRESS"):
            self._ray.init(**quiet)
            return
        with _without_keys():
            self._ray.init(
                address="local",
                num_cpus=self._number or os.cpu_count() or 1,
                object_store_memory=_OBJECT_STORE,
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                **quiet,
            )

    async def start(self) -> RayLink:
        link: RayLink | None = None
        try:
            async with asyncio.timeout(_REACHED_WITHIN):
                link = RayLink(self._ray, await self._asked(self._made), self._asked)
                await link.tell(_NOTHING)
                return link
        except (TimeoutError, ActorLost):
            if link is not None:
                await link.end()
            raise Unavailable(f"Ray: no actor began within {_REACHED_WITHIN:.0f} s; is there a free CPU?") from None

    def _made(self) -> Any:
        """Never begun again by Ray, and no task of it repeated; it goes with the process that made it."""
        kind = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(RayActor)
        return kind.remote(self._time_scale)

    async def leave(self) -> None:
        if self._ours:
            atexit.unregister(self._ray.shutdown)
            with suppress(Exception):  # a cluster whose head is gone does not answer
                async with asyncio.timeout(_LEAVES_WITHIN):
                    await self._asked(self._ray.shutdown)
        self._asked.end()


_NOTHING = b"\x90"


class RayActor(Actor):
    """As Ray makes it: with nothing that anybody may not see."""

    def __init__(self, time_scale: float) -> None:
        super().__init__(WallClock(time_scale))


def _library() -> Any:
    for name, value in _PATIENT.items():
        os.environ.setdefault(name, value)
    try:
        import ray  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - an extra, and large
    except ImportError:
        raise StudyError("--on ray: Ray is not installed; pip install 'overnight[ray]'") from None
    return ray


class _Asking:
    """Ray's calls that may wait for its head, in one thread, which nobody waits for in the end.

    One thread from the first to the last: what Ray starts dies with the thread that has started it. It is alive after
    the pass only where Ray has not come back (`cli/ending.py`).
    """

    def __init__(self) -> None:
        self._questions: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        threading.Thread(target=self._work, name=RAY_THREAD, daemon=True).start()

    def _work(self) -> None:
        while (question := self._questions.get()) is not None:
            question()

    def end(self) -> None:
        self._questions.put(None)

    async def __call__(self, what: Callable[[], T]) -> T:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def tell(outcome: Callable[[], None]) -> None:
            with suppress(RuntimeError):  # the loop is over
                loop.call_soon_threadsafe(lambda: None if done.done() else outcome())

        def ask() -> None:
            try:
                found = what()
            except Exception as error:  # noqa: BLE001 - the thread's edge
                caught = error
                tell(lambda: done.set_exception(caught))
            else:
                tell(lambda: done.set_result(found))

        self._questions.put(ask)
        return await done


@contextmanager
def _without_keys() -> Iterator[None]:
    """What is started meanwhile does not see them."""
    whole = dict(os.environ)
    for name in whole:
        if _HARMLESS.fullmatch(name) is None:
            del os.environ[name]
    try:
        yield
    finally:
        for name, value in whole.items():
            os.environ.setdefault(name, value)


def _which() -> str:
    address = os.environ.get("RAY_ADDRESS")
    return f"RAY_ADDRESS is {address}" if address else "one of this machine's own"


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
