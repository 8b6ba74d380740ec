"""What requests and answers come to: by those on record, by other runs' of the task, or by a stated assumption."""

from pathlib import Path

import pytest

from overnight.api import plan
from overnight.api.plans.experience import USUAL_ANSWER, USUAL_REASONING, Experience, reasoning_of
from overnight.core.ask import Arm, Model, Options, Thinking
from overnight.core.estimate import step_of
from overnight.core.names import HISTORY
from overnight.engine.account_history import AccountHistory
from overnight.ledger.account_book import AnswerSize, Lessons, RequestSize
from overnight.settings import settings
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
    known = Experience(RunFolder(tmp_path / "none"), settings(runs=tmp_path))
    arm = Arm(stage="s", name="a", template="t", model=model("openai/gpt-4.1", "low"))
    told = known.answers(arm, "any", None)
    assert (told.lengths.mean, told.basis) == (800, "800 tokens an answer, 500 of them reasoning, an assumption")
    told = known.answers(arm, "any", 50)
    assert (told.lengths.mean, told.basis) == (50, "50 tokens an answer, its limit")
    assert known.requests(arm).basis == "3.6 bytes a token, an assumption"
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


ARM = Arm(stage="one", name="a", template="t", model=model("openai/gpt-4.1"))


def learned(tmp_path: Path, *lessons: Lessons) -> Experience:
    history = AccountHistory(tmp_path / HISTORY)
    for one in lessons:
        history.learn(one)
    history.close()
    return Experience(RunFolder(tmp_path / "none"), settings(runs=tmp_path))


def answers(task: str, *lengths: int, of: str = "gpt-4.1") -> Lessons:
    return Lessons([AnswerSize("openai", of, "", task, step_of(one), 1, one, one * 5) for one in lengths])


def test_other_runs_of_the_task_teach_how_long_answers_are(tmp_path: Path) -> None:
    known = learned(tmp_path, answers("say", 100, 100, 100, 140, 160), answers("say", 9_000, of="gpt-4.1-mini"))
    told = known.answers(ARM, "say", None)
    assert told.lengths.mean == pytest.approx(120)
    assert told.basis == "120 tokens an answer, the mean of 5 answers of this model in this task"
    assert told.bytes_per_token == pytest.approx(5)
    assert known.answers(ARM, "judge", None).basis.endswith("an assumption")
    # Nothing is longer than its limit.
    assert known.answers(ARM, "say", 80).lengths.mean == 80


def test_requests_of_the_model_teach_what_a_byte_is(tmp_path: Path) -> None:
    sizes = [
        RequestSize("openai", "gpt-4.1", step_of(size), 10, 10 * size, 2 * size + 70) for size in (400, 900, 5_000)
    ]
    known = learned(tmp_path, Lessons((), sizes))
    told = known.requests(ARM)
    assert told.line.tokens(1_000) == pytest.approx(207)
    assert told.basis == "5.0 bytes a token, from 30 answers of this model"


def test_a_book_that_is_damaged_teaches_nothing(tmp_path: Path) -> None:
    (tmp_path / HISTORY).write_bytes(b"no database" * 200)
    known = Experience(RunFolder(tmp_path / "none"), settings(runs=tmp_path))
    assert known.answers(ARM, "say", None).basis.endswith("an assumption")
    assert known.requests(ARM).basis.endswith("an assumption")
