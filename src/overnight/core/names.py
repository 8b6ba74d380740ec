"""What a run may be called: a name is a folder's, is typed in commands, and lies beside other files of ours."""

import re

from overnight.core.errors import StudyError

ALLOWED = "up to 100 letters, digits, dots, dashes and underscores, the first a letter or digit"
# What all runs together remember lies beside them, with what SQLite keeps next to it.
HISTORY = "accounts.db"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST = 100
_SHOWN = 60


def name_problem(name: str) -> str | None:
    """Why it cannot name a run or a stage; None when it can."""
    if not _NAME.fullmatch(name):
        return f"wanted {ALLOWED}"
    if name.lower().startswith(HISTORY):
        return f"{HISTORY} is a file of Overnight's own in the folder of runs"
    return None


def check_run_name(name: str, where: str) -> str:
    problem = name_problem(name)
    if problem is not None:
        shown = name if len(name) <= _SHOWN else name[:_SHOWN] + "..."
        raise StudyError(f"{where}: {shown!r} cannot name a run; {problem}")
    return name


def run_name_of(text: str) -> str:
    """A name made of what somebody else has called it."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text).strip("._-")
    name = plain[:_LONGEST] or "file"
    return name if name_problem(name) is None else f"run-{name}"[:_LONGEST]
