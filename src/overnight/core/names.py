"""What a run may be called (a name is a folder's, and is typed in commands), and arms by what tells them apart."""

import re
from collections.abc import Iterable, Sequence

from overnight.core.errors import StudyError
from overnight.core.wording import quoted

ALLOWED = "up to 100 letters, digits, dots, dashes and underscores, the first a letter or digit"
# What all runs together remember lies beside them, with what SQLite keeps next to it.
HISTORY = "accounts.db"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONGEST = 100
_SHOWN = 60
# Parts of an arm's name that go without saying.
_USUAL = ("default", "forward")


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


def check_item_id(item_id: str, where: str) -> None:
    """Not every database keeps a zero byte in a text: two ids could become one."""
    if "\0" in item_id:
        raise StudyError(f"{where}: the id {quoted(item_id)} has a zero byte (U+0000) in it; take it out")


def run_name_of(text: str) -> str:
    """A name made of what somebody else has called it."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text).strip("._-")
    name = plain[:_LONGEST] or "file"
    return name if name_problem(name) is None else f"run-{name}"[:_LONGEST]


def short_names(arms: Sequence[str]) -> dict[str, str]:
    """Arms by what tells them apart; one that stands alone by its model.

    An arm is called template__provider__model__thinking__direction, most of which is the same for all of a run.
    """
    names = list(dict.fromkeys(arms))
    parts = [name.split("__") for name in names]
    if len({len(one) for one in parts}) != 1:
        return {name: name for name in names}
    telling = [index for index, column in enumerate(zip(*parts, strict=True)) if len(set(column)) > 1]
    if {1, 2} <= set(telling) and len({(one[1], one[2]) for one in parts}) == len({one[2] for one in parts}):
        telling.remove(1)  # a model's name says whose it is
    kept = telling or ([2] if len(parts[0]) > 2 else range(len(parts[0])))
    chosen = [[one[index] for index in kept] for one in parts]
    brief = [" ".join(word for word in words if word not in _USUAL) for words in chosen]
    fit = len(set(brief)) == len(brief) and all(brief)
    return dict(zip(names, brief if fit else [" ".join(words) for words in chosen], strict=True))


def short_models(models: Iterable[str]) -> dict[str, str]:
    """`provider/model` without the provider, where that still tells all of them apart."""
    names = list(dict.fromkeys(models))
    brief = [name.partition("/")[2] or name for name in names]
    return dict(zip(names, brief if len(set(brief)) == len(names) else names, strict=True))
