"""One study on every provider at once: each is watched at its own pace, and a dead one stops nobody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import polars as pl
import pytest

from overnight.providers import vendor
from run_process import WarmProcess
from scenarios.conftest import FLOOR, MODELS, SHAPES, Scenario
from scenarios.test_vllm_files import MODELS as GPU_MODELS
from scenarios.test_vllm_files import run_batch

ROWS = 6
GPUS = GPU_MODELS[0]
NOWHERE = "http://127.0.0.1:9"


def everywhere(one: Scenario, *more: str) -> str:
    return one.study(ROWS, models=[*MODELS.values(), *more], batch={"max_requests": 4, **FLOOR})


def answered(one: Scenario) -> dict[str, int]:
    """Rows with an answer, by provider."""
    counts = one.table().filter(pl.col("status") == "answered").group_by("provider").len()
    return dict(zip(counts["provider"], counts["len"], strict=True))


def test_all_answer_every_row(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    ending = one.run(everywhere(one))
    assert ending.state == "done", ending
    assert answered(one) == dict.fromkeys(MODELS, ROWS)
    one.assert_paid_once()


def test_the_slow_one_keeps_nobody_waiting(scenario: Callable[..., Scenario]) -> None:
    """Its batches take half a day; by then the others have long been fetched and tabled."""
    model = MODELS["anthropic"].partition("/")[2]
    one = scenario({"time_scale": 2000}, faults=[{"on": "batch", "do": "slow", "seconds": 40_000, "model": model}])
    ending = one.run(everywhere(one), timeout="5h")
    assert ending.state == "running", ending
    assert answered(one) == dict.fromkeys(set(MODELS) - {"anthropic"}, ROWS)
    one.emulator.finish()
    assert one.run(everywhere(one)).state == "done"
    assert answered(one) == dict.fromkeys(MODELS, ROWS)
    one.assert_paid_once()


@pytest.mark.parametrize("dead", SHAPES)
def test_a_dead_one_stops_no_other(scenario: Callable[..., Scenario], dead: str) -> None:
    one = scenario()
    nowhere = {vendor(dead).base_url_variable: NOWHERE + vendor(dead).emulator_path}
    ending = one.run(everywhere(one), environ=nowhere)
    assert ending.error == "Unavailable", ending
    assert answered(one) == dict.fromkeys(set(MODELS) - {dead}, ROWS)
    assert one.run(everywhere(one)).state == "done"
    assert answered(one) == dict.fromkeys(MODELS, ROWS)
    one.assert_paid_once()


def whole_night(one: Scenario, kill: str = "", number: int = 0) -> str:
    """Submitted, answered on one's own GPUs too, and fetched, one verb of it killed at first; what the table says."""
    folder = one.folder / "gpu"
    study, gpus = everywhere(one, GPUS), {"VLLM_FOLDER": str(folder)}
    dies = {**gpus, "OVERNIGHT_KILL_AT": str(number)}
    assert kill != "submit" or one.call("submit", study, environ=dies).signal is not None
    assert one.call("submit", study, environ=gpus).error is None
    assert run_batch(folder) == 2
    assert kill != "run" or one.call("run", study, environ=dies).signal is not None
    assert one.run(study, environ=gpus).state == "done"
    assert answered(one) == dict.fromkeys([*MODELS, "vllm"], ROWS)
    one.assert_paid_once()
    return one.table_digest()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, warm: WarmProcess) -> Iterator[str]:
    one = Scenario(tmp_path_factory.mktemp("undisturbed"), warm)
    try:
        yield whole_night(one)
    finally:
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "number"), [("submit", 60), ("submit", 240), ("submit", 420), ("run", 60), ("run", 200)]
)
def test_a_kill_leaves_all_to_be_gone_on_with(
    scenario: Callable[..., Scenario], undisturbed: str, verb: str, number: int
) -> None:
    """Every provider that there is, files for one's own GPUs among them."""
    assert whole_night(scenario(), verb, number) == undisturbed
