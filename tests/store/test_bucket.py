"""A store in a bucket: what only a network, and a second process, can get wrong."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from overnight.core import checkpoint
from overnight.core.errors import FileDamaged, LedgerError, OutOfReach, StudyError
from overnight.store import bucket_files
from overnight.store.bucket import BucketStore, store_at
from overnight.store.contract import Kept, Store
from overnight.store.local import LocalStore
from store import buckets
from store.buckets import BucketServer, answers, is_slow, lists_nothing_yet, loses_answers, puts_over_everything

FOLDERS, FILES = ("raw", "outbox"), ("sent",)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    at = buckets.server()
    for name, value in buckets.environment(at).items():
        monkeypatch.setenv(name, value)
    yield at
    at.faults.clear()


@pytest.fixture
def store(server: BucketServer) -> BucketStore:
    made = BucketStore(buckets.fresh_url(), FOLDERS, FILES, patience=2)
    made.prepare()
    return made


def again(store: BucketStore, patience: float = 2) -> BucketStore:
    """The same place, seen by another process."""
    return BucketStore(store.home, FOLDERS, FILES, patience=patience)


def put(store: Store, name: str, data: bytes) -> None:
    with store.put(name) as file:
        file.write(data)


def content(store: Store, name: str) -> bytes:
    with store.stream(name) as stream:
        return stream.read()


def keys(store: BucketStore) -> set[str]:
    return {key for folder in (*FOLDERS, "parts") for key, _ in store._files.objects.listed(folder)}


# --- a bucket that is late, or fails


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_burst_of_refusals_passes_unnoticed(store: BucketStore, server: BucketServer, status: int) -> None:
    server.faults.append(answers(status, 3))
    put(store, "raw/x", b"one\n")
    server.faults.append(answers(status, 3))
    with closing(store.append("raw/y", anew=True)) as file:
        file.add(b"two\n")
    server.faults.append(answers(status, 3))
    assert (content(store, "raw/x"), content(store, "raw/y")) == (b"one\n", b"two\n")


VERBS: dict[str, Callable[[BucketStore], object]] = {
    "put": lambda store: put(store, "raw/x", b"new"),
    "append": lambda store: store.append("raw/x", anew=True),
    "mend": lambda store: store.mend("raw/x", 0),
    "reader": lambda store: store.reader("raw/x"),
    "stream": lambda store: content(store, "raw/x"),
    "problem": lambda store: store.problem("raw/x"),
    "exists": lambda store: store.exists("raw/x"),
    "size": lambda store: store.size("raw/x"),
    "names": lambda store: store.names("raw"),
    "remove": lambda store: store.remove("raw/x"),
    "prepare": lambda store: store.prepare(),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_bucket_that_fails_for_long_is_out_of_reach_and_nothing_is_missing(
    store: BucketStore, server: BucketServer, verb: Callable[[BucketStore], object]
) -> None:
    put(store, "raw/x", b"kept\n")
    other = again(store, patience=0.3)
    server.faults.append(answers(503, 10_000))
    with pytest.raises(OutOfReach) as failed:
        verb(other)
    assert str(failed.value).startswith(store.home)
    assert "the bucket answers 503" in str(failed.value)
    assert "the same command goes on from here when it does" in str(failed.value)
    assert (failed.value.exit_code, "\n" in str(failed.value), buckets.SECRET in str(failed.value)) == (4, False, False)
    server.faults.clear()
    assert content(store, "raw/x") == b"kept\n"


def test_a_bucket_that_is_silent_is_out_of_reach(store: BucketStore, server: BucketServer) -> None:
    put(store, "raw/x", b"kept\n")
    other = again(store, patience=0.3)
    server.faults.append(is_slow(3))
    with pytest.raises(OutOfReach, match="the bucket does not answer"):
        other.size("raw/x")


def test_nobody_listens_there(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(OutOfReach, match="the bucket does not answer"):
        again(store, patience=0.3).exists("raw/x")


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_without_rights_is_told_as_such(store: BucketStore, server: BucketServer, status: int) -> None:
    server.faults.append(answers(status, 10))
    with pytest.raises(LedgerError, match=r"refuses these credentials.*; check AWS_ACCESS_KEY_ID") as failed:
        store.exists("raw/x")
    assert not isinstance(failed.value, (FileDamaged, OutOfReach))


def test_a_bucket_that_is_not_there_is_no_missing_file(server: BucketServer) -> None:
    for verb in VERBS.values():
        nowhere = BucketStore("s3://no-such-bucket/run", FOLDERS, FILES, patience=1)
        with pytest.raises(
            LedgerError, match="there is no bucket 'no-such-bucket'; make it, or check its name"
        ) as failed:
            verb(nowhere)
        assert not isinstance(failed.value, FileDamaged)


def test_a_bucket_that_puts_over_what_is_there_is_not_used(server: BucketServer) -> None:
    server.faults.append(puts_over_everything)
    with pytest.raises(LedgerError, match="puts a new object over one that is there, although it is asked not to"):
        BucketStore(buckets.fresh_url(), FOLDERS, FILES).prepare()


# --- lost answers


def test_a_put_whose_answer_is_lost_has_come_in(store: BucketStore, server: BucketServer) -> None:
    server.faults.append(loses_answers(1, only="PUT"))
    put(store, "raw/x", b"one\n")
    server.faults.append(loses_answers(1, only="PUT"))
    put(store, "raw/x", b"another\n")
    server.faults.append(loses_answers(3, only="PUT"))
    with closing(store.append("raw/y", anew=True)) as file:
        assert (file.add(b"two\n"), file.add(b"three\n")) == (0, 4)
    assert (content(store, "raw/x"), content(store, "raw/y")) == (b"another\n", b"two\nthree\n")


def test_what_somebody_else_has_put_meanwhile_stays(store: BucketStore) -> None:
    for name, before in (("raw/new", None), ("raw/old", b"old\n")):
        if before is not None:
            put(store, name, before)
        suspended = store.put(name)
        suspended.write(b"of a process that slept\n")
        put(again(store), name, b"of its successor\n")
        with pytest.raises(
            LedgerError, match="somebody else has put a file there meanwhile, and it is not written over"
        ):
            suspended.keep()
        assert content(store, name) == b"of its successor\n"
        same = store.put(name)
        same.write(b"the same\n")
        put(again(store), name, b"the same\n")
        same.keep()
        assert content(store, name) == b"the same\n"
        with store.put(name, over_anything=True) as anyway:
            anyway.write(b"anyway\n")
        assert content(store, name) == b"anyway\n"


# --- files that grow


def test_a_process_that_slept_adds_nothing_to_a_file_that_was_mended(store: BucketStore) -> None:
    slept = store.append("raw/x", anew=True)
    slept.add(b"one\n")
    slept.add(b"two\ntorn")
    whole = Kept(8, hashlib.sha256(b"one\ntwo\n").hexdigest())
    assert again(store).mend("raw/x", 4) == whole
    slept.add(b"late\n")
    assert content(store, "raw/x") == b"one\ntwo\n"
    slept.close()
    assert content(store, "raw/x") == b"one\ntwo\n"
    assert store.mend("raw/x", 8) == whole


def test_two_that_make_a_file_anew(store: BucketStore) -> None:
    slept = store.append("raw/x", anew=True)
    slept.add(b"of the first\n")
    with closing(again(store).append("raw/x", anew=True)) as second:
        second.add(b"of the second\n")
        slept.add(b"late\n")
        slept.close()
        second.add(b"and more\n")
        assert content(store, "raw/x") == b"of the second\nand more\n"
    assert content(store, "raw/x") == b"of the second\nand more\n"


def test_a_file_left_open_is_read_from_its_parts_though_the_listing_is_late(
    store: BucketStore, server: BucketServer
) -> None:
    killed = store.append("raw/x", anew=True)
    for number in range(5):
        killed.add(b"%d\n" % number)
    server.faults.append(lists_nothing_yet)
    assert content(again(store), "raw/x") == b"0\n1\n2\n3\n4\n"
    assert again(store).mend("raw/x", 4).size == 10
    server.faults.clear()
    assert content(store, "raw/x") == b"0\n1\n2\n3\n4\n"


def test_a_reader_sees_a_file_grow_and_become_one_object(store: BucketStore) -> None:
    file = store.append("raw/x", anew=True)
    file.add(b"one\n")
    with closing(again(store).reader("raw/x")) as reader:
        assert reader.read(0, 100) == b"one\n"
        file.add(b"two\n")
        assert reader.read(4, 4) == b"two\n"
        file.add(b"three\n")
        file.close()
        assert keys(store) == {"raw/x"}
        assert reader.read(0, 100) == b"one\ntwo\nthree\n"


def test_lines_whose_answer_never_came_are_written_over(store: BucketStore, server: BucketServer) -> None:
    """They may be in the bucket: what is added next is what counts."""
    hasty = again(store, patience=0.3)
    file = hasty.append("raw/x", anew=True)
    file.add(b"one\n")
    server.faults += [loses_answers(1, only="PUT"), answers(503, 10_000)]
    with pytest.raises(OutOfReach):
        file.add(b"lost\n")
    server.faults.clear()
    assert file.add(b"two\n") == 4
    assert content(store, "raw/x") == b"one\ntwo\n"
    file.close()
    assert content(store, "raw/x") == b"one\ntwo\n"
    assert (file.size, file.sha256) == (8, hashlib.sha256(b"one\ntwo\n").hexdigest())


def test_a_file_that_cannot_become_one_object_stays_in_parts(store: BucketStore, server: BucketServer) -> None:
    file = again(store, patience=0.3).append("raw/x", anew=True)
    file.add(b"one\n")
    server.faults.append(answers(503, 10_000))
    file.close()
    server.faults.clear()
    assert content(store, "raw/x") == b"one\n"
    assert store.size("raw/x") == 4
    with closing(store.append("raw/x")) as more:
        assert more.add(b"two\n") == 4
    assert content(store, "raw/x") == b"one\ntwo\n"
    assert keys(store) == {"raw/x"}


# --- long files


def test_a_long_file_is_in_parts_and_appears_at_once(
    store: BucketStore, server: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bucket_files, "PART", 1000)
    data = os.urandom(4321)
    file = store.put("raw/long")
    file.write(data)
    server.faults.append(answers(503, 10_000, only="PUT /bucket/some/"))
    hasty = again(store, patience=0.3).put("raw/long")
    hasty.write(data)
    with pytest.raises(OutOfReach):
        hasty.keep()
    server.faults.clear()
    assert (store.exists("raw/long"), store.names("raw")) == (False, [])
    file.keep()
    monkeypatch.setattr(bucket_files, "PART", 700)  # how a file was cut is noted with it
    assert (content(store, "raw/long"), store.size("raw/long")) == (data, 4321)
    with closing(again(store).reader("raw/long")) as reader:
        assert reader.read(999, 2) == data[999:1001]
        assert reader.read(0, 10_000) == data
        assert reader.read(4321, 1) == b""
    assert store.names("raw") == ["raw/long"]
    put(store, "raw/long", b"short\n")
    assert (content(store, "raw/long"), keys(store)) == (b"short\n", {"raw/long"})
    put(store, "raw/long", data)
    store.remove("raw/long")
    assert keys(store) == set()


def test_a_part_that_is_gone_is_damage(store: BucketStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_files, "PART", 10)
    put(store, "raw/long", b"x" * 25)
    store._files.objects.delete([key for key in keys(store) if key.endswith("10")])
    with closing(again(store).reader("raw/long")) as reader:
        assert reader.read(0, 10) == b"x" * 10
        with pytest.raises(FileDamaged, match="raw/long: cannot read: a part of it is missing; bring it back"):
            reader.read(0, 25)
    with pytest.raises(FileDamaged, match="raw/long: cannot read: a part of it is missing"):
        content(again(store), "raw/long")


def test_lines_that_lie_together_are_read_together(store: BucketStore, server: BucketServer) -> None:
    put(store, "raw/x", b"line\n" * 10_000)
    with closing(store.reader("raw/x")) as reader:
        server.requests.clear()
        for number in range(10_000):
            assert reader.read(number * 5, 5) == b"line\n"
    assert len(server.requests) == 1


# --- names, keys, places


def test_keys_of_the_bucket_are_kept_nowhere(store: BucketStore) -> None:
    put(store, "raw/x", b"one\n")
    with closing(store.append("raw/y")) as file:
        file.add(b"two\n")
        stored = b"".join(store._files.objects.read(key, 0, 10_000) for key in keys(store))
        stored += str([store._files.objects.look(key) for key in keys(store)]).encode()
    assert buckets.SECRET.encode() not in stored
    assert buckets.KEY.encode() not in stored


def test_checkpoints_stand_around_every_put(store: BucketStore, tmp_path: Path) -> None:
    log = tmp_path / "checkpoints"
    log.touch()
    checkpoint.rearm({"OVERNIGHT_CHECKPOINTS": str(log)})
    try:
        put(store, "raw/x", b"x\n")
        with closing(store.append("sent")) as sent:
            sent.add(b"one\n")
    finally:
        checkpoint.rearm({})
    assert log.read_text().splitlines() == ["fsync raw", "kept raw", "fsync sent", "kept sent"]


def test_a_name_that_no_bucket_takes(store: BucketStore) -> None:
    with pytest.raises(LedgerError, match="a name is too long for a bucket"):
        store.exists("raw/" + "é" * 255 + "/" + "é" * 255)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("s3://", "names no bucket"),
        ("s3://Bucket/x", "names no bucket"),
        ("s3://bucket/x?y=1", "names no bucket"),
        ("s3://key:secret@bucket/x", "has no key in it; set AWS_ACCESS_KEY_ID"),
        ("gs://key@bucket/x", "has no key in it; set GOOGLE_APPLICATION_CREDENTIALS"),
        ("s3://bucket/../other", "the part after the bucket is no path"),
        ("s3://bucket/a//b", "the part after the bucket is no path"),
        ("az://bucket/x", "is no place for files; wanted: s3://BUCKET/PREFIX"),
        ("file://elsewhere/x", "names no folder of this machine"),
        ("", "is no place for files"),
    ],
)
def test_what_is_no_place(url: str, why: str) -> None:
    with pytest.raises(StudyError, match=why) as refused:
        store_at(url, FOLDERS, FILES)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("form", ["file://{}", "{}"])
def test_a_shared_folder_is_a_store_of_durable_files(tmp_path: Path, form: str) -> None:
    store = store_at(form.format(tmp_path / "a b").replace(" ", "%20" if "file" in form else " "), FOLDERS, FILES)
    store.prepare()
    put(store, "raw/x", b"one\n")
    assert isinstance(store, LocalStore)
    assert (tmp_path / "a b" / "raw" / "x").read_bytes() == b"one\n"


def test_cloud_storage_keeps_the_same_promises(
    server: BucketServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    account = buckets.google_credentials(server, tmp_path / "account.json")
    monkeypatch.setenv("GOOGLE_SERVICE_ACCOUNT", str(account))
    store = store_at(buckets.fresh_url("gs"), FOLDERS, FILES)
    assert isinstance(store, BucketStore)
    store.prepare()
    store.prepare()
    put(store, "raw/x", b"one\n")
    suspended = store.put("raw/x")
    suspended.write(b"late\n")
    put(store, "raw/x", b"two\n")
    with pytest.raises(LedgerError, match="somebody else has put a file there meanwhile"):
        suspended.keep()
    killed = store.append("raw/y", anew=True)
    killed.add(b"a\n")
    killed.add(b"b\ntorn")
    assert store.mend("raw/y", 2).size == 4
    killed.add(b"late\n")
    assert (content(store, "raw/x"), content(store, "raw/y")) == (b"two\n", b"a\nb\n")
    assert store.names("raw") == ["raw/x", "raw/y"]
    store.remove("raw/x")
    store.remove("raw/x")
    assert store.problem("raw/x") == "is missing"
    store.clear()
    assert store.names("raw") == []
