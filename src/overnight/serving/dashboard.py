"""The dashboard as a server of this machine: a thread of its own, from `start` until `stop`."""

import asyncio
import os
import sys
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from overnight.core.arguments import checked
from overnight.core.errors import StudyError
from overnight.rank.distributions import load
from overnight.reporting.shown_text import escaped
from overnight.serving.keeping import Keeper
from overnight.serving.records import Records
from overnight.serving.web.listening import Listening
from overnight.settings import Settings, settings

# Where it listens unless it is told otherwise.
PORT = 8780


class Dashboard:
    """Serves the runs of a folder on 127.0.0.1. `address` has the token that opens it."""

    def __init__(self, place: Settings, port: int = PORT, *, keep: Callable[[str], None] | None = None) -> None:
        """`keep`: open runs that nobody works on are taken up, which is told so."""
        self._records = Records(place)
        self._keeper = None if keep is None else Keeper(place, self._records.commands, keep)
        self._listening = Listening(self._records, port)
        self._thread = threading.Thread(target=self._serve, name="dashboard", daemon=True)
        self._ready = threading.Event()
        self._trouble: BaseException | None = None

    @property
    def address(self) -> str:
        return self._listening.address

    def start(self) -> None:
        """Returns when it answers; StudyError when its port cannot be had."""
        self._thread.start()
        self._ready.wait()
        if self._trouble is not None:
            self._records.close()
            raise self._trouble
        # The first who compares two arms need not wait for the libraries.
        threading.Thread(target=load, name="dashboard-libraries", daemon=True).start()
        if self._keeper is not None:
            self._keeper.start()

    def _serve(self) -> None:
        try:
            asyncio.run(self._listening.serve(self._ready.set))
        except StudyError as error:
            self._trouble = error
        finally:
            self._ready.set()

    def wait(self) -> None:
        """Until it has ended, or Ctrl-C comes."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def stop(self) -> None:
        """Pages are let go of, and commands that were begun here come to a safe stop."""
        try:
            if self._keeper is not None:
                self._keeper.stop()
            self._listening.end()
            self._thread.join()
        finally:
            self._records.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


@checked
def serve(
    *,
    runs: str | Path | None = None,
    port: int = PORT,
    open_browser: bool | None = None,
    keep: bool = False,
    emulate: bool | None = None,
    say: Callable[[str], None] = print,
) -> None:
    """Show the runs of a folder in a browser of this machine, until Ctrl-C.

    The address is told with a token that opens it; nobody else can look. Port 0 picks one that is free. `keep` works on
    every open run that nobody works on: so others may submit, and sleep.
    """
    place = settings(runs=runs, emulate=emulate)
    dashboard = Dashboard(place, port, keep=say if keep else None)
    dashboard.start()
    with tempfile.TemporaryDirectory(prefix="overnight-", ignore_cleanup_errors=True) as scratch:
        try:
            say(f"{place.where}: {dashboard.address}")
            if _has_browser() if open_browser is None else open_browser:
                _open(dashboard.address, Path(scratch))
            dashboard.wait()
        except KeyboardInterrupt:
            pass  # this is how it is meant to end
        finally:
            dashboard.stop()


def _has_browser() -> bool:
    """Whether somebody sits at this machine, with a screen."""
    if not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION"):
        return False
    return sys.platform == "darwin" or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


def _open(address: str, scratch: Path) -> None:
    """By a file that only the user can read: what a browser is started with, every user of the machine can see."""
    page = scratch / "dashboard.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url={escaped(address)}">'
    )
    webbrowser.open(page.as_uri())
