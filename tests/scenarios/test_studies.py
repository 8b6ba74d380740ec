"""One study over time: a first look, more items, more models, a change that is refused, a copy that reuses."""

from __future__ import annotations

import json
from collections.abc import Callable

import polars as pl

import overnight
from scenarios.bill import PRICES, priced
from scenarios.conftest import Scenario

MODELS = ["openai/gpt-4.1-mini", "openai/gpt-4.1"]


def rows_run(one: Scenario) -> int:
    return int(one.log()["rows_run"])


def test_a_first_look_is_stratified_and_kept(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    ending = one.run(one.study(20, models=MODELS), limit=6)
    assert ending.state == "done"
    first = one.table()
    assert first.group_by("model").len().sort("model")["len"].to_list() == [3, 3]
    by_model = [set(frame["item_id"]) for _, frame in first.group_by("model")]
    assert by_model[0] == by_model[1]
    assert one.run(one.study(20, models=MODELS)).state == "done"
    assert rows_run(one) == 40
    assert first.join(one.table(), on=["request_key", "answer"], how="semi").height == 6
    one.assert_paid_once()
    whole = scenario()
    whole.run(whole.study(20, models=MODELS))
    assert whole.table_digest() == one.table_digest()


def test_more_items_models_and_replicates_extend_the_run(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study(4))
    assert one.run(one.study(6, models=MODELS, replicates=2)).state == "done"
    assert one.table().height == 6 * 2 * 2
    assert rows_run(one) == 24


def test_a_changed_question_is_refused_by_name(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study(4))
    ending = one.run(one.study(4, prompt="Insult {text}."))
    assert ending.error == "StudyChanged"
    assert "prompt" in ending.message
    assert "--as NAME" in ending.message
    assert rows_run(one) == 4


def test_a_refused_study_leaves_the_runs_price_file_as_it_was(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    assert one.run(priced(one, 4)).state == "done"
    kept = (one.folder / "runs" / "night" / "prices.yaml").read_bytes()
    other = priced(one, 4, prompt="Insult {text}.")
    (one.folder / "prices.yaml").write_text(PRICES.replace("input: 1", "input: 2"))
    assert one.run(other).error == "StudyChanged"
    assert (one.folder / "runs" / "night" / "prices.yaml").read_bytes() == kept


def test_changed_and_removed_items_are_refused(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = one.study(4)
    one.run(study)
    items = one.folder / "night.jsonl"
    kept = items.read_text()
    items.write_text(kept.replace("thing number 2", "another thing"))
    ending = one.run(study)
    assert ending.error == "StudyChanged"
    assert "'item 00002' is not what it was" in ending.message
    items.write_text("".join(kept.splitlines(keepends=True)[:3]))
    ending = one.run(study)
    assert ending.error == "StudyChanged"
    assert "no longer there" in ending.message
    items.write_text(kept)
    assert one.run(study).state == "done"


def test_a_copy_reuses_every_answer_that_still_fits(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study(10))
    study = json.loads((one.folder / "night.yaml").read_text())
    items = (one.folder / "night.jsonl").read_text().replace("thing number 2", "another thing")
    (one.folder / "night.jsonl").write_text(items)
    (one.folder / "night.yaml").write_text(json.dumps(study))
    ending = one.run(str(one.folder / "night.yaml"), as_name="copy")
    assert ending.state == "done", ending
    assert "9 answers of 'night' still fit and are reused" in ending.said
    assert rows_run(one) == 11
    old = one.table().filter(pl.col("item_id") != "item 00002")
    new = one.table("copy").filter(pl.col("item_id") != "item 00002")
    assert old["answer"].to_list() == new["answer"].to_list()
    one.assert_paid_once()


def test_the_same_copy_again_keeps_what_it_has_taken_over(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = one.study(4)
    one.run(study)
    assert one.run(study, as_name="copy", limit=2).state == "done"
    for _ in range(2):
        again = one.run(study, as_name="copy")
        assert again.state == "done", again
    assert one.statuses("copy") == {"answered": 4}
    assert rows_run(one) == 4
    assert one.findings("copy") == []


def test_identical_questions_are_asked_once(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = one.study(3)
    same = ({"id": f"id {n}", "text": "the same"} for n in range(5))
    (one.folder / "night.jsonl").write_text("".join(json.dumps(item) + "\n" for item in same))
    ending = one.run(study)
    assert "generate: 5 rows on record, 4 shared" in ending.said
    assert rows_run(one) == 1
    assert one.table()["answer"].n_unique() == 1
    assert one.table().height == 5


def test_replicates_are_separate_votes_and_sharing_can_be_off(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = one.study(3, replicates=2, dedupe=False)
    same = ({"id": f"id {n}", "text": "the same"} for n in range(3))
    (one.folder / "night.jsonl").write_text("".join(json.dumps(item) + "\n" for item in same))
    one.run(study)
    assert rows_run(one) == 6


def test_what_may_change_may_change(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    one.run(one.study(4), limit=2)
    changed = one.study(4, batch={"segments": 2}, poll={"interval_seconds": 5}, timeout="30h")
    assert one.run(changed).state == "done"


SCORE = {
    "type": "object",
    "properties": {
        "score": {"type": "integer"},
        "share": {"type": "number"},
        "fits": {"type": "boolean"},
        "word": {"type": "string", "enum": ["short", "long"]},
        "parts": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["score", "share", "fits", "word", "parts"],
    "additionalProperties": False,
}
TYPED = {
    "answer_score": pl.Int64,
    "answer_share": pl.Float64,
    "answer_fits": pl.Boolean,
    "answer_word": pl.String,
    "answer_parts": pl.String,
}


def test_answers_by_a_schema_are_typed_columns(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"answer_with": {"number 1 ": "certainly not JSON"}})
    study = one.study(4, models=[{"model": "openai/gpt-4.1-mini", "json_schema": SCORE}, "openai/gpt-4.1"])
    one.run(study)
    table = one.table()
    assert {name: table.schema[name] for name in TYPED} == TYPED
    held = table.filter(pl.col("model") == "gpt-4.1-mini")
    assert held["parsed"].to_list() == [True, False, True, True]
    for row in held.iter_rows(named=True):
        said = json.loads(row["answer"]) if row["parsed"] else dict.fromkeys(SCORE["properties"])
        parts = None if row["answer_parts"] is None else json.loads(row["answer_parts"])
        assert {**{name.removeprefix("answer_"): row[name] for name in TYPED}, "parts": parts} == said
    free = table.filter(pl.col("model") == "gpt-4.1")
    assert free.select("parsed", *TYPED).null_count().row(0) == (4,) * 6
    digest = one.table_digest()
    overnight.rebuild("night", runs=one.folder / "runs")
    assert one.table_digest() == digest
    before = rows_run(one)
    ending = one.run(study, reask="unparsed")
    assert "1 unparsed row is asked again" in ending.said
    assert rows_run(one) == before + 1


def test_stages_may_mean_different_things_by_one_name(scenario: Callable[..., Scenario]) -> None:
    def asking(name: str, kind: str, **more: object) -> dict[str, object]:
        schema = {"type": "object", "properties": {"score": {"type": kind}}, "required": ["score"]}
        models = [{"model": "openai/gpt-4.1-mini", "json_schema": {**schema, "additionalProperties": False}}]
        return {"name": name, "task": "generate", "prompt": "Score {text}.", "models": models, **more}

    one = scenario()
    items = [{"id": "1", "text": "a thing"}]
    stages = [asking("one", "integer", items=items), asking("two", "string", of="one")]
    assert one.run(one.write({"name": "night", "stages": stages})).state == "done"
    table = one.table()
    assert table["parsed"].to_list() == [True, True]
    assert table.schema["answer_score"] == pl.String
    number, word = (json.loads(answer)["score"] for answer in table["answer"])
    assert table["answer_score"].to_list() == [json.dumps(number), word]
