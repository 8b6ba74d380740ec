"""Vendors behind entry points."""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint
from typing import cast

from overnight.core.errors import StudyError
from overnight.providers.contract import Vendor


class Installed(Mapping[str, Vendor]):
    """Vendors by name, each loaded when it is asked for: a run needs one or two of all there are."""

    def __init__(self, points: Iterable[EntryPoint]) -> None:
        self._points = _by_name(points)
        self._found: dict[str, Vendor] = {}

    def __getitem__(self, name: str) -> Vendor:
        if name not in self._found:
            self._found[name] = _loaded(self._points[name])
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)


def load(points: Iterable[EntryPoint]) -> dict[str, Vendor]:
    """All of them, now."""
    return dict(Installed(points))


def _by_name(points: Iterable[EntryPoint]) -> dict[str, EntryPoint]:
    """Two packages may not claim one name."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(points, key=lambda one: (one.name, one.value)):
        if point.name in found:
            raise StudyError(f"provider '{point.name}' is claimed by two packages; uninstall one ({point.value})")
        found[point.name] = point
    return found


def _loaded(point: EntryPoint) -> Vendor:
    try:
        one = point.load()
    except (ImportError, AttributeError) as error:
        raise StudyError(f"provider '{point.name}' cannot be loaded from {point.value}: {error}") from error
    if getattr(one, "name", None) != point.name or not hasattr(one, "connect") or not hasattr(one, "format"):
        raise StudyError(f"provider '{point.name}': {point.value} is not a vendor of that name")
    return cast(Vendor, one)
