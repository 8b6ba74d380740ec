"""Google's own storage SDK against the emulator: uploads of every kind, listings, ranges, checksums."""

from __future__ import annotations

import io
import os
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import md5

import pytest
from google.api_core import exceptions
from google.cloud import storage
from hypothesis import given
from hypothesis import strategies as st

from emulator_process import EmulatorProcess
from overnight_emulator.checksums import crc32c

google_crc32c = pytest.importorskip("google_crc32c")


@pytest.fixture
def bucket(shared: EmulatorProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[storage.Bucket]:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", shared.url)
    client = storage.Client(project="emulator")
    yield client.bucket("papers")
    client.close()


@given(st.binary(max_size=300), st.integers(0, 300))
def test_crc32c_is_googles(data: bytes, cut: int) -> None:
    assert crc32c(data) == google_crc32c.value(data)
    assert crc32c(data[cut:], crc32c(data[:cut])) == google_crc32c.value(data)


def test_a_small_object_from_upload_to_deletion(bucket: storage.Bucket) -> None:
    blob = bucket.blob("dir/in file.jsonl")
    blob.upload_from_string(b"one\ntwo\n", content_type="application/jsonl")
    assert (blob.size, blob.content_type) == (8, "application/jsonl")
    assert blob.md5_hash == b64encode(md5(b"one\ntwo\n").digest()).decode()
    assert blob.download_as_bytes() == b"one\ntwo\n"
    assert blob.download_as_bytes(start=4, end=6) == b"two"
    again = bucket.get_blob("dir/in file.jsonl")
    assert (again.size, again.crc32c, again.generation) == (8, blob.crc32c, blob.generation)
    assert blob.exists()
    blob.delete()
    assert not blob.exists()
    assert bucket.get_blob("dir/in file.jsonl") is None
    with pytest.raises(exceptions.NotFound):
        blob.download_as_bytes()


def test_a_large_object_goes_up_in_pieces(bucket: storage.Bucket) -> None:
    data = os.urandom((1 << 20) + 12_345)
    blob = bucket.blob("large.bin", chunk_size=1 << 18)
    blob.upload_from_file(io.BytesIO(data))
    assert blob.size == len(data)
    assert blob.download_as_bytes(checksum="crc32c") == data
    assert blob.md5_hash == b64encode(md5(data).digest()).decode()


def test_a_second_upload_of_one_name_is_refused_on_request(bucket: storage.Bucket) -> None:
    blob = bucket.blob("once.jsonl")
    blob.upload_from_string(b"first", if_generation_match=0)
    with pytest.raises(exceptions.PreconditionFailed):
        bucket.blob("once.jsonl").upload_from_string(b"second", if_generation_match=0)
    assert blob.download_as_bytes() == b"first"
    first = blob.generation
    blob.upload_from_string(b"third", if_generation_match=first)
    assert blob.generation != first


def test_listings_have_a_prefix_and_pages(bucket: storage.Bucket) -> None:
    for n in range(5):
        bucket.blob(f"list/{n}").upload_from_string(b"x")
    bucket.blob("other/0").upload_from_string(b"x")
    pages = bucket.list_blobs(prefix="list/", page_size=2).pages
    assert [[blob.name for blob in page] for page in pages] == [["list/0", "list/1"], ["list/2", "list/3"], ["list/4"]]
    assert list(bucket.list_blobs(prefix="nothing/")) == []


def test_a_plain_upload_and_its_range(shared: EmulatorProcess) -> None:
    address = f"{shared.url}/upload/storage/v1/b/papers/o?uploadType=media&name=plain/a.txt&fields=name"
    request = urllib.request.Request(address, b"abcdef", {"Content-Type": "text/plain"})
    urllib.request.urlopen(request).close()
    media = f"{shared.url}/storage/v1/b/papers/o/plain%2Fa.txt?alt=media"
    with urllib.request.urlopen(urllib.request.Request(media, headers={"Range": "bytes=2-3"})) as answer:
        assert (answer.status, answer.read()) == (206, b"cd")
        assert answer.headers["X-Goog-Hash"] == f"md5={b64encode(md5(b'abcdef').digest()).decode()}"


def test_a_wrong_checksum_is_noticed(shared: EmulatorProcess) -> None:
    address = f"{shared.url}/upload/storage/v1/b/papers/o?uploadType=media&name=wrong.txt"
    request = urllib.request.Request(address, b"abc", {"X-Goog-Hash": "crc32c=AAAAAA=="})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 400
    refused.value.close()


def test_missing_and_forbidden_buckets(
    emulate: Callable[..., EmulatorProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator = emulate({"buckets": {"missing": ["nowhere"], "refuse": ["locked-*"]}})
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator.url)
    client = storage.Client(project="emulator")
    with pytest.raises(exceptions.NotFound, match="bucket does not exist"):
        client.bucket("nowhere").blob("x").upload_from_string(b"x")
    with pytest.raises(exceptions.Forbidden, match=r"storage\.objects\.create"):
        client.bucket("locked-1").blob("x").upload_from_string(b"x")
    assert client.create_bucket("mine").name == "mine"
    client.close()
