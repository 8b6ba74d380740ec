"""Lines out of chunks: the same lines however they are cut, in time that grows with the bytes and no faster."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.errors import Unavailable
from overnight.core.result import Line
from overnight.engine.batch.ingest import Part
from overnight.engine.batch.line_splitting import LineSplitter
from overnight.engine.batch.owner import Opening
from overnight.store.local import LocalStore


@given(st.lists(st.sampled_from([b"", b"a", b"bc", b"\n", b"d\n", b"\n\n", b"e\nf"])))
def test_however_they_are_cut(chunks: list[bytes]) -> None:
    loose, finished = LineSplitter(), b""
    for chunk in chunks:
        came = loose.add(chunk)
        assert came == b"" or came.endswith(b"\n")
        finished += came
    text = b"".join(chunks)
    assert finished + loose.rest == text
    assert b"\n" not in loose.rest


def test_a_line_that_does_not_end_is_refused() -> None:
    loose = LineSplitter(longest=1 << 20)
    for _ in range(16):
        loose.add(bytes(1 << 16))
    with pytest.raises(Unavailable, match="a line of more than 1 MB came"):
        loose.add(b"x")


def test_a_download_without_line_breaks_takes_no_longer_than_one_with_them(tmp_path: Path) -> None:
    """20 MB in small pieces took minutes when each piece was joined to all that had come before."""
    part = Part("output", LocalStore(tmp_path, files=("x",)).put("x"), rows=1)
    opening = Opening("o", lambda _: Line(None, None))
    began = time.perf_counter()
    for _ in range(20_000):
        part.write(b"x" * 1_000)
        opening.write(b"x" * 1_000)
    assert time.perf_counter() - began < 5
    part.file.drop()


def test_a_download_has_no_line_without_end(tmp_path: Path) -> None:
    """However much its rows allow; a line that has ended counts no more."""
    part = Part("output", LocalStore(tmp_path, files=("x",)).put("x"), rows=1_000)
    for piece in (b"y\n" + bytes(1 << 20), b"z\n", *[bytes(1 << 20)] * 64):
        part.write(piece)
    with pytest.raises(Unavailable, match="a line of more than 64 MB came, which is no provider's file"):
        part.write(b"x")
    part.file.drop()


def test_a_download_has_an_end(tmp_path: Path) -> None:
    part = Part("output", LocalStore(tmp_path, files=("x",)).put("x"), rows=0)
    line = b"x" * ((1 << 20) - 1) + b"\n"
    for _ in range(64):
        part.write(line)
    with pytest.raises(Unavailable, match="the output file is larger than 64 MB, too much for its rows"):
        part.write(line)
    part.file.drop()
