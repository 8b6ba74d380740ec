"""The command: `overnight emulator`, or `python -m overnight_emulator`."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from aiohttp import web
from msgspec.structs import replace

from overnight_emulator.dialects.all import DIALECTS, environment
from overnight_emulator.server import application
from overnight_emulator.sharing import StateInUseError, address_file, state_folder, until_unused
from overnight_emulator.truth import Truth
from overnight_emulator.truth_file import TruthError, load_truth, truth_files
from overnight_emulator.world import World

_WRONG_USE = 2
_STOPPING_SECONDS = 1.0


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(argv)
    if options.until_unused is not None and options.state is None:
        parser.error("--until-unused needs --state, where its users find it")
    if options.env is not None:
        _say(_environment(f"http://{options.host}:{options.port}", options.env))
        return 0
    try:
        truth = _truth(options)
        with ExitStack() as stack:
            folder = state_folder(options.state, stack)
            asyncio.run(_serve(truth, folder, options))
    except (TruthError, StateInUseError, OSError) as error:
        sys.stderr.write(f"overnight emulator: {error}\n")
        return _WRONG_USE
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="overnight emulator",
        description="A local server that speaks the providers' batch and live APIs, with simulated models.",
    )
    parser.add_argument("--port", type=int, default=8765, help="port to listen on; 0 picks a free one (8765)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a name it may be called by, beside localhost"
    )
    parser.add_argument("--truth", type=Path, metavar="FILE", help="YAML file that says what is true and what breaks")
    parser.add_argument("--state", type=Path, metavar="DIR", help="keep everything here (a folder that is removed)")
    parser.add_argument("--time-scale", type=_positive, metavar="N", help="virtual seconds in a real one")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of all chance")
    parser.add_argument(
        "--strict", action="store_true", help="refuse what the providers refuse, unless the truth says no"
    )
    parser.add_argument(
        "--env",
        nargs="?",
        const="sh",
        choices=("sh", "r", "json"),
        help="print what points the SDKs here, for a shell, R or anybody, and exit",
    )
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="exit when stdin ends, as it does when a parent dies"
    )
    parser.add_argument(
        "--until-unused",
        type=_positive,
        metavar="SECONDS",
        help="with --state: say there where it listens, and exit when nobody has held `in-use` there for so long",
    )
    return parser


def _positive(text: str) -> float:
    number = float(text)
    if number <= 0:
        raise argparse.ArgumentTypeError(f"found {text}, wanted a number above 0")
    return number


def _truth(options: argparse.Namespace) -> Truth:
    truth = load_truth(options.truth) if options.truth is not None else Truth()
    if options.seed is not None:
        truth = replace(truth, seed=options.seed)
    if options.strict and truth.strict is None:
        truth = replace(truth, strict=True)
    if options.time_scale is not None:
        truth = replace(truth, time_scale=options.time_scale)
    return truth


def _environment(origin: str, form: str) -> str:
    """For a shell, for R, or for whoever reads JSON."""
    variables = environment(origin)
    if form == "json":
        return json.dumps(variables, indent=2)
    line = {"sh": "export {}={}", "r": 'Sys.setenv({} = "{}")'}[form]
    return "\n".join(line.format(name, value) for name, value in variables.items())


async def _serve(truth: Truth, folder: Path, options: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    if options.until_stdin_closes:
        _when_stdin_closes(lambda: loop.call_soon_threadsafe(stopped.set))
    formats = {dialect.name: dialect.rows(truth) for dialect in DIALECTS if dialect.rows is not None}
    world = World(truth, folder, formats)
    served = application(world, DIALECTS, (options.host, *options.allow_host))
    runner = web.AppRunner(served, access_log=None, shutdown_timeout=_STOPPING_SECONDS)
    await runner.setup()
    newcomers_wait = -1
    try:
        site = web.TCPSite(runner, options.host, options.port)
        await site.start()
        url = f"http://{options.host}:{runner.addresses[0][1]}"
        _say(f"listening on {url}")
        if options.until_unused is None:
            await stopped.wait()
        else:
            read = [] if options.truth is None else truth_files(options.truth)
            with address_file(folder, url, truth.time_scale, read):
                newcomers_wait = await until_unused(folder, options.until_unused, stopped)
    finally:
        await runner.cleanup()
        if newcomers_wait >= 0:
            os.close(newcomers_wait)


def _when_stdin_closes(then: Callable[[], object]) -> None:
    def watch() -> None:
        while os.read(0, 1 << 16):
            pass
        with suppress(RuntimeError):  # it was stopped otherwise in the meantime, and its loop is closed
            then()

    threading.Thread(target=watch, daemon=True).start()


def _say(text: str) -> None:
    """Flushed, because whoever started the emulator waits for it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
