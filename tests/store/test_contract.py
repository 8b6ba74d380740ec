"""What every store promises. A new implementation is put into STORES, and passes without a change here."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.errors import FileDamaged, LedgerError
from overnight.store.contract import Kept, Store, StoredFile, hash_of
from overnight.store.local import LocalStore
from store import buckets
from store.objects import ObjectStore

FOLDERS, FILES = ("raw", "outbox"), ("sent",)
STORES: dict[str, Callable[[Path], Store]] = {
    "a local folder": lambda path: LocalStore(path, folders=FOLDERS, files=FILES),
    "objects": lambda _: ObjectStore(FOLDERS, FILES),
    "a bucket": lambda _: buckets.made(FOLDERS, FILES),
}
NAMES = [*(f"{folder}/some.jsonl" for folder in FOLDERS), *FILES]

stores = pytest.mark.parametrize("make", STORES.values(), ids=STORES)
names = pytest.mark.parametrize("name", NAMES)
Make = Callable[[Path], Store]


@pytest.fixture(params=STORES.values(), ids=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return prepared(request.param, tmp_path)


def prepared(make: Make, path: Path) -> Store:
    made = make(path)
    made.prepare()
    return made


def content(store: Store, name: str, start: int = 0) -> bytes:
    with store.stream(name, start) as stream:
        return stream.read()


def put(store: Store, name: str, data: bytes) -> None:
    with store.put(name) as file:
        file.write(data)


# --- put whole


def stop_half_way(store: Store, name: str) -> None:
    with store.put(name) as half:
        half.write(b"half" * 100_000)
        raise ValueError("stop")


@stores
@settings(max_examples=20, deadline=None)
@given(pieces=st.lists(st.integers(0, 70_000), max_size=8))
def test_what_is_put_is_what_was_written(
    make: Make, pieces: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = prepared(make, tmp_path_factory.mktemp("put"))
    data = [bytes([number % 251]) * size for number, size in enumerate(pieces)]
    whole = b"".join(data)
    with store.put("raw/file") as file:
        for piece in data:
            file.write(piece)
        early = file.sha256
        assert file.size == len(whole)
        with file.so_far() as stream:
            assert stream.read() == whole
        assert not store.exists("raw/file")
    assert content(store, "raw/file") == whole
    assert (file.name, file.size, store.size("raw/file")) == ("raw/file", len(whole), len(whole))
    assert early == file.sha256 == hash_of(store, "raw/file") == hashlib.sha256(whole).hexdigest()


def test_lines_get_their_newlines(store: Store) -> None:
    lines = [b"one", b"", b"two"]
    with store.put("raw/lines") as file:
        file.write_lines(lines)
        file.write_lines(lines)
    assert lines == []
    assert file.size == len(b"one\n\ntwo\n")
    assert content(store, "raw/lines") == b"one\n\ntwo\n"


@names
@pytest.mark.parametrize("before", [None, b"", b"what was there"])
def test_a_file_is_whole_or_as_it_was(store: Store, name: str, before: bytes | None) -> None:
    def as_it_was() -> bool:
        return content(store, name) == before if before is not None else not store.exists(name)

    if before is not None:
        put(store, name, before)
    with pytest.raises(ValueError, match="stop"):
        stop_half_way(store, name)
    assert as_it_was()
    dropped = store.put(name)
    dropped.write(b"dropped" * 100_000)
    assert as_it_was()
    dropped.drop()
    assert as_it_was()
    put(store, name, b"new")
    assert content(store, name) == b"new"


def test_a_half_of_a_killed_process_is_written_over(store: Store) -> None:
    killed = store.put("raw/file")
    killed.write(b"a long half" * 100_000)
    with killed.so_far():
        pass
    put(store, "raw/file", b"whole")
    killed.drop()
    assert content(store, "raw/file") == b"whole"


# --- append and sync


@stores
@settings(max_examples=30, deadline=None)
@given(groups=st.lists(st.tuples(st.binary(max_size=300), st.booleans()), max_size=8))
def test_a_file_grows_group_by_group(
    make: Make, groups: list[tuple[bytes, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In one sitting or in several."""
    store = prepared(make, tmp_path_factory.mktemp("append"))
    whole, file = b"", store.append("raw/file")
    for group, again in groups:
        if again:
            file.close()
            file = store.append("raw/file")
        assert file.add(group) == len(whole)
        whole += group
        assert file.size == len(whole)
        assert content(store, "raw/file") == whole
    assert file.sha256 == hashlib.sha256(whole).hexdigest()
    file.close()
    with closing(store.append("raw/file", anew=True)) as anew:
        assert (anew.size, anew.sha256) == (0, hashlib.sha256(b"").hexdigest())
        assert content(store, "raw/file") == b""


def test_an_appender_makes_the_file_and_leaves_what_is_there(store: Store) -> None:
    store.append("sent").close()
    assert content(store, "sent") == b""
    put(store, "sent", b"there\n")
    store.append("sent").close()
    assert content(store, "sent") == b"there\n"


@stores
@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line), max_size=6),
    torn=st.binary(max_size=20).filter(lambda line: b"\n" not in line),
    known=st.integers(0, 6),
)
def test_after_a_crash_whole_lines_stay_and_a_torn_one_goes(
    make: Make, lines: list[bytes], torn: bytes, known: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = prepared(make, tmp_path_factory.mktemp("mend"))
    whole = b"".join(line + b"\n" for line in lines)
    with closing(store.append("raw/file")) as file:
        file.add(whole + torn)
    end = sum(len(line) + 1 for line in lines[:known])
    assert store.mend("raw/file", end) == Kept(len(whole), hashlib.sha256(whole).hexdigest())
    assert content(store, "raw/file") == whole
    assert content(store, "raw/file", end) == whole[end:]
    with closing(store.append("raw/file")) as file:
        assert file.add(b"more\n") == len(whole)
    assert content(store, "raw/file") == whole + b"more\n"


def test_a_file_that_is_shorter_than_its_record_is_damaged(store: Store) -> None:
    put(store, "raw/file", b"one\n")
    with pytest.raises(FileDamaged, match=r"raw/file: the file is damaged: 5 bytes are on record, and it is shorter; "):
        store.mend("raw/file", 5)
    assert content(store, "raw/file") == b"one\n"


# --- read a range


@stores
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=200), offset=st.integers(0, 250), length=st.integers(0, 250))
def test_a_range_is_what_was_written_there(
    make: Make, data: bytes, offset: int, length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = prepared(make, tmp_path_factory.mktemp("range"))
    put(store, "raw/file", data)
    with closing(store.reader("raw/file")) as reader:
        assert reader.read(offset, length) == data[offset : offset + length]
    assert content(store, "raw/file", offset) == data[offset:]


@pytest.mark.parametrize("place", [(0, 2**70), (-5, 25), (2**70, 1), (0, 2**55)])
def test_a_range_that_cannot_be_is_damage(store: Store, place: tuple[int, int]) -> None:
    put(store, "raw/file", b"data")
    with closing(store.reader("raw/file")) as reader, pytest.raises(FileDamaged, match="raw/file: cannot read"):
        reader.read(*place)


def test_several_threads_may_share_a_reader(store: Store) -> None:
    data = b"".join(b"%06d\n" % number for number in range(2_000))
    put(store, "raw/file", data)

    async def read(numbers: list[int]) -> list[bytes]:
        with closing(store.reader("raw/file")) as reader:
            return await asyncio.gather(*(asyncio.to_thread(reader.read, number * 7, 7) for number in numbers))

    assert b"".join(asyncio.run(read(list(range(2_000))))) == data


@names
def test_what_is_not_there_is_said_to_be_missing(store: Store, name: str) -> None:
    assert (store.exists(name), store.problem(name)) == (False, "is missing")
    for look in (store.reader, store.stream, store.size, lambda one: store.mend(one, 0)):
        with pytest.raises(LedgerError) as refused:
            look(name)
        assert str(refused.value).startswith(f"{store.where(name)}: cannot read: ")
    assert store.where(name).startswith(store.home)
    put(store, name, b"")
    assert (store.exists(name), store.problem(name), store.size(name)) == (True, None, 0)


def test_what_is_sent_is_a_stream_of_a_known_size(store: Store) -> None:
    file = StoredFile(store, "outbox/tok.jsonl")
    assert not file.exists()
    put(store, file.name, b"lines\n" * 100_000)
    with file.open() as stream:
        assert len(stream.read()) == file.size == 600_000
    assert file.where == store.where("outbox/tok.jsonl")
    file.remove()
    assert not file.exists()


# --- list, remove


def test_a_part_lists_its_own_files_in_order(store: Store) -> None:
    assert store.names("raw") == []
    for name in ("raw/b", "raw/a", "outbox/c", "raw/c d"):
        put(store, name, b"x")
    assert store.names("raw") == ["raw/a", "raw/b", "raw/c d"]
    assert store.names("outbox") == ["outbox/c"]


@names
def test_removing_is_for_good_and_may_be_repeated(store: Store, name: str) -> None:
    store.remove(name)
    put(store, name, b"x")
    store.remove(name)
    store.remove(name)
    assert not store.exists(name)


def test_all_of_it_can_be_taken_away(store: Store) -> None:
    for name in NAMES:
        put(store, name, b"x")
    store.prepare()
    assert all(store.exists(name) for name in NAMES)
    store.clear()
    store.prepare()
    assert not any(store.exists(name) for name in NAMES)


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../victim",
        "raw/../../victim",
        "",
        "raw//x",
        "lock",
        "raw/a\nb",
        "raw/.",
        "sent/x",
        "raw\\x",
        "parts/raw/x",
        "raw/\udc80",
    ],
)
def test_no_name_leads_out(store: Store, name: str) -> None:
    verbs: list[Callable[[str], object]] = [
        *(store.put, store.append, store.reader, store.stream, store.problem, store.exists, store.size, store.remove),
        *(store.where, store.names, lambda one: store.mend(one, 0), lambda one: store.put(one, over_anything=True)),
    ]
    for verb in verbs:
        with pytest.raises(LedgerError, match="names a file outside the run") as refused:
            verb(name)
        assert not isinstance(refused.value, FileDamaged)
