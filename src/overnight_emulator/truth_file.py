"""Reading a truth file strictly: one clear sentence for the first thing that is wrong."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from overnight_emulator.faults.kinds import KINDS, REQUIRED, STUCK_IN, Fault, keys_for
from overnight_emulator.truth import QualitiesFile, Truth

Kind = TypeVar("Kind")


class TruthError(ValueError):
    """A truth that cannot be used; the message names the key, what was found and what is wanted."""


class _Loader(yaml.SafeLoader):
    """YAML 1.2 words only: `on`, `no` and their like are text; a key may be given once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            keys = [key.value for key, _ in node.value]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise TruthError(f"{twice}: given twice (line {node.start_mark.line + 1}), wanted once")
        return mapping


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"}
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


def load_truth(path: Path) -> Truth:
    """Read a truth file. Every complaint begins with the file's name."""
    try:
        return _truth(_yaml(path), path.parent)
    except TruthError as error:
        raise TruthError(f"{path}: {error}") from None


def truth_files(path: Path) -> list[Path]:
    """The truth file, and the file of qualities that it may name."""
    qualities = (_yaml(path) or {}).get("qualities")
    named = qualities.get("file") if isinstance(qualities, Mapping) else None
    return [path, path.parent / named] if isinstance(named, str) else [path]


def read_truth(raw: Any) -> Truth:
    """The same for a mapping that is already in memory."""
    return _truth(raw, Path())


def read_faults(raw: Any) -> tuple[Fault, ...]:
    if not isinstance(raw, list):
        raise TruthError(f"faults: found {_shown(raw)}, wanted a list of mappings")
    return tuple(_fault(fault, f"faults[{index}]") for index, fault in enumerate(raw))


def _yaml(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        return yaml.load(text, _Loader)  # noqa: S506 - a safe loader with fewer words
    except OSError as error:
        raise TruthError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TruthError(f"found bytes that are not UTF-8 (at {error.start}), wanted YAML text") from error
    except yaml.YAMLError as error:
        raise TruthError("found text that is not YAML: " + " ".join(str(error).split())) from error


def _truth(raw: Any, folder: Path) -> Truth:
    if raw is None:
        return Truth()
    rest = {**_mapping(raw, "the file")}
    parts: dict[str, Any] = {"faults": read_faults(rest.pop("faults"))} if "faults" in rest else {}
    qualities = rest.get("qualities")
    if isinstance(qualities, Mapping) and set(qualities) == {"file"} and isinstance(qualities["file"], str):
        parts["qualities"] = _qualities(folder, _convert(rest.pop("qualities"), QualitiesFile, "qualities"))
    truth = msgspec.structs.replace(_convert(rest, Truth, ""), **parts)
    for pattern in truth.answer_with:
        _check_pattern(pattern)
    return truth


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise TruthError(f"answer_with: found {pattern!r}, wanted a regular expression ({error})") from error


def _qualities(folder: Path, source: QualitiesFile) -> dict[str, float]:
    """The columns `text` and `quality`; under other names, the first two."""
    path = folder / source.file
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            header, *rows = [row for row in csv.reader(lines) if row]
        named = "text" in header and "quality" in header
        text, quality = (header.index("text"), header.index("quality")) if named else (0, 1)
        return {row[text]: float(row[quality]) for row in rows}
    except OSError as error:
        raise TruthError(f"qualities.file: {path} cannot be read: {error.strerror}") from error
    except (ValueError, IndexError) as error:
        raise TruthError(f"qualities.file: {path}: {error}, wanted a header and rows of text,quality") from error


def _fault(raw: Any, key: str) -> Fault:
    mapping = _mapping(raw, key)
    on = _one_of(mapping.get("on"), KINDS, f"{key}.on")
    do = _one_of(mapping.get("do"), KINDS[on], f"{key}.do")
    allowed = keys_for(on, do)
    for name in mapping:
        if name not in allowed:
            raise TruthError(f"{key}.{name}: unknown key for `on: {on}, do: {do}`{_nearest(name, allowed)}")
    wanted = [name for name in REQUIRED.get(do, ()) if name in allowed]
    if wanted and not any(name in mapping for name in wanted):
        raise TruthError(f"{key}.{' or '.join(wanted)}: missing, wanted for `do: {do}`")
    fault = _convert(mapping, Fault, key)
    if do == "stuck" and fault.status is not None:
        _one_of(fault.status, STUCK_IN, f"{key}.status")
    elif isinstance(fault.status, str):
        raise TruthError(f"{key}.status: found {_shown(fault.status)}, wanted an HTTP status from 400 to 599")
    return fault


def _mapping(raw: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise TruthError(f"{key}: found {_shown(raw)}, wanted a mapping")
    return raw


def _one_of(found: Any, choices: Collection[str], key: str) -> str:
    if isinstance(found, str) and found in choices:
        return found
    raise TruthError(f"{key}: found {_shown(found)}, wanted one of {', '.join(choices)}{_nearest(found, choices)}")


def _convert(raw: Any, kind: type[Kind], key: str) -> Kind:
    _refuse_unknown_keys(raw, kind, key)
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        wanted, _, place = str(error).partition(" - at `$")
        path = place.rstrip("`").lstrip(".")
        found = _at(raw, path)
        named = ".".join(part for part in (key, path) if part)
        raise TruthError(f"{named}: found {_shown(found)}, wanted {_wanted(wanted)}") from error


def _refuse_unknown_keys(raw: Any, kind: Any, key: str) -> None:
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct) and isinstance(raw, Mapping)):
        return
    known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for name, value in raw.items():
        if name not in known:
            raise TruthError(f"{f'{key}.' if key else ''}{name}: unknown key{_nearest(name, known)}")
        _refuse_unknown_keys(value, known[name], f"{key}.{name}" if key else name)


def _at(raw: Any, path: str) -> Any:
    """Follow msgspec's path, as in `limits.bytes` or `latency.batch[0]`; `[...]` stands for some key."""
    for step in re.findall(r"[^.\[\]]+|\[\d+\]", path):
        if step.startswith("["):
            raw = raw[int(step[1:-1])]
        elif isinstance(raw, Mapping) and step in raw:
            raw = raw[step]
        else:
            return raw
    return raw


def _wanted(complaint: str) -> str:
    """msgspec says "Expected `int`, got `str`"; only the first half is news, what was found is shown whole."""
    return complaint.removeprefix("Expected ").partition(", got ")[0].replace("`", "")


def _shown(value: Any) -> str:
    return "nothing" if value is None else msgspec.json.encode(value).decode()


def _nearest(name: Any, choices: Collection[str]) -> str:
    close: Sequence[str] = get_close_matches(str(name), list(choices), n=1, cutoff=0.5)
    return f"; did you mean {close[0]}?" if close else ""
