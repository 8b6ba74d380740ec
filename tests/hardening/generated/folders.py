"""Run folders: every file removed, emptied, cut, flipped or replaced; every column of every table of the ledger edited."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from emulator_process import EmulatorProcess
from hardening.conftest import ITEMS, KEY, STUDY
from hardening.generated.cases import Case
from hardening.generated.folder_verbs import verbs
from hardening.generated.tables import odd_places
from ledger import damage
from overnight import api

# What a hand or a fault may have put into a field.
EDITS = {
    "NULL": "NULL", "huge": "9223372036854775807", "negative": "-7", "text": "'x\ny'", "empty": "''", "blob": "x'ff00'", "half": "0.5",
    "infinite": "9e999", "json": "'[[]]'", "number as text": "'3'", "mapping": "'{\"a\":[1]}'", "mapping of stages": "'{\"stages\":{\"a\":{\"task\":[],\"arms\":3}}}'", "path": "'../../../etc/passwd'", "absolute": "'/dev/zero'",
}  # fmt: skip
Spoil = Callable[[Path], object]


# Two models screened by cheap questions, then asked more, and judges that compare texts in rounds: all that a ledger can hold.
_THINGS = [{"id": str(n), "text": f"thing {n}", "question": f"Is thing {n} safe?", "risk": n % 2} for n in range(1, 5)]
_TALK = {"task": "pressure", "items": "things.jsonl", "levels": ["I think it is safe. {question}"], "control": True}
_FLIPS = {"task": "flips", "models": ["openai/gpt-4.1-mini"]}
STAGED: dict[str, Any] = {
    "name": "fruit",
    "gather": 0,
    "mode": "auto",
    "stages": [
        {"name": "screening", **_TALK, "priority": {"column": "risk", "first": 2}, "models": ["openai/gpt-5-nano", "openai/gpt-4.1-nano"]},
        {"name": "screened", **_FLIPS, "of": "screening"},
        {"name": "deeper", **_TALK, "after": {"stage": "screened", "move_on": "models", "when": "flip_rate > 0.5"}, "models": ["openai/gpt-5-nano", "openai/gpt-4.1-nano"]},
        {"name": "pairs", "task": "compare", "items": "things.jsonl", "trait": "overall_quality", "pairs": {"select": "adaptive", "n": 4, "rounds": 2}, "models": ["ollama/qwen3"]},
    ],
}  # fmt: skip


def write_staged(folder: Path, **fields: Any) -> None:
    (folder / "study.yaml").write_text(json.dumps({**STAGED, **fields}))
    (folder / "things.jsonl").write_text("".join(json.dumps(thing) + "\n" for thing in _THINGS))


def staged_run(folder: Path) -> Path:
    """As `whole_run`, of stages that follow one another, with a call that was not answered."""
    folder.mkdir(parents=True)
    write_staged(folder)
    flip = {"gpt-5-nano": {"I think": 1.0, "default": 0.0}, "default": {"default": 0.0}}
    return _run(folder, {"flip": flip, "faults": [{"on": "row", "do": "omit", "odds": 0.3, "times": 1}]})


def whole_run(folder: Path) -> Path:
    """A run that has seen some trouble and is done, in a folder of its own: to be copied, then damaged."""
    folder.mkdir(parents=True)
    (folder / "items.csv").write_text(ITEMS + "".join(f"{n},thing {n // 2}\n" for n in range(10, 18)))
    (folder / "study.yaml").write_text(
        json.dumps({**STUDY, "batch": {"max_requests": 4}, "budget": {"total": 5, "output_tokens": 800}})
    )
    faults = [
        {"on": "batch", "do": "expire", "share": 0.5, "times": 1},
        {"on": "row", "do": "omit", "odds": 0.3, "times": 2},
    ]
    return _run(folder, {"faults": faults})


def open_run(folder: Path) -> Path:
    """As `whole_run`, with batches that are still under way."""
    folder.mkdir(parents=True)
    (folder / "items.csv").write_text(ITEMS)
    (folder / "study.yaml").write_text(
        json.dumps({**STUDY, "batch": {"max_requests": 2}, "budget": {"total": 5, "output_tokens": 800}})
    )
    return _run(folder, {}, api.submit)


def _run(folder: Path, truth: dict[str, Any], verb: Callable[..., object] = api.run) -> Path:
    truth = {"time_scale": 20_000, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7, **truth}
    before = dict(os.environ)
    with EmulatorProcess(truth) as emulator:
        os.environ.update(OPENAI_BASE_URL=emulator.openai_url, OPENAI_API_KEY=KEY, OVERNIGHT_TIME_SCALE="20000")
        os.environ["OLLAMA_HOST"] = f"{emulator.url}/ollama"
        try:
            verb(folder / "study.yaml", runs=folder / "runs")
        finally:
            os.environ.clear()
            os.environ.update(before)
    return folder


@cache
def kept_run(make: Callable[[Path], Path]) -> Path:
    """One for the process; the folder goes with it."""
    kept = Path(tempfile.mkdtemp(prefix="hardening-run-"))
    atexit.register(shutil.rmtree, kept, ignore_errors=True)
    return make(kept / "whole")


def folders() -> Iterator[Case]:
    return _cases(kept_run(whole_run), "")


def staged_folders() -> Iterator[Case]:
    return _cases(kept_run(staged_run), "staged: ")


def open_folders() -> Iterator[Case]:
    return _cases(kept_run(open_run), "open: ")


def _cases(whole: Path, label: str) -> Iterator[Case]:
    for name, spoil in {**file_damages(whole / "runs" / "fruit"), **ledger_edits(whole / "runs" / "fruit")}.items():
        for verb, arguments in verbs():
            yield Case(f"{label}{name}, {verb}", _arranged(whole, spoil), arguments)


def _arranged(whole: Path, spoil: Spoil) -> Callable[[Path], None]:
    def arrange(folder: Path) -> None:
        shutil.copytree(whole, folder, dirs_exist_ok=True)
        spoil(folder / "runs" / "fruit")

    return arrange


def file_damages(run: Path) -> dict[str, Spoil]:
    found: dict[str, Spoil] = {}
    files = sorted(path.relative_to(run) for path in run.rglob("*") if path.is_file() and path.name != "lock")
    for label, file in _labelled(files).items():
        found[f"{label} gone"] = lambda run, file=file: (run / file).unlink()
        found[f"{label} empty"] = lambda run, file=file: (run / file).write_bytes(b"")
        for tenth in (1, 6, 9):
            found[f"{label} cut at {tenth}/10"] = lambda run, file=file, tenth=tenth: _cut(run / file, tenth)
        for at in (0, 3, 7, 9):
            found[f"{label} flipped at {at}/10"] = lambda run, file=file, at=at: _flip(run / file, at)
        found[f"{label} of zeros"] = lambda run, file=file: (run / file).write_bytes(b"\x00" * 5_000)
        for name in ("a folder", "a FIFO", "a loop", "what cannot be read", "nothing"):
            found[f"{label} is {name}"] = lambda run, file=file, name=name: (
                (run / file).unlink(),
                odd_places()[name](run / file),
            )
    for part in ("requests", "items", "outbox", "raw", "tables"):
        found[f"{part}/ gone"] = lambda run, part=part: shutil.rmtree(run / part)
        found[f"{part}/ is a file"] = lambda run, part=part: (shutil.rmtree(run / part), (run / part).write_bytes(b"x"))
    for name in ("holder", "cancelled", "lock"):
        for kind in ("a folder", "a FIFO", "a loop"):
            found[f"{name} is {kind}"] = lambda run, name=name, kind=kind: (
                (run / name).unlink(missing_ok=True),
                odd_places()[kind](run / name),
            )
    return found


def _labelled(files: list[Path]) -> dict[str, Path]:
    """By name, or by number where the name bears a token, which is another one in every run."""
    labels: dict[str, Path] = {}
    for file in files:
        tokened = str(file.parent) in ("raw", "outbox")
        number = sum(other.parent == file.parent for other in labels.values()) + 1
        labels[f"{file.parent}/ file {number}" if tokened else str(file)] = file
    return labels


def _cut(path: Path, tenth: int) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * tenth // 10])


def _flip(path: Path, tenth: int) -> None:
    data = bytearray(path.read_bytes())
    if data:
        data[min(len(data) * tenth // 10 + 20, len(data) - 1)] ^= 0xFF
        path.write_bytes(data)


def ledger_edits(run: Path) -> dict[str, Spoil]:
    """Each column of each table: one row's, or all rows', with what does not belong there; rows gone or doubled."""
    facts = [name for (name,) in damage.found(run, "SELECT name FROM fact")]
    found: dict[str, Spoil] = {}
    for table, names in damage.columns(run).items():
        for column in names:
            for kind, value in EDITS.items():
                found[f"{table}.{column} = {kind}"] = damage.spoiling(
                    table, f"UPDATE {table} SET {column}={value}", column
                )
            found[f"{table}.{column} of another"] = damage.spoiling(
                table, f"UPDATE {table} SET {column}=(SELECT max({column}) FROM {table})", column
            )
        found[f"{table} without rows"] = damage.spoiling(table, f"DELETE FROM {table}", None)
        found[f"{table} gone"] = damage.spoiling(table, f"DROP TABLE {table}", None)
    for fact in facts:
        for kind, value in EDITS.items():
            found[f"fact {fact} = {kind}"] = damage.spoiling(
                "fact", f"UPDATE fact SET value={value} WHERE name='{fact}'", "value"
            )
    for version in (-1, 0, 1, 99):
        found[f"version {version}"] = damage.spoiling("fact", f"PRAGMA user_version={version}", None)
    return found
