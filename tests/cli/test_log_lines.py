"""Progress as lines: messages at once, counts when they changed and not too often, and never a failure."""

import io
import re

from cli.snapshots import batch, snapshot
from overnight.cli.log_lines import LogLines


class Watch:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def lines_of(paper: io.StringIO) -> list[str]:
    """Without their times, which are checked for form."""
    found = paper.getvalue().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ", line) for line in found)
    return [line.partition(" ")[2] for line in found]


def test_messages_come_at_once_and_on_one_line():
    paper = io.StringIO()
    LogLines(paper).say("shard 1:\n the provider \x1b[31mis slow")
    assert lines_of(paper) == ["shard 1: the provider [31mis slow"]


def test_counts_come_when_they_changed_and_not_too_often():
    paper, clock = io.StringIO(), Watch()
    lines = LogLines(paper, monotonic=clock)
    lines.tell(snapshot(answered=0, failed=0, pending=300))
    clock.now += 29
    lines.tell(snapshot(answered=100, failed=0, pending=200))
    clock.now += 2
    lines.tell(snapshot(answered=200, failed=0, pending=100))
    clock.now += 100
    lines.tell(snapshot(answered=200, failed=0, pending=100))
    assert lines_of(paper) == ["0/300 settled", "200/300 settled"]


def test_a_rehearsal_is_told_sooner():
    paper, clock = io.StringIO(), Watch()
    lines = LogLines(paper, time_scale=600.0, monotonic=clock)
    lines.tell(snapshot(answered=0, failed=0, pending=300))
    clock.now += 11
    lines.tell(snapshot(answered=100, failed=0, pending=200, seconds_left=6_000.0))
    assert lines_of(paper)[-1] == "100/300 settled, about 10s left"


def test_a_new_guess_at_the_time_left_is_no_news():
    paper, clock = io.StringIO(), Watch()
    lines = LogLines(paper, monotonic=clock)
    for seconds in (100.0, 90.0, 80.0):
        lines.tell(snapshot(seconds_left=seconds))
        clock.now += 100
    assert len(lines_of(paper)) == 1


def test_trouble_is_told_at_once_when_it_begins_and_ends():
    paper, clock = io.StringIO(), Watch()
    lines = LogLines(paper, monotonic=clock)
    for trouble in (None, "HTTP 503", "HTTP 502", None):
        lines.tell(snapshot(trouble=trouble))
        clock.now += 1
    counts = "120/300 settled, 2 failed"
    assert lines_of(paper) == [counts, f"{counts}, HTTP 503", counts]


def test_several_runs_are_told_apart():
    paper = io.StringIO()
    lines = LogLines(paper)
    lines.tell(snapshot(run="one"))
    lines.tell(snapshot(run="two"))
    assert lines_of(paper) == ["120/300 settled, 2 failed", "two: 120/300 settled, 2 failed"]


def test_verbose_follows_each_batch():
    paper = io.StringIO()
    lines = LogLines(paper, verbose=True)
    for state in ("intended", "running", "running", "fetched"):
        lines.tell(snapshot(batches=(batch(7, state=state, batch_id="batch_x"),)))
    told = [line for line in lines_of(paper) if line.startswith("shard 7")]
    assert told == [
        "shard 7 (gpt-4.1-mini, 100 rows): about to be sent as batch_x",
        "shard 7 (gpt-4.1-mini, 100 rows): running as batch_x",
        "shard 7 (gpt-4.1-mini, 100 rows): being read as batch_x",
    ]


def test_a_stream_that_breaks_does_not_stop_the_run():
    class Broken(io.StringIO):
        tries = 0

        def write(self, text: str, /) -> int:
            self.tries += 1
            raise BrokenPipeError

    stream = Broken()
    lines = LogLines(stream)
    lines.say("one")
    lines.say("two")
    lines.tell(snapshot())
    assert stream.tries == 1
