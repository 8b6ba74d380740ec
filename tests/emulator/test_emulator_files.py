"""Files, driven by the official SDK."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import openai
import pytest
from driving import chat_lines, jsonl, upload

CONTENT = jsonl(chat_lines(3))


def test_an_upload_is_described_and_read_back_as_it_was(client):
    file = upload(client, CONTENT, "essays.jsonl")

    assert (file.object, file.purpose, file.filename) == ("file", "batch", "essays.jsonl")
    assert file.bytes == len(CONTENT)
    assert file.expires_at == file.created_at + 30 * 86_400
    assert client.files.retrieve(file.id) == file
    assert client.files.content(file.id).content == CONTENT


def test_an_upload_says_itself_how_long_it_is_kept(emulate, connect):
    emulator = emulate()
    client = connect(emulator)
    file = client.files.create(
        file=("in.jsonl", CONTENT), purpose="batch", expires_after={"anchor": "created_at", "seconds": 3600}
    )
    assert file.expires_at == file.created_at + 3600

    emulator.advance(3601)

    with pytest.raises(openai.NotFoundError, match="No such File object"):
        client.files.content(file.id)
    assert [kept.id for kept in client.files.list()] == []


def test_a_deleted_file_is_gone(client):
    file = upload(client, CONTENT)
    deleted = client.files.delete(file.id)

    assert (deleted.id, deleted.deleted) == (file.id, True)
    for call in (client.files.retrieve, client.files.content, client.files.delete):
        with pytest.raises(openai.NotFoundError):
            call(file.id)


def test_listings_are_paged_ordered_and_chosen_by_purpose(emulate, connect):
    client = connect(emulate())
    made = [upload(client, CONTENT, f"{i}.jsonl").id for i in range(5)]
    notes = client.files.create(file=("notes.txt", b"notes"), purpose="user_data")
    other = notes.id
    assert notes.expires_at is None

    assert [file.id for file in client.files.list(limit=2, purpose="batch")] == made[::-1]
    assert [file.id for file in client.files.list(limit=2, order="asc")] == [*made, other]
    assert [file.id for file in client.files.list(purpose="user_data")] == [other]
    with pytest.raises(openai.NotFoundError):
        client.files.list(after="file-nowhere")
    first = client.files.list(limit=2, order="asc")
    assert first.has_more
    assert [file.id for file in first.data] == made[:2]


def test_a_batch_file_above_the_limit_is_refused(emulate, connect):
    client = connect(emulate({"limits": {"bytes": len(CONTENT) - 1}}))

    with pytest.raises(openai.APIStatusError, match=f"larger than the {len(CONTENT) - 1} maximum") as refused:
        upload(client, CONTENT)
    assert refused.value.status_code == 413
    assert client.files.create(file=("in.jsonl", CONTENT), purpose="user_data").bytes == len(CONTENT)


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"purpose": "mischief"}, "purpose"),
        ({"purpose": "batch", "expires_after": {"anchor": "created_at", "seconds": 10}}, "expires_after.seconds"),
        ({"purpose": "batch", "expires_after": {"anchor": "yesterday", "seconds": 3600}}, "expires_after.anchor"),
    ],
)
def test_what_cannot_be_right_is_refused(client, options, param):
    with pytest.raises(openai.BadRequestError) as refused:
        client.files.create(file=("in.jsonl", CONTENT), **options)
    assert refused.value.param == param


def test_half_a_form_is_refused(client):
    with pytest.raises(openai.BadRequestError, match="'file'"):
        client.post(
            "/files",
            cast_to=object,
            files=[("document", ("in.jsonl", CONTENT))],
            options={"headers": {"Content-Type": "multipart/form-data"}},
        )
    with pytest.raises(openai.BadRequestError, match="multipart"):
        client.post("/files", cast_to=object, body={"purpose": "batch"})


@pytest.mark.parametrize("sent", [0, 60, 5_000])
@pytest.mark.parametrize("content", ["multipart/form-data; boundary=b", "application/json"])
def test_a_client_that_dies_while_it_sends_is_no_trouble(emulate, connect, sent, content):
    emulator = emulate()
    place = urlsplit(emulator.openai_url)
    path = "files" if content.startswith("multipart") else "batches"
    head = (
        f"POST {place.path}/{path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer sk-1\r\nContent-Type: {content}\r\n"
    )
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="in.jsonl"\r\n\r\n' + b"x" * 9_000
    with socket.create_connection((place.hostname, place.port)) as client:
        client.sendall(head.encode() + b"Content-Length: 100000\r\n\r\n" + body[:sent])
    assert list(connect(emulator).files.list()) == []
    assert emulator.complaints() == ""
