"""Output files of somebody else's batches: taken whole, or refused with the line that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from overnight import api
from overnight.core.errors import StudyError


def test_an_output_file_needs_no_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    good = {
        "id": "batch_req_1",
        "custom_id": "a",
        "response": {
            "status_code": 200,
            "body": {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]},
        },
        "error": None,
    }
    bad = {"id": "batch_req_2", "custom_id": "b", "response": None, "error": {"code": "batch_expired", "message": ""}}
    Path("out.jsonl").write_text(json.dumps(good) + "\n" + json.dumps(bad) + "\n")
    (run,) = api.adopt("openai", output_file="out.jsonl")
    table = run.results()
    assert table.select("item_id", "status", "cause", "answer").rows() == [
        ("a", "answered", None, "yes"),
        ("b", "failed", "expired", None),
    ]
    # Whoever was stopped half-way types the same again; another file is not taken for it.
    (again,) = api.adopt("openai", output_file="out.jsonl")
    assert (again.state, again.results().equals(table)) == (run.state, True)
    Path("other.jsonl").write_text(json.dumps(good) + "\n")
    with pytest.raises(StudyError, match="choose another name with --as"):
        api.adopt("openai", output_file="other.jsonl", as_name=run.name)


GOOD: dict[str, dict[str, object]] = {
    "openai": {
        "id": "r",
        "custom_id": "a",
        "response": {
            "status_code": 200,
            "body": {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]},
        },
        "error": None,
    },
    "anthropic": {
        "custom_id": "a",
        "result": {
            "type": "succeeded",
            "message": {
                "content": [{"type": "text", "text": "yes"}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        },
    },
    "gemini": {
        "key": "a",
        "response": {"candidates": [{"content": {"parts": [{"text": "yes"}]}, "finishReason": "STOP"}]},
    },
}


def text_of(provider: str, *names: str, answer: str = "yes") -> bytes:
    """Good lines of a provider, one for each name."""
    line = json.dumps(GOOD[provider]).replace('"yes"', json.dumps(answer))
    return b"".join(line.replace('"a"', json.dumps(name)).encode() + b"\n" for name in names)


@pytest.mark.parametrize("provider", list(GOOD))
def test_an_output_file_of_each_vendor_is_adopted(tmp_path: Path, provider: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"\n" + text_of(provider, "x", "y").replace(b"\n", b"\r\n\n") + text_of(provider, "y"))
    (run,) = api.adopt(provider, output_file=path, runs=tmp_path / "runs")
    assert run.results().select("item_id", "answer").rows() == [("x", "yes"), ("y", "yes")]


@pytest.mark.parametrize("provider", list(GOOD))
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (lambda p: b"", "the file is empty"),
        (lambda p: b"\n \n", "the file is empty"),
        (lambda p: b"<!DOCTYPE html><html>502</html>", "this is a web page"),
        (lambda p: b"\xef\xbb\xbf\n <html>", "this is a web page"),
        (lambda p: b"\x1f\x8b\x08rest", "the file is compressed; unpack it first: gunzip out.jsonl"),
        (lambda p: text_of(p, "x", "y")[:-20], "out.jsonl:2: "),
        (lambda p: text_of(p, "x") + b"\x00\xff\xfe\n" + text_of(p, "y"), "out.jsonl:2: "),
        (lambda p: text_of(p, "x", "y").decode().encode("utf-16"), "out.jsonl:1: "),
        (
            lambda p: text_of(p, "x", "y") + text_of(p, "x", answer="no"),
            "out.jsonl:3: custom_id 'x' is already on line 1, with another answer",
        ),
    ],
)  # fmt: skip
def test_a_damaged_output_file_is_refused_whole(
    tmp_path: Path, provider: str, content: Callable[[str], bytes], words: str
) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(content(provider))
    with pytest.raises(StudyError) as told:
        api.adopt(provider, output_file=path, runs=tmp_path / "runs")
    assert words in str(told.value)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("provider", list(GOOD))
@pytest.mark.parametrize("other", list(GOOD))
def test_the_wrong_provider_is_told(tmp_path: Path, provider: str, other: str) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(text_of(provider, "x", "y"))
    if other == provider:
        return
    with pytest.raises(StudyError, match=f"they look like {provider}'s: overnight adopt {provider} --output-file"):
        api.adopt(other, output_file=path, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("place", ["/dev/zero", ".", "nowhere.jsonl"])
def test_what_is_no_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StudyError, match="--output-file"):
        api.adopt("openai", output_file=place)
    with pytest.raises(StudyError, match="--from"):
        api.adopt(tracking=place)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("provider", list(GOOD))
def test_a_file_without_any_answer_is_refused(tmp_path: Path, provider: str) -> None:
    """Its rows may be another provider's: nothing in it shows whose they are."""
    path = tmp_path / "out.jsonl"
    name = "key" if provider == "gemini" else "custom_id"
    path.write_text(json.dumps({name: "a", "response": {"status_code": 200, "body": {}}}) + "\n")
    with pytest.raises(StudyError, match=f"no line of 1 has an answer of {provider} that can be read"):
        api.adopt(provider, output_file=path, runs=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
