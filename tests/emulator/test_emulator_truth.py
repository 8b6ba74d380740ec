"""Truth files: every key is read, and what is wrong is said in one line."""

from __future__ import annotations

import msgspec
import pytest
import yaml

from overnight_emulator.faults.kinds import KINDS, Fault
from overnight_emulator.patterns import value_for
from overnight_emulator.truth import Buckets, Judge, Latency, Truth
from overnight_emulator.truth_file import TruthError, load_truth, read_faults, read_truth

WHOLE = r"""
seed: 7
strict: false
time_scale: 600
latency: {batch: [300, 1800], live: [0.2, 1.5]}
tokens_per_character: {default: 0.25, "gpt-4.1*": 0.3}
tokens_per_file: {default: 100}
models: {unknown: ["gpt-0*", "*-typo"]}
keys: {refuse: [sk-dead], no_credit: [sk-poor], hard_limit: [sk-capped]}
limits: {requests: 50000, bytes: 209715200, enqueued_tokens: {"gpt-4.1": 200000}, creates_per_hour: 2000}
buckets: {missing: [nowhere], refuse: ["locked-*"], refuse_service: [sealed]}
answers: {refused: 0.01, truncated: 0.01, filtered: 0.0}
qualities: {"some planted text": 1.3}
judge: {noise: 0.5, position_bias: 0.2, tie: 0.0}
ideas: {difficulty: 0.4, spread: 0.2, gain: 0.1, repeated: 0.1, useless: 0.1}
compliance: {"gpt-4.1": 0.9, "gpt-5*": {"on weapons": 0.99, default: 0.7}, default: 0.8}
flip: {default: 0.1}
answer_with: {"capital of (\\w+)": "Ask \\1."}
faults:
  - {on: upload, do: status, status: 500, times: 1}
  - {on: batch, do: stuck, status: finalizing, odds: 0.1, model: "gpt-*", where: night}
  - {on: batch, do: empty_output, as: ""}
"""


def written(tmp_path, text: str):
    path = tmp_path / "truth.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path):
    truth = load_truth(written(tmp_path, WHOLE))
    assert (truth.seed, truth.time_scale) == (7, 600)
    assert truth.latency == Latency((300, 1800), (0.2, 1.5))
    assert truth.judge == Judge(0.5, 0.2, 0.0)
    assert truth.buckets == Buckets(("nowhere",), ("locked-*",), ("sealed",))
    assert truth.compliance["gpt-5*"] == {"on weapons": 0.99, "default": 0.7}
    assert truth.faults[0] == Fault("upload", "status", status=500, times=1)
    assert truth.faults[1].status == "finalizing"
    assert truth.faults[2].as_ == ""
    given = set(yaml.safe_load(WHOLE.replace("on:", '"on":')))
    assert given == {field.name for field in msgspec.structs.fields(Truth)}


def test_nothing_is_needed(tmp_path):
    assert load_truth(written(tmp_path, "")) == Truth()
    assert load_truth(written(tmp_path, "{}")) == Truth()


def test_qualities_may_lie_in_a_table(tmp_path):
    (tmp_path / "q.csv").write_text('text,quality\n"One, two",1.5\nthree,-2\n', encoding="utf-8")
    truth = load_truth(written(tmp_path, "qualities: {file: q.csv}"))
    assert truth.qualities == {"One, two": 1.5, "three": -2.0}
    (tmp_path / "q.csv").write_text("ID,quality,text\ns1,1.5,One\n", encoding="utf-8")
    assert load_truth(written(tmp_path, "qualities: {file: q.csv}")).qualities == {"One": 1.5}
    assert read_truth({"qualities": {"file": 3}}).qualities == {"file": 3}, "a text, not a file"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("sed: 3", "sed: unknown key; did you mean seed?"),
        ("latency: {bach: [1, 2]}", "latency.bach: unknown key; did you mean batch?"),
        ("seed: soon", 'seed: found "soon", wanted int'),
        ("time_scale: 0", "time_scale: found 0, wanted float > 0"),
        ("latency: {batch: [1]}", "latency.batch: found [1], wanted array of length 2"),
        ("latency: {batch: [1, -2]}", "latency.batch[1]: found -2, wanted float >= 0"),
        ("limits: {requests: many}", 'limits.requests: found "many", wanted int'),
        ("answers: {refused: 1.5}", "answers.refused: found 1.5, wanted float <= 1"),
        ("seed: 1\nseed: 2", "seed: given twice (line 1), wanted once"),
        ("[1, 2]", "the file: found [1,2], wanted a mapping"),
        ("a: [", "found text that is not YAML"),
        ('answer_with: {"(": x}', "answer_with: found '(', wanted a regular expression"),
        ("qualities: {file: nowhere.csv}", "nowhere.csv cannot be read: No such file or directory"),
        ("faults: {on: upload}", 'faults: found {"on":"upload"}, wanted a list of mappings'),
        ("faults: [3]", "faults[0]: found 3, wanted a mapping"),
        ("faults: [{on: uplod, do: status}]", 'faults[0].on: found "uplod", wanted one of'),
        ("faults: [{on: uplod, do: status}]", "did you mean upload?"),
        ("faults: [{do: status}]", "faults[0].on: found nothing, wanted one of"),
        ("faults: [{on: list, do: incomplet}]", "did you mean incomplete?"),
        ("faults: [{on: upload, do: drop_answer, status: 500}]", "faults[0].status: unknown key for `on: upload"),
        ("faults: [{on: row, do: error, cod: x}]", "did you mean code?"),
        ("faults: [{on: batch, do: slow}]", "faults[0].seconds: missing, wanted for `do: slow`"),
        ("faults: [{on: row, do: omit, odds: 2}]", "faults[0].odds: found 2, wanted float <= 1"),
        ("faults: [{on: batch, do: stuck, status: nowhere}]", "faults[0].status: found"),
        ("faults: [{on: live, do: status, status: finalizing}]", "wanted an HTTP status from 400 to 599"),
        ("faults: [{on: live, do: status, status: 200}]", "faults[0].status: found 200"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_file_and_key(tmp_path, text, complaint):
    path = written(tmp_path, text)
    with pytest.raises(TruthError) as refused:
        load_truth(path)
    message = str(refused.value)
    assert message.startswith(f"{path}: ")
    assert complaint in message
    assert "\n" not in message


def test_a_table_of_qualities_must_hold_numbers(tmp_path):
    for content in ("text,quality\nx,good\n", "", "text\nx\n"):
        (tmp_path / "q.csv").write_text(content, encoding="utf-8")
        with pytest.raises(TruthError, match=r"q\.csv: .*wanted a header and rows"):
            load_truth(written(tmp_path, "qualities: {file: q.csv}"))


def test_a_file_that_is_not_there_or_not_text_is_said_to_be_so(tmp_path):
    with pytest.raises(TruthError, match="cannot be read: No such file"):
        load_truth(tmp_path / "nowhere.yaml")
    (tmp_path / "truth.yaml").write_bytes(b"seed: \xff")
    with pytest.raises(TruthError, match="not UTF-8"):
        load_truth(tmp_path / "truth.yaml")


def test_every_kind_of_fault_can_be_written_down():
    needed = {"seconds": 1, "to": "http://x", "word": "w"}
    for on, deeds in KINDS.items():
        for do, keys in deeds.items():
            extra = {key: needed[key] for key in keys if key in needed}
            (fault,) = read_faults([{"on": on, "do": do, **extra}])
            assert (fault.on, fault.do) == (on, do)


def test_the_exact_name_wins_then_the_longest_pattern():
    settings = {"default": 1, "gpt-*": 2, "gpt-4*": 3, "gpt-4.1": 4}
    assert [value_for(name, settings, 0) for name in ("gpt-4.1", "gpt-4o", "gpt-5", "o3")] == [4, 3, 2, 1]
    assert value_for("o3", {"gpt-*": 2}, 0) == 0
