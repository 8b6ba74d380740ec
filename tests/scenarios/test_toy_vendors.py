"""What the contract has for vendors that are still to come: several result files, and ids that we choose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scenarios.conftest import KEY, Scenario

PLUGINS = str(Path(__file__).parents[1] / "plugins")


def environ(one: Scenario) -> dict[str, str]:
    return {"OVERNIGHT_TEST_PLUGINS": PLUGINS, "TOY_API_KEY": KEY, "TOY_BASE_URL": one.emulator.openai_url}


def test_every_result_file_of_a_batch_is_fetched(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "expire", "share": 0.5, "times": 1}])
    ending = one.run(one.study(24, models=["manyfiles/model"], batch={"max_requests": 12}), environ=environ(one))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 24}
    names = sorted(path.name.partition("-")[2] for path in (one.folder / "runs" / "night" / "raw").iterdir())
    assert {"output.jsonl", "output.2.jsonl", "output.3.jsonl"} <= set(names)
    one.assert_paid_once()


def test_a_damaged_file_of_several_is_brought_again(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    study = one.study(12, models=["manyfiles/model"], batch={})
    assert one.run(study, environ=environ(one)).state == "done"
    before = one.table_digest()
    (second,) = (one.folder / "runs" / "night" / "raw").glob("*-output.2.jsonl")
    second.write_bytes(second.read_bytes()[:-20])
    ending = one.call("resume", "night", environ=environ(one))
    assert ending.state == "done", ending
    assert one.table_digest() == before
    said = [text for text in ending.said if "output" in text]
    assert [text.partition("-output")[2] for text in said] == [".2.jsonl was damaged, and is downloaded again"]


def test_a_lost_create_is_found_by_the_id_that_we_chose(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "drop_answer", "times": 1}])
    ending = one.run(one.study(6, models=["ownids/model"], batch={}), environ=environ(one))
    assert ending.state == "done", ending
    assert any("found its batch" in text for text in ending.said)
    (batch_id,) = set(one.attempts()["batch_id"])
    assert batch_id.startswith("job-")
    assert len(one.batches()) == 1
    assert one.statuses() == {"answered": 6}
    one.assert_paid_once()
