"""Verbs in processes of their own, so that they can be killed. One warm process forks the others: no import is paid twice.

The parent talks JSON lines with the warm process; each request names a verb of `overnight.api`, its arguments and
the environment, and is answered with how the child ended. One that does not end is killed, so that a test fails by
what it asserts, and not by never ending.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Real seconds. No verb of a test takes nearly as long, on however busy a machine.
LONGEST = 900.0


@dataclass(frozen=True)
class Ending:
    """`signal` is set when the process was killed; else `state` or `error` says how the verb ended, or that it did not."""

    signal: int | None
    state: str | None = None
    message: str = ""
    error: str | None = None
    said: tuple[str, ...] = ()


class WarmProcess:
    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(
        self, verb: str, *args: Any, cwd: Path, environ: Mapping[str, str], within: float = LONGEST, **options: Any
    ) -> Ending:
        """`within`: real seconds after which a verb that has not ended never will."""
        place = {"cwd": str(cwd), "environ": dict(environ)}
        request = {"verb": verb, "args": args, "options": options, "within": within, **place}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        answer["said"] = tuple(answer.get("said", ()))
        return Ending(**answer)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


def _verb(name: str) -> Any:
    """A verb of the API, or `module:function` for a test's own."""
    import overnight.api as api

    module, _, function = name.rpartition(":")
    return getattr(importlib.import_module(module), function) if module else getattr(api, name)


def _child(request: dict[str, Any], out: int) -> None:
    from overnight.core import checkpoint
    from overnight.core.errors import OvernightError
    from own_database import use_own_database
    from own_time import use_own_time
    from scenarios import cut_network

    os.chdir(request["cwd"])
    os.environ.update(request["environ"])
    if "OVERNIGHT_TEST_PLUGINS" in os.environ:
        sys.path.append(os.environ["OVERNIGHT_TEST_PLUGINS"])
    if "OVERNIGHT_TEST_NOW" in os.environ:
        use_own_time(float(os.environ["OVERNIGHT_TEST_NOW"]))
    use_own_database()
    checkpoint.rearm(os.environ)
    cut_network.arm(os.environ)
    said: list[str] = []
    answer: dict[str, Any] = {"signal": None}
    try:
        outcome = _verb(request["verb"])(*request["args"], **request["options"], say=said.append)
        last = outcome[-1] if isinstance(outcome, list) else outcome
        answer |= {"state": last.state if last else None, "message": last.message if last else ""}
    except OvernightError as error:
        answer |= {"error": type(error).__name__, "message": str(error)}
    except BaseException:  # noqa: BLE001 - the test that asked is told
        answer |= {"error": "crash", "message": traceback.format_exc()}
    answer["said"] = said
    os.write(out, json.dumps(answer).encode())


def _import_all() -> None:
    """Whatever a child would load: a verb imports late, and each child would do so again."""
    import aiohttp
    import polars as pl

    import overnight
    import own_database
    from scenarios import cut_network

    assert aiohttp
    assert pl
    assert own_database
    assert cut_network
    for one in pkgutil.walk_packages(overnight.__path__, "overnight."):
        if not one.name.endswith(".__main__"):
            importlib.import_module(one.name)


def _serve() -> None:
    from own_time import use_own_time

    _import_all()
    use_own_time()
    # Children look for garbage among their own things only.
    gc.freeze()
    for line in sys.stdin:
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(_answer(json.loads(line))), flush=True)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _child(request, write)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        # All is written at the end, in one piece; a process that dies closes its end.
        ended, _, _ = select.select([pipe], [], [], request["within"])
        if not ended:
            os.kill(child, signal.SIGKILL)
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if not ended:
        message = f"{request['verb']} has not ended after {request['within']:g} seconds"
        return {"signal": None, "error": "endless", "message": message}
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return json.loads(text) if text and killed is None else {"signal": killed}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _serve()
