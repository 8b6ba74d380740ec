"""The pairs of a folder that pairwiseLLM made, and which of them a row is about: by name, or by place if told so."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl

from overnight.core.errors import StudyError
from overnight.core.files import plain_file
from overnight.pairwise._frames import frame_of, require
from overnight.pairwise._rows import with_keys
from overnight.pairwise.registry import PAIRS, REGISTRY, Job
from overnight.rank.columns import as_text

_COMPARED = "_vs_"
# What versions of pairwiseLLM have called the two samples of a pair.
_SIDES = (("ID1", "ID2"), ("A_id", "B_id"), ("A", "B"), ("idA", "idB"), ("ID_A", "ID_B"), ("id1", "id2"))


class _Request(msgspec.Struct):
    ID1: str | int | float
    ID2: str | int | float


class _Requests(msgspec.Struct):
    """The input of a Gemini batch as pairwiseLLM keeps it: requests in their order, with the ids of their pairs."""

    requests: list[_Request]


def foreign_pairs(data: Any, what: str) -> pl.DataFrame:
    """Pairs with their keys. Only their ids are needed here: what the texts were, the judge has seen."""
    frame = frame_of(data, what)
    sides = next((pair for pair in _SIDES if {*pair} <= {*frame.columns}), _SIDES[0])
    require(frame, sides, what)
    named = frame.rename(dict(zip(sides, ("ID1", "ID2"), strict=True)))
    kept = [name for name in ("ID1", "ID2", "pair_uid") if name in named.columns]
    pairs = as_text(named.select(kept), kept, what)
    for side in ("ID1", "ID2"):
        empty = pairs.with_row_index("row").filter(pl.col(side).fill_null("").str.strip_chars() == "")
        if empty.height:
            raise StudyError(f"{what}: row {empty['row'][0] + 1} has nothing in '{side}'")
    if not pairs.height:
        raise StudyError(f"{what}: there are no pairs in it")
    return with_keys(pairs)


def saved_pairs(job: Job) -> pl.DataFrame:
    """The pairs that pairwiseLLM saved beside its registry."""
    path = job.pairs_path
    if path.name == PAIRS:
        raise StudyError(
            f"{path.parent}: Overnight wrote this {REGISTRY}, but the folder run/ that belongs to it is not here; "
            "bring it along, it holds everything"
        )
    if not path.exists():
        raise StudyError(f"{path}: no such file; give the pairs as `pairs`")
    plain_file(path, "")
    try:
        import pyreadr  # noqa: PLC0415 - only for folders that R made
    except ModuleNotFoundError:
        way_out = "pip install 'overnight[r]', or give the pairs as `pairs`"
        raise StudyError(f"{path}: reading R's own files needs pyreadr: {way_out}") from None
    try:
        found = list(pyreadr.read_r(str(path)).values())
    except (pyreadr.PyreadrError, pyreadr.LibrdataError, OSError, ValueError) as error:
        raise StudyError(f"{path}: not a table that R saved ({error}); give the pairs as `pairs`") from None
    if len(found) != 1 or found[0] is None:
        raise StudyError(f"{path}: not one table; give the pairs as `pairs`")
    return foreign_pairs(found[0], str(path))


def pair_names(pairs: pl.DataFrame) -> dict[str, tuple[int, ...]]:
    """By which name each pair may go: repeated pairs share the one that is made of their ids."""
    names: dict[str, tuple[int, ...]] = {}
    for place, (first, second) in enumerate(pairs.select("ID1", "ID2").iter_rows()):
        name = f"{first}{_COMPARED}{second}"
        names[name] = (*names.get(name, ()), place)
    # A name of one's own is for one pair alone.
    return names | {name: (place,) for place, name in enumerate(pairs["pair_uid"])}


def pairs_of_row(custom_id: str, names: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The pairs that a row can be about: `PREFIX_ID1_vs_ID2`, where prefix and ids may hold underscores themselves.

    Several of them are repetitions of one pair. A row that could be about different pairs is refused, not guessed.
    """
    found = {names[ending] for ending in _endings(custom_id) if ending in names}
    if len(found) > 1:
        could_be = f"{len({place for places in found for place in places})} pairs"
        raise StudyError(f"pairs: the row '{custom_id}' could be {could_be}; give `pairs` with a column pair_uid")
    return found.pop() if found else ()


def _endings(custom_id: str) -> Iterator[str]:
    yield custom_id
    for place, character in enumerate(custom_id):
        if character == "_":
            yield custom_id[place + 1 :]


def pairs_in_order(job: Job, pairs: pl.DataFrame) -> list[int]:
    """The pair of each request, in the order in which they were sent."""
    if not job.batch_input_path.is_file():
        return list(range(pairs.height))
    try:
        asked = msgspec.json.decode(job.batch_input_path.read_bytes(), type=_Requests).requests
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, OSError) as error:
        raise StudyError(f"{job.batch_input_path}: not the requests of a Gemini batch: {error}") from None
    free: dict[tuple[str, str], list[int]] = {}
    for place, key in enumerate(pairs.select("ID1", "ID2").iter_rows()):
        free.setdefault(key, []).append(place)
    return [_next_free(free, (str(one.ID1), str(one.ID2)), job) for one in asked]


def _next_free(free: dict[tuple[str, str], list[int]], pair: tuple[str, str], job: Job) -> int:
    places = free.get(pair)
    if not places:
        raise StudyError(f"{job.batch_input_path}: the request for {pair[0]} and {pair[1]} is about none of the pairs")
    return places.pop(0)


def claims(custom_ids: Sequence[str], pairs: pl.DataFrame) -> tuple[dict[int, str], list[str]]:
    """(the row of each pair, rows that are about none); each pair is claimed once."""
    names = pair_names(pairs)
    claimed: dict[int, str] = {}
    stray: list[str] = []
    for custom_id in custom_ids:
        place = next((one for one in pairs_of_row(custom_id, names) if one not in claimed), None)
        if place is None:
            stray.append(custom_id)
        else:
            claimed[place] = custom_id
    return claimed, stray
