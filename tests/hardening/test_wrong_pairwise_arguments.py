"""Every parameter of every function in `overnight.pairwise` with every wrong kind of value, devices and odd tables too."""

from __future__ import annotations

import inspect
import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from hardening.calls import complaint_about
from hardening.wrong_kinds import Odd, wrong_kinds
from overnight import pairwise as pw
from overnight.core.errors import Unauthorized
from overnight.providers import vendor

SAMPLE = 600
SECONDS = 20
BACKENDS = ("anthropic", "gemini", "ollama", "openai", "together")
SAMPLES = pl.DataFrame({"ID": ["a", "b", "c"], "text": ["one", "two", "three"]})
PAIRS = pw.make_pairs(SAMPLES)
RESULTS = PAIRS.select("ID1", "ID2", better_id="ID1")
ASKED = {
    "model": "gpt-4.1-mini",
    "trait_name": "Quality",
    "trait_description": "How good it is.",
    "prompt_template": pw.set_prompt_template(),
}
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
    }  # fmt: skip
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


def odd_values(folder: Path) -> dict[str, Any]:
    """Kinds of our own beside the usual ones: places that are no files, and tables with odd columns."""
    fifo, loop, page = folder / "fifo", folder / "loop", folder / "page.html"
    if not fifo.exists():
        os.mkfifo(fifo)
        loop.symlink_to(loop)
        page.write_text("<html>502</html>")
        (folder / "binary").write_bytes(bytes(range(256)))
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
        "device": Path("/dev/zero"), "device as text": "/dev/zero", "no device": "/dev/null", "fifo": fifo,
        "link to itself": loop, "web page": page, "binary file": folder / "binary", "folder": folder,
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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody is asked anything: there is no key, so that what would be sent ends in one line that says so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OVERNIGHT_EMULATE", "0")
    for name in BACKENDS:
        monkeypatch.delenv(vendor(name).key_variable, raising=False)
        monkeypatch.setenv(vendor(name).base_url_variable, "http://127.0.0.1:1")
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def _troubles(found: list[tuple[str, Callable[[], Any]]]) -> dict[str, str]:
    def too_long(*_: object) -> None:
        raise TimeoutError(f"not over after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, too_long)
    try:
        troubles = {}
        for name, call in found:
            signal.alarm(SECONDS)
            told = complaint_about(call)
            if told is not None:
                troubles[name] = told
        return troubles
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore")
def test_no_wrong_kind_ends_in_a_bare_error(folder: Path) -> None:
    """A sample; with OVERNIGHT_HARDENING set, every case there is."""
    every = list(cases(folder))
    drawn = every if os.environ.get("OVERNIGHT_HARDENING") else random.Random(0).sample(every, SAMPLE)
    assert _troubles(drawn) == {}


@pytest.mark.parametrize("name", ["llm_submit_pairs_multi_batch", "run_openai_batch_pipeline", "llm_compare_pair"])
def test_a_good_call_gets_as_far_as_the_key(folder: Path, name: str) -> None:
    """Or the cases above would say nothing of what is behind the arguments."""
    with pytest.raises(Unauthorized, match="OPENAI_API_KEY is not set"):
        getattr(pw, name)(**good_call(name, folder))


def test_every_function_checks_what_it_is_called_with() -> None:
    for name in pw.__all__:
        one = getattr(pw, name)
        assert hasattr(one.__init__ if inspect.isclass(one) else one, "__wrapped__"), name
