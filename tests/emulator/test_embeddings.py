"""Embeddings and moderations, live and in batches, and what lies beside them: uploads in parts, files, copies."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest
from anthropic import Anthropic
from driving import chat_lines, ended, finish, jsonl, line, rows
from google.cloud import storage
from google.genai import types
from google_driving import (
    close_clients,  # noqa: F401 - a fixture
    gemini_client,
    upload,
)
from messaging import Connect, connecting
from openai import OpenAI

from emulator_process import EmulatorProcess

EMBEDDINGS, MODERATIONS = "/v1/embeddings", "/v1/moderations"


def near(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_texts_with_the_same_words_are_near(client: OpenAI) -> None:
    texts = ["the cat sat on the mat", "on the mat the cat sat", "quarterly revenue rose sharply"]
    found = client.embeddings.create(model="text-embedding-3-small", input=texts)
    cat, mat, revenue = (one.embedding for one in found.data)
    assert len(cat) == 1536
    assert near(cat, cat) == pytest.approx(1, abs=1e-5)
    assert near(cat, mat) > 0.8 > 0.4 > near(cat, revenue)
    assert found.usage.prompt_tokens == 19
    plain = client.embeddings.create(model="text-embedding-3-small", input=texts[0], encoding_format="float")
    assert plain.data[0].embedding == pytest.approx(cat, abs=1e-6)
    short = client.embeddings.create(model="text-embedding-3-large", input="x", dimensions=8)
    assert len(short.data[0].embedding) == 8
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="text-embedding-3-small", input="x", dimensions=9999)
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model="text-embedding-3-small", input=[])


def test_moderations_flag_what_is_named(client: OpenAI) -> None:
    found = client.moderations.create(input=["a walk in the park", "graphic violence everywhere"])
    calm, harsh = found.results
    assert (calm.flagged, harsh.flagged) == (False, True)
    assert harsh.categories.violence_graphic
    assert not harsh.categories.hate
    assert harsh.category_scores.violence > 0.4 > calm.category_scores.violence


def test_both_in_batches(emulator: EmulatorProcess, connect: Callable[..., OpenAI]) -> None:
    client = connect(emulator)
    texts = [line(f"e{n}", {"model": "text-embedding-3-small", "input": f"text {n}"}, EMBEDDINGS) for n in range(3)]
    texts.append(line("bad", {"model": "text-embedding-3-small", "input": []}, EMBEDDINGS))
    batch = ended(emulator, client, texts, url=EMBEDDINGS)
    found = {row["custom_id"]: row["response"]["body"] for row in rows(client, batch.output_file_id)}
    live = client.embeddings.create(model="text-embedding-3-small", input="text 1", encoding_format="float")
    assert found["e1"]["data"][0]["embedding"] == live.data[0].embedding
    assert [row["custom_id"] for row in rows(client, batch.error_file_id)] == ["bad"]
    looked = [line(f"m{n}", {"model": "omni-moderation-latest", "input": "hate"}, MODERATIONS) for n in range(2)]
    batch = ended(emulator, client, looked, url=MODERATIONS)
    assert all(row["response"]["body"]["results"][0]["flagged"] for row in rows(client, batch.output_file_id))


@pytest.mark.filterwarnings("ignore:.*experimental")
def test_gemini_embeds_live_and_in_batches(emulator: EmulatorProcess) -> None:
    client = gemini_client(emulator)
    found = client.models.embed_content(
        model="gemini-embedding-001", contents=["a cat", "a dog"], config={"output_dimensionality": 16}
    )
    assert [len(one.values or []) for one in found.embeddings or []] == [16, 16]
    inline = client.batches.create_embeddings(
        model="gemini-embedding-001",
        src=types.EmbeddingsBatchJobSource(
            inlined_requests=types.EmbedContentBatch(
                contents=["a cat", "a dog"], config=types.EmbedContentConfig(output_dimensionality=16)
            )
        ),
    )
    content = {"content": {"parts": [{"text": "a cat"}]}, "outputDimensionality": 16}
    file = upload(client, [{"key": "k", "request": content}])
    filed = client.batches.create_embeddings(
        model="gemini-embedding-001", src=types.EmbeddingsBatchJobSource(file_name=file.name)
    )
    emulator.finish()
    done = client.batches.get(name=inline.name or "")
    assert done.dest is not None
    answers = done.dest.inlined_embed_content_responses or []
    vectors = [one.response.embedding.values for one in answers if one.response and one.response.embedding]
    assert vectors == [one.values for one in found.embeddings or []]
    done = client.batches.get(name=filed.name or "")
    assert done.dest is not None
    (row,) = map(json.loads, client.files.download(file=done.dest.file_name or "").splitlines())
    assert (row["key"], row["response"]["embedding"]["values"]) == ("k", vectors[0])


def test_ollama_embeds_shows_and_pulls(shared: EmulatorProcess) -> None:
    client = ollama.Client(host=f"{shared.url}/ollama")
    found = client.embed("nomic-embed-text", ["a cat", "a dog"])
    assert [len(one) for one in found.embeddings] == [768, 768]
    assert "completion" in (client.show("llama3.2").capabilities or [])
    assert [part.status for part in client.pull("mistral", stream=True)][-1] == "success"
    assert "mistral:latest" in [one.model for one in client.list().models]
    client._client.close()
    with OpenAI(base_url=f"{shared.url}/ollama/v1", api_key="ollama", max_retries=0) as compatible:
        asked: Any = [{"role": "user", "content": "A lake?"}]
        whole = compatible.chat.completions.create(model="llama3.2", messages=asked)
        assert "lake" in (whole.choices[0].message.content or "")
        assert list(compatible.chat.completions.create(model="llama3.2", messages=asked, stream=True))
        assert "llama3.2:latest" in [one.id for one in compatible.models.list()]
        assert compatible.embeddings.create(model="nomic-embed-text", input="x").data
        with pytest.raises(openai.BadRequestError, match="not supported by Ollama"):
            compatible.chat.completions.create(model="llama3.2", messages=asked, n=2)


def test_an_upload_in_parts_is_a_file(emulator: EmulatorProcess, connect: Callable[..., OpenAI]) -> None:
    client = connect(emulator)
    data = jsonl(chat_lines(4))
    made = client.uploads.upload_file_chunked(
        file=data, filename="in.jsonl", bytes=len(data), mime_type="application/jsonl", purpose="batch", part_size=100
    )
    assert made.file is not None
    assert client.files.content(made.file.id).content == data
    batch = client.batches.create(input_file_id=made.file.id, endpoint="/v1/chat/completions", completion_window="24h")
    assert len(rows(client, finish(emulator, client, batch).output_file_id)) == 4
    begun = client.uploads.create(bytes=5, filename="x", mime_type="text/plain", purpose="batch")
    assert client.uploads.cancel(begun.id).status == "cancelled"
    with pytest.raises(openai.BadRequestError, match="cancelled"):
        client.uploads.parts.create(begun.id, data=b"12345")


@pytest.fixture
def messages() -> Iterator[Connect]:
    yield from connecting()


def test_files_of_anthropic(shared: EmulatorProcess, messages: Connect) -> None:
    client: Anthropic = messages(shared)
    made = client.files.upload(file=("a.txt", b"12345678", "text/plain"))
    assert (made.filename, made.size_bytes, made.mime_type) == ("a.txt", 8, "text/plain")
    assert made.id in [one.id for one in client.files.list()]
    with pytest.raises(anthropic.BadRequestError, match="not downloadable"):
        client.files.download(made.id)
    client.files.delete(made.id)
    with pytest.raises(anthropic.NotFoundError):
        client.files.retrieve_metadata(made.id)


def test_folders_copies_and_compositions(shared: EmulatorProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    from google.auth.credentials import AnonymousCredentials

    monkeypatch.setenv("STORAGE_EMULATOR_HOST", shared.url)
    client = storage.Client(project="p", credentials=AnonymousCredentials())
    bucket = client.bucket("folders")
    for name in ("a/1.txt", "a/2.txt", "b/3.txt", "top.txt"):
        bucket.blob(name).upload_from_file(io.BytesIO(name.encode()))
    listing = client.list_blobs("folders", delimiter="/")
    assert [blob.name for blob in listing] == ["top.txt"]
    assert listing.prefixes == {"a/", "b/"}
    assert [blob.name for blob in client.list_blobs("folders", prefix="a/", delimiter="/")] == ["a/1.txt", "a/2.txt"]
    copied = bucket.copy_blob(bucket.blob("top.txt"), client.bucket("other"), "copy.txt")
    assert copied.download_as_bytes() == b"top.txt"
    moved = bucket.blob("a/new.txt")
    assert moved.rewrite(bucket.blob("top.txt"))[0] is None
    whole = bucket.blob("whole.txt")
    whole.compose([bucket.blob("a/1.txt"), bucket.blob("a/2.txt")])
    assert whole.download_as_bytes() == b"a/1.txta/2.txt"
    client.close()


def test_short_names_of_models_are_told_in_full(client: OpenAI) -> None:
    asked: Any = [{"role": "user", "content": "x"}]
    assert client.chat.completions.create(model="gpt-4.1", messages=asked).model == "gpt-4.1-2025-04-14"
    assert client.responses.create(model="gpt-4.1-2025-04-14", input="x").model == "gpt-4.1-2025-04-14"
