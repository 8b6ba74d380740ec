"""Flags: every option of every command, as the command line itself describes them, with odd values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from hardening.conftest import ITEMS, STUDY
from hardening.generated.cases import Case
from overnight.cli.app import build

VALUES = [
    "", " ", "x", "0", "-1", "1", "1.5", "nan", "inf", "-inf", "1e400", "99999999999", "9" * 30, "9" * 5_000, "true", "null", "é\u202e", "a\nb",
    "\x1b[31m", "../../x", "/dev/zero", "/dev/full", ".", "/", "x" * 300, "--", "-", "%s", "{}", "[1]", "runs*", "~", "study.yaml", "items.csv", "out.csv", "24h", "9" * 400 + "h",
]  # fmt: skip
# Commands that wait for somebody, or that the emulator's own parser reads.
_NOT_TYPED = ("emulator", "keys", "serve")
_SENDING = ("run", "submit")
# Each with what it needs to get as far as its flags.
_NEEDED = {
    "run": ("nothing.yaml",), "plan": ("study.yaml",), "submit": ("nothing.yaml",), "generate": ("nothing.csv",), "compare": ("nothing.csv",),
    "status": (), "watch": ("fruit",), "results": ("fruit",), "costs": ("fruit",), "cancel": ("fruit",), "adopt": ("openai",), "resolve": ("fruit",),
    "rebuild": ("fruit",), "verify": ("fruit",), "rank-pairs": ("items.csv",), "resume": (),
}  # fmt: skip


def flags() -> Iterator[Case]:
    app = build()
    for verb in app:
        if verb.startswith("-") or verb in _NOT_TYPED:
            continue
        names = {
            name
            for argument in app[verb].assemble_argument_collection()
            for name in argument.names
            if name.startswith("-")
        }
        for name in sorted(names):
            # A pilot of a good study waits, as it should, for a provider that is not there.
            needed = ("nothing.yaml",) if name == "--pilot" else _NEEDED.get(verb, ())
            for value in VALUES:
                yield _case(f"{verb} {name}={value[:30]!r}", verb, *needed, f"{name}={value}")
            yield _case(f"{verb} {name} alone", verb, *needed, name)
            yield _case(f"{verb} {name} twice", verb, *needed, name, "1", name, "2")
        for value in VALUES:
            if verb in _SENDING and value == "study.yaml":
                continue  # a good study: it waits, as it should, for a provider that is not there
            yield _case(f"{verb} {value[:30]!r}", verb, value)
            yield _case(f"{verb} {value[:30]!r} twice", verb, value, value)


def _case(name: str, *arguments: str) -> Case:
    def arrange(folder: Path) -> None:
        (folder / "study.yaml").write_text(json.dumps(STUDY))
        (folder / "items.csv").write_text(ITEMS)

    return Case(name, arrange, arguments)
