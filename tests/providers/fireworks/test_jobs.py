"""Jobs and datasets of Fireworks, read into the contract's nouns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from emulator_process import EmulatorProcess
from overnight.providers import BatchConnection
from overnight.providers.fireworks.jobs import read_job
from providers.asking import KEY
from providers.emulated import EmulatedVendor, submit


def job(state: str, done: int = 0, failed: int = 0) -> Any:
    progress = {"totalInputRequests": 3, "successfullyProcessedRequests": done, "failedRequests": failed}
    return read_job(
        json.dumps(
            {
                "name": "accounts/lab/batchInferenceJobs/otok",
                "state": f"JOB_STATE_{state}",
                "displayName": "tok",
                "outputDatasetId": "accounts/lab/datasets/otok-out",
                "jobProgress": progress,
            }
        ).encode()
    )


@pytest.mark.parametrize(
    ("seen", "phase", "fetched"),
    [
        (job("COMPLETED", 3), "completed", True),
        (job("WRITING_RESULTS", 3), "running", False),
        (job("EXPIRED", 2), "expired", True),
        (job("EARLY_STOPPED", 2), "expired", True),
        (job("FAILED"), "failed", False),
        # It has to be paid for as far as it got.
        (job("FAILED", 2), "failed", True),
        (job("PONDERING", 2), "running", False),
    ],
)
def test_what_has_been_run_is_fetched_however_the_job_ended(seen: Any, phase: str, fetched: bool) -> None:
    assert seen.phase == phase
    assert seen.parts == ((("output", "otok-out"),) if fetched else ())


def test_a_dataset_that_is_not_ready_yet_is_waited_for(emulator: EmulatorProcess, tmp_path: Path) -> None:
    fireworks = EmulatedVendor("fireworks", emulator, tmp_path)
    intent = fireworks.intent(fireworks.asks(2))
    name = f"o{intent.token}"
    asked = {"datasetId": name, "dataset": {"userUploaded": {}, "exampleCount": "2"}}
    datasets = f"{emulator.url}/fireworks/v1/accounts/rehearsal/datasets"
    made = httpx.post(datasets, json=asked, headers={"Authorization": f"Bearer {KEY}"})
    assert made.json()["state"] == "UPLOADING"

    async def work(provider: BatchConnection) -> None:
        answer = await provider.create(intent, name)
        assert answer.refusal is not None
        assert answer.refusal.kind == "file_not_ready"
        # The dataset that is there without content gets it.
        assert (await submit(provider, intent)).id == name

    fireworks.run(work)
