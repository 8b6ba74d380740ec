"""Which statements of a specification inputs are written for: all, or those that a study names."""

import hashlib
from collections.abc import Iterator, Mapping

import msgspec

from overnight.core.errors import nearest
from overnight.study.files import Row
from overnight.study.origin import Origin
from overnight.tasks._specs.reading import AUTHORITIES, STATEMENT_FIELDS, TYPES, Statement


class StatementsEntry(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Those that fit all that is given; `n` of them by lot, where there are more."""

    ids: list[str] | None = None
    type: str | None = None
    authority_level: str | None = None
    section: str | None = None
    keyword: str | None = None
    n: int | None = None


class ChosenStatements:
    """The statements as rows of a table, with their examples as all inputs of a spec carry them."""

    columns: tuple[str, ...] = ("id", *STATEMENT_FIELDS)

    def __init__(self, path: str, spec: Mapping[str, Statement]) -> None:
        self.name = path
        self._statements = list(spec.values())
        self.ids = list(spec)
        self.count = len(spec)

    def place(self, number: int) -> str:
        return f"{self.name}: {self._statements[number].id}"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        return enumerate({"id": one.id, **one.fields()} for one in self._statements)


def check_statements(chosen: StatementsEntry | None, origin: Origin) -> None:
    if chosen is None:
        return
    for key, known in {"type": TYPES, "authority_level": AUTHORITIES}.items():
        word = getattr(chosen, key)
        if word is not None and word.strip().lower() not in known:
            wanted = f"wanted {', '.join(known[:-1])} or {known[-1]}"
            raise origin.error(("statements", key), f"{wanted}, found '{word}'{nearest(word, known)}")
    if chosen.n is not None and chosen.n < 1:
        raise origin.error(("statements", "n"), f"{chosen.n} is less than 1")
    if chosen.ids is not None and not chosen.ids:
        raise origin.error(("statements", "ids"), "the list is empty")


def chosen_statements(
    spec: Mapping[str, Statement], chosen: StatementsEntry | None, seed: int, origin: Origin
) -> dict[str, Statement]:
    """In the order of the file. What is drawn by lot hangs on the seed and the ids alone."""
    if chosen is None:
        return dict(spec)
    for index, name in enumerate(chosen.ids or ()):
        if name not in spec:
            route = ("statements", "ids", index)
            raise origin.error(route, f"'{name}' is no statement of the spec{nearest(name, spec)}")
    found = {name: one for name, one in spec.items() if _fits(one, chosen)}
    if not found:
        raise origin.error(("statements",), "no statement fits all of this")
    if chosen.n is None:
        return found
    drawn = set(sorted(found, key=lambda name: _lot(seed, name))[: chosen.n])
    return {name: one for name, one in found.items() if name in drawn}


def _fits(one: Statement, chosen: StatementsEntry) -> bool:
    words = {"type": one.type, "authority_level": one.authority_level, "section": one.section}
    for key, value in words.items():
        wanted = getattr(chosen, key)
        if wanted is not None and wanted.strip().casefold() != value.casefold():
            return False
    if chosen.ids is not None and one.id not in chosen.ids:
        return False
    keyword = (chosen.keyword or "").casefold()
    return keyword in one.id.casefold() or keyword in one.text.casefold()


def _lot(seed: int, name: str) -> bytes:
    return hashlib.blake2b(f"{seed}\x1f{name}".encode(), digest_size=8).digest()
