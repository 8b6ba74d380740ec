from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.errors import FileDamaged, LedgerError
from overnight.core.result import Line, Result
from overnight.ledger.raw import BLOCK, RawFiles, ReadAhead, check_file, digest_of, file_problem
from overnight.store.contract import Store
from overnight.store.run_folder import RunFolder


@given(wanted=st.lists(st.tuples(st.integers(1, 2), st.integers(0, 3 * BLOCK), st.integers(0, 2 * BLOCK))))
def test_reading_ahead_gives_what_reading_gives(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[tuple[int, int, int]]
) -> None:
    """In whatever order, over the edges of blocks, and past the end."""
    folder = tmp_path_factory.getbasetemp() / "read-ahead"
    if not folder.exists():
        (folder / "raw").mkdir(parents=True)
        for name, step in (("1", 3), ("2", 5)):
            (folder / "raw" / name).write_bytes(bytes(n * step % 251 for n in range(3 * BLOCK + 7)))
    with RawFiles(RunFolder(folder).files, {1: "raw/1", 2: "raw/2"}) as files:
        ahead = ReadAhead(files)
        for place in wanted:
            here = files.bytes_at(*place)
            assert len(here) == place[2] or here == b"" or place[1] + place[2] > 3 * BLOCK + 7
            assert ahead.read(*place, digest_of(here)) == files.read(*place, digest_of(here)) == here
            with pytest.raises(FileDamaged, match=rf"read-ahead/raw/{place[0]}: the file is damaged"):
                ahead.read(*place, digest_of(here + b"x"))


CONTENT = b"".join(b'{"n":%d,"text":"a line"}\n' % n for n in range(100, 130))
PLACES = [(1, n * 25, 25, digest_of(CONTENT[n * 25 : n * 25 + 25])) for n in range(30)]


def kept(path: Path) -> Store:
    """A run with these lines in raw/x.jsonl."""
    (path / "raw").mkdir()
    (path / "raw" / "x.jsonl").write_bytes(CONTENT)
    return RunFolder(path).files


def edited(draw: st.DrawFn) -> bytes:
    """The file after something has happened to it."""
    at, to = sorted(draw(st.tuples(st.integers(0, len(CONTENT)), st.integers(0, len(CONTENT)))))
    put = draw(st.one_of(st.binary(max_size=60), st.just(bytes(to - at)), st.just(CONTENT[: to - at])))
    return CONTENT[:at] + put + CONTENT[to:]


@given(now=st.composite(edited)())
def test_a_line_is_read_back_as_it_was_or_not_at_all(tmp_path_factory: pytest.TempPathFactory, now: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "edited"
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    (folder / "raw" / "x.jsonl").write_bytes(now)
    with RawFiles(RunFolder(folder).files, {1: "raw/x.jsonl"}) as files:
        ahead = ReadAhead(files)
        for place in PLACES:
            _, offset, length, _ = place
            whole = now[offset : offset + length] == CONTENT[offset : offset + length]
            for read in (files.read, ahead.read):
                if whole:
                    assert read(*place) == CONTENT[offset : offset + length]
                else:
                    with pytest.raises(FileDamaged, match=r"raw/x\.jsonl: the file is damaged.*copy of the run"):
                        read(*place)


@pytest.mark.parametrize("place", [(2, 0, 25), (1, 0, 2**70), (1, -5, 25), (1, 2**62, 25), (1, 0, 2**55)])
def test_places_that_cannot_be_are_damage_too(tmp_path: Path, place: tuple[int, int, int]) -> None:
    with RawFiles(kept(tmp_path), {1: "raw/x.jsonl"}) as files:
        for read in (files.read, ReadAhead(files).read):
            with pytest.raises(FileDamaged):
                read(*place, b"")


LINK = "is a symbolic link, which a run has none of; it is not followed"
NO_FILES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "nothing": (lambda _: None, ": cannot read: No such file", "is missing"),
    "a folder": (Path.mkdir, ": cannot read: Is a directory", "is not a file"),
    "a link to nothing": (lambda path: path.symlink_to("nowhere"), f" {LINK}: remove it", LINK),
    "a link to itself": (lambda path: path.symlink_to(path.name), f" {LINK}: remove it", LINK),
    "a link to the same": (lambda path: path.symlink_to("../same"), f" {LINK}: remove it", LINK),
    "a pipe": (os.mkfifo, " is no plain file.*: remove it", "is no plain file, which all of a run's are"),
}


@pytest.mark.parametrize(("make", "refused", "problem"), NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_file_is_named(tmp_path: Path, make: Callable[[Path], object], refused: str, problem: str) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "same").write_bytes(CONTENT)
    path = tmp_path / "raw" / "x.jsonl"
    make(path)
    files, size, hashed = RunFolder(tmp_path).files, len(CONTENT), sha256(CONTENT).hexdigest()
    with (
        RawFiles(files, {1: "raw/x.jsonl"}) as raw,
        pytest.raises(FileDamaged, match=rf"raw/x\.jsonl{refused}.*copy of the run"),
    ):
        raw.read(*PLACES[0])
    assert file_problem(files, "raw/x.jsonl", size, hashed) == problem
    with pytest.raises(FileDamaged, match=rf"raw/x\.jsonl {problem}.*copy of the run"):
        check_file(files, "raw/x.jsonl", size, hashed)


@pytest.mark.parametrize("name", ["x.jsonl", "../x.jsonl", "/etc/hostname"])
def test_a_line_outside_the_run_is_the_ledgers_fault(tmp_path: Path, name: str) -> None:
    """Nothing about a file of the run is damaged, so nothing is downloaded or asked again for it."""
    (tmp_path / "x.jsonl").write_bytes(CONTENT)
    with (
        RawFiles(RunFolder(tmp_path).files, {1: name}) as files,
        pytest.raises(LedgerError, match="names a file outside the run") as refused,
    ):
        files.read(*PLACES[0])
    assert not isinstance(refused.value, FileDamaged)


def test_an_answer_that_the_reader_no_longer_understands_is_not_made_up(tmp_path: Path) -> None:
    """A failure may be told from the ledger: there is nothing to be read in it."""
    with RawFiles(kept(tmp_path), {1: "raw/x.jsonl"}) as files:
        failure = Result(outcome="failed", cause="unreadable")
        ahead = ReadAhead(files)
        line = ahead.read(*PLACES[0])
        assert ahead.result(lambda _: Line(None, None, "no"), failure, PLACES[0], line) == failure
        with pytest.raises(FileDamaged, match="hold an answer that this version"):
            ahead.result(lambda _: Line(None, None, "no"), Result(outcome="answered"), PLACES[0], line)
