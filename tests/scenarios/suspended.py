"""A process that works on a run and is suspended at a checkpoint, as a laptop's is: SIGSTOP now, SIGCONT later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Self

AT = "OVERNIGHT_TEST_SUSPEND_AT"


class Suspended:
    """`overnight run STUDY` in a process of its own, which stops at the first checkpoint of that name."""

    def __init__(self, study: str, at: str, cwd: Path, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, study],
            cwd=cwd,
            env={**os.environ, **environ, AT: at, "PYTHONPATH": str(Path(__file__).parents[1])},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_until_suspended(self) -> None:
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), self._process.stdout and self._process.stdout.read()

    def wake(self, within: float = 180) -> str:
        """How it ended, which it has to in so many real seconds."""
        os.kill(self._process.pid, signal.SIGCONT)
        said, _ = self._process.communicate(timeout=within)
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        if self._process.stdout is not None and not self._process.stdout.closed:
            self._process.communicate()


def main(study: str) -> None:
    import overnight.core.checkpoint as seam
    from overnight.api import run
    from overnight.core.errors import OvernightError
    from own_database import use_own_database
    from own_time import use_own_time

    use_own_time()
    use_own_database()
    wanted, stopped = os.environ[AT], False

    def passed(name: str) -> None:
        nonlocal stopped
        if wanted in name and not stopped:
            stopped = True
            # To this thread: another one may take a signal to the process, and this one would go on a little.
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    seam._seam.armed = True
    seam._seam.passed = passed  # type: ignore[method-assign]
    try:
        print(run(study).state)
    except OvernightError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(sys.argv[1])
