"""A line of an output file, read as every vendor's lines are. Whatever the bytes are, a Line comes back.

Most lines take the first path: one typed decode. A line that does not fit is read again by the patient path, which
gives up only what it must: half a character in an answer, or a usage block gone wrong, does not cost an answer that
was paid for.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from overnight.core.result import Line, Result, Usage, failed
from overnight.providers.reading.complaints import scrub
from overnight.providers.reading.patient_json import UNREADABLE, patient_json, readable_id, whole

Row = TypeVar("Row", bound=msgspec.Struct)
Place = Sequence[str]
# A line with an id and nothing else of an answer: the request itself, say, in a file that is not the output.
NO_ANSWER = "neither an answer nor an error"


class RowReader(Generic[Row]):
    """How one vendor's lines are read: `row` is their form, and the functions say what such a row means.

    `ids` are the places where a line may have its id, the best one first; `usage` are the places of its counts.
    `strict`: numbers that are written as text are not numbers. `result_of` has None for a row that is no answer at all.
    """

    def __init__(
        self,
        row: type[Row],
        *,
        id_of: Callable[[Row], str | None],
        result_of: Callable[[Row], Result | None],
        usage_of: Callable[[dict[str, Any]], Usage],
        ids: Sequence[Place] = (("custom_id",),),
        usage: Sequence[Place],
        strict: bool = True,
    ) -> None:
        self._row = row
        self._rows = msgspec.json.Decoder(row)
        self._id_of = id_of
        self._result_of = result_of
        self._usage_of = usage_of
        self._ids = ids
        self._usage = usage
        self._strict = strict

    def decode(self, line: bytes) -> Line:
        """Total: never raises, and never names a custom id that the line does not have."""
        try:
            row = self._rows.decode(line)
        except UNREADABLE as error:
            return self._patiently(line, str(error))
        custom_id = self._id_of(row)
        if not custom_id:
            return Line(None, None, f"the line has no {self._ids[0][-1]}")
        result = self._result_of(row)
        return Line(custom_id, result) if result is not None else line_with(custom_id, None)

    def _patiently(self, line: bytes, problem: str) -> Line:
        try:
            found = patient_json(line)
        except UNREADABLE:
            return Line(None, None, f"not a line of JSON: {problem}"[:200])
        custom_id = _first(readable_id(value_at(found, place)) for place in self._ids)
        if custom_id is None:
            return Line(None, None, f"the line has no readable {self._ids[0][-1]}")
        try:
            row = self._typed(whole(found))
        except UNREADABLE as error:
            return Line(custom_id, failed("unreadable", scrub(str(error)), self._usage_alone(found)))
        return line_with(custom_id, self._result_of(row))

    def _typed(self, found: dict[str, Any]) -> Row:
        """Counts that nobody can believe do not cost the answer."""
        try:
            return msgspec.convert(found, self._row, strict=self._strict)
        except msgspec.ValidationError:
            for *place, name in self._usage:
                block = value_at(found, place)
                if isinstance(block, dict):
                    block.pop(name, None)
            return msgspec.convert(found, self._row, strict=self._strict)

    def _usage_alone(self, found: dict[str, Any]) -> Usage:
        """The tokens of an answer that cannot be read: they are paid for all the same."""
        try:
            return self._usage_of(found)
        except UNREADABLE:
            return Usage()


def line_with(custom_id: str, result: Result | None) -> Line:
    """What an id's line says; where it says nothing, it proves nothing about its row."""
    return Line(custom_id, result, None if result is not None else NO_ANSWER)


def value_at(found: Any, place: Iterable[str]) -> Any:
    """What stands there in nested objects; None where the way ends before."""
    for name in place:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def named_in(line: bytes, place: Iterable[str]) -> str | None:
    """The text that stands there in a line; None where there is none, or the line cannot be read."""
    try:
        found = value_at(msgspec.json.decode(line), place)
    except UNREADABLE:
        return None
    return found if isinstance(found, str) else None


def _first(ids: Iterable[str | None]) -> str | None:
    return next((one for one in ids if one is not None), None)
