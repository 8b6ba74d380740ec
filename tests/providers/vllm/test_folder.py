"""Files in a folder in place of a provider, and rows as run-batch writes them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers import Intent, batch_format, emulated_endpoint, takes_calls, vendor
from overnight.providers.vllm.connection import FolderConnection
from providers.asking import ask, stored

VLLM = vendor("vllm")
PURE = batch_format(VLLM)
MODEL = Model(provider="vllm", name="meta-llama/Llama-3.1-8B-Instruct")


def connection(folder: Path) -> FolderConnection:
    return FolderConnection(VLLM.endpoint({"VLLM_FOLDER": str(folder)}, None))


def intent(folder: Path, rows: int = 2) -> Intent:
    body = PURE.encode(ask(MODEL, "Hello."))
    content = b"".join(PURE.line(MODEL, f"otok-{n}", body) + b"\n" for n in range(rows))
    (folder / "rows").write_bytes(content)
    return Intent(token="tok", run="r", model=MODEL, rows=rows, bytes=len(content), file=stored(folder / "rows"))


def test_a_batch_is_a_file_and_its_answers_are_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "files with a space"
    one, wanted = connection(folder), intent(tmp_path)

    async def work() -> None:
        assert (await one.newest()).batches == ()
        made = (await one.create(wanted, "")).batch
        assert made is not None
        assert (made.phase, made.tag, made.counts.total) == ("running", "tok", 2)
        assert made.status == f"waits for: vllm run-batch -i tok.jsonl -o tok.out.jsonl --model {MODEL.name}"
        assert (await one.create(wanted, "")).batch == made
        seen = await one.recent(None, 1)
        assert (seen.complete, [batch.id for batch in seen.batches]) == (True, ["tok"])
        (folder / "tok.out.jsonl").write_text('{"custom_id":"otok-0"}\n{"custom_id":"oto')
        half = await one.retrieve("tok")
        assert half is not None
        assert (half.phase, half.parts) == ("running", ()), "it is still being written"
        (folder / "tok.out.jsonl").write_text('{"custom_id":"otok-0"}\n{"custom_id":"otok-1"}\n')
        ended = await one.retrieve("tok")
        assert ended is not None
        assert (ended.phase, ended.parts) == ("completed", (("output", "tok.out.jsonl"),))
        got = bytearray()
        assert await one.fetch("tok.out.jsonl", got.extend) == len(got) > 0
        assert await one.retrieve("nobody") is None

    asyncio.run(work())


def test_a_stopped_one_gives_up_what_it_has(tmp_path: Path) -> None:
    one, wanted = connection(tmp_path / "f"), intent(tmp_path)

    async def work() -> None:
        await one.create(wanted, "")
        (tmp_path / "f" / "tok.out.jsonl").write_text('{"custom_id":"otok-0"}\n')
        stopped = await one.cancel("tok")
        assert stopped is not None
        assert (stopped.phase, stopped.parts) == ("cancelled", (("output", "tok.out.jsonl"),))

    asyncio.run(work())


@pytest.mark.parametrize(
    ("error", "cause"),
    [("Too long.", "invalid_request"), ({"error": {"message": "Too long.", "code": 400}}, "invalid_request")],
)
def test_rows_that_failed_have_no_body(error: Any, cause: str) -> None:
    row = {"id": "vllm-1", "custom_id": "x", "response": {"status_code": 400, "body": None}, "error": error}
    found = PURE.decode(json.dumps(row).encode())
    assert found.custom_id == "x"
    assert found.result is not None
    assert (found.result.outcome, found.result.cause) == ("failed", cause)
    assert "Too long." in str(found.result.detail)


def test_what_it_does_not_do_is_said() -> None:
    assert not takes_calls(VLLM)
    with pytest.raises(StudyError, match="cannot be rehearsed"):
        emulated_endpoint(VLLM, "http://127.0.0.1:1", "key")
    with pytest.raises(StudyError, match="wanted a folder"):
        VLLM.endpoint({"VLLM_FOLDER": "http://localhost"}, None)
    with pytest.raises(StudyError, match="write compatible/NAME"):
        VLLM.endpoint({}, Model(provider="vllm", name="m", base_url="http://localhost:8000/v1"))


def test_what_a_killed_process_left_half_written_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "gpu"
    folder.mkdir()
    one, wanted = connection(folder), intent(tmp_path)

    async def work() -> None:
        file_id = await one.upload(wanted)
        (folder / "tok.part").write_text("half a li")
        await one.remove_file(file_id)
        assert list(folder.iterdir()) == []
        await one.create(wanted, file_id)
        await one.remove_file(file_id)
        assert [path.name for path in folder.iterdir()] == ["tok.jsonl"], "a batch stays"

    asyncio.run(work())
