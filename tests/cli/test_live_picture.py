"""Progress as a picture: it says everything, and fits any terminal."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from cli.snapshots import ARMS, any_snapshot, batch, snapshot
from overnight.cli.live_picture import LivePicture, bar
from overnight.engine.progress import Snapshot


def drawn(*snapshots: Snapshot, width: int = 80, verbose: bool = False, time_scale: float = 1.0) -> list[str]:
    paper = io.StringIO()
    console = Console(file=paper, width=width, height=30, no_color=True, force_terminal=False)
    picture = LivePicture(console=console, verbose=verbose, time_scale=time_scale)
    for one in snapshots:
        picture.tell(one)
    console.print(picture.picture())
    return paper.getvalue().rstrip("\n").split("\n")


@pytest.mark.parametrize("width", [80, 120])
def test_the_bar_and_the_counts(width: int):
    lines = drawn(snapshot(ahead=90, seconds_left=240.0), width=width)
    assert lines[0].startswith("fruit  ━")
    assert "  120/300   70%  0s, about 4m 00s left" in lines[0]
    assert lines[1] == "  118 answered, 2 failed, 180 pending; tokens 1,234 in, 56,789 out"


def test_every_open_batch_has_a_line():
    batches = (batch(1), batch(2, arm=ARMS[1], status="validating", completed=0), batch(3, state="closed"))
    lines = drawn(snapshot(batches=batches))
    assert [line.split() for line in lines[2:]] == [
        ["shard", "1", "default", "40/100", "running"],
        ["shard", "2", "high", "0/100", "being", "checked"],
    ]


def test_many_batches_are_counted_not_listed():
    lines = drawn(snapshot(batches=tuple(batch(shard) for shard in range(1, 31))))
    assert lines[-1] == "  and 22 more batches"
    assert len(lines) == 11


def test_ids_are_shown_on_request():
    told = snapshot(batches=(batch(1),))
    assert "batch_" not in "\n".join(drawn(told, width=120))
    assert batch(1).batch_id in "\n".join(drawn(told, width=120, verbose=True))


def test_trouble_is_shown():
    assert drawn(snapshot(trouble="the provider cannot be reached"))[2] == "  the provider cannot be reached"


def test_several_runs_have_a_bar_each():
    lines = drawn(snapshot(run="one"), snapshot(run="two"), snapshot(run="one", answered=200))
    assert [line.split()[0] for line in lines] == ["one", "200", "two", "118"]


def test_before_anything_is_told():
    assert "getting ready" in drawn()[0]


@settings(max_examples=30, deadline=None)
@given(any_snapshot(), st.sampled_from([20, 40, 80, 120, 200]), st.booleans())
def test_no_line_is_wider_than_the_terminal(told: Snapshot, width: int, verbose: bool):
    lines = drawn(told, width=width, verbose=verbose)
    assert max(len(line) for line in lines) < width
    assert len(lines) <= 30


@given(any_snapshot(), st.integers(8, 60))
def test_the_bar_is_cut_in_proportion(told: Snapshot, width: int):
    text = bar(told, width).plain
    assert len(text) == width
    share = (told.settled + told.ahead) / told.total if told.total else 1.0
    assert abs(text.count("━") + text.count("╍") - share * width) <= 1


def test_the_money_is_never_cut_at_80_columns():
    told = snapshot(
        answered=1_234_567,
        failed=1_234,
        pending=7_654_321,
        spent=1_234_567_890_000,
        input_tokens=10**11,
        output_tokens=10**10,
    )
    picture = LivePicture(console=Console(width=80, height=24, file=io.StringIO()))
    picture.tell(told)
    console = Console(width=80, height=24, file=io.StringIO())
    console.print(picture.picture())
    assert "$1,234.57 spent" in console.file.getvalue()
    # Nor is anything else cut in the middle: what has no room is left out.
    assert "7,654,321 pending\n" in console.file.getvalue()
