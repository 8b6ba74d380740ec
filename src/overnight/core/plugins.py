"""What other packages bring by an entry point: each name claimed once, and loaded when it is asked for."""

from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any

from overnight.core.errors import StudyError


@cache
def _everything() -> Any:
    """All packages are looked through for it, which takes milliseconds: once for all groups."""
    return entry_points()


def points_of(group: str) -> EntryPoints:
    """What all packages bring to a group."""
    found: EntryPoints = _everything().select(group=group)
    return found


def by_name(points: Iterable[EntryPoint], noun: str) -> dict[str, EntryPoint]:
    """Two packages may not claim one name."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(points, key=lambda one: (one.name, one.value)):
        if point.name in found:
            raise StudyError(f"{noun} '{point.name}' is claimed by two packages; uninstall one ({point.value})")
        found[point.name] = point
    return found


def loaded(point: EntryPoint, noun: str, kind: str, members: Iterable[str]) -> Any:
    """What an entry point names, if it says the same name of itself and has what every such thing has."""
    try:
        one = point.load()
    except (ImportError, AttributeError) as error:
        raise StudyError(f"{noun} '{point.name}' cannot be loaded from {point.value}: {error}") from error
    if getattr(one, "name", None) != point.name or not all(hasattr(one, member) for member in members):
        raise StudyError(f"{noun} '{point.name}': {point.value} is not a {kind} of that name")
    return one
