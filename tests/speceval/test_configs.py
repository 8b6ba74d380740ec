"""A config of SpecEval's does all that it says, and nothing of it is passed over."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from overnight.cli import main
from speceval.conftest import Workplace
from tasks.speceval_folders import batched, read_rankings, read_verdicts, write_spec

Begin = Callable[..., Workplace]
KEY = "sk-of-the-config-0123456789abcdef"
ANSWERS = {"no_spam": ["One?", "Two?", "Three?"], "be_kind": ["Four?"]}
# The verb, how the keys about the judge begin, and how many batches of 3 the 8 verdicts take: each order is an arm.
COMMANDS = {"rank": ("ranking", 4), "comply": ("compliance", 3)}


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_key_does_what_it_says(workplace: Begin, monkeypatch: pytest.MonkeyPatch, verb: str) -> None:
    one = workplace()
    monkeypatch.delenv("OPENAI_API_KEY")
    write_spec(one.folder)
    for name in ("a", "b"):
        said = {statement: [(text, f"{name}: {text}") for text in texts] for statement, texts in ANSWERS.items()}
        batched(one.folder / "answers", name, said)
    judge, batches = COMMANDS[verb]
    (one.folder / "config.yaml").write_text(
        "spec_name: mine\nspec_path: rules.jsonl\ncandidate_generation_dirs: [answers/a, answers/b]\n"
        f"{judge}_judge_model_name: gpt-4.1-mini\n{judge}_judge_org: openai\noutput_dir_base: out\n"
        f"batch_size: 3\ntemperature: 0.25\nverbose: true\nopenai_api_key: {KEY}\n"
    )
    assert main([verb, "--config-file", "config.yaml"]) == 0
    assert one.counts() == (batches, 8)
    found = {"rank": read_rankings, "comply": read_verdicts}[verb](one.folder / "out", "mine", "gpt-4.1-mini")
    assert len(list(found)) == 4
    (requests,) = (one.folder / "runs").glob("*/requests/*.jsonl")
    sent = [json.loads(line) for line in requests.read_text().splitlines()]
    assert {(body["model"], body["temperature"]) for body in sent} == {("gpt-4.1-mini", 0.25)}
    kept = [path.read_bytes() for path in (one.folder / "runs").rglob("*") if path.is_file()]
    assert not any(KEY.encode() in text for text in kept)
