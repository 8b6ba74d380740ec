"""Where a study was written: the place that every complaint about it begins with."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from overnight.consent import check_path
from overnight.core.errors import StudyError, nearest
from overnight.core.wording import quoted

# The way to a value inside the study: ("models", 1, "temperature").
Route = tuple[str | int, ...]
# In bytes, on every file system there is.
_LONGEST_NAME = 255
# Line and column, both counted from 1.
Mark = tuple[int, int]


class Origin:
    """A file with the marks of its keys and values, or a place in a program that has none."""

    def __init__(
        self,
        name: str = "study",
        folder: Path = Path(),
        keys: Mapping[Route, Mark] | None = None,
        values: Mapping[Route, Mark] | None = None,
        numbers: Mapping[Route, str] | None = None,
        within: Route = (),
        *,
        from_file: bool = False,
    ) -> None:
        """`within` is the part of the study that all routes begin at. A file may be of a stranger's making."""
        self.name = name
        self.folder = folder
        self._keys = keys or {}
        self._values = values or {}
        self._numbers = numbers or {}
        self._within = within
        self.from_file = from_file

    def __repr__(self) -> str:
        return f"Origin({self.name!r})"

    def inside(self, route: Route) -> "Origin":
        """A part of the study, which speaks of itself as the whole does."""
        within = (*self._within, *route)
        return Origin(self.name, self.folder, self._keys, self._values, self._numbers, within, from_file=self.from_file)

    def error(self, route: Route, message: str, kind: type[StudyError] = StudyError) -> StudyError:
        """`essay.yaml:7:16: models[1].temperature: message`, or without the numbers."""
        return kind(f"{self.at(route)}: {message}")

    def key_error(self, parent: Route, key: str, message: str) -> StudyError:
        """The same about a key itself, which is not part of the study."""
        whole = (*self._within, *parent)
        place = _placed(self.name, self._keys.get((*whole, key)))
        return StudyError(": ".join(part for part in (place, route_text(whole), message) if part))

    def unknown_key(self, parent: Route, key: str, known: Collection[str]) -> StudyError:
        return self.key_error(parent, key, f"unknown key '{key}'{nearest(key, known)}")

    def at(self, route: Route) -> str:
        """The place of a value: its own mark, or that of what it is part of."""
        whole = (*self._within, *route)
        place = _placed(self.name, self._mark(whole))
        return f"{place}: {route_text(whole)}" if whole else place

    def path(self, written: str | Path, route: Route) -> Path:
        """A file named in the study: relative to the study's own folder, and in it unless the user agrees."""
        path = self.folder / written
        if len(path.name.encode(errors="surrogatepass")) > _LONGEST_NAME:
            raise StudyError(f"{self.name}: {quoted(path.name)} is too long for the name of a file")
        if not _can_be_named(path):
            raise StudyError(f"{self.at(route)}: {quoted(str(written))} cannot be the name of a file")
        if self.from_file:
            check_path(path, self.folder, self.at(route))
        return path

    def number_text(self, route: Route) -> str | None:
        """A number with a point or an exponent, in the file's own digits."""
        return self._numbers.get((*self._within, *route))

    def _mark(self, route: Route) -> Mark | None:
        for length in range(len(route), -1, -1):
            mark = self._values.get(route[:length])
            if mark:
                return mark
        return None


def _can_be_named(path: Path) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _placed(name: str, mark: Mark | None) -> str:
    return f"{name}:{mark[0]}:{mark[1]}" if mark else name


def route_text(route: Route) -> str:
    """`models[1].temperature`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in route)
    return text.removeprefix(".")
