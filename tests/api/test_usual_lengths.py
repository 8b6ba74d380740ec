"""What answers usually cost: by those on record, or by an assumption that is said."""

from pathlib import Path

import pytest

from overnight.api import plan
from overnight.api.usual_lengths import USUAL_ANSWER, USUAL_REASONING, UsualLengths, reasoning_of
from overnight.core.ask import Arm, Model, Options, Thinking
from overnight.store.run_folder import RunFolder
from overnight.study import Study


def model(name: str, thinking: Thinking | None = None) -> Model:
    provider, _, short = name.partition("/")
    return Model(provider=provider, name=short, options=Options(thinking=thinking))


@pytest.mark.parametrize(
    ("asked", "tokens"),
    [
        (model("openai/gpt-4.1"), 0),
        (model("openai/gpt-5-mini"), USUAL_REASONING["medium"]),
        (model("openai/o4-mini"), USUAL_REASONING["medium"]),
        (model("openai/gpt-5.1"), 0),
        (model("openai/gpt-5.1", "low"), USUAL_REASONING["low"]),
        (model("openai/never-heard-of"), 0),
        (model("anthropic/claude-haiku-4-5"), 0),
        (model("anthropic/claude-haiku-4-5", "on"), USUAL_REASONING["medium"]),
        (model("anthropic/claude-haiku-4-5", 10_000), 5_000),
        (model("gemini/gemini-2.5-flash"), USUAL_REASONING["medium"]),
        (model("vertex/gemini-2.5-pro", "high"), USUAL_REASONING["high"]),
        (model("gemini/gemini-2.5-flash", "off"), 0),
        (model("gemini/gemini-2.5-flash-lite"), 0),
        (model("gemini/gemini-2.0-flash"), 0),
        (model("ollama/llama3"), 0),
    ],
)
def test_what_is_thought_is_counted(asked: Model, tokens: int) -> None:
    assert reasoning_of(asked) == tokens


def test_without_answers_it_is_an_assumption(tmp_path: Path) -> None:
    lengths = UsualLengths(RunFolder(tmp_path / "none"), [])
    arm = Arm(stage="s", name="a", template="t", model=model("openai/gpt-4.1", "low"))
    assert lengths.of(arm, None) == (800, "800 tokens an answer, 500 of them reasoning, an assumption")
    assert lengths.of(arm, 50) == (50, "50 tokens an answer, its limit")
    assert USUAL_ANSWER == 300


def test_a_limit_for_all_answers_is_a_ceiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = Study(
        name="s", task="generate", items=[{"id": "1", "text": "x"}], prompt="{text}", models=["openai/gpt-4.1-mini"]
    )
    (open_ended,) = plan(study).arms
    assert open_ended.ceiling is None
    assert open_ended.expected is not None
    said = " ".join(plan(study).cost_notes)
    assert "nothing limits answers; set `max_tokens`, or `budget: {output_tokens: 800}`" in said
    assert "about: counted with 300 tokens an answer, an assumption" in plan(study)._repr_html_()
    (limited,) = plan(study.replace(budget={"output_tokens": 800})).arms
    assert limited.max_output_tokens == 800
    assert limited.ceiling is not None
    assert limited.ceiling > open_ended.expected
