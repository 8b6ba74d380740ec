"""The flags that verbs share, and what they say about where to look and how loud to be."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group

from overnight.terminal.parameters import Parameter

if TYPE_CHECKING:
    from overnight.cli.display import Display
    from overnight.settings import Settings

SHARED = Group("Shared options", sort_key=90)

# Commands that our own messages tell people to type.
_ADVISED = re.compile(
    r"\bovernight (run|submit|resume|status|watch|results|report|rebuild|verify|adopt|resolve|cancel)\b"
)


def above_zero(_: object, value: float | None) -> None:
    """A validator for numbers that only make sense when there is something of them."""
    if value is not None and value <= 0:
        message = f"{value:g} is not above 0"
        raise ValueError(message)


@Parameter(name="*", group=SHARED)
@dataclass(frozen=True, kw_only=True)
class Voice:
    """How a verb speaks."""

    json: Annotated[bool, Parameter(help="Print one JSON document instead of text.")] = False
    verbose: Annotated[bool, Parameter(alias="-v", help="Say more; show where an error came from.")] = False
    quiet: Annotated[bool, Parameter(alias="-q", help="Print the last line only.")] = False

    def display(self) -> "Display":
        """What people see from here on."""
        # Imported late: drawing and the verbs cost time that `--help` need not pay.
        from overnight.cli.display import Display  # noqa: PLC0415

        return Display(self)

    def typed(self, text: str) -> str:
        """Our messages name commands: as they must be typed to mean the same place."""
        return text


@Parameter(name="*", group=SHARED)
@dataclass(frozen=True, kw_only=True)
class Flags(Voice):
    """How a verb speaks, and which runs it is about."""

    emulate: Annotated[
        bool | None,
        Parameter(
            negative="--no-emulate",
            help="Rehearse on the built-in emulator: no key, no cost, runs kept apart (OVERNIGHT_EMULATE=1).",
        ),
    ] = None
    runs: Annotated[
        str | None,
        Parameter(
            help="Folder that holds the runs, or postgresql://HOST/DB?files=PLACE; default: OVERNIGHT_RUNS or runs.",
            metavar="PLACE",
        ),
    ] = None

    def settings(self) -> "Settings":
        # Imported late, as the display is.
        from overnight.settings import settings  # noqa: PLC0415

        return settings(runs=self.runs, emulate=self.emulate)

    def typed(self, text: str) -> str:
        return _ADVISED.sub(lambda found: found[0] + self._extra, text)

    @property
    def _extra(self) -> str:
        emulate = {None: "", True: " --emulate", False: " --no-emulate"}[self.emulate]
        # A database's address is shown without its password.
        place = str(self.runs) if "://" not in str(self.runs) else self.settings().where
        runs = "" if self.runs is None else f" --runs {shlex.quote(place)}"
        return emulate + runs


@Parameter(name="*", group=SHARED)
@dataclass(frozen=True, kw_only=True)
class TrustFlags(Flags):
    """The same for verbs that send: a study or a run may come from a stranger."""

    allow_host: Annotated[
        list[str] | None,
        Parameter(
            help="Let rows and keys go to this address, which a study or run names. Remembered; repeatable.",
            metavar="HOST",
        ),
    ] = None
    allow_path: Annotated[
        list[Path] | None,
        Parameter(
            help="Let the study read this file or folder, outside its own. Remembered; repeatable.", metavar="DIR"
        ),
    ] = None

    def display(self) -> "Display":
        # Imported late, as the display is.
        from overnight.consent import allow, ask_with  # noqa: PLC0415

        display = super().display()
        allow(self.allow_host or (), self.allow_path or ())
        ask_with(display.ask if display.can_ask else None)
        return display
