"""Telling each target once, all at the same time, and for no longer than a moment: what fails is one line."""

import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from overnight.core.errors import StudyError
from overnight.core.money import DOLLAR
from overnight.notifying.target import DESKTOP, Target, is_web, scheme_of
from overnight.notifying.unlogged import unlogged
from overnight.prices import dollars

# For all targets together.
LIMIT_SECONDS = 10.0
_DESKTOPS = {"darwin": ("macosx://",), "win32": ("windows://",)}
_MISSING = "needs apprise: pip install 'overnight[notify]'"


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """What is told, and all of it: no item and no answer. No counts where the run could not say them."""

    run: str
    state: str
    message: str
    exit_code: int
    rows: dict[str, int] | None
    # US dollars; None where no price is known.
    cost: float | None
    # What rows that were run may have cost, where no bill came.
    presumed: float | None

    @property
    def title(self) -> str:
        return f"{self.run}: {self.state}"

    @property
    def text(self) -> str:
        """For people: the terminal's sentence, the counts and the cost."""
        counts = [] if self.rows is None else [f"{count:,} {name}" for name, count in self.rows.items() if count]
        cost = [] if self.cost is None else [f"{dollars(round(self.cost * DOLLAR))} spent"]
        presumed = [f"{dollars(round(self.presumed * DOLLAR))} presumed spent"] if self.presumed else []
        return "\n".join(filter(None, (f"{self.run}: {self.message}", ", ".join(counts + cost + presumed))))

    def document(self) -> bytes:
        """For programs; `text` is also where chat servers look for what to show."""
        return msgspec.json.encode({**msgspec.to_builtins(self), "text": self.text})


def tell_all(
    targets: Sequence[Target], ending: Ending, environ: Mapping[str, str], limit: float = LIMIT_SECONDS
) -> list[str]:
    """A line for each target that was not told. Comes back in time whatever the targets do."""
    tries = [_Try(target, ending, environ, limit) for target in targets]
    for one in tries:
        one.start()
    ends = time.monotonic() + limit
    try:
        for one in tries:
            one.finished.wait(max(0.0, ends - time.monotonic()))
    except KeyboardInterrupt:
        pass  # the run has ended and its tables are made: there is nothing else to stop
    return [f"{one.target.label} was not told: {one.trouble}" for one in tries if one.trouble]


class _Try(threading.Thread):
    """One target. A thread that is left behind ends with the process."""

    def __init__(self, target: Target, ending: Ending, environ: Mapping[str, str], limit: float) -> None:
        super().__init__(name="notify", daemon=True)
        self.target = target
        self._ending, self._environ, self._limit = ending, environ, limit
        self.trouble = f"no answer within {limit:g} seconds"
        self.finished = threading.Event()

    def run(self) -> None:
        # Foreign errors hold addresses, and these hold secrets: none of their words go further.
        try:
            self.trouble = self._tell()
        except StudyError as error:
            self.trouble = str(error).removeprefix(f"{self.target.where}: ")
        except Exception as error:  # noqa: BLE001 - the thread's edge, and a library's plugins
            self.trouble = f"a fault on the way ({type(error).__name__})"
        finally:
            self.finished.set()

    def _tell(self) -> str:
        address = self.target.address(self._environ)
        service = service_of(address, self.target)
        if service is not None:
            # Not by its queue of services, whose threads would hold up the exit.
            with unlogged():
                told = service.notify(body=self._ending.text, title=self._ending.title)
            return "" if told else "it could not be reached, or did not take it"
        # Imported late: most commands tell nobody, and HTTP takes a while to load.
        from overnight.notifying.webhook import post  # noqa: PLC0415

        return post(address, self._ending.document(), self._limit)


def check_service(target: Target, environ: Mapping[str, str]) -> None:
    """StudyError where there is no address, or no way to it on this machine."""
    address = target.address(environ)
    if not is_web(address):
        service_of(address, target)


def service_of(address: str, target: Target) -> Any:
    """The library's way to it; None where a plain POST is the way. StudyError where there is neither."""
    apprise = _library()
    if apprise is None:
        if address == DESKTOP or not is_web(address):
            raise StudyError(f"{target.where}: {target.label} {_MISSING}")
        return None
    tried = _DESKTOPS.get(sys.platform, ("dbus://", "gnome://")) if address == DESKTOP else (address,)
    with unlogged():
        found = next(filter(None, (apprise.Apprise.instantiate(one) for one in tried)), None)
    if found is None and address == DESKTOP:
        raise StudyError(f"{target.where}: apprise finds no desktop here that shows notifications")
    if found is None and not is_web(address):
        known = f"{scheme_of(address)}:// address"
        raise StudyError(f"{target.where}: {target.label} holds a {known} that apprise cannot use")
    if found is not None:
        found.notify_format = apprise.NotifyFormat.TEXT  # what we have; lines of it run together in HTML
    return found


def _library() -> Any:
    """An extra, and slow to import: looked for only when somebody is to be told."""
    try:
        import apprise  # noqa: PLC0415 - see above
    except ImportError:
        return None
    return apprise
