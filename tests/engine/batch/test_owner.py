from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.result import Line
from overnight.core.shard import custom_id, token_of
from overnight.engine.batch.owner import _ENOUGH, Opening, _Told

OURS = token_of("run", "stage", "arm", 1, 1)
THEIRS = token_of("other", "stage", "arm", 1, 1)


def decode(line: bytes) -> Line:
    try:
        return Line(msgspec.json.decode(line)["id"], None)
    except msgspec.MsgspecError:
        return Line(None, None, "no JSON")


def rows(token: str, count: int) -> list[bytes]:
    return [msgspec.json.encode({"id": custom_id(token, n)}) for n in range(count)]


def told(lines: list[bytes], size: int = 7, *, newline: bool = True) -> tuple[bool | None, int]:
    """The verdict, and how many bytes it took."""
    text = b"\n".join(lines) + (b"\n" if newline and lines else b"")
    opening, taken = Opening(OURS, decode), 0
    with suppress(_Told):
        for start in range(0, len(text), size):
            taken = min(len(text), start + size)
            opening.write(text[start : start + size])
        opening.end()
    return opening.ours, taken


@pytest.mark.parametrize("newline", [True, False])
def test_the_first_rows_tell(newline: bool) -> None:
    assert told(rows(OURS, 1), newline=newline)[0] is True
    assert told(rows(THEIRS, 1), newline=newline)[0] is False
    assert told([], newline=newline)[0] is None
    assert told([b"garbage", b""], newline=newline)[0] is None


def test_a_long_batch_is_not_read_to_its_end() -> None:
    line = len(rows(OURS, 1)[0]) + 1
    assert told(rows(OURS, 500))[1] < 2 * line
    assert told(rows(THEIRS, 500))[1] < (_ENOUGH + 1) * (line + 3)


@given(
    strange=st.lists(st.sampled_from([b"garbage", b'{"id": "stranger-1"}', *rows(THEIRS, 2)]), max_size=_ENOUGH - 1),
    size=st.integers(1, 200),
)
def test_a_few_odd_lines_before_ours_do_not_mislead(strange: list[bytes], size: int) -> None:
    assert told([*strange, *rows(OURS, 3)], size)[0] is True
