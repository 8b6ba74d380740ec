"""Folders of answers that others wrote, or we ourselves: which file is about what, and whose answers they are.

Two layouts are known. `results/<statement id>.json` is a list of `{input_text, output_text}`; `results.json` has a list
`results` of `{statement_id, input_text, output_text}`. A candidate is called by the nearest folder above its files that
is neither `results` nor a time stamp.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unicodedata import normalize

import msgspec

from overnight.core.errors import StudyError, nearest
from overnight.core.wording import found_text
from overnight.study.origin import Origin, Route
from overnight.study.utf8 import read_text
from overnight.tasks._specs.file_names import by_file_name
from overnight.tasks._specs.inputs import json_files
from overnight.tasks._specs.reading import Statement

_TIME_STAMP = re.compile(r"[0-9X]{8}([_T-]?[0-9X]{4,6})?|\d{4}-\d\d-\d\d([_T ].*)?")
_RESULTS = "results"
_ONE_FILE = "results.json"
# What older tools wrote where an answer should be.
_ERROR = re.compile(r"\s*(?:ERROR:|Error during generation)")
_EXPIRED = re.compile(r"\s*(?:EXPIRED|CANCELL?ED)\s*(?:$|:)")


class Output(NamedTuple):
    """One answer of a candidate; `problem` says why it is none."""

    input: str
    answer: str
    problem: str | None


class Candidate:
    """One model's answers, statement by statement."""

    def __init__(self, name: str, path: Path, spec: Mapping[str, Statement], notes: list[str]) -> None:
        self.name = name
        self.path = path
        self._spec = spec
        self._files: dict[str, Path] = {}
        self._whole: dict[str, list[Output]] | None = None
        if path.is_file():
            self._whole = self._one_file()
        else:
            self._files = self._by_statement(notes)

    def _by_statement(self, notes: list[str]) -> dict[str, Path]:
        ids = by_file_name(self._spec)
        found: dict[str, Path] = {}
        for file in json_files(self.path):
            stem = normalize("NFC", file.stem)
            if stem in ids:
                if ids[stem] in found:
                    raise StudyError(f"{file}: answers on '{ids[stem]}' are in {found[ids[stem]].name} as well")
                found[ids[stem]] = file
            elif _is_records(_json(file)):
                raise StudyError(
                    f"{file}: answers on a statement that is not in the spec{nearest(file.stem, self._spec)}"
                )
            else:
                notes.append(f"{file} holds no answers, and is left out")
        return found

    def _one_file(self) -> dict[str, list[Output]]:
        found: dict[str, list[Output]] = {}
        listed = _json(self.path)
        records = listed.get("results") if isinstance(listed, dict) else None
        if not isinstance(records, list):
            raise StudyError(f"{self.path}: wanted a list `results` of answers, found {found_text(listed)}")
        for index, record in enumerate(records):
            place = f"{self.path}: results[{index}]"
            statement = record.get("statement_id") if isinstance(record, dict) else None
            if not isinstance(statement, str) or statement not in self._spec:
                near = nearest(str(statement), self._spec)
                raise StudyError(f"{place}: '{statement}' is no statement of the spec{near}")
            found.setdefault(statement, []).append(_output(record, place))
        return found

    def outputs(self, statement: str) -> list[Output]:
        """Its answers on one statement, in the order of the file."""
        if self._whole is not None:
            return self._whole.get(statement, [])
        file = self._files.get(statement)
        if file is None:
            return []
        records = _json(file)
        if not isinstance(records, list):
            raise StudyError(f"{file}: wanted a list of answers, found {found_text(records)}")
        return [_output(record, f"{file}: [{index}]") for index, record in enumerate(records)]


def find_candidates(
    written: list[str] | Mapping[str, str], spec: Mapping[str, Statement], origin: Origin, notes: list[str]
) -> list[Candidate]:
    """In the order in which they are listed: a name belongs to the folder it stands for, and to no other."""
    found: list[Candidate] = []
    for route, given, folder in _listed(written):
        path = _answers_in(origin.path(folder, route), origin, route)
        for file in [path] if path.is_file() else json_files(path):
            origin.path(file.absolute(), route)  # a link in the folder may lead out of it
        same = next((one for one in found if one.path.resolve() == path.resolve()), None)
        if same is not None:
            raise origin.error(route, f"{path}: these answers are listed twice, the first time as '{same.name}'")
        name = given or _name_of(path)
        twin = next((one for one in found if one.name == name), None)
        if twin is not None:
            way_out = "name them with candidates: {name: folder}"
            raise origin.error(route, f"two candidates are called '{name}' ({twin.path} and {path}); {way_out}")
        found.append(Candidate(name, path, spec, notes))
    return found


def _listed(written: list[str] | Mapping[str, str]) -> Iterator[tuple[Route, str | None, str]]:
    if isinstance(written, Mapping):
        yield from ((("candidates", name), name, folder) for name, folder in written.items())
    else:
        yield from ((("candidates", index), None, folder) for index, folder in enumerate(written))


def _answers_in(path: Path, origin: Origin, route: Route) -> Path:
    """The folder with a file for each statement, or the one file: here, below `results`, or below one time stamp."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise origin.error(route, f"{path}: no such folder")
    if (path / _RESULTS).is_dir():
        return path / _RESULTS
    if (path / _ONE_FILE).is_file():
        return path / _ONE_FILE
    if json_files(path):
        return path
    runs = sorted(one for one in path.iterdir() if one.is_dir() and _is_time_stamp(one.name))
    if len(runs) == 1:
        return _answers_in(runs[0], origin, route)
    if runs:
        raise origin.error(route, f"{path}: answers of {len(runs)} runs ({runs[0].name} to {runs[-1].name}); name one")
    raise origin.error(route, f"{path}: no answers here: wanted results/<statement id>.json, or {_ONE_FILE}")


def _name_of(path: Path) -> str:
    folders = [path.parent, *path.parent.parents] if path.is_file() else [path, *path.parents]
    for folder in (folder.absolute() for folder in folders):
        if folder.name not in {_RESULTS, ""} and not _is_time_stamp(folder.name):
            return folder.name
    raise StudyError(f"{path}: no folder above it has a name for the candidate; use candidates: {{name: folder}}")


def _is_time_stamp(name: str) -> bool:
    return _TIME_STAMP.fullmatch(name) is not None


def _json(file: Path) -> Any:
    try:
        return msgspec.json.decode(read_text(file))
    except (msgspec.DecodeError, RecursionError) as error:
        raise StudyError(f"{file}: not JSON: {error}") from None


def _is_records(found: Any) -> bool:
    return isinstance(found, list) and any(isinstance(one, dict) and "output_text" in one for one in found)


def _output(record: Any, place: str) -> Output:
    if not isinstance(record, dict):
        raise StudyError(f"{place}: wanted an answer with input_text and output_text, found {found_text(record)}")
    asked, said = record.get("input_text"), record.get("output_text")
    if not isinstance(asked, str) or not asked.strip():
        raise StudyError(f"{place}: input_text: wanted a text, found {found_text(asked)}")
    if said is not None and not isinstance(said, str):
        raise StudyError(f"{place}: output_text: wanted a text, found {found_text(said)}")
    return Output(asked, said or "", _problem(said or ""))


def _problem(answer: str) -> str | None:
    if not answer.strip():
        return "empty"
    if _ERROR.match(answer):
        return "error"
    return "expired" if _EXPIRED.match(answer) else None
