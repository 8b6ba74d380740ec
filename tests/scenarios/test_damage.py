"""Files of a run that are no longer what they were: nothing is made of them, nothing of them is sent."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from _pytest.mark import ParameterSet
from openai import OpenAI

from overnight import api
from overnight.core.errors import FileDamaged
from overnight.engine.batch.outbox import sweep
from overnight.ledger.ledger import look_at
from overnight.pairwise._rows import raw_lines
from overnight.store.run_folder import RunFolder
from run_process import WarmProcess
from scenarios.conftest import KEY, Scenario
from scenarios.damages import DAMAGES, LINKS, Damage, cut, largest, replaced, swapped
from scenarios.test_adopt import lines, made_elsewhere
from scenarios.test_flow import talk

pytestmark = pytest.mark.in_folder("its files and its ledger are damaged")

ROWS = 12
ECHO = {"answer_with": {r"Describe (.*) in a sentence\.": r"It is \1.", r"Say (.*)": r"It is thing \1"}}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, warm: WarmProcess) -> Iterator[Scenario]:
    """One night with runs of every kind, all of them over."""
    one = Scenario(tmp_path_factory.mktemp("done"), warm, ECHO)
    for name, fields in (("batch", {"batch": {"max_requests": 500}}), ("live", {"mode": "live"})):
        assert one.run(one.study(ROWS, name=name, **fields)).state == "done"
    (one.folder / "ready.jsonl").write_bytes(lines(6))
    assert one.call("submit", "ready.jsonl", provider="openai").state == "submitted"
    assert one.call("resume", "ready").state == "done"
    assert one.call("adopt", "openai", made_elsewhere(one), as_name="adopted").state == "done"
    output = largest(one.folder / "runs" / "adopted" / "raw")
    assert one.call("adopt", "openai", output_file=str(output), as_name="file").state == "done"
    assert one.run(str(one.folder / "batch.yaml"), as_name="copied").state == "done"
    yield one
    one.close()


DOWNLOADED = ["batch", "ready", "adopted"]
KINDS = ["batch", "live", "ready", "adopted", "file", "copied"]


# Of kinds that are read like others, a few damages are enough.
FEW = ("cut", "flipped", "replaced", "missing")


def cases(kinds: Sequence[str], whole: Sequence[str]) -> list[ParameterSet]:
    """(kind, damage): every damage of the kinds in `whole`, a few of the others."""
    chosen = ((kind, name) for kind in kinds for name in (DAMAGES if kind in whole else FEW))
    return [pytest.param(kind, DAMAGES[name], id=f"{kind}-{name}") for kind, name in chosen]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def damaged_copy(done: Scenario, kind: str, tmp_path: Path, damage: Damage, part: str = "raw") -> tuple[Path, Path]:
    """(the runs' folder, the damaged file)."""
    shutil.copytree(done.folder / "runs", tmp_path / "runs", ignore=lambda _, names: set(names) & {*KINDS} - {kind})
    file = largest(tmp_path / "runs" / kind / part)
    damage(file)
    return tmp_path / "runs", file


@pytest.mark.parametrize(("kind", "damage"), cases(KINDS, whole=("batch", "live")))
def test_tables_are_never_made_of_damaged_answers(
    done: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, damage: Damage
) -> None:
    runs, file = damaged_copy(done, kind, tmp_path, damage)
    tables = contents(runs / kind / "tables")
    for name, value in {**done.environ, **done.addresses}.items():
        monkeypatch.setenv(name, value)
    sent = done.log()["rows_run"]
    verbs: list[Callable[[], Any]] = [lambda: api.rebuild(kind, runs=runs)]
    if kind in ("batch", "live"):
        verbs.append(lambda: api.run(done.folder / f"{kind}.yaml", runs=runs, as_name="other"))
    if kind not in DOWNLOADED:
        verbs.append(lambda: api.resume(kind, runs=runs))
    if kind == "live":
        verbs.append(lambda: api.run(done.folder / "live.yaml", runs=runs))
    for verb in verbs:
        with pytest.raises(FileDamaged, match=file.name) as refused:
            verb()
        assert "copy of the run" in str(refused.value)
        assert contents(runs / kind / "tables") == tables
    assert not (runs / "other").exists()
    assert done.log()["rows_run"] == sent
    findings = api.verify(kind, runs=runs)
    assert [finding.message for finding in findings if f"raw/{file.name}" in finding.message], findings


@pytest.mark.parametrize(("kind", "damage"), cases(DOWNLOADED, whole=("batch",)))
def test_what_the_provider_still_keeps_is_downloaded_again(
    done: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, damage: Damage
) -> None:
    runs, file = damaged_copy(done, kind, tmp_path, damage)
    tables = contents(runs / kind / "tables")
    for name, value in {**done.environ, **done.addresses}.items():
        monkeypatch.setenv(name, value)
    said: list[str] = []
    aside = {path: path.read_bytes() for path in (runs / kind).glob("aside-*")}
    if damage is DAMAGES["a folder"]:
        with pytest.raises(FileDamaged, match="move it away"):
            api.resume(kind, runs=runs)
        return
    (run,) = api.resume(kind, runs=runs, say=said.append)
    assert run.state == "done"
    assert f"raw/{file.name} was damaged, and is downloaded again" in said
    assert contents(runs / kind / "tables") == tables
    assert file.read_bytes() == (done.folder / "runs" / kind / "raw" / file.name).read_bytes()
    assert not file.is_symlink()
    assert all(path.read_bytes() == data for path, data in aside.items())
    assert [finding for finding in api.verify(kind, runs=runs) if finding.kind != "leftover"] == []


@pytest.mark.parametrize("as_name", [None, "copy"])
def test_the_user_may_ask_again_for_what_was_lost(scenario: Callable[..., Scenario], as_name: str | None) -> None:
    one = scenario(ECHO)
    study = one.study(6, mode="live")
    assert one.run(study).state == "done"
    before, segment = one.table(), largest(one.folder / "runs" / "night" / "raw")
    swapped(segment)
    assert one.run(study, as_name=as_name).error == "FileDamaged"
    assert one.run(study, reask="damaged", as_name=as_name).state == "done"
    name = as_name or "night"
    assert one.table(name).drop("cost").equals(before.drop("cost"))
    assert one.log()["rows_run"] == 8
    spent = api.costs(name, runs=one.folder / "runs")["settled"].sum()
    each = before["cost"].sum() / 6
    assert spent == pytest.approx(each * (2 if as_name else 8))  # the old answers' cost stays where they were paid
    assert api.rebuild(name, runs=one.folder / "runs") == 6


def test_what_is_added_to_a_raw_file_harms_nobody_and_is_found(done: Scenario, tmp_path: Path) -> None:
    runs, file = damaged_copy(
        done, "batch", tmp_path, lambda path: path.write_bytes(path.read_bytes() + b'{"x":1}\n\0')
    )
    tables = contents(runs / "batch" / "tables")
    assert api.rebuild("batch", runs=runs) == ROWS
    assert contents(runs / "batch" / "tables") == tables
    assert [finding.message for finding in api.verify("batch", runs=runs) if file.name in finding.message]


def test_notebooks_show_no_damaged_line(done: Scenario, tmp_path: Path) -> None:
    runs, file = damaged_copy(done, "batch", tmp_path, lambda _: None)
    tries = pl.read_parquet(runs / "batch" / "tables" / "attempts.parquet")
    lines = list(raw_lines(tries, runs / "batch"))
    ids = [json.loads(line or b"")["custom_id"] for line in lines]
    assert ids == tries["custom_id"].to_list()
    replaced(file)
    with pytest.raises(FileDamaged, match=file.name):
        list(raw_lines(tries, runs / "batch"))
    with pytest.raises(FileDamaged, match="none is on record"):
        list(raw_lines(tries.with_columns(raw_offset=pl.col("raw_offset") + 1), runs / "batch"))


def test_a_copy_that_is_whole_has_no_findings(done: Scenario) -> None:
    for kind in KINDS:
        assert done.findings(kind) == [], kind


# --- runs that are not over


def half_done(one: Scenario, name: str) -> tuple[str, str]:
    """(the study, the checkpoint at which its process dies)."""
    large = {"batch": {"max_requests": 500}}
    return {
        "batch questions": lambda: (one.study(6, **large), "committed intake"),
        "live questions": lambda: (one.study(6, mode="live"), "committed intake"),
        "intended": lambda: (one.study(6, **large), "committed intended"),
        "fetched": lambda: (one.study(6, **large), "committed fetched"),
        "landed": lambda: (talk(one, **large), "committed closed"),
        "calling": lambda: (one.study(6, mode="live"), "commit closed"),
    }[name]()


def forget_outputs(one: Scenario) -> None:
    """The provider keeps nothing that could be downloaded again."""
    with OpenAI(api_key=KEY, base_url=one.emulator.openai_url) as client:
        for file in client.files.list():
            if file.purpose == "batch_output":
                client.files.delete(file.id)


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory, warm: WarmProcess) -> Iterator[Callable[[str, Path], Scenario]]:
    """Copies of runs whose process died at a certain moment. Their emulator is the same, so it is not to be gone on with."""
    made: dict[str, Scenario] = {}

    def copy_of(name: str, folder: Path) -> Scenario:
        if name not in made:
            one = made[name] = Scenario(tmp_path_factory.mktemp("stopped"), warm, ECHO)
            study, moment = half_done(one, name)
            assert one.run(study, environ={"OVERNIGHT_KILL_AT": moment}).signal is not None
            forget_outputs(one)
        other = copy.copy(made[name])
        other.folder = folder / "copy"
        shutil.copytree(made[name].folder, other.folder)
        return other

    yield copy_of
    for one in made.values():
        one.close()


Stopped = Callable[[str, Path], Scenario]


@pytest.mark.parametrize("mode", ["batch", "live"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_no_damaged_question_is_sent(stopped: Stopped, tmp_path: Path, mode: str, damage: Damage) -> None:
    one = stopped(f"{mode} questions", tmp_path)
    file = largest(one.folder / "runs" / "night" / "requests")
    damage(file)
    ending = one.run("night.yaml")
    assert ending.error == "FileDamaged", ending
    assert file.name in ending.message
    assert "--as NAME" in ending.message
    assert (one.batches(), one.log()["rows_run"]) == ([], 0)
    assert any(file.name in message for message in one.findings())


def test_a_copy_writes_damaged_questions_anew(stopped: Stopped, tmp_path: Path) -> None:
    one = stopped("intended", tmp_path)
    cut(largest(one.folder / "runs" / "night" / "requests"))
    assert one.run("night.yaml", as_name="copy").state == "done"
    answers = one.table("copy")["answer"].to_list()
    assert answers == [f"It is thing number {n}." for n in range(6)]


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_input_file_is_made_anew(stopped: Stopped, tmp_path: Path, damage: Damage) -> None:
    one = stopped("intended", tmp_path)
    run = RunFolder(one.folder / "runs" / "night")
    file = largest(run.path / "outbox")
    whole = file.read_bytes()
    with look_at(run) as view:
        carried = view.attempts.everything()
    sweep(run.files, carried)
    assert file.read_bytes() == whole
    assert f"outbox/{file.name} is not the file on record" not in one.findings()
    damage(file)
    what = "is a symbolic link" if damage in LINKS else "is not the file on record"
    found = [message for message in one.findings() if f"outbox/{file.name} {what}" in message]
    assert len(found) == (damage is not DAMAGES["missing"])
    if damage is DAMAGES["a folder"]:
        with pytest.raises(FileDamaged, match="does not belong there"):
            sweep(run.files, carried)
    else:
        sweep(run.files, carried)
        assert list(file.parent.iterdir()) == []


def test_an_input_file_that_is_not_sent_again_goes(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"latency": {"batch": [20_000, 40_000], "live": [0, 0]}})
    assert one.call("submit", one.study(), environ={"OVERNIGHT_KILL_AT": "committed accepted"}).signal is not None
    run = RunFolder(one.folder / "runs" / "night")
    with look_at(run) as view:
        carried = view.attempts.everything()
    sent = {f"outbox/{attempt.token}.jsonl" for attempt in carried if attempt.state == "running"}
    assert sent & set(run.files.names("outbox"))
    sweep(run.files, carried)
    assert not sent & set(run.files.names("outbox"))
    one.emulator.finish()
    assert one.call("resume", "night").state == "done"
    one.assert_paid_once()


def test_what_is_sent_is_what_was_recorded(scenario: Callable[..., Scenario]) -> None:
    one = scenario(ECHO)
    study, moment = half_done(one, "intended")
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": moment}).signal is not None
    cut(largest(one.folder / "runs" / "night" / "outbox"))
    assert one.run(study).state == "done"
    assert one.table()["answer"].to_list() == [f"It is thing number {n}." for n in range(6)]
    one.assert_paid_once()


@pytest.mark.parametrize("part", ["raw", "items"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_nothing_follows_from_a_damaged_answer(stopped: Stopped, tmp_path: Path, part: str, damage: Damage) -> None:
    """Its process died after the first answers had landed, and before anything followed from them."""
    one = stopped("landed", tmp_path)
    file = largest(one.folder / "runs" / "night" / part)
    damage(file)
    ending = one.run("night.yaml")
    assert ending.error == "FileDamaged", ending
    assert file.name in ending.message
    assert one.log()["rows_run"] == 4
    assert any("nothing more is sent" in text for text in ending.said)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_download_that_was_damaged_before_it_was_read_asks_nothing_again(
    stopped: Stopped, tmp_path: Path, damage: Damage
) -> None:
    one = stopped("fetched", tmp_path)
    damage(largest(one.folder / "runs" / "night" / "raw"))
    ending = one.run("night.yaml")
    assert ending.error == "FileDamaged", ending
    assert one.log()["rows_run"] == 6


def test_it_is_downloaded_again_before_it_is_read(scenario: Callable[..., Scenario]) -> None:
    one = scenario(ECHO)
    study, moment = half_done(one, "fetched")
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": moment}).signal is not None
    cut(largest(one.folder / "runs" / "night" / "raw"))
    assert one.run(study).state == "done"
    assert one.table()["answer"].to_list() == [f"It is thing number {n}." for n in range(6)]
    one.assert_paid_once()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_segment_that_lost_answers_is_not_filled_up(stopped: Stopped, tmp_path: Path, damage: Damage) -> None:
    """The slice is open, and its answers are on record."""
    one = stopped("calling", tmp_path)
    segment = largest(one.folder / "runs" / "night" / "raw")
    damage(segment)
    ending = one.run("night.yaml")
    assert ending.error == "FileDamaged", ending
    assert segment.name in ending.message
    assert one.log()["rows_run"] == 6
