"""How things are called as files and folders, and which statement a file's name is of."""

from collections import Counter
from collections.abc import Iterable, Sequence
from unicodedata import normalize

_FORBIDDEN = frozenset('/\\:*?"<>|')
_FIRST_PRINTED = 32


def as_name(name: str) -> str:
    """As a file or folder may be called, wherever it lies."""
    plain = "".join("_" if one in _FORBIDDEN or ord(one) < _FIRST_PRINTED else one for one in name).strip()
    return plain if plain.strip(".") else "_"


def apart(names: Sequence[str]) -> list[str]:
    """The same names, safe and each for itself: one that was there before, in capitals or not, gets a number."""
    seen: Counter[str] = Counter()
    taken = {as_name(name).casefold() for name in names}
    found: list[str] = []
    for plain in map(as_name, names):
        seen[plain.casefold()] += 1
        name, number = plain, seen[plain.casefold()]
        while number > 1 and (name := f"{plain}_{number}").casefold() in taken:
            number += 1
        taken.add(name.casefold())
        found.append(name)
    return found


def by_file_name(statements: Iterable[str]) -> dict[str, str]:
    """Statements by the names of their files without the ending, however their letters are put together.

    A file may also bear an id in which `_` stands for marks that a name cannot have, as long as one statement alone
    can be meant.
    """
    plain = {normalize("NFC", one): one for one in statements}
    safe = {normalize("NFC", as_name(one)): one for one in plain.values()}
    shared = Counter(normalize("NFC", as_name(one)) for one in plain.values())
    return {name: one for name, one in safe.items() if shared[name] == 1} | plain
