"""A batch of xAI that was just cancelled counts everything as cancelled, and some of it as answered soon after."""

from __future__ import annotations

from pathlib import Path

from emulator_process import EmulatorProcess
from overnight.providers import BatchConnection
from providers.emulated import TRUTH, EmulatedVendor, submit

SLOWLY = {**TRUTH, "time_scale": 1, "latency": {"batch": [1_200, 1_200], "live": [0, 0]}}


def test_counts_of_a_cancelled_batch_are_believed_when_they_have_settled(tmp_path: Path) -> None:
    with EmulatorProcess(SLOWLY) as emulator:
        xai = EmulatedVendor("xai", emulator, tmp_path)

        async def work(provider: BatchConnection) -> None:
            batch = await submit(provider, xai.intent(xai.asks(40)))
            emulator.advance(600)
            at_once = await provider.cancel(batch.id)
            assert at_once is not None
            assert (at_once.counts.completed, at_once.counts.unrun) == (0, 40)
            assert at_once.phase == "running", "what it counts now does not hold"
            emulator.advance(300)
            settled = await provider.retrieve(batch.id)
            assert settled is not None
            assert settled.phase == "cancelled"
            assert 10 < settled.counts.completed < 30

        xai.run(work)
