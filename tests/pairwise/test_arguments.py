"""Every argument of the two functions for many batches does what the page of pairwiseLLM says that it does.

The tables at the end list all of them, so that none can be left out.
"""

from __future__ import annotations

import inspect
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overnight.core.errors import StudyError
from overnight.pairwise import set_prompt_template
from overnight.pairwise.multi_batch import llm_resume_multi_batches, llm_submit_pairs_multi_batch
from pairwise.conftest import ASKED, Notebook

Begin = Callable[..., Notebook]
Check = Callable[[Begin, pl.DataFrame, pytest.CaptureFixture[str]], None]
SLOW = {"on": "batch", "do": "slow", "seconds": 80_000}


def calls(one: Notebook, path: str) -> list[float]:
    """When paths that begin so, and are longer, were asked for."""
    found = one.emulator.log()["calls"]
    return [call["at"] for call in found if call["method"] == "GET" and call["path"].startswith(path)]


def gaps(times: list[float]) -> list[float]:
    return [after - before for before, after in itertools.pairwise(times)]


def body(one: Notebook, segment: int = 1) -> dict[str, Any]:
    line = (one.folder / f"batch_{segment:02d}_input.jsonl").read_text().splitlines()[0]
    found: dict[str, Any] = json.loads(line)
    return found


# resuming


def jobs(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    sent = one.submit(few[:2], n_segments=2)
    got = llm_resume_multi_batches(sent.jobs, interval_seconds=60)
    assert [job.done for job in got.jobs] == [True, True]
    assert [job.results.height for job in got.jobs if job.results is not None] == [1, 1]
    assert got.combined is not None
    assert got.combined.height == 2


def output_dir(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    one.submit(few[:1], write_registry=True)
    assert llm_resume_multi_batches(jobs=None, output_dir=one.folder, interval_seconds=60).combined is not None
    with pytest.raises(StudyError, match="wanted jobs, or the output_dir"):
        llm_resume_multi_batches()


def interval_seconds(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin(faults=[SLOW])
    one.submit(few[:1])
    one.resume(interval_seconds=10_000, timeout="20000s")
    rounds = gaps(calls(one, "/openai/v1/batches/"))
    assert rounds
    assert min(rounds) >= 10_000


def per_job_delay(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin(faults=[SLOW])
    one.submit(few[:2], n_segments=2)
    before = len(calls(one, "/openai/v1/batches/"))
    one.resume(per_job_delay=30_000, timeout=0)
    assert max(gaps(calls(one, "/openai/v1/batches/")[before:])) >= 30_000


def write_results_csv(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    sent = one.submit(few[:1])
    one.resume(write_results_csv=False)
    assert not sent.jobs[0].csv_path.exists()
    got = one.resume(write_results_csv=True)
    assert pl.read_csv(sent.jobs[0].csv_path)["better_id"].to_list() == got.combined["better_id"].to_list()


def keep_jsonl(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    (job,) = one.submit(few[:1]).jobs
    one.resume(keep_jsonl=True)
    assert job.batch_input_path.exists()
    assert job.batch_output_path.exists()
    assert one.resume(keep_jsonl=False).combined is not None
    assert not job.batch_input_path.exists()
    assert not job.batch_output_path.exists()


def write_registry(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    one.submit(few[:1], write_registry=True)
    registry = one.folder / "jobs_registry.csv"
    one.resume(write_registry=False)
    assert pl.read_csv(registry)["done"].to_list() == [False]
    one.resume(write_registry=True)
    assert pl.read_csv(registry)["done"].to_list() == [True]


def tags(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    """Those of the submission hold; others can be given, and what they do not find has no winner."""
    one = begin(answer_with={".": "[[SAMPLE_2]]"})
    template = set_prompt_template().replace("<BETTER_SAMPLE>", "[[").replace("</BETTER_SAMPLE>", "]]")
    mine = {"tag_prefix": "[[", "tag_suffix": "]]"}
    llm_submit_pairs_multi_batch(few[:1], "gpt-4.1-mini", *ASKED[:2], template, output_dir=one.folder, **mine)
    for given in ({}, mine):
        assert one.resume(**given).combined["winner_pos"].to_list() == [2]
    others = one.resume(tag_prefix="<BETTER_SAMPLE>", tag_suffix="</BETTER_SAMPLE>", write_combined_csv=True)
    assert others.combined is None
    assert pl.read_csv(one.folder / "failed_attempts.csv").height == 1
    assert others.failed_attempts["error_code"].to_list() == ["parse_error"]


def verbose(begin: Begin, few: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    one = begin(faults=[SLOW])
    (job,) = one.submit(few[:1]).jobs
    one.resume(timeout="20000s", interval_seconds=10_000)
    assert capsys.readouterr() == ("", "")
    one.resume(verbose=True, interval_seconds=10_000, write_combined_csv=True)
    said = capsys.readouterr().err.splitlines()
    states = [line for line in said if line.startswith(f"openai {job.batch_id}: ")]
    assert len(states) > 1, "on each round"
    assert states[0] == f"openai {job.batch_id}: in_progress, 0 of 1 rows"
    assert states[-1] == f"openai {job.batch_id}: done, 1 of 1 rows"
    assert f"wrote 1 judged pair to {one.folder / 'combined_results.csv'}" in said


def write_combined_csv(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    one.submit(few[:2], n_segments=2)
    one.resume(write_combined_csv=False, combined_csv_path="all.csv")
    assert not (one.folder / "all.csv").exists()
    assert not (one.folder / "combined_results.csv").exists()
    got = one.resume(write_combined_csv=True)
    assert pl.read_csv(one.folder / "combined_results.csv")["better_id"].equals(got.combined["better_id"])


def combined_csv_path(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    one.submit(few[:1])
    absolute = one.folder.parent / "deep" / "er" / "all.csv"
    for given, made in (("all.csv", one.folder / "all.csv"), (absolute, absolute)):
        one.resume(write_combined_csv=True, combined_csv_path=given)
        assert made.is_file(), given
    (one.folder / "file").write_text("")
    with pytest.raises(StudyError, match=r"combined_csv_path: .*file"):
        one.resume(write_combined_csv=True, combined_csv_path=one.folder / "file" / "all.csv")


def openai_max_retries(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin(faults=[{"on": "content", "do": "status", "status": 500, "times": 4}])
    one.submit(few[:1])
    lost = one.resume(openai_max_retries=2, per_job_delay=3000)
    times = calls(one, "/openai/v1/files/")
    assert len(times) == 2
    assert gaps(times)[0] >= 3000
    assert (lost.combined, [job.done for job in lost.jobs]) == (None, [False])
    assert lost.batch_failures["status"].to_list() == ["download failed"]
    found = one.resume(openai_max_retries=3, per_job_delay=0)
    assert len(calls(one, "/openai/v1/files/")) == 5
    assert found.combined is not None
    assert found.batch_failures.is_empty()
    assert one.rows_run() == 1
    with pytest.raises(StudyError, match="openai_max_retries: -1 is less than 0"):
        one.resume(openai_max_retries=-1)


# submitting


def asked(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    """The pairs, the model and the words of the question."""
    one = begin()
    template = "{TRAIT_NAME}|{TRAIT_DESCRIPTION}|{SAMPLE_1}|{SAMPLE_2}|<BETTER_SAMPLE>"
    llm_submit_pairs_multi_batch(few[:1], "gpt-4.1-nano", "Wit", "it is funny", template, output_dir=one.folder)
    sent = body(one)["body"]
    pair = few.row(0, named=True)
    assert sent["model"] == "gpt-4.1-nano"
    assert sent["messages"][0]["content"] == f"Wit|it is funny|{pair['text1']}|{pair['text2']}|<BETTER_SAMPLE>"


def backend(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    sent = one.submit(few[:1], "claude-haiku-4-5", backend="anthropic")
    assert [job.provider for job in sent.jobs] == ["anthropic"]
    assert one.emulator.log()["batches"][0]["dialect"] == "anthropic"


def batch_size(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    sent = begin().submit(few[:5], batch_size=2)
    assert [len(job.batch_input_path.read_text().splitlines()) for job in sent.jobs] == [2, 2, 1]


def n_segments(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    sent = begin().submit(few[:5], n_segments=2)
    assert [len(job.batch_input_path.read_text().splitlines()) for job in sent.jobs] == [3, 2]


def submitted_into(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    sent = one.submit(few[:1])
    assert sent.output_dir == one.folder
    assert [job.folder for job in sent.jobs] == [one.folder]


def submitted_registry(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    one.submit(few[:1])
    assert not (one.folder / "jobs_registry.csv").exists()
    sent = one.submit(few[:1], write_registry=True)
    assert pl.read_csv(one.folder / "jobs_registry.csv")["batch_id"].to_list() == [sent.jobs[0].batch_id]


def submitted_jsonl(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    (job,) = begin().submit(few[:1], keep_jsonl=False).jobs
    assert not job.batch_input_path.exists()


def submitted_verbose(begin: Begin, few: pl.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    (job,) = begin().submit(few[:1], verbose=True).jobs
    assert f"openai {job.batch_id}: " in capsys.readouterr().err


def submitted_retries(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    """They hold when it is resumed."""
    one = begin(faults=[{"on": "content", "do": "status", "status": 500, "times": 1}])
    one.submit(few[:1], openai_max_retries=1)
    assert one.resume().batch_failures.height == 1
    assert len(calls(one, "/openai/v1/files/")) == 1


def options(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    one = begin()
    thinking = {"reasoning": "enabled", "include_thoughts": True, "include_raw": True}
    one.submit(few[:1], "claude-sonnet-4-5", backend="anthropic", **thinking)
    assert body(one)["params"]["thinking"]["type"] == "enabled"
    row = one.resume().combined.row(0, named=True)
    assert row["thoughts"]
    assert json.loads(row["raw_response"])["custom_id"] == row["custom_id"]
    plain = begin()
    plain.submit(few[:1], "claude-sonnet-4-5", backend="anthropic", reasoning="none", temperature=0)
    assert body(plain)["params"]["temperature"] == 0
    assert "raw_response" not in plain.resume().combined.columns
    google = begin()
    google.submit(few[:1], "gemini-3-pro-preview", backend="gemini", thinking_level="low", include_thoughts=True)
    config = body(google)["request"]["generationConfig"]["thinkingConfig"]
    assert (config["thinkingLevel"].lower(), config["includeThoughts"]) == ("low", True)


def api_key(begin: Begin, few: pl.DataFrame, _: Any) -> None:
    """It goes before the environment's, and is written nowhere."""
    one = begin()
    key = "sk-own-0123456789abcdefghijkl-last"
    one.submit(few[:1], api_key=key)
    one.resume(api_key=key, write_registry=True)
    assert {call["key"] for call in one.emulator.log()["calls"]} == {"last"}
    files = [path for path in one.folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if key.encode() in path.read_bytes()]


RESUME: dict[str, Check] = {
    "jobs": jobs,
    "output_dir": output_dir,
    "interval_seconds": interval_seconds,
    "per_job_delay": per_job_delay,
    "write_results_csv": write_results_csv,
    "keep_jsonl": keep_jsonl,
    "write_registry": write_registry,
    "tag_prefix": tags,
    "tag_suffix": tags,
    "verbose": verbose,
    "write_combined_csv": write_combined_csv,
    "combined_csv_path": combined_csv_path,
    "openai_max_retries": openai_max_retries,
}
SUBMIT: dict[str, Check] = {
    "pairs": asked,
    "model": asked,
    "trait_name": asked,
    "trait_description": asked,
    "prompt_template": asked,
    "backend": backend,
    "batch_size": batch_size,
    "n_segments": n_segments,
    "output_dir": submitted_into,
    "write_registry": submitted_registry,
    "keep_jsonl": submitted_jsonl,
    "verbose": submitted_verbose,
    "openai_max_retries": submitted_retries,
    "tag_prefix": tags,
    "tag_suffix": tags,
    "api_key": api_key,
    "options": options,
}
# What R does not have, and where it is tested.
OURS = {
    "timeout": "test_multi_batch",
    "pairs": "test_foreign",
    "join_by_position": "test_foreign_gemini",
    "api_key": "test_arguments",
}


@pytest.mark.parametrize("check", dict.fromkeys([*RESUME.values(), *SUBMIT.values()]), ids=lambda check: check.__name__)
def test_an_argument_does_what_its_page_says(
    notebook: Begin, few: pl.DataFrame, capsys: pytest.CaptureFixture[str], check: Check
) -> None:
    check(notebook, few, capsys)


def test_no_argument_is_missing_here_or_there() -> None:
    assert {*inspect.signature(llm_resume_multi_batches).parameters} == {*RESUME, *OURS}
    assert {*inspect.signature(llm_submit_pairs_multi_batch).parameters} == {*SUBMIT}
    assert [*inspect.signature(llm_resume_multi_batches).parameters][: len(RESUME)] == [*RESUME], "the order of R's"
    here = Path(__file__).parent
    assert all((here / f"{name}.py").exists() for name in OURS.values())
