"""Time as fast as a test's own emulator has it, for runs that take this emulator for a real provider.

`OVERNIGHT_TIME_SCALE` is for rehearsals only. A test that points a run at an emulator of its own says so here, in the
process that works on the run: `use_own_time()`, or `python own_time.py SCRIPT ...` or `-m MODULE ...`.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping

import overnight.core.clock
import overnight.settings


def _own_time(values: Mapping[str, str]) -> float:
    return float(values.get("OVERNIGHT_TIME_SCALE") or 1.0)


def use_own_time(now: float | None = None) -> None:
    """`now` is what the emulator's clock shows, where one process goes on with what another began."""
    overnight.settings.real_time = _own_time
    if now is not None:
        overnight.core.clock.wall_time = lambda: now


def main(arguments: list[str]) -> None:
    use_own_time()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
