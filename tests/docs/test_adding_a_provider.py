"""The page's own provider, installed as a package would be, sends a study through a bad night."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from run_process import WarmProcess
from scenarios.conftest import KEY, Scenario
from scenarios.distributions import distribution

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-provider.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.DOTALL))
FAULTS = [
    {"on": "create", "do": "drop_answer", "times": 1},
    {"on": "batch", "do": "expire", "share": 0.5, "skip": 1, "times": 1},
]


@pytest.fixture(scope="module")
def warm() -> Iterator[WarmProcess]:
    process = WarmProcess()
    yield process
    process.close()


@pytest.fixture
def one(tmp_path: Path, warm: WarmProcess) -> Iterator[Scenario]:
    begun = Scenario(tmp_path, warm, {"faults": FAULTS})
    yield begun
    begun.close()


def test_the_pages_look_alike_is_one_file_and_an_entry_point(one: Scenario) -> None:
    site = distribution(one.folder, "echo", {"echo.py": FILES["echo.py"]}, FILES["echo_entry_points.txt"])
    environ = {"OVERNIGHT_TEST_PLUGINS": str(site), "ECHO_API_KEY": KEY, "ECHO_BASE_URL": one.emulator.openai_url}
    study = one.study(6, models=["echo/echo-large"], batch={})
    ending = one.run(study, environ=environ)
    assert ending.state == "done", ending
    assert any("found its batch" in text for text in ending.said)
    assert [batch["rows"] for batch in one.batches()] == [6]
    assert one.statuses() == {"answered": 6}
    one.assert_paid_once()
    live = one.study(3, name="live", models=["echo/echo-large"], mode="live")
    assert one.run(live, environ=environ).state == "done"
    assert one.statuses("live") == {"answered": 3}
    assert len(one.batches()) == 1
    schema = {"type": "object", "properties": {}}
    mini = one.study(6, name="mini", models=[{"model": "echo/echo-mini", "json_schema": schema}])
    refused = one.run(mini, environ=environ)
    assert "json_schema: not taken by echo-mini; ask for tags" in refused.message


def installed(folder: Path) -> Path:
    """The files of the page, where an installer would have put them."""
    files = {name: FILES[name] for name in ("acme.py", "acme_format.py")}
    return distribution(folder, "acme", files, FILES["entry_points.txt"])


def test_the_pages_provider_carries_a_study_through_a_bad_night(one: Scenario) -> None:
    rows = "".join(f"{n},fruit number {n}\n" for n in range(6))
    (one.folder / "items.csv").write_text(f"id,text\n{rows}")
    study = one.folder / "study.yaml"
    study.write_text(FILES["study.yaml"] + "batch: {max_requests: 3}\n")
    environ = {
        "OVERNIGHT_TEST_PLUGINS": str(installed(one.folder)),
        "ACME_API_KEY": KEY,
        "ACME_BASE_URL": one.emulator.openai_url,
    }
    ending = one.run(str(study), environ=environ)
    assert ending.state == "done", ending
    assert any("found its batch" in text for text in ending.said)
    assert one.statuses("fruit") == {"answered": 6}
    assert set(one.table("fruit")["provider"]) == {"acme"}
    assert one.log()["faults_fired"] == {"0": 1, "1": 1}
    one.assert_paid_once()


def test_every_verb_of_the_contract_is_on_the_page() -> None:
    contract = (Path(__file__).parents[2] / "src/overnight/providers/contract.py").read_text()
    for half, file in {"BatchFormat": "acme_format.py", "BatchConnection": "acme.py"}.items():
        verbs = contract.split(f"class {half}")[1].split("\nclass ")[0]
        for verb in re.findall(r"def (\w+)\(", verbs):
            assert f"`{verb}`" in PAGE, verb
            assert f"def {verb}(" in FILES[file], verb
