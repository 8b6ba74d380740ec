"""Studies: every key of the schema with every wrong kind of value, and files that are hardly YAML."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec import inspect

from hardening.conftest import STUDY
from hardening.generated.cases import Case
from hardening.good_studies import GOOD, STAGED, write_files
from overnight.study.study import Header
from overnight.study.task_registry import task_kinds

# As they are written in YAML.
KINDS: dict[str, str] = {
    "nothing": "null", "empty": "", "true": "true", "zero": "0", "minus one": "-1", "three": "3", "2**63": "9223372036854775808",
    "400 digits": "9" * 400, "5000 digits": "9" * 5_000, "hex": "0x" + "f" * 400, "half": "0.5", "minus a half": "-0.5", "huge float": "1e400",
    "nan": ".nan", "inf": "-.inf", "no text": '""', "spaces": '"   "', "text": "something", "long text": '"' + "x" * 200_000 + '"',
    "unicode": '"\\u00e9\\U0001F4A9\\u202e"', "control": '"a\\0b\\e[31m\\n"', "surrogate": '"\\ud800"', "beyond unicode": '"\\UFFFFFFFF"',
    "bad escape": '"\\q"', "bad hex": '"\\xZZ"', "path up": "../../etc/passwd", "device": "/dev/zero", "long name": "x" * 300 + ".csv",
    "duration": "3h", "long duration": '"' + "9" * 400 + 'h"', "date": "2020-01-01", "a moment": "2020-13-45T99:99:99Z",
    "empty list": "[]", "list": "[1, a, null]", "lists": "[[[[]]]]", "texts": "[a, b, a]", "deep": "[" * 90 + "]" * 90,
    "mapping": "{a: 1}", "empty mapping": "{}", "mapping of lists": "{a: [1], b: {c: [d]}}", "by number": "{1: 2}", "merge": "{<<: 3}",
    "name": "{name: 3}", "list of mappings": "[{}, {model: 3}, {a: b}]", "tag": "!!binary abc", "own tag": "!python/object:os.system x",
    "set": "!!set {a, b}", "float of text": "!!float abc", "int of text": "!!int x", "anchor": "&a [*a]", "unknown alias": "*nobody",
    "braces": '"{"', "unknown field": '"{nothing}"', "fields": '"{text}{id}{"', "million": "1000000", "percent": '"%s%d{0}"',
}  # fmt: skip
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)


def studies() -> Iterator[Case]:
    """Every key of a study of every task and of its stages, at every depth, with every kind."""
    for label, base in GOOD.items():
        for route in routes() if label == "generate" else routes(str(base["task"])):
            yield from _spoiled(f"study {label}", route, _with(base, route))
    stage = {key: value for key, value in STUDY.items() if key != "name"}
    for route in routes():
        yield from _spoiled("stage", route, {"name": "fruit", "stages": [_with({"name": "one", **stage}, route)]})
    for label, base in STAGED.items():
        *before, last = base["stages"]
        for route in routes(str(last["task"])):
            yield from _spoiled(f"stage {label}", route, {**base, "stages": [*before, _with(last, route)]})
    yield from _files()


def _spoiled(label: str, route: tuple[str | int, ...], whole: dict[str, Any]) -> Iterator[Case]:
    for kind, text in KINDS.items():
        document = json.dumps(whole).replace('"@@"', text)
        yield _case(f"{label} {'.'.join(map(str, route))} = {kind}", document.encode())


def routes(task: str | None = None) -> list[tuple[str | int, ...]]:
    """Where a value can stand, by the types that a study is read into: new keys are covered by themselves."""
    found: list[tuple[str | int, ...]] = [
        ("items",),
        ("budget",),
        ("budget", "total"),
        ("budget", "stages"),
        ("budget", "output_tokens"),
    ]
    for kind in (Header, *(kind.settings for name, kind in task_kinds().items() if task in (None, name))):
        _walk(inspect.type_info(kind), (), found)
    return list(dict.fromkeys(route for route in found if route))


def _walk(kind: Any, route: tuple[str | int, ...], found: list[tuple[str | int, ...]]) -> None:
    found.append(route)
    match kind:
        case inspect.UnionType():
            for one in kind.types:
                _walk(one, route, found)
        case inspect.StructType():
            for field in kind.fields:
                _walk(field.type, (*route, field.name), found)
        case inspect.ListType():
            _walk(kind.item_type, (*route, 0), found)
        case inspect.DictType():
            _walk(kind.value_type, (*route, "a"), found)


def _with(base: dict[str, Any], route: tuple[str | int, ...]) -> dict[str, Any]:
    """The study with a mark at that place, in the least that can hold it."""
    value: Any = "@@"
    for step in reversed(route[1:]):
        value = [value] if step == 0 else {step: value}
        if isinstance(value, dict) and route[0] == "models" and step != "model":
            value["model"] = "openai/gpt-4.1"
    return {**base, str(route[0]): value}


def _case(name: str, raw: bytes | Callable[[Path], None]) -> Case:
    def arrange(folder: Path) -> None:
        write_files(folder)
        if callable(raw):
            raw(folder / "study.yaml")
        else:
            (folder / "study.yaml").write_bytes(raw)

    return Case(name, arrange, ("plan", "study.yaml"))


def _files() -> Iterator[Case]:
    good = json.dumps(STUDY).encode()
    raws: dict[str, bytes] = {
        "empty": b"", "a byte order mark alone": b"\xef\xbb\xbf", "utf-16": good.decode().encode("utf-16"), "utf-32": good.decode().encode("utf-32"),
        "binary": bytes(range(256)) * 50, "zeros": b"\x00" * 1_000, "null": b"null", "a number": b"3", "a text": b"'x'", "list": b"[1]",
        "twice": good + b"\n---\n" + good, "directive": b"%YAML 9.9\n---\n" + good, "bad directive": b"%TAG ! !!\n%TAG ! !!\n---\na: b",
        "tab": b"name:\n\t- x", "bomb": BOMB.encode(), "merge bomb": b"a: &a {x: 1}\nb: &b {<<: [*a, *a, *a]}\nc: {<<: [*b, *b]}",
        "merging itself": b"&a {<<: *a}", "block depth": "".join(" " * n + "a:\n" for n in range(3_000)).encode(), "dashes": b"- " * 50_000,
        "question marks": b"? " * 50_000, "braces": b"{" * 100_000, "anchors": b"&a " * 10_000, "quotes": b'"' * 10_001, "colons": b":" * 100_000,
        "long line": b"name: " + b"x" * 3_000_000, "many keys": b"".join(b"k%d: 1\n" % n for n in range(50_000)), "open quote": b'name: "' + b"x\n" * 50_000,
        "latin-1": b"name: caf\xe9", "key that is a list": b"? [a]\n: b", "key that is null": b": b", "half": good[: len(good) // 2],
        "many documents": b"---\n" * 10_000, "comments": b"#" * 1_000_000, "escape": b'"\\UFFFFFFFF": 1', "escape in name": b'name: "\\U00110000"', "folded": b"name: >9999\n x", "percent": b"%" * 1_000,
        "aliases of nobody": b"*a : *b", "bell": b"name: \x07", "delete": b"name: \x7f", "next line": "name: a\u0085b".encode(),
    }  # fmt: skip
    for name, raw in raws.items():
        yield _case(f"study file {name}", raw)
    for cut in range(0, len(good), 7):
        yield _case(f"study cut at {cut}", good[:cut])
    for at in range(0, len(good), 5):
        for byte in (0x00, 0x80, 0x22, 0x7B, 0x26):
            yield _case(f"study byte {at} = {byte:#x}", good[:at] + bytes([byte]) + good[at + 1 :])
    yield _case("study is a folder", lambda path: path.mkdir())
    yield _case("study is a FIFO", os.mkfifo)
    yield _case("study is a device", lambda path: path.symlink_to("/dev/zero"))
    yield _case("study is a loop", lambda path: path.symlink_to(path.name))
    yield _case("study cannot be read", lambda path: (path.write_bytes(good), path.chmod(0))[1])
