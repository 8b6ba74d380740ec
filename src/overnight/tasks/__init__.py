"""The tasks there are: each file beside this one, unless its name begins with an underscore."""

import pkgutil

from overnight.core.errors import UnknownName, nearest


def task_names() -> tuple[str, ...]:
    return tuple(sorted(name for _, name, _ in pkgutil.iter_modules(__path__) if not name.startswith("_")))


def check_task(name: str) -> None:
    """UnknownName, with the nearest there is, for what is no task."""
    known = task_names()
    if name not in known:
        raise UnknownName(f"unknown task '{name}'{nearest(name, known)} (known: {', '.join(known)})")
