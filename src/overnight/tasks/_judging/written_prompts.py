"""Judge prompts that were written for each statement: by an earlier stage, or in files.

A judge is shown the one of the statement at hand. An answer whose statement has none is not judged, and counted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any
from unicodedata import normalize

from overnight.core.errors import StudyError, nearest
from overnight.core.stage import Beside
from overnight.core.template import columns_text, nearest_column
from overnight.core.wording import found_text
from overnight.study.files import Row, Rows
from overnight.study.items import open_rows
from overnight.study.origin import Origin
from overnight.tasks._specs.file_names import by_file_name
from overnight.tasks._specs.inputs import named

# What a template calls it.
JUDGE_PROMPT = "judge_prompt"
NO_PROMPT = "no prompt"
STATEMENT = "statement_id"

_FILES = ("prompt_files",)
_SPECEVAL = "_likert_judge"
_STATEMENT_COLUMNS = (STATEMENT, "item_id", "id")
_TEXT_COLUMNS = ("prompt", "answer", "text")


def from_stage(name: str) -> Beside:
    """What an earlier stage wrote about each statement."""
    return Beside(stage=name, by=STATEMENT, field=JUDGE_PROMPT)


def read_prompt_files(written: Any, origin: Origin, spec: Collection[str] | None) -> dict[str, str]:
    """By statement: `<statement id>.txt` of a folder, or the rows of a table. `spec`: the statements there are.

    SpecEval's own files are called `<statement id>_likert_judge.txt`.
    """
    rows = open_rows(written, origin, _FILES)
    if rows.columns is not None:
        for column, names in ((STATEMENT, _STATEMENT_COLUMNS), ("prompt", _TEXT_COLUMNS)):
            if not any(name in rows.columns for name in names):
                there = f"{columns_text(rows.columns)}{nearest_column(column, rows.columns)}"
                raise origin.error(_FILES, f"{rows.name} has no column '{column}'; {there}")
    found: dict[str, str] = {}
    known = None if spec is None else by_file_name(spec)
    for number, row in rows:
        if row.get("status", "answered") != "answered":
            continue  # in the table of a run: what was not answered is no prompt
        statement = normalize("NFC", _value(rows, row, number, _STATEMENT_COLUMNS))
        if statement.endswith(_SPECEVAL) and (known is None or statement not in known):
            statement = statement.removesuffix(_SPECEVAL)
        if known is not None and statement not in known:
            near = nearest(statement, known)
            raise StudyError(f"{rows.place(number)}: '{statement}' is no statement of the spec{near}")
        statement = statement if known is None else normalize("NFC", known[statement])
        if statement in found:
            raise StudyError(f"{rows.place(number)}: '{statement}' has a prompt already; one for each is wanted")
        found[statement] = _value(rows, row, number, _TEXT_COLUMNS)
    if not found:
        raise origin.error(_FILES, f"{rows.name}: there is no prompt")
    return found


def _value(rows: Rows, row: Row, number: int, names: tuple[str, ...]) -> str:
    value = next((row[name] for name in names if row.get(name) is not None), None)
    if not isinstance(value, str) or not value.strip():
        problem = "is empty" if value is None or isinstance(value, str) else f"is {found_text(value)}"
        raise StudyError(f"{rows.place(number)}: the column '{names[0]}' {problem}")
    return value


def without_prompt(prompts: Mapping[str, str], statements: Iterable[str]) -> list[str]:
    return [one for one in statements if normalize("NFC", one) not in prompts]


def prompt_notes(prompts: Mapping[str, str], statements: Collection[str]) -> Iterator[str]:
    """What the user should know before paying."""
    missing = without_prompt(prompts, statements)
    if missing:
        yield f"{len(missing)} of {len(statements)} statements have no prompt, and are not judged: {named(missing)}"


def prompt_for(fields: Mapping[str, Any], prompts: Mapping[str, str]) -> str | None:
    """The one that was handed on with an answer, or that of its statement."""
    found = fields.get(JUDGE_PROMPT) or prompts.get(normalize("NFC", str(fields.get(STATEMENT))))
    return found if isinstance(found, str) and found.strip() else None
