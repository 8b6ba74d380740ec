"""Every parameter of every function in `overnight.pairwise` with every wrong kind of value, devices and odd tables too."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from hardening.wrong_kinds import Odd, wrong_kinds
from overnight import pairwise as pw

SAMPLES = pl.DataFrame({"ID": ["a", "b", "c"], "text": ["one", "two", "three"]})
PAIRS = pw.make_pairs(SAMPLES)
RESULTS = PAIRS.select("ID1", "ID2", better_id="ID1")
ASKED = {
    "model": "gpt-4.1-mini",
    "trait_name": "Quality",
    "trait_description": "How good it is.",
    "prompt_template": pw.set_prompt_template(),
}
JUDGE = pw.make_adaptive_judge_llm("openai", **ASKED)
FIT = pw.fit_bt_model(pw.build_bt_data(RESULTS))
OPTIONS = (
    "temperature", "top_p", "max_tokens", "seed", "endpoint", "reasoning", "thinking_level", "thinking_budget_tokens",
    "include_thoughts", "include_raw",
)  # fmt: skip


def good_call(name: str, folder: Path) -> dict[str, Any]:
    """What a call of this function needs to work."""
    fitting: dict[str, Any] = {
        **ASKED,
        "pairs": PAIRS, "backend": "openai", "samples": SAMPLES, "df": SAMPLES, "results": RESULTS,
        "main_results": RESULTS, "reverse_results": RESULTS, "template": ASKED["prompt_template"], "trait_desc": "d",
        "text1": "x", "text2": "y", "ID1": "a", "ID2": "b", "x": folder, "path": folder / "output.jsonl",
        "consistency": pw.compute_reverse_consistency(RESULTS, RESULTS.rename({"ID1": "ID2", "ID2": "ID1"})).details,
        "judge": JUDGE, "session_dir": folder / "session", "bt_data": pw.build_bt_data(RESULTS), "elo_data": pw.build_elo_data(RESULTS),
        "fit": FIT, "folder": folder / "session",
    }  # fmt: skip
    if "session" in inspect.signature(getattr(pw, name)).parameters:
        fitting["session"] = pw.AdaptiveSession(folder / "session")
    own: dict[str, dict[str, Any]] = {
        "register_prompt_template": {"name": "mine", "overwrite": True},
        "remove_prompt_template": {"name": "mine"},
        "read_samples_dir": {"path": folder, "pattern": "."},
        "sample_reverse_pairs": {"reverse_pct": 0.5},
        "llm_resume_multi_batches": {"output_dir": folder},
    }
    function = getattr(pw, name)
    empty = [n for n, one in inspect.signature(function).parameters.items() if one.default is one.empty]
    return {n: fitting[n] for n in empty if n in fitting} | own.get(name, {})


def write_odd_files(folder: Path) -> None:
    """Those that `odd_values` names."""
    folder.mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "page.html").write_text("<html>502</html>")
    (folder / "binary").write_bytes(bytes(range(256)))
    pw.adaptive_rank_start(SAMPLES, JUDGE, folder / "session")


def odd_values(folder: Path) -> dict[str, Any]:
    """Kinds of our own beside the usual ones: places that are no files, and tables with odd columns."""
    columns = ("ID", "text", "ID1", "text1", "ID2", "text2", "pair_uid", "better_id")
    series: dict[str, pl.Series] = {
        "lists": pl.Series([["a"], ["b"]]),
        "structs": pl.Series([{"a": 1}, {"a": 2}]),
        "bytes": pl.Series([b"\xff", b"a"]),
        "objects": pl.Series([Odd(), Odd()], dtype=pl.Object),
        "nulls": pl.Series([None, None]),
        "nans": pl.Series([float("nan"), float("inf")]),
        "dates": pl.Series(["2020-01-01", "2020-01-02"]).str.to_date(),
        "blanks": pl.Series(["", " "]),
        "numbers": pl.Series([1, 2]),
    }
    return {
        "device": Path("/dev/zero"), "device as text": "/dev/zero", "no device": "/dev/null", "fifo": folder / "fifo",
        "link to itself": folder / "loop", "web page": folder / "page.html", "binary file": folder / "binary", "folder": folder,
        "forbidden": Path("/proc/1/mem"), "missing": folder / "nowhere" / "x.csv", "braces": "{" * 50 + "}",
        "lazy frame that fails": pl.LazyFrame({"ID": ["a"]}).select("nowhere"), "bad pattern": "(",
        "frame without rows": pl.DataFrame(schema=dict.fromkeys(columns, pl.String)),
        **{f"frame of {kind}": pl.DataFrame(dict.fromkeys(columns, one)) for kind, one in series.items()},
    }  # fmt: skip


def cases(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name in pw.__all__:
        function = getattr(pw, name)
        named = [n for n, one in inspect.signature(function).parameters.items() if one.kind is not one.VAR_KEYWORD]
        extra = OPTIONS if len(named) < len(inspect.signature(function).parameters) else ()
        for parameter in (*named, *extra):
            for kind in (*wrong_kinds(), *odd_values(folder)):
                yield f"{name}({parameter}={kind})", _call(name, parameter, kind, folder)


def _call(name: str, parameter: str, kind: str, folder: Path) -> Callable[[], Any]:
    def call() -> Any:
        value = {**wrong_kinds(), **odd_values(folder)}[kind]
        return getattr(pw, name)(**{**good_call(name, folder), parameter: value})

    return call
