"""Answers from folders as items of a judging stage: joined by statement and input, whatever order they lie in."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from overnight.core.wording import number_of
from overnight.study.files import Row
from overnight.study.origin import Origin
from overnight.tasks._judging.candidate_folders import Candidate, Output, find_candidates
from overnight.tasks._judging.written_prompts import NO_PROMPT, prompt_notes, without_prompt
from overnight.tasks._specs.inputs import input_id, named
from overnight.tasks._specs.reading import STATEMENT_FIELDS, Statement

# An input, and how often it stood there before: the same words asked twice are two inputs.
_Asked = tuple[str, int]
NO_PARTNER = "no partner"
_SHIFT = 32


class CandidateRows:
    """One row for each answer, or with `grouped` one for each input with all answers to it."""

    def __init__(
        self,
        spec: Mapping[str, Statement],
        candidates: list[Candidate],
        notes: list[str],
        prompts: Mapping[str, str] | None,
        *,
        grouped: bool,
    ) -> None:
        """`prompts`: judge prompts by statement; answers on others are not judged."""
        self.name = ", ".join(str(one.path) for one in candidates)
        own = ("members", "missing") if grouped else ("answer", "candidate")
        self.columns: tuple[str, ...] = ("id", *STATEMENT_FIELDS, "input", "input_index", *own)
        self._spec = spec
        self._prompts = prompts
        self._without_prompt = frozenset(() if prompts is None else without_prompt(prompts, spec))
        self._candidates = candidates
        self._grouped = grouped
        self._notes = notes
        self._statements = list(spec)

    def place(self, number: int) -> str:
        return f"{self.name}: {self._statements[number >> _SHIFT]}[{number & (1 << _SHIFT) - 1}]"

    def __iter__(self) -> Iterator[tuple[int, Row]]:
        for order, statement in enumerate(self._spec.values()):
            if statement.id in self._without_prompt:
                continue
            rows = self._groups(statement) if self._grouped else self._answers(statement)
            for index, row in enumerate(rows):
                yield (order << _SHIFT) | index, row

    def _joined(self, statement: str) -> dict[_Asked, dict[str, Output]]:
        """Each input with what the candidates said, in the order in which inputs first appear."""
        found: dict[_Asked, dict[str, Output]] = {}
        for candidate in self._candidates:
            seen: Counter[str] = Counter()
            for output in candidate.outputs(statement):
                asked = (output.input, seen[output.input])
                seen[output.input] += 1
                found.setdefault(asked, {})[candidate.name] = output
        return found

    def _answers(self, statement: Statement) -> Iterator[Row]:
        for index, (asked, outputs) in enumerate(self._joined(statement.id).items()):
            for name, output in outputs.items():
                if output.problem is None:
                    own = {"id": f"{input_id(statement.id, index)}@{name}", "answer": output.answer, "candidate": name}
                    yield _row(statement, asked, index) | own

    def _groups(self, statement: Statement) -> Iterator[Row]:
        for index, (asked, outputs) in enumerate(self._joined(statement.id).items()):
            members = [
                {"candidate": name, "answer": output.answer, "replicate": 0}
                for name, output in outputs.items()
                if output.problem is None
            ]
            if members:
                own = {"members": members, "missing": len(self._candidates) - len(members)}
                yield _row(statement, asked, index) | {"id": input_id(statement.id, index)} | own

    def left_out(self) -> dict[str, dict[str, int]]:
        """By candidate and reason, how many answers are never judged."""
        counts: dict[str, Counter[str]] = {one.name: Counter() for one in self._candidates}
        for statement in self._spec:
            for outputs in self._joined(statement).values():
                usable = [name for name, output in outputs.items() if output.problem is None]
                for name, output in outputs.items():
                    if output.problem is not None:
                        counts[name][output.problem] += 1
                    elif statement in self._without_prompt:
                        counts[name][NO_PROMPT] += 1
                if statement not in self._without_prompt and self._grouped and len(usable) == 1:
                    counts[usable[0]][NO_PARTNER] += 1
        return {name: dict(sorted(found.items())) for name, found in counts.items() if found}

    def notes(self, left_out: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
        """What the user should know before paying."""
        yield from self._notes
        if self._prompts is not None:
            yield from prompt_notes(self._prompts, self._spec)
        for candidate in self._candidates:
            silent = [statement for statement in self._spec if not candidate.outputs(statement)]
            if silent:
                yield f"{candidate.name}: no answers on {len(silent)} of {len(self._spec)} statements: {named(silent)}"
        for name, reasons in left_out.items():
            why = ", ".join(f"{count:,} {reason}" for reason, count in reasons.items())
            total = sum(reasons.values())
            yield f"{name}: {number_of(total, 'answer')} {'is' if total == 1 else 'are'} not judged ({why})"


def _row(statement: Statement, asked: _Asked, index: int) -> dict[str, Any]:
    return {**statement.fields(), "input": asked[0], "input_index": index}


def open_candidates(
    written: list[str] | Mapping[str, str],
    spec: Mapping[str, Statement],
    origin: Origin,
    *,
    prompts: Mapping[str, str] | None = None,
    grouped: bool,
) -> CandidateRows:
    notes: list[str] = []
    return CandidateRows(spec, find_candidates(written, spec, origin, notes), notes, prompts, grouped=grouped)
