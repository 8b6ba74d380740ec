from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overnight.core.ask import Arm, Ask, Message, Model, Options
from overnight.core.errors import StudyError
from overnight.core.pack import Packer, Room, even, few, lent, most_requests, pack
from overnight.engine.batch.outbox import line_overhead
from overnight.providers import batch_format, vendor

OPENAI = Room(requests=50_000, bytes=209_715_200)


def sizes_of(shards: list[list[int]], sizes: list[int]) -> list[int]:
    return [sum(sizes[index] for index in shard) for shard in shards]


def test_120_000_small_requests_become_3_batches() -> None:
    assert [len(shard) for shard in pack([300] * 120_000, OPENAI)] == [50_000, 50_000, 20_000]


def test_90_000_requests_of_5_kb_become_3_by_bytes_where_count_alone_gives_2() -> None:
    provider = batch_format(vendor("openai"))
    model = Model(provider="openai", name="gpt-4.1-mini", options=Options(max_tokens=10))
    arm = Arm(stage="s", name="a", template="t", model=model)
    body = provider.encode(Ask(arm=arm, item="i", messages=(Message("user", "x" * 5000),)))
    size = len(body) + line_overhead(provider, model)
    shards = pack([size] * 90_000, OPENAI)
    assert len(shards) == 3
    assert max(sizes_of(shards, [size] * 90_000)) <= OPENAI.bytes
    assert len(pack([1] * 90_000, OPENAI)) == 2


@given(
    sizes=st.lists(st.integers(1, 60), max_size=200),
    requests=st.integers(1, 20),
    limit=st.integers(60, 300),
    segments=st.none() | st.integers(1, 30),
)
def test_nothing_ever_exceeds_a_limit_and_nothing_is_lost(
    sizes: list[int], requests: int, limit: int, segments: int | None
) -> None:
    shards = pack(sizes, Room(requests=requests, bytes=limit), segments)
    assert [index for shard in shards for index in shard] == list(range(len(sizes)))
    assert all(0 < len(shard) <= requests for shard in shards)
    assert all(total <= limit for total in sizes_of(shards, sizes))
    if segments is not None and sizes:
        assert len(shards) >= min(segments, len(sizes))


@given(sizes=st.lists(st.integers(1, 60), min_size=2, max_size=100), limit=st.integers(60, 300))
def test_no_two_neighbours_would_fit_together(sizes: list[int], limit: int) -> None:
    room = Room(requests=1000, bytes=limit)
    shards = pack(sizes, room)
    totals = sizes_of(shards, sizes)
    for number, shard in enumerate(shards[1:]):
        assert totals[number] + sizes[shard[0]] > limit


@given(total=st.integers(0, 10_000), segments=st.integers(1, 50))
def test_segments_are_even_with_the_remainder_on_the_first(total: int, segments: int) -> None:
    parts = list(even(total, segments))
    assert sum(parts) == total
    assert parts == sorted(parts, reverse=True)
    assert max(parts) - min(parts) <= 1


@given(tokens=st.lists(st.integers(1, 50), min_size=1, max_size=100))
def test_a_learned_token_cap_is_kept(tokens: list[int]) -> None:
    packer = Packer(Room(requests=1000, bytes=10**9, tokens=60))
    shards: list[int] = []
    for one in tokens:
        if packer.starts_new(1, one) or not shards:
            shards.append(0)
        shards[-1] += one
    assert all(total <= 60 for total in shards)


@given(
    rows=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=150),
    requests=st.integers(1, 30),
    limit=st.integers(30, 200),
    line=st.none() | st.integers(20, 40),
    cap=st.none() | st.integers(1, 60),
    least=st.integers(1, 10),
    segments=st.none() | st.integers(1, 8),
    at_once=st.integers(1, 60),
)
def test_many_rows_are_cut_where_one_after_another_would_be(
    rows: list[tuple[int, int]],
    requests: int,
    limit: int,
    line: int | None,
    cap: int | None,
    least: int,
    segments: int | None,
    at_once: int,
) -> None:
    room = Room(requests=max(requests, least), bytes=limit, line=line, tokens=cap, least=least)

    def packer() -> Packer:
        return Packer(room, even(len(rows), segments, least) if segments else None)

    def one_by_one() -> list[int]:
        counting = packer()
        return [place for place, (size, tokens) in enumerate(rows) if counting.starts_new(size, tokens)]

    def many() -> list[int]:
        counting, found = packer(), list[int]()
        for begin in range(0, len(rows), at_once):
            some = rows[begin : begin + at_once]
            cuts = counting.cuts([size for size, _ in some], [tokens for _, tokens in some])
            found += [begin + place for place in cuts]
        return found

    try:
        expected = one_by_one()
    except StudyError as error:
        with pytest.raises(StudyError, match=re.escape(str(error))):
            many()
    else:
        assert many() == expected


def test_a_request_larger_than_a_batch_is_refused_in_words() -> None:
    with pytest.raises(StudyError, match="one request is 11 bytes, more than the 10 that a batch may hold"):
        pack([11], Room(requests=1, bytes=10))


def test_a_line_may_be_too_long_though_the_batch_would_hold_it() -> None:
    assert pack([10, 10, 10], Room(requests=5, bytes=100, line=10)) == [[0, 1, 2]]
    with pytest.raises(StudyError, match="one request is 11 bytes, more than the 10 that one in a batch may have"):
        pack([10, 11], Room(requests=5, bytes=100, line=10))


@given(body=st.dictionaries(st.text(), st.text()), line=st.integers(0, 999_999_999))
def test_the_overhead_covers_every_line(body: dict[str, str], line: int) -> None:
    from overnight.core.shard import custom_id, token_of

    provider = batch_format(vendor("openai"))
    model = Model(provider="openai", name="gpt-4.1-mini")
    text = json.dumps(body).encode()
    name = custom_id(token_of("run", "stage", "arm", 1, 1), line)
    assert len(provider.line(model, name, text)) + 1 <= len(text) + line_overhead(provider, model)


@given(
    sizes=st.lists(st.integers(1, 30), max_size=200),
    requests=st.integers(1, 40),
    least=st.integers(1, 40),
    segments=st.none() | st.integers(1, 8),
)
@example(sizes=[1] * 60, requests=20, least=15, segments=2)
def test_no_shard_is_below_the_floor_or_above_the_room(
    sizes: list[int], requests: int, least: int, segments: int | None
) -> None:
    room = Room(requests=most_requests(requests, None, least), bytes=10_000, least=least)
    shards = pack(sizes, room, segments)
    assert all(least <= len(shard) <= room.requests for shard in shards)
    packed = [row for shard in shards for row in shard]
    # What is left out is at the end, and too little for a shard of its own.
    assert packed == list(range(len(packed)))
    assert len(sizes) - len(packed) < least


def test_the_last_few_rows_are_joined_by_some_of_the_shard_before() -> None:
    room = Room(requests=20, bytes=1000, least=10)
    assert [len(shard) for shard in pack([1] * 25, room)] == [15, 10]
    assert [len(shard) for shard in pack([1] * 45, room)] == [20, 15, 10]
    assert lent([1] * 15, [1] * 4, room) == 0
    assert lent([99] * 20, [1] * 4, Room(requests=20, bytes=500, least=10)) == 0


def test_rows_that_fill_a_batch_before_there_are_enough_are_refused() -> None:
    with pytest.raises(StudyError, match="5 requests fill a batch of 100 bytes, which must hold 10 at least"):
        pack([20] * 30, Room(requests=50, bytes=100, least=10))


def test_a_guess_at_tokens_makes_no_shard_that_is_too_small() -> None:
    packer = Packer(Room(requests=100, bytes=1000, tokens=5, least=10))
    assert [packer.starts_new(1, 1) for _ in range(12)].index(True) == 10


@pytest.mark.parametrize(
    ("rows", "under_way", "may_call", "fate"),
    [
        (10, False, False, "enough"),
        (9, True, True, "wait"),
        (9, False, True, "live"),
        (9, False, False, "refuse"),
    ],
)
def test_what_becomes_of_too_few_rows(rows: int, under_way: bool, may_call: bool, fate: str) -> None:
    assert few(rows, 10, under_way=under_way, may_call=may_call) == fate
