"""Batches of prompts in programs: every answer in its place, nothing paid twice, whoever takes them up."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

import overnight
from overnight.core.clock import WallClock
from overnight.core.errors import StudyError, UnknownName, WrongArgument
from overnight.engine.live.pace import Pacing
from overnight.engine.session import opened
from overnight.speceval import BatchedModel, GoogleBatchedModel, OpenAIBatchedModel, TogetherBatchedModel
from overnight.store.run_folder import RunFolder
from overnight.study.pace import LiveSettings, pacing_of
from speceval.conftest import MODELS, Workplace, waited

Begin = Callable[..., Workplace]
PROMPTS = [f"Repeat: {n} of seven" for n in range(7)]
ANSWERS = [f"<{n} of seven>" for n in range(7)]
KEY = "sk-test-0123456789abcdefghijklmnop"


@pytest.mark.parametrize("vendor", MODELS)
def test_sent_kept_as_json_and_collected(workplace: Begin, vendor: str) -> None:
    one = workplace()
    model = MODELS[vendor]()
    sent = model.generate_batch(PROMPTS, "out", 3, temperature=0.0, max_tokens=2000)
    kept = json.loads(json.dumps(sent))
    assert kept == sent
    assert KEY not in json.dumps(sent)
    assert model.generate_batch(PROMPTS, "out", 3, temperature=0.0, max_tokens=2000)["run"] == sent["run"]
    done = waited(MODELS[vendor](), kept)
    assert (done["status"], done["message"]) == ("completed", None)
    assert done["request_counts"] == {"total": 7, "completed": 7, "failed": 0}
    assert model.get_batch_results(done) == ANSWERS
    assert model.get_batch_results(kept) == ANSWERS
    batches = 0 if vendor == "together" else 3
    assert len(done["batch_ids"]) == batches
    assert done["batch_id"] == (done["batch_ids"][0] if batches else None)
    assert one.counts() == (batches, 7)


def test_another_process_takes_it_up(workplace: Begin) -> None:
    one = workplace()
    told = ("OpenAIBatchedModel", {"model_name": "gpt-4.1-mini"})
    first = one.elsewhere(*told, "generate_batch", prompts=PROMPTS, batch_output_dir="out")
    assert first.returncode == 0, first.stderr
    metadata = json.loads(first.stdout)
    done = waited(OpenAIBatchedModel("gpt-4.1-mini"), metadata)
    last = one.elsewhere(*told, "get_batch_results", metadata=done)
    assert json.loads(last.stdout) == ANSWERS
    assert one.counts() == (1, 7)


@pytest.mark.parametrize("moment", ["committed intake", "committed intended", "20", "30", "40"])
def test_a_killed_process_leaves_nothing_to_be_paid_again(workplace: Begin, moment: str) -> None:
    one = workplace()
    told = ("OpenAIBatchedModel", {"model_name": "gpt-4.1-mini"})
    given = {"prompts": PROMPTS, "batch_output_dir": str(one.folder / "out"), "batch_size": 4}
    killed = one.elsewhere(*told, "generate_batch", environ={"OVERNIGHT_KILL_AT": moment}, **given)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    model = OpenAIBatchedModel("gpt-4.1-mini")
    sent = model.generate_batch(**given)
    assert model.get_batch_results(waited(model, sent)) == ANSWERS
    assert one.counts() == (2, 7)


def test_a_killed_process_that_asks_call_by_call_goes_on(workplace: Begin) -> None:
    # A fifth of a second for each call, so that the process is dead before all are made.
    one = workplace(latency={"batch": [60, 600], "live": [4_000, 4_000]})
    name = MODELS["together"]().model_name
    given = {"prompts": PROMPTS, "batch_output_dir": str(one.folder / "out"), "batch_size": 1}
    told = ("TogetherBatchedModel", {"model_name": name})
    killed = one.elsewhere(*told, "generate_batch", environ={"OVERNIGHT_KILL_AT": "committed calls"}, **given)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    # The first answers are on record long before the last question is asked.
    (run,) = (one.folder / "out").glob("batch-*")
    answered = overnight.results(run)["status"].to_list().count("answered")
    assert 0 < answered < len(PROMPTS)
    assert called(one) < len(PROMPTS)
    model = TogetherBatchedModel(name)
    sent = model.generate_batch(**given)
    assert sent["status"] == "completed"
    assert model.get_batch_results(sent) == ANSWERS
    # One call at a time: at most one was under way when the process died.
    assert called(one) <= len(PROMPTS) + 1


def called(one: Workplace) -> int:
    counts: dict[str, int] = one.emulator.log()["call_counts"]
    return sum(count for call, count in counts.items() if "completions" in call)


def test_what_is_set_is_sent(workplace: Begin) -> None:
    one = workplace()
    model = OpenAIBatchedModel("gpt-4.1-mini", temperature=0.5, max_tokens=900)
    model.generate_batch(["Repeat: a"], "out", temperature=0.25)
    (requests,) = (one.folder / "out").glob("batch-*/requests/*.jsonl")
    sent = json.loads(requests.read_text())
    assert sent["temperature"] == 0.25
    assert 900 in sent.values()


def test_prompts_that_are_the_same_share_an_answer(workplace: Begin) -> None:
    one = workplace()
    model = OpenAIBatchedModel("gpt-4.1-mini")
    done = waited(model, model.generate_batch(["Repeat: a", "Repeat: b", "Repeat: a"]))
    assert model.get_batch_results(done) == ["<a>", "<b>", "<a>"]
    assert one.counts() == (1, 2)


def test_a_new_model_that_looks_mistyped(workplace: Begin) -> None:
    workplace()
    with pytest.raises(UnknownName, match="did you mean"):
        OpenAIBatchedModel("gpt-4.1-minj").generate_batch(["Repeat: a"])
    model = OpenAIBatchedModel("gpt-4.1-minj", new=True)
    assert model.get_batch_results(waited(model, model.generate_batch(["Repeat: a"]))) == ["<a>"]


@pytest.mark.parametrize("vendor", ["anthropic", "gemini", "openai", "vertex"])
def test_a_row_that_fails_keeps_its_place_and_moves_no_other(workplace: Begin, vendor: str) -> None:
    """A reader that stumbled over an errored row dropped all that came after it."""
    code = {"anthropic": "invalid_request_error", "openai": "invalid_prompt"}.get(vendor, "INVALID_ARGUMENT")
    workplace(faults=[{"on": "row", "do": "error", "status": 400, "code": code, "where": "2 of seven"}])
    model = MODELS[vendor]()
    done = waited(model, model.generate_batch(PROMPTS))
    assert done["status"] == "completed"
    assert done["request_counts"] == {"total": 7, "completed": 6, "failed": 1}
    found = model.get_batch_results(done)
    assert str(found[2]).startswith("ERROR: ")
    assert [*found[:2], *found[3:]] == [*ANSWERS[:2], *ANSWERS[3:]]


def test_a_batch_of_nothing_but_failures_has_failed(workplace: Begin) -> None:
    workplace(faults=[{"on": "row", "do": "error", "status": 400, "code": "invalid_prompt"}])
    model = OpenAIBatchedModel("gpt-4.1-mini")
    done = waited(model, model.generate_batch(PROMPTS[:2]))
    assert done["status"] == "failed"
    assert done["message"]
    assert [str(answer)[:7] for answer in model.get_batch_results(done)] == ["ERROR: ", "ERROR: "]


def test_what_has_not_come_yet_is_none(workplace: Begin) -> None:
    one = workplace(faults=[{"on": "batch", "do": "slow", "seconds": 800_000, "skip": 1}])
    model = OpenAIBatchedModel("gpt-4.1-mini")
    sent = model.generate_batch(PROMPTS, batch_size=4)
    seen: list[Any] = [None]
    while not any(seen):
        seen = model.get_batch_results(sent)
    # Both batches are sent at once, and either may come to the provider first.
    assert seen in ([*ANSWERS[:4], None, None, None], [None, None, None, None, *ANSWERS[4:]])
    assert model.check_batch_progress(sent)["status"] == "processing"
    assert one.counts()[0] == 2


def test_a_provider_that_is_away_is_unknown_and_nothing_is_lost(workplace: Begin) -> None:
    one = workplace()
    model = OpenAIBatchedModel("gpt-4.1-mini")
    sent = model.generate_batch(PROMPTS)
    one.emulator.close()
    seen = model.check_batch_progress(sent)
    assert seen["status"] == "unknown"
    assert "127.0.0.1" in seen["message"]
    assert model.get_batch_results(sent) == [None] * 7


@pytest.mark.parametrize("vendor", ["anthropic", "gemini", "openai", "vertex"])
def test_downloads_that_fail_drop_no_batch(workplace: Begin, vendor: str) -> None:
    one = workplace(faults=[{"on": "content", "do": "status", "status": 500, "times": 9}])
    model = MODELS[vendor]()
    done = waited(model, model.generate_batch(PROMPTS, batch_size=4))
    assert done["status"] == "completed"
    assert model.get_batch_results(done) == ANSWERS
    assert one.counts() == (2, 7)


def test_what_was_called_off_has_failed(workplace: Begin) -> None:
    workplace(faults=[{"on": "batch", "do": "slow", "seconds": 800_000}])
    model = OpenAIBatchedModel("gpt-4.1-mini")
    sent = model.generate_batch(PROMPTS)
    overnight.cancel(sent["run"])
    assert waited(model, sent)["status"] == "failed"


def test_while_another_process_works_on_it_the_record_says_how_far_it_is(workplace: Begin) -> None:
    one = workplace()
    model = OpenAIBatchedModel("gpt-4.1-mini")
    sent = model.generate_batch(PROMPTS)
    runs = one.folder / "runs"
    with opened(RunFolder(runs / sent["run"]), RunFolder(runs), WallClock(1.0)):
        assert model.check_batch_progress(sent)["status"] == "processing"
        assert model.get_batch_results(sent) == [None] * 7
    assert model.get_batch_results(waited(model, sent)) == ANSWERS


def test_a_run_of_something_else_is_told(workplace: Begin) -> None:
    workplace()
    model = OpenAIBatchedModel("gpt-4.1-mini")
    sent = model.generate_batch(PROMPTS[:2])
    other = [{"id": "x", "text": "a"}]
    overnight.run(overnight.Study(name="else", task="generate", items=other, prompt="{text}", models=["gpt-4.1-mini"]))
    for changed in ({"run": "else"}, {"prompts": 1}):
        with pytest.raises(StudyError, match="is not one of"):
            model.get_batch_results(sent | changed)


def test_system_prompts_go_with_their_own(workplace: Begin) -> None:
    workplace(answer_with={"(?s)Answer as (\\w+)": "I am \\1"})
    model = OpenAIBatchedModel("gpt-4.1-mini")
    asked = [
        {"statement_id": "a", "original_index": 0, "input_text": "Who?"},
        {"input_text": "Who?"},
        "Answer as myself",
    ]
    sent = model.generate_batch(asked, system_prompts=["Answer as Ann", "Answer as Ben", None])
    assert model.get_batch_results(waited(model, sent)) == ["I am Ann", "I am Ben", "I am myself"]


def test_more_in_the_metadata_is_the_program_s_own(workplace: Begin) -> None:
    workplace()
    model = OpenAIBatchedModel("gpt-4.1-mini")
    sent = model.generate_batch(PROMPTS) | {"original_prompts_data": [1, 2]}
    assert waited(model, sent)["original_prompts_data"] == [1, 2]


def test_other_words_are_another_batch(workplace: Begin) -> None:
    one = workplace()
    model = OpenAIBatchedModel("gpt-4.1-mini")
    names = {model.generate_batch(PROMPTS[:n], "out", temperature=t)["run"] for n in (1, 2) for t in (None, 0.0, 1.0)}
    assert len(names) == 6
    same = {model.generate_batch(PROMPTS[:2], "out", temperature=zero)["run"] for zero in (0, 0.0, np.float64(0))}
    assert same < names
    assert one.counts()[0] == 6


def test_a_rehearsal_stays_one(workplace: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    one = workplace()
    overnight.emulate()
    model = OpenAIBatchedModel("gpt-4.1-mini")
    sent = model.generate_batch(["Say a."])
    overnight.emulate(on=False)
    assert sent["emulated"]
    assert waited(model, sent)["status"] == "completed"
    assert one.counts() == (0, 0)
    real = model.generate_batch(["Say a."])
    monkeypatch.setenv("OVERNIGHT_EMULATE", "1")
    with pytest.raises(StudyError, match="really sent, and this is a rehearsal"):
        model.check_batch_progress(real)
    with pytest.raises(StudyError, match="really sent, and this is a rehearsal"):
        model.get_batch_results(real)
    with pytest.raises(UnknownName, match="no run"):
        model.get_batch_results(sent | {"run": f"{sent['run']}x"})


def test_a_key_of_one_s_own_is_used_and_kept_nowhere(workplace: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    one = workplace()
    monkeypatch.delenv("OPENAI_API_KEY")
    own = "sk-own-0123456789abcdefghijklmnop"
    model = OpenAIBatchedModel("gpt-4.1-mini", api_key=own)
    sent = model.generate_batch(PROMPTS)
    assert waited(model, sent)["status"] == "completed"
    told = [json.dumps(sent).encode(), repr(model).encode(), json.dumps(model.get_info()).encode()]
    kept = [path.read_bytes() for path in one.folder.rglob("*") if path.is_file()]
    assert not any(own.encode() in text for text in (*told, *kept))


def test_calls_in_a_second_are_a_rate_and_no_number_of_calls_at_once() -> None:
    for size in (50, None):
        paced = TogetherBatchedModel("a/b", qps=10).pace(size)
        assert pacing_of(msgspec.convert(paced["live"], LiveSettings)) == Pacing(
            requests_per_minute=600, concurrency=size
        )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: BatchedModel("gpt-4.1"), "which vendor's"),
        (lambda: OpenAIBatchedModel(" "), "model_name: the text is empty"),
        (lambda: OpenAIBatchedModel("gpt-4.1", api_key=""), "api_key: wanted a key"),
        (lambda: OpenAIBatchedModel("gpt-4.1", temprature=1), "temprature"),
        (lambda: GoogleBatchedModel("gemini-2.5-flash", input_bucket="gs://a"), "go together"),
        (lambda: GoogleBatchedModel("g", input_bucket="gs://a", output_bucket="gs://b", api_key="k"), "credentials"),
        (lambda: TogetherBatchedModel("a/b", qps=0), "qps: 0 is not above 0"),
        (lambda: OpenAIBatchedModel("gpt-4.1").generate_batch([]), "prompts: the list is empty"),
        (lambda: OpenAIBatchedModel("gpt-4.1").generate_batch("text"), "prompts: wanted a list"),
        (lambda: OpenAIBatchedModel("gpt-4.1").generate_batch(["a", " "]), r"prompts\[1\]: the text is empty"),
        (
            lambda: OpenAIBatchedModel("gpt-4.1").generate_batch([{"text": "a"}]),
            r"prompts\[0\].input_text: wanted text",
        ),
        (lambda: OpenAIBatchedModel("gpt-4.1").generate_batch(["a"], batch_size=0), "batch_size: 0 is less than 1"),
        (lambda: OpenAIBatchedModel("gpt-4.1").generate_batch(["a"], system_prompts=[]), "0 texts for 1 prompt"),
        (lambda: OpenAIBatchedModel("gpt-4.1").check_batch_progress({}), "metadata: 'model' is missing"),
        (
            lambda: OpenAIBatchedModel("gpt-4.1").get_batch_results({"model": 1}),
            "metadata: model: wanted text, found the number 1",
        ),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(workplace: Begin, call: Callable[[], object], said: str) -> None:
    one = workplace()
    with pytest.raises(StudyError, match=said) as told:
        call()
    assert "\n" not in str(told.value)
    assert list(one.folder.iterdir()) == []


def test_metadata_of_another_model_is_refused(workplace: Begin) -> None:
    workplace()
    sent = OpenAIBatchedModel("gpt-4.1-mini").generate_batch(["Say a."])
    with pytest.raises(StudyError, match=r"it is of a batch of openai/gpt-4.1-mini, and this is openai/gpt-4.1$"):
        OpenAIBatchedModel("gpt-4.1").get_batch_results(sent)
    with pytest.raises(WrongArgument, match="names no run"):
        OpenAIBatchedModel("gpt-4.1-mini").get_batch_results(sent | {"run": "../other"})
