"""Servers that lie, are behind, or are not the provider at all, seen through the official SDK."""

from __future__ import annotations

import urllib.error
import urllib.request

import openai
import pytest
from driving import chat_lines, create, submit, upload, wait
from openai import OpenAI


@pytest.fixture
def client(emulator, connect) -> OpenAI:
    return connect(emulator)


def tagged(client: OpenAI, tag: str) -> list[str]:
    return [batch.id for batch in client.batches.list(limit=100) if (batch.metadata or {}).get("tag") == tag]


@pytest.mark.parametrize("status", [400, 429])
def test_a_refusal_may_lie(emulator, client, status):
    emulator.arm([{"on": "create", "do": "status", "status": status, "applied": True, "times": 1}])
    with pytest.raises(openai.APIStatusError):
        submit(client, chat_lines(1), metadata={"tag": f"lie {status}"})
    assert len(tagged(client, f"lie {status}")) == 1


def test_a_listing_may_be_behind(emulator, client):
    submit(client, chat_lines(1), metadata={"tag": "behind"})
    emulator.arm([{"on": "list", "do": "stale", "seconds": 10**9, "times": 1}])
    assert tagged(client, "behind") == []
    assert len(tagged(client, "behind")) == 1


def test_a_batch_may_bear_an_earlier_time_than_the_servers_clock(emulator, client):
    emulator.arm([{"on": "create", "do": "backdate", "seconds": 7200, "times": 1}])
    batch = submit(client, chat_lines(1), metadata={"tag": "backdated"})
    assert batch.created_at < emulator.now() - 7000
    assert tagged(client, "backdated") == [batch.id]


def test_an_upload_may_vanish(emulator, client):
    emulator.arm([{"on": "upload", "do": "vanish", "times": 1}])
    file = upload(client, chat_lines(1))
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(file.id)
    batch = create(client, file.id)
    emulator.finish()
    assert wait(client, batch).status == "failed"


@pytest.mark.parametrize("on", ["list", "retrieve", "upload", "create"])
def test_somebody_on_the_way_may_answer(emulator, client, on):
    emulator.arm([{"on": on, "do": "web_page", "times": 2, "where": ""}])
    with urllib.request.urlopen(_request(emulator, on, client)) as answer:
        assert (answer.status, answer.headers.get_content_type()) == (200, "text/html")
    emulator.arm([{"on": on, "do": "redirect", "to": "http://127.0.0.1:1/sign-in", "times": 1}])
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(_request(emulator, on, client))


def _request(emulator, on, client) -> urllib.request.Request:
    key = {"Authorization": "Bearer sk-test"}
    base = f"{emulator.openai_url}/batches"
    if on == "list":
        return urllib.request.Request(base, headers=key)
    if on == "retrieve":
        return urllib.request.Request(f"{base}/{submit(client, chat_lines(1)).id}", headers=key)
    if on == "create":
        body = b'{"input_file_id":"file-1","endpoint":"/v1/chat/completions","completion_window":"24h"}'
        return urllib.request.Request(base, body, {**key, "Content-Type": "application/json"})
    mark = "cut"
    parts = f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{mark}\r\n'
    parts += f'Content-Disposition: form-data; name="file"; filename="f.jsonl"\r\n\r\n{{}}\n\r\n--{mark}--\r\n'
    kind = {"Content-Type": f"multipart/form-data; boundary={mark}"}
    return urllib.request.Request(f"{emulator.openai_url}/files", parts.encode(), {**key, **kind})


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini", "vertex"])
def test_others_have_batches_too(emulate, connect, dialect):
    emulator = emulate({})
    emulator.add_foreign(dialect, 150, age=60, rows=3)
    assert len(emulator.log(calls=False)["batches"]) == 150
    if dialect == "openai":
        assert len([*connect(emulator).batches.list(limit=100)]) == 150
