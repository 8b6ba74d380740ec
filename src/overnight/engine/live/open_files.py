"""Open files: each call under way holds one, and a system lets a process have only so many.

A process that has used them up cannot open its own ledger. So the limit is raised as far as the system lets us before
the first call, and where that is not enough, fewer calls are made at once, and the user is told.
"""

import resource
from typing import NamedTuple

# For the run itself: the ledger and its readers, files of requests and answers, downloads, what libraries open.
OTHERS = 256


class Room(NamedTuple):
    """`calls` may be under way at once at each of some places; `files` is the limit that says so."""

    calls: int
    files: int


def room_for(calls: int, places: int = 1) -> Room:
    """Room for so many calls at once at each place, or for as many as there can be."""
    needed = calls * places + OTHERS
    limit = raised_to(needed)
    return Room(max(1, min(calls, (limit - OTHERS) // places)), limit)


def raised_to(files: int) -> int:
    """This process's limit after it was raised, if it had to be and could be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= files:
        return files if soft == resource.RLIM_INFINITY else soft
    wanted = files if hard == resource.RLIM_INFINITY else min(files, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):  # the system has a limit of its own below the one that it tells
        return soft
    return wanted


def too_few(asked: int, room: Room, places: int) -> str:
    """What the user is told, with the way out."""
    needed = asked * places + OTHERS
    models = "" if places == 1 else f" for each of {places} models"
    return (
        f"live.concurrency: {asked:,} calls at once{models} need {needed:,} open files, and this system allows "
        f"{room.files:,}; {room.calls:,} are made at once (`ulimit -n {needed}` before the command allows more, where "
        "the system's administrator does)"
    )
