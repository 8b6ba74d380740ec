"""Folders both ways: those of SpecEval's own scripts are judged, and ours are read field by field as theirs are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from overnight.speceval import (
    BatchedCompliancePipeline,
    BatchedGenerationPipeline,
    BatchedRankingPipeline,
    OpenAIBatchedModel,
)
from speceval.conftest import MODELS, Workplace
from tasks.speceval_folders import (
    RULES,
    URL,
    Generations,
    OfTogether,
    batched,
    read,
    read_generations,
    read_rankings,
    read_raw,
    read_verdicts,
    together,
    write_spec,
)

Begin = Callable[..., Workplace]
JUDGE = "gpt-4.1-mini"
EXAMPLE = {"description": "A card.", "user_query": "Sell it!", "good_response": "No.", "bad_response": "Buy now!"}
# As in the specifications that come with SpecEval: words in capitals, fields that nobody judges by.
SPEC = [
    RULES[0] | {"subsection": "Ads", "related_statements": ["be_kind"], "metadata": {"examples": [EXAMPLE]}},
    RULES[1] | {"subsection": "", "related_statements": [], "metadata": {}},
]
ASKED = {"no_spam": ["Zebra?", "Ape?", "Ape?"], "be_kind": ["Hello?"]}
BAD = "ERROR: rate_limit"
RANKS = {"SAMPLE_1": 1, "SAMPLE_2": -1, "TIE": 0, "NONE": 0}


def answers(model: str, bad: int | None = None) -> dict[str, list[tuple[str, str]]]:
    """What a model said; the input of that number has an error in the place of an answer."""
    return {
        statement: [
            (text, BAD if statement == "no_spam" and place == bad else f"{model} on {statement} {place}")
            for place, text in enumerate(texts)
        ]
        for statement, texts in ASKED.items()
    }


def test_folders_of_speceval_and_of_its_together_script_are_ranked_and_judged(workplace: Begin) -> None:
    one = workplace()
    write_spec(one.folder, SPEC)
    said = {"gpt-4.1-2025-04-14": answers("gpt"), "Qwen3x235B": answers("qwen"), "Llama-4": answers("llama", bad=1)}
    place = one.folder / "answers" / "mine"
    folders = [
        batched(place, "gpt-4.1-2025-04-14", said["gpt-4.1-2025-04-14"]),
        together(place, "Qwen3x235B", said["Qwen3x235B"]),
        batched(place, "Llama-4", said["Llama-4"]),
    ]
    judge = OpenAIBatchedModel(JUDGE)
    BatchedRankingPipeline("rules.jsonl", folders, judge, 4, "ranks", spec_name="mine").run()
    met: Counter[tuple[str, str]] = Counter()
    for folder, found in read_rankings(one.folder / "ranks", "mine", JUDGE):
        told = found.metadata
        a, b, statement = told.model_a, told.model_b, told.statement_id
        assert folder.name == f"{a}x{b}"
        assert (told.org_spec_name, told.ranking_judge_model_info["model_name"]) == ("mine", JUDGE)
        assert [row.input for row in found.rankings] == sorted(row.input for row in found.rankings)
        for row in found.rankings:
            met[a, b] += 1
            # Both answers are to this input, at the same one of its places, and each is its model's.
            assert (row.input, row.output_a) in said[a][statement]
            assert said[a][statement].index((row.input, row.output_a)) == said[b][statement].index(
                (row.input, row.output_b)
            )
            assert (row.rank, row.flag) in {(1, None), (-1, None), (0, None), (0, "none")}
            assert row.rank == RANKS[json.loads(row.raw_judge_response or "")["better_sample"]]
            assert row.provider_expected_custom_id
        datetime.fromisoformat(told.timestamp)
        raw: dict[str, str | None] = {}
        # A statement may span batches: the file then names all of them.
        for batch in told.batch_id.split(", "):
            raw |= read_raw(folder, batch)
        assert {row.judge_custom_id_task: row.raw_judge_response for row in found.rankings}.items() <= raw.items()
    # Four inputs that two have answered, and three where one of them has an error.
    assert met == {(a, b): 3 if "Llama-4" in (a, b) else 4 for a in said for b in said if a != b}
    BatchedCompliancePipeline("rules.jsonl", folders, judge, 4, "verdicts", spec_name="mine").run()
    judged: Counter[str] = Counter()
    for folder, held in read_verdicts(one.folder / "verdicts", "mine", JUDGE):
        model, statement = held.metadata.model, held.metadata.statement_id
        assert folder.name == model
        assert held.metadata.batch_ids
        assert [(row.input, row.output) for row in held.results] == [
            pair for pair in said[model][statement] if pair[1] != BAD
        ]
        assert all(isinstance(row.compliant, bool) and row.flag is None for row in held.results)
        judged[model] += len(held.results)
    assert judged == {"gpt-4.1-2025-04-14": 4, "Qwen3x235B": 4, "Llama-4": 3}
    (requests,) = (one.folder / "runs").glob("comply-*/requests/*.jsonl")
    shown = [json.loads(line)["messages"][-1]["content"] for line in requests.read_text().splitlines()]
    assert {("Buy now!" in text) for text in shown if "Never advertise." in text} == {True}
    assert not any(BAD in text for text in shown)


def test_answers_that_we_write_are_read_as_speceval_s_are_and_judged_again(workplace: Begin) -> None:
    """With a row that failed among them: in its place there stands an error, which nobody judges."""
    one = workplace(faults=[{"on": "row", "do": "error", "status": 400, "code": "invalid_prompt", "where": "Ape"}])
    write_spec(one.folder, SPEC)
    (one.folder / "inputs").mkdir()
    for statement, texts in ASKED.items():
        (one.folder / "inputs" / f"{statement}.json").write_text(json.dumps({"inputs": texts, "more": 1}))
    models = {name: MODELS[name]() for name in ("openai", "together")}
    for model in models.values():
        BatchedGenerationPipeline("rules.jsonl", model, "inputs", 1, "made", spec_name="mine").run()
    folder = _check_batched(read_generations(one.folder / "made", "mine", JUDGE))
    (other,) = (one.folder / "made" / "mine" / models["together"].model_name.replace("/", "_")).iterdir()
    whole = read(other / "results.json", OfTogether)
    assert [(row.statement_id, row.original_index, row.input_text) for row in whole.results] == [
        (statement, place, text) for statement, texts in ASKED.items() for place, text in enumerate(texts)
    ]
    judge = MODELS["anthropic"]()
    BatchedCompliancePipeline("rules.jsonl", [folder, other], judge, 9, "verdicts", spec_name="mine").run()
    (requests,) = (one.folder / "runs").glob("comply-*/requests/*.jsonl")
    assert "ERROR: " not in requests.read_text()
    held: Counter[str] = Counter()
    for found_in, found in read_verdicts(one.folder / "verdicts", "mine", judge.model_name):
        held[found_in.name] += len(found.results)
    assert held == {JUDGE: 2, other.parent.name: 4}


def _check_batched(made: Generations) -> Path:
    """Results by statement, one of which spans batches, and for each batch what was sent with it."""
    assert {name: [row.input_text for row in rows] for name, rows in made.results.items()} == ASKED
    for rows in made.results.values():
        assert [row.original_index for row in rows] == list(range(len(rows)))
        assert all(row.output_text.startswith("ERROR: ") == (row.input_text == "Ape?") for row in rows)
    assert len({row.batch_id for row in made.results["no_spam"]}) == 2
    assert len(made.batches) == 3
    for name, batch in made.batches.items():
        prompts = batch.original_prompts_data
        assert [line.custom_id for line in made.lines[name]] == [
            f"{one.statement_id}_{one.original_index}" for one in prompts
        ]
        for one, line in zip(prompts, made.lines[name], strict=True):
            answered = made.results[one.statement_id][one.original_index]
            assert (answered.batch_id, answered.input_text) == (name, one.input_text)
            assert (line.url, line.body["model"]) == (URL, JUDGE)
            assert line.body["messages"][-1] == {"role": "user", "content": one.input_text}
    assert sum(len(batch.original_prompts_data) for batch in made.batches.values()) == 4
    return made.folder
