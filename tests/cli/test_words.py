"""Plain words for what the engine counts."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.snapshots import ARMS, any_batch, any_snapshot, batch, snapshot
from overnight.api import ArmStatus, RunStatus
from overnight.api.run_words import batch_words, is_open, open_batches, state_words
from overnight.cli.words import causes_text, outcomes_text, price_lines, progress_text
from overnight.core.names import short_names


def run_status(*, pending: int = 0, failed: int = 0, cancelled: bool = False, batches: tuple = ()) -> RunStatus:
    arm = ArmStatus(
        stage="generate", arm=ARMS[0], provider="openai", model="gpt-4.1-mini", rows=3 + pending + failed, answered=3, refused=0, truncated=0,
        failed=failed, pending=pending,
    )  # fmt: skip
    return RunStatus(
        run="fruit", path="runs/fruit", begun_at="2026-11-15T23:11:54Z", cancelled=cancelled, arms=(arm,),
        batches=batches, waiting_shards=0, causes={}, input_tokens=0, output_tokens=0, to_do=(),
    )  # fmt: skip


def test_a_line_for_the_log():
    batches = tuple(batch(shard) for shard in (1, 2, 3))
    told = snapshot(batches=batches, seconds_left=240.0)
    assert progress_text(told, 1.0) == "120/300 settled, 2 failed, 3 batches at the provider, about 4m 00s left"


def test_rows_done_at_the_provider_are_told():
    assert progress_text(snapshot(batches=(batch(),), ahead=1), 1.0).endswith("1 batch at the provider (1 row done)")


def test_batches_without_an_id_are_not_there_yet():
    on_its_way = snapshot(batches=(batch(state="intended", batch_id=None),))
    assert progress_text(on_its_way, 1.0) == "120/300 settled, 2 failed, 1 batch on its way"


def test_trouble_is_part_of_the_line():
    assert progress_text(snapshot(trouble="cannot\nreach it"), 1.0).endswith(", cannot reach it")


def test_time_left_is_in_the_reader_s_time():
    assert progress_text(snapshot(seconds_left=600.0), 600.0).endswith("about 1s left")


@given(any_snapshot())
def test_a_line_is_always_one_line(told):
    assert progress_text(told, 600.0).isprintable()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "running"),
        ({"status": "validating"}, "being checked"),
        ({"status": "brooding"}, "brooding"),
        ({"state": "intended", "status": None}, "about to be sent"),
        ({"state": "uploaded", "status": None, "message": "queue is full"}, "waits: queue is full"),
        ({"state": "stuck"}, "needs your decision"),
        ({"state": "unsure"}, "handed over, but the answer was lost; looking for it"),
        (
            {"state": "unsure", "possible": ("b1", "b2")},
            "handed over, but the answer was lost; b1, b2 may be it, which shows when it has ended",
        ),
        ({"state": "ended", "status": "expired"}, "ended (expired), being fetched"),
        ({"state": "closed", "status": "completed"}, "done"),
    ],
)
def test_states_in_words(change: dict, words: str):
    assert batch_words(batch(**change)) == words


@given(any_batch)
def test_every_state_has_words(one):
    assert batch_words(one).isprintable()


def test_counts_and_causes():
    assert outcomes_text(snapshot(pending=0)) == "118 answered, 2 failed"
    assert causes_text({"timeout": 2, "expired": 30, "gone": 2}) == "expired 30, gone 2, timeout 2"


def test_whose_prices_they_are():
    assert list(price_lines([("gpt-9", "prices.yaml"), ("gpt-9", "prices.yaml"), ("gpt-8", "")])) == [
        "prices: prices.yaml"
    ]
    assert list(price_lines([("a", "ours"), ("b\x1b[2J", "ours"), ("c", "prices.yaml")])) == [
        "prices of a, b [2J: ours",
        "prices of c: prices.yaml",
    ]
    assert list(price_lines([("a", "")])) == []


def test_arms_by_what_tells_them_apart():
    assert short_names(ARMS[:1]) == {ARMS[0]: "gpt-4.1-mini"}
    assert short_names(ARMS[:2]) == {ARMS[0]: "default", ARMS[1]: "high"}
    by_model = short_names([ARMS[0], ARMS[3]])
    assert list(by_model.values()) == ["gpt-4.1-mini", "gpt-5-nano-with-a-rather-long-name high"]


@given(st.lists(st.sampled_from(ARMS) | st.text(max_size=12), max_size=10))
def test_short_names_stay_apart(arms: list[str]):
    names = short_names(arms)
    assert set(names) == set(arms)
    assert len(set(names.values())) == len(names)


def test_batches_that_need_a_person_come_first():
    found = open_batches([batch(1), batch(2, state="closed"), batch(3, state="stuck"), batch(0)])
    assert [one.shard for one in found] == [3, 0, 1]


@pytest.mark.parametrize(
    ("status", "words", "still_open"),
    [
        (run_status(), "done", False),
        (msgspec.structs.replace(run_status(), arms=()), "being begun", True),
        (run_status(failed=2), "done, 2 failed", False),
        (run_status(pending=5), "not sent yet", True),
        (run_status(pending=5, cancelled=True), "cancelled", False),
        (run_status(pending=5, batches=(batch(),)), "1 batch open", True),
        (run_status(pending=5, batches=(batch(state="closed"),)), "rows are open", True),
        (run_status(pending=5, batches=(batch(), batch(2, state="stuck"))), "needs your decision", True),
    ],
)
def test_how_a_run_stands(status: RunStatus, words: str, still_open: bool):
    assert state_words(status) == words
    assert is_open(status) is still_open


def test_a_provider_goes_without_saying_where_its_models_do():
    arms = [f"t{n}__{model}__default__forward" for n in (1, 2) for model in ("openai__gpt-4.1", "anthropic__claude-x")]
    assert list(short_names(arms).values()) == ["t1 gpt-4.1", "t1 claude-x", "t2 gpt-4.1", "t2 claude-x"]
    both = ["t__openai__one__default__forward", "t__azure__one__default__forward"]
    assert list(short_names(both).values()) == ["openai", "azure"]
