"""Gemini batches of pairwiseLLM: answers without keys, joined by their places only when the user says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overnight import api
from overnight.core.errors import StudyError
from overnight.pairwise import parse_gemini_batch_output
from pairwise.conftest import Notebook
from pairwise.r_folder import MODELS, name_of, pairs_of_samples, sent_by_r, truth, write_folder
from pairwise.test_foreign_failures import held_together, resumed

PAIRS = pairs_of_samples(8)  # 28 of them
PARTS = [PAIRS[:15], PAIRS[15:]]

Begin = Callable[..., Notebook]


def folder_of(one: Notebook, *, inputs: bool = True, rds: bool = True) -> None:
    ids = [sent_by_r(one, "gemini", part) for part in PARTS]
    write_folder(one.folder, "gemini", ids, PARTS, inputs=inputs, rds=rds)


@pytest.mark.parametrize("inputs", [True, False])
def test_answers_are_joined_by_position_when_the_user_says_so(notebook: Begin, inputs: bool) -> None:
    one = notebook(**truth(8))
    folder_of(one, inputs=inputs)
    got = resumed(one, join_by_position=True, write_registry=True)
    assert held_together(got, PAIRS) == (28, 0)
    assert [job.done for job in got.jobs] == [True, True]
    # What was joined stays so; the consent is in the run.
    assert held_together(resumed(one), PAIRS) == (28, 0)


def test_pairs_that_are_given_need_the_inputs(notebook: Begin) -> None:
    one = notebook(**truth(8))
    folder_of(one, rds=False)
    assert held_together(resumed(one, pairs=PAIRS, join_by_position=True), PAIRS) == (28, 0)


def test_without_a_word_from_the_user_nothing_is_joined(notebook: Begin) -> None:
    one = notebook(**truth(8))
    folder_of(one)
    with pytest.raises(StudyError) as told:
        resumed(one)
    assert "carry no keys" in str(told.value)
    assert "--by-position (join_by_position=True in Python)" in str(told.value)
    assert "nothing in them proves it" in str(told.value)
    assert not list(one.folder.glob("segment-*"))
    # The same folder, with the word.
    assert held_together(resumed(one, join_by_position=True), PAIRS) == (28, 0)


def test_a_number_of_answers_that_does_not_fit_is_refused(notebook: Begin) -> None:
    one = notebook(faults=[{"on": "row", "do": "omit", "times": 1}], **truth(8))
    folder_of(one)
    with pytest.raises(StudyError, match=r"14 answers came for 15 requests, so their places say nothing"):
        resumed(one, join_by_position=True)


def test_other_requests_than_were_sent_are_refused(notebook: Begin) -> None:
    one = notebook(**truth(8))
    folder_of(one)
    asked = json.loads((one.folder / "batch_01_input.jsonl").read_text())
    asked["requests"].pop()
    (one.folder / "batch_01_input.jsonl").write_text(json.dumps(asked))
    with pytest.raises(StudyError, match=r"segment 1: 15 answers came for 14 requests"):
        resumed(one, join_by_position=True)


def test_failed_rows_keep_their_places(notebook: Begin) -> None:
    one = notebook(faults=[{"on": "row", "do": "error", "status": 500, "times": 5}], **truth(8))
    folder_of(one)
    assert held_together(resumed(one, join_by_position=True), PAIRS) == (23, 5)


def response_of(text: str | None) -> list[dict[str, Any]]:
    """As R's one-row tables come out as JSON."""
    if text is None:
        return [{}]
    parts = {"parts": [{"text": text}], "role": "model"}
    counts = {"promptTokenCount": 40, "candidatesTokenCount": 7, "totalTokenCount": 47}
    candidates = [{"content": parts, "finishReason": "STOP", "index": 0}]
    return [{"candidates": candidates, "usageMetadata": counts, "modelVersion": MODELS["gemini"], "responseId": "x"}]


WON = "<BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>"


def output_of_r(path: Path, pairs: pl.DataFrame, lost: int = 0) -> None:
    lines = []
    for place, row in enumerate(pairs.iter_rows(named=True)):
        told = {"type": "succeeded", "response": response_of(None if place < lost else WON)}
        lines.append({"custom_id": name_of(row, "gemini"), "result": told})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_pairwisellm_s_own_output_files_are_read(notebook: Begin) -> None:
    one = notebook()
    write_folder(one.folder, "gemini", ["batches/gone", "batches/gone2"], PARTS, done=[1, 2])
    for number, part in enumerate(PARTS, 1):
        output_of_r(one.folder / f"batch_{number:02d}_output.jsonl", part, lost=2)
    got = resumed(one)
    assert held_together(got, PAIRS) == (24, 4)
    assert got.combined is not None
    assert got.combined["prompt_tokens"].to_list() == [40] * 24


def test_one_such_file_is_parsed_and_adopted(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    output_of_r(path, PAIRS, lost=1)
    parsed = parse_gemini_batch_output(path, pairs=PAIRS)
    assert parsed["better_id"].to_list() == [None, *PAIRS["ID2"][1:].to_list()]
    assert parsed["model"][1] == MODELS["gemini"]
    assert parsed["error_message"][0] == "no answer was written down, and no reason"
    (run,) = api.adopt("gemini", output_file=path, runs=tmp_path / "runs")
    assert sorted(run.results()["status"].to_list()) == ["answered"] * 27 + ["failed"]


def keyless(count: int) -> str:
    return "".join(json.dumps({"response": response_of(f"answer {n}")[0]}) + "\n" for n in range(count))


def test_a_keyless_file_is_named_by_its_places(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    path.write_text(keyless(12))
    with pytest.raises(StudyError, match=r"output.jsonl:1: the answers carry no keys.*--by-position"):
        api.adopt("gemini", output_file=path, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
    (run,) = api.adopt("gemini", output_file=path, by_position=True, runs=tmp_path / "runs")
    assert run.results().select("item_id", "answer").rows() == [(f"{n + 1:06d}", f"answer {n}") for n in range(12)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (keyless(2) + '{"key": "a", "response": {}}\n', "output.jsonl:3: the answers have keys"),
        (keyless(2) + "{broken\n" + keyless(1), "output.jsonl:3: not a line of JSON"),
        (keyless(2) + "[]\n", "output.jsonl:3: not an answer"),
    ],
)
def test_places_are_not_counted_in_a_damaged_file(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "output.jsonl"
    path.write_text(text)
    with pytest.raises(StudyError, match=words):
        api.adopt("gemini", output_file=path, by_position=True, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_only_gemini_promises_an_order(tmp_path: Path) -> None:
    with pytest.raises(
        StudyError, match="only answers of gemini come in the order of their requests, not those of openai"
    ):
        api.adopt("openai", "batch_1", by_position=True, runs=tmp_path / "runs")


def test_a_batch_without_keys_is_adopted_by_position(notebook: Begin, tmp_path: Path) -> None:
    one = notebook(**truth(8))
    batch = sent_by_r(one, "gemini", PAIRS)
    one.emulator.finish()
    with pytest.raises(StudyError, match="carry no keys"):
        api.adopt("gemini", batch, runs=tmp_path / "runs")
    (run,) = api.adopt("gemini", batch, by_position=True, runs=tmp_path / "runs")
    assert run.state == "done"
    assert run.results()["item_id"].to_list() == [f"{n + 1:06d}" for n in range(28)]
    assert run.results()["answer"].str.contains(WON, literal=True).all()


def test_places_say_nothing_when_an_answer_is_missing(notebook: Begin, tmp_path: Path) -> None:
    one = notebook(faults=[{"on": "row", "do": "omit", "times": 1}], **truth(8))
    batch = sent_by_r(one, "gemini", PAIRS)
    one.emulator.finish()
    with pytest.raises(StudyError, match=r"27 answers came for 28 requests, .*--by-position .*is refused"):
        api.adopt("gemini", batch, by_position=True, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
