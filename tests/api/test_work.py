"""How a run is worked on is read from the record of who holds it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from overnight import api
from overnight.api.work import go_on_with
from overnight.engine.work import Work
from overnight.ledger.ledger import open_ledger
from overnight.settings import settings
from overnight.store.run_folder import RunFolder

ANSWER = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
LINE = {"id": "1", "custom_id": "a", "response": {"status_code": 200, "body": ANSWER}, "error": None}


def test_what_a_run_was_told_is_read_once_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may put the run on record between the first look at it and its lock."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    Path("out.jsonl").write_text(json.dumps(LINE) + "\n")
    (run,) = api.adopt("openai", output_file="out.jsonl")
    folder, seen = RunFolder(run.path), []

    def how(work: Work) -> Work:
        seen.append(work.mode)
        if len(seen) == 1:
            later = msgspec.json.encode(msgspec.structs.replace(work, mode="live")).decode()
            with open_ledger(folder) as ledger:
                ledger.write("told", lambda tx: tx.facts.keep("work", later)).result()
        return work

    go_on_with(folder, settings(), how)
    assert seen == ["batch", "live"]
