"""Stencils: the lines of rows that differ in their words alone are cut from the line of the first of them.

Most batches ask many questions in one shape: the same model, options and roles, other words. What is refused, and how
an answer is written, depends on the shape only. So it is worked out once, in the ordinary way, with marks in the places
of all that differs from row to row. Before a stencil is used, it has to give the very line that the ordinary way gives
for a row. What is not plain (a call of a tool, a refusal, an answer that was cut) is written in the ordinary way.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from copy import copy
from operator import itemgetter
from typing import Any

import msgspec
from msgspec.structs import replace

from overnight_emulator.answers.answering import Answer, Models, Prompt
from overnight_emulator.batches.batch import Batch
from overnight_emulator.batches.rows import Row, RowFormat, Shape

_MOST_SHAPES = 200
_TEXT, _CUSTOM_ID, _ROW_ID = "qz7-the-text-zq", "qz7-the-custom-id-zq", "qz7-the-row-id-zq"
_DIGEST = bytes.fromhex("e7" + "5ac9" * 15 + "3b")
_INPUT, _CACHED, _OUTPUT, _REASONING = 61_000_000_007, 5_300_000_011, 47_000_000_029, 3_700_000_053
_write = msgspec.json.Encoder().encode

Values = tuple[Any, ...]


class Stencil:
    """A line with holes. `places` says which of the values that `_values` makes goes into which hole."""

    def __init__(self, marked: bytes, marks: dict[bytes, int]) -> None:
        digest = _DIGEST.hex().encode()
        numbers = b"|".join(mark for mark in marks if mark.isdigit())
        texts = b"|".join(re.escape(mark) for mark in marks if not mark.isdigit() and mark != digest)
        holes = re.compile(b"(?<![0-9])(?:%b)(?![0-9])|%b|%b[0-9a-f]*" % (numbers, texts, digest[:12]))
        places: list[int] = []
        form, reached = b"", 0
        for hole in holes.finditer(marked):
            found = hole.group()
            place = marks.get(found, _DIGEST_PLACE)
            form += marked[reached : hole.start()].replace(b"%", b"%%")
            form += b"%d" if found.isdigit() else b"%%.%db" % len(found) if place == _DIGEST_PLACE else b"%b"
            places.append(place)
            reached = hole.end()
        self._form = form + marked[reached:].replace(b"%", b"%%")
        # Of two and more places `itemgetter` makes a tuple; of fewer there is no line to cut.
        self._picked: Callable[[Values], Values] | None = itemgetter(*places) if len(places) > 1 else None

    def line(self, values: Values) -> bytes:
        return b"" if self._picked is None else self._form % self._picked(values)


class Stencils:
    """Those of one batch."""

    def __init__(self, rows: RowFormat, batch: Batch, moment: float) -> None:
        self._rows = rows
        self._batch = batch
        self._moment = moment
        self._met: set[Any] = set()
        self._prompts: dict[Any, Prompt | None] = {}
        self._stencils: dict[Any, Stencil | None] = {}

    def written(self, row: Row, row_id: str) -> tuple[bytes, Answer] | None:
        """The line of a row, and the answer in it; None when it has to be written in the ordinary way."""
        shape = self._rows.shape(row, self._batch)
        prompt = None if shape is None else self._prompt(row, shape)
        if shape is None or prompt is None:
            return None
        answer = self._rows.models.answer(
            Prompt(
                prompt.model,
                shape.turns,
                row.digest,
                prompt.schema,
                prompt.wants_json,
                prompt.max_tokens,
                prompt.effort,
                prompt.offer,
                prompt.stops,
            )
        )
        if answer.ending != "stop" or answer.stopped_by is not None or not answer.text:
            return None
        kind = (shape.key, answer.cached_tokens > 0, answer.reasoning_tokens > 0)
        stencil = self._stencils[kind] if kind in self._stencils else self._cut(kind, row, row_id, answer)
        return None if stencil is None else (stencil.line(_values(row, row_id, answer)), answer)

    def _prompt(self, row: Row, shape: Shape) -> Prompt | None:
        """What a row of this shape asks of a model, but for its words. A shape has to be met twice to be worth it."""
        if shape.key in self._prompts:
            return self._prompts[shape.key]
        if shape.key in self._met:
            return self._learnt(row, shape)
        if len(self._met) >= _MOST_SHAPES:
            for kept in (self._met, self._prompts, self._stencils):
                kept.clear()
        self._met.add(shape.key)
        return None

    def _learnt(self, row: Row, shape: Shape) -> Prompt | None:
        """None for good, where no model is asked, or several times, or in other words."""
        marked = _Marked(self._rows.models, _marked_answer(cached=False, thinks=False))
        self._line(marked, row, "")
        prompt = marked.only_prompt
        if prompt is not None and prompt.turns != shape.turns:
            prompt = None
        self._prompts[shape.key] = prompt
        return prompt

    def _cut(self, kind: Any, row: Row, row_id: str, answer: Answer) -> Stencil | None:
        """A stencil that gives what the ordinary way gives for this row; None if there can be none."""
        said = _marked_answer(cached=answer.cached_tokens > 0, thinks=answer.reasoning_tokens > 0)
        stranger = replace(row, custom_id=_CUSTOM_ID, digest=_DIGEST)
        values = _values(stranger, _ROW_ID, said)
        marks = {value if isinstance(value, bytes) else b"%d" % value: at for at, value in enumerate(values) if value}
        marks = {mark: values.index(values[at]) for mark, at in marks.items()}
        stencil = Stencil(self._line(_Marked(self._rows.models, said), stranger, _ROW_ID), marks)
        ordinary = self._line(self._rows.models, row, row_id)
        self._stencils[kind] = stencil if stencil.line(_values(row, row_id, answer)) == ordinary else None
        return self._stencils[kind]

    def _line(self, models: Models, row: Row, row_id: str) -> bytes:
        rows = copy(self._rows)
        rows.models = models
        return rows.render(row, rows.answer(row, self._batch, self._moment), row_id)


class _Marked(Models):
    """Models that say one thing, whatever they are asked, and keep what they were asked."""

    def __init__(self, models: Models, said: Answer) -> None:
        super().__init__(models.truth)
        self._said_always = said
        self._asked: list[Prompt] = []

    @property
    def only_prompt(self) -> Prompt | None:
        return self._asked[0] if len(self._asked) == 1 else None

    def answer(self, prompt: Prompt, choice: int = 0) -> Answer:  # noqa: ARG002 - it is the same for each
        self._asked.append(prompt)
        return self._said_always


def _marked_answer(*, cached: bool, thinks: bool) -> Answer:
    return Answer(_TEXT, "stop", _INPUT, _CACHED if cached else 0, _OUTPUT, _REASONING if thinks else 0)


_DIGEST_PLACE = 3


def _values(row: Row, row_id: str, answer: Answer) -> Values:
    """All that differs from row to row; dialects count tokens together, or apart, in these ways."""
    return (
        _write(answer.text),
        _write(row.custom_id),
        row_id.encode(),
        row.digest.hex().encode(),
        answer.input_tokens,
        answer.cached_tokens,
        answer.output_tokens,
        answer.reasoning_tokens,
        answer.input_tokens + answer.output_tokens,
        answer.output_tokens - answer.reasoning_tokens,
        answer.input_tokens - answer.cached_tokens,
    )
