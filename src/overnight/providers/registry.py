"""Vendors behind entry points."""

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint

from overnight.core.plugins import by_name, loaded
from overnight.providers.contract import Vendor


class Installed(Mapping[str, Vendor]):
    """Vendors by name, each loaded when it is asked for: a run needs one or two of all there are."""

    def __init__(self, points: Iterable[EntryPoint]) -> None:
        self._points = by_name(points, "provider")
        self._found: dict[str, Vendor] = {}

    def __getitem__(self, name: str) -> Vendor:
        if name not in self._found:
            self._found[name] = loaded(self._points[name], "provider", "vendor", ("connect", "format"))
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._points)

    def __len__(self) -> int:
        return len(self._points)


def load(points: Iterable[EntryPoint]) -> dict[str, Vendor]:
    """All of them, now."""
    return dict(Installed(points))
