"""Files of rows: item files of every format, and verdicts for `rank-pairs`, damaged in every way."""

from __future__ import annotations

import datetime as dt
import io
import json
import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from hardening.conftest import STUDY
from hardening.generated.cases import Case, inside

Make = Callable[[Path], object]

ROWS = [{"id": str(n), "text": f"thing {n}"} for n in range(4)]
GOOD: dict[str, bytes] = {
    "csv": b"id,text\n1,apples\n2,pears\n3,plums\n",
    "tsv": b"id\ttext\n1\tapples\n2\tpears\n",
    "jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in ROWS),
    "txt": b"one\ntwo\nthree\n",
}
VERDICTS = b"ID1,ID2,better_id\na,b,a\nb,c,c\nc,a,a\na,c,c\n"
DTYPES: dict[str, Any] = {
    "whole": [1, 2, 3], "floats": [1.5, float("nan"), float("inf")], "nulls": [None, None, None], "flags": [True, False, None],
    "dates": [dt.date(2020, 1, 1)] * 3, "moments": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC)] * 3, "times": [dt.time(1)] * 3,
    "durations": [dt.timedelta(1)] * 3, "decimals": [Decimal("1.5")] * 3, "bytes": [b"\xff"] * 3, "lists": [[1], [], None],
    "structs": [{"a": 1}] * 3, "lists of structs": [[{"a": 1}]] * 3, "long": ["x" * 100_000] * 3, "odd": ["", " ", "\x00"],
}  # fmt: skip


def frames() -> dict[str, pl.DataFrame]:
    """Tables whose columns have every type there is."""
    plain = {
        "ID1": ["a", "b", "c"],
        "ID2": ["b", "c", "a"],
        "better_id": ["a", "b", "c"],
        "id": ["1", "2", "3"],
        "text": ["x", "y", "z"],
    }
    found = {
        "no columns": pl.DataFrame(),
        "no rows": pl.DataFrame(plain).head(0),
        "one row": pl.DataFrame(plain).head(1),
    }
    for kind, values in DTYPES.items():
        for column in plain:
            found[f"{column} {kind}"] = pl.DataFrame({**plain, column: pl.Series(column, values, strict=False)})
    for kind in ("categorical", "enum", "object"):
        dtype = {"categorical": pl.Categorical, "enum": pl.Enum(["a", "b", "c"]), "object": pl.Object}[kind]
        for column in ("ID1", "better_id") if kind != "object" else ():
            found[f"{column} {kind}"] = pl.DataFrame(plain).with_columns(pl.col(column).cast(dtype))
    for column in ("result", "verdict", "winner", "winner_id", "count", "weight", "judge"):
        for kind, values in DTYPES.items():
            named = {"object1": plain["ID1"], "object2": plain["ID2"], "result": [1.0, 0.0, 0.5]}
            if column in ("verdict", "winner_id"):
                named = {"first_id": plain["ID1"], "second_id": plain["ID2"]}
            if column == "winner":
                named = {"model_a": plain["ID1"], "model_b": plain["ID2"]}
            found[f"other {column} {kind}"] = pl.DataFrame({**named, column: pl.Series(column, values, strict=False)})
    return found


def damages(good: bytes) -> dict[str, bytes]:
    """The bytes of a file, spoiled."""
    found = {
        "empty": b"", "newline": b"\n", "spaces": b"   \n  \n", "zeros": b"\x00" * 500, "binary": bytes(range(256)) * 20, "mark": b"\xef\xbb\xbf", "marked": b"\xef\xbb\xbf" + good,
        "utf-16": good.decode(errors="replace").encode("utf-16"), "latin-1": good + b"9\xe9,caf\xe9\n", "nul inside": good.replace(b"apples", b"ap\x00ples").replace(b"thing", b"th\x00ing"),
        "no header": b"\n".join(good.split(b"\n")[1:]), "header alone": good.split(b"\n")[0], "header twice": good.split(b"\n")[0] + b"\n" + good,
        "ragged": good + b"a,b,c,d,e\n{}\n", "short": good + b"x\n", "open quote": good + b'5,"abc\n', "quotes": b'"' * 1_001, "carriage returns": good.replace(b"\n", b"\r"),
        "two columns of one name": b"id,id\n1,2\n", "no name": b",\n1,2\n", "a huge field": good + b"9," + b"x" * 2_000_000 + b"\n", "many columns": b",".join(b"c%d" % n for n in range(5_000)) + b"\n" + b",".join([b"1"] * 5_000),
        "deep": b'{"id":1,"text":' + b"[" * 5_000 + b"\n", "numbers": b"1\n2\n3\n", "nulls": b"null\nnull\n", "lists": b"[1]\n[2]\n", "huge number": b'{"id":' + b"9" * 5_000 + b',"text":1e999}\n', "mixed": b'{"id":1}\n{"id":"x","text":[1]}\n{"text":{}}\n',
        "surrogate": b'{"id":"\\ud800","text":"x"}\n', "empty key": b'{"":1}\n', "same key": b'{"id":1,"id":2,"text":3}\n', "escape": b'id,text\n"\x1b[31m",x\n', "formula": b"id,text\n=1+1,@x\n", "nan": b'{"id":NaN}\n', "id is a list": b'{"id":[1],"text":"x"}\n', "id is true": b'{"id":true,"text":"x"}\n',
    }  # fmt: skip
    for part in (1, 2, 3, 5, 9):
        found[f"cut at {part}/10"] = good[: len(good) * part // 10]
    for at in range(0, len(good), max(1, len(good) // 12)):
        for byte in (0x00, 0x22, 0xFF):
            found[f"byte {at} {byte:#x}"] = good[:at] + bytes([byte]) + good[at + 1 :]
    return found


def odd_places() -> dict[str, Make]:
    """What may stand where a file is wanted."""
    return {
        "a folder": lambda path: path.mkdir(),
        "a FIFO": os.mkfifo,
        "zeros without end": lambda path: path.symlink_to("/dev/zero"),
        "chance without end": lambda path: path.symlink_to("/dev/urandom"),
        "nothing": lambda path: path.symlink_to("/dev/null"),
        "a full device": lambda path: path.symlink_to("/dev/full"),
        "the terminal": lambda path: path.symlink_to("/dev/tty"),
        "our own input": lambda path: path.symlink_to("/dev/stdin"),
        "memory": lambda path: path.symlink_to("/proc/self/mem"),
        "a loop": lambda path: path.symlink_to(path.name),
        "a link to nobody": lambda path: path.symlink_to("nobody"),
        "a socket": _socket,
        "what cannot be read": lambda path: (path.write_bytes(b"x"), path.chmod(0)),
    }


def _socket(path: Path) -> None:
    import socket

    # From inside: paths of sockets are short.
    with socket.socket(socket.AF_UNIX) as made, inside(path.parent):
        made.bind(path.name)


def parquet(frame: pl.DataFrame) -> bytes:
    target = io.BytesIO()
    frame.write_parquet(target)
    return target.getvalue()


def items() -> Iterator[Case]:
    for kind, good in GOOD.items():
        for name, raw in damages(good).items():
            yield _items(f"items.{kind} {name}", f"items.{kind}", raw)
    good = parquet(pl.DataFrame(ROWS))
    for name, raw in damages(good).items():
        yield _items(f"items.parquet {name}", "items.parquet", raw)
    for name, frame in frames().items():
        yield _items(f"items.parquet of {name}", "items.parquet", parquet(frame))
    for kind in (*GOOD, "parquet", "xlsx", ""):
        for name, make in odd_places().items():
            yield _items(f"items.{kind} is {name}", f"items.{kind}", make)
    for name, make in odd_places().items():
        yield _items(f"folder with {name}", "essays", lambda path, make=make: (path.mkdir(), make(path / "a.txt")))
    for name, raw in damages(b"a text").items():
        yield _items(
            f"folder with {name}", "essays", lambda path, raw=raw: (path.mkdir(), (path / "a.txt").write_bytes(raw))
        )
    yield _items("an empty folder", "essays", lambda path: path.mkdir())


def _items(name: str, file: str, made: bytes | Make) -> Case:
    def arrange(folder: Path) -> None:
        _put(folder / file, made)
        (folder / "study.yaml").write_text(json.dumps({**STUDY, "items": file}))

    return Case(name, arrange, ("plan", "study.yaml", "--show", "1"))


def _put(path: Path, made: bytes | Make) -> None:
    if callable(made):
        made(path)
    else:
        path.write_bytes(made)


def verdicts() -> Iterator[Case]:
    """`rank-pairs FILE` with damaged files, odd columns, and odd flags for good ones."""
    for kind in ("csv", "tsv", "jsonl", "parquet"):
        frame = pl.read_csv(io.BytesIO(VERDICTS))
        good = {"csv": VERDICTS, "tsv": VERDICTS.replace(b",", b"\t"), "jsonl": frame.write_ndjson().encode()}.get(
            kind
        ) or parquet(frame)
        for name, raw in damages(good).items():
            yield _verdicts(f"verdicts.{kind} {name}", kind, raw)
        for name, make in odd_places().items():
            yield _verdicts(f"verdicts.{kind} is {name}", kind, make)
    flags: dict[str, tuple[str, ...]] = {
        "": (), "json": ("--json",), "position": ("--position",), "judge": ("--judge", "ID1"), "cluster": ("--cluster", "better_id"),
        "covariate": ("--covariate", "ID1"), "first": ("--first", "ID2", "--second", "ID1"), "eb": ("--penalty", "eb"), "judge column": ("--judge", "judge"),
        "result": ("--result", "better_id"), "winner": ("--winner", "ID1"), "ties": ("--ties", "half", "--penalty", "firth"),
    }  # fmt: skip
    for name, frame in frames().items():
        raw = parquet(frame)
        for flag, words in flags.items():
            yield _verdicts(f"verdicts of {name} {flag}", "parquet", raw, *words)
    odd = [
        "",
        "x",
        "-1",
        "nan",
        "inf",
        "1e400",
        "0",
        "ID1",
        "\x00",
        "9" * 400,
        "é",
        "better_id",
        "out.csv",
        "out",
        ".",
        "/dev/full",
        "/",
    ]
    for option in (
        "--penalty",
        "--ties",
        "--cluster",
        "--judge",
        "--covariate",
        "--first",
        "--second",
        "--result",
        "--winner",
        "-o",
    ):
        for value in odd:
            yield _verdicts(f"rank-pairs {option} {value[:20]!r}", "csv", VERDICTS, f"{option}={value}")


def _verdicts(name: str, kind: str, made: bytes | Make, *words: str) -> Case:
    return Case(
        name, lambda folder: _put(folder / f"verdicts.{kind}", made), ("rank-pairs", f"verdicts.{kind}", *words)
    )
