from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from overnight.ledger.folder import RunFolder
from overnight.ledger.raw import BLOCK, RawFiles, ReadAhead

if TYPE_CHECKING:
    import pytest


@given(wanted=st.lists(st.tuples(st.integers(1, 2), st.integers(0, 3 * BLOCK), st.integers(0, 2 * BLOCK))))
def test_reading_ahead_gives_what_reading_gives(
    tmp_path_factory: pytest.TempPathFactory, wanted: list[tuple[int, int, int]]
) -> None:
    """In whatever order, over the edges of blocks, and past the end."""
    folder = tmp_path_factory.getbasetemp() / "read-ahead"
    if not folder.exists():
        folder.mkdir()
        for name, step in (("1", 3), ("2", 5)):
            (folder / name).write_bytes(bytes(n * step % 251 for n in range(3 * BLOCK + 7)))
    with RawFiles(RunFolder(folder), {1: "1", 2: "2"}) as files:
        ahead = ReadAhead(files)
        assert all(ahead.read(*place) == files.read(*place) for place in wanted)
