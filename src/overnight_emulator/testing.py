"""The emulator inside a test: a server of its own in a thread, told what to do by the test.

with Emulator({"answer_with": {"capital of France": "Paris"}}) as emulator:
    client = OpenAI(base_url=emulator.env["OPENAI_BASE_URL"], api_key="any")
"""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from aiohttp import web
from msgspec.structs import replace

from overnight_emulator.dialects.all import DIALECTS, environment
from overnight_emulator.server import application
from overnight_emulator.sharing import state_folder
from overnight_emulator.truth import Latency
from overnight_emulator.truth_file import read_truth
from overnight_emulator.world import World

_PATIENCE = 60
_STOPPING = 0.1
_HOST = "127.0.0.1"
# A batch takes half a second at most, and a live call no time at all.
_FAST = {"time_scale": 3_600.0}
_AT_ONCE = (0.0, 0.0)


class Emulator:
    """`truth` is what a truth file would hold; what it does not say is set for tests: time runs 3,600 times as fast,
    and live calls take none."""

    def __init__(self, truth: Mapping[str, Any] | None = None, state: Path | None = None) -> None:
        given = dict(truth or {})
        self._truth = read_truth(_FAST | given)
        if "live" not in given.get("latency", {}):
            self._truth = replace(self._truth, latency=Latency(self._truth.latency.batch, _AT_ONCE))
        self._state = state
        self._ready = Future[str]()
        self._ended = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped: asyncio.Event | None = None
        self.url = ""

    @property
    def env(self) -> dict[str, str]:
        """The variables that point every SDK here."""
        return environment(self.url)

    def faults(self, *faults: Mapping[str, Any]) -> None:
        """Arm these in place of all others; without any, disarm all."""
        self._ask("faults", list(faults))

    def advance(self, seconds: float) -> None:
        """Jump forward in virtual time; all that falls due is done when it returns."""
        self._ask("advance", {"seconds": seconds})

    def finish(self) -> None:
        """End every batch that has begun, also one that is stuck."""
        self._ask("finish", {})

    def log(self) -> dict[str, Any]:
        """What was received, run and billed."""
        log: dict[str, Any] = self._ask("log")
        return log

    def reset(self) -> None:
        """Forget all that was sent; the faults are again those of the truth."""
        self._ask("reset", {})

    def start(self) -> Self:
        """One that was stopped can be started again; with a state of its own it goes on from there."""
        if self.url:
            raise RuntimeError("the emulator is running already")
        self._ready, self._ended = Future(), threading.Event()
        threading.Thread(target=self._run, daemon=True, name="emulator").start()
        self.url = self._ready.result(_PATIENCE)
        return self

    def stop(self) -> None:
        if self._loop is not None and self._stopped is not None and not self._ended.is_set():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._ended.wait(_PATIENCE)
            self.url = ""

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _ask(self, what: str, body: Any = None) -> Any:
        if not self.url:
            raise RuntimeError("the emulator is not running: use it in a `with`, or call start()")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/_emulator/{what}", data)  # noqa: S310 - our own address
        # Nothing that stands in the environment may lead elsewhere.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=_PATIENCE) as answer:
                return json.load(answer)
        except urllib.request.HTTPError as error:
            with error:
                raise ValueError(error.read().decode(errors="replace")) from None

    def _run(self) -> None:
        try:
            with ExitStack() as stack:
                asyncio.run(self._serve(state_folder(self._state, stack)))
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)  # for whoever waits for it to start
        finally:
            self._ended.set()

    async def _serve(self, folder: Path) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        formats = {dialect.name: dialect.rows(self._truth) for dialect in DIALECTS if dialect.rows is not None}
        runner = web.AppRunner(
            application(World(self._truth, folder, formats), DIALECTS), access_log=None, shutdown_timeout=_STOPPING
        )
        await runner.setup()
        try:
            await web.TCPSite(runner, _HOST, 0).start()
            self._ready.set_result(f"http://{_HOST}:{runner.addresses[0][1]}")
            await self._stopped.wait()
        finally:
            await runner.cleanup()
