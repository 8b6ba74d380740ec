"""What `watch` draws fits the terminal: whatever is open at the provider, the money and what to do next stay in sight."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from cli.snapshots import batch
from overnight.api import ArmStatus, RunStatus
from overnight.cli.status_pictures import nobody_text, one_run

SCREENS = [(80, 24), (100, 30)]


def run_status(arms: int, batches: int, models: int = 5) -> RunStatus:
    """As many arms as asked for, each with a model of its own name or one of a few, and a bill."""
    found = tuple(
        ArmStatus(
            stage="generate", arm=f"t{number}__openai__gpt-4.1-mini__off__forward", provider="openai",
            model=f"gpt-{number % models}", rows=100, answered=50, refused=1, truncated=1, failed=8, pending=40,
        )
        for number in range(arms)
    )  # fmt: skip
    return RunStatus(
        run="fruit", path="runs/fruit", begun_at="2026-11-15T23:11:54Z", cancelled=False, arms=found,
        batches=tuple(batch(1 + number, arm=found[number % arms].arm) for number in range(batches)), waiting_shards=3,
        causes={"server_error": 8}, input_tokens=1_000, output_tokens=2_000, to_do=(), spent=1_500_000_000, priced=True,
        reserved=2_000_000_000,
    )  # fmt: skip


def drawn(run: RunStatus, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), no_color=True)
    picture = one_run(run, [nobody_text(run)], width, height=height)
    return ["".join(piece.text for piece in line).rstrip() for line in console.render_lines(picture, pad=False)]


@pytest.mark.parametrize(("width", "height"), SCREENS)
@given(arms=st.sampled_from([1, 3, 110]), batches=st.integers(0, 220), models=st.integers(1, 110))
def test_the_bill_and_the_next_step_are_on_the_screen(
    width: int, height: int, arms: int, batches: int, models: int
) -> None:
    lines = drawn(run_status(arms, batches, models), width, height)
    assert len(lines) <= height
    assert any(line.split()[:2] == ["cost", "$1.50,"] for line in lines), lines
    assert any(line.split()[:1] == ["next"] for line in lines)


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_batches_that_do_not_fit_are_counted(width: int, height: int) -> None:
    text = "\n".join(drawn(run_status(3, 40), width, height))
    listed = text.count("batch_0")
    assert 0 < listed < 40
    assert f"and {40 - listed} more batches" in text
