"""A study, an emulator that can be told to misbehave, and verbs that can be killed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import own_database
from emulator_process import EmulatorProcess
from ledger.damage import edit
from overnight.api import RunStatus, status, verify
from overnight.api.places import all_runs, folder_of
from overnight.ledger.homes import home_of
from overnight.ledger.ledger import look_at
from overnight.ledger.shared_run import SharedRun
from overnight.ledger.transaction import View
from overnight.providers import vendor
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from run_process import Ending, WarmProcess
from scenarios.matrix import EVERY

TIME_SCALE = 20_000.0
KEY = "sk-test-0123456789abcdefghijklmnop"
# One cheap model of each provider that studies are sent to here.
MODELS = {
    "anthropic": "anthropic/claude-haiku-4-5",
    "azure": "azure/gpt-4.1-mini",
    "bedrock": "bedrock/us.amazon.nova-lite-v1:0",
    "fireworks": "fireworks/accounts/fireworks/models/gpt-oss-20b",
    "gemini": "gemini/gemini-2.5-flash",
    "groq": "groq/llama-3.3-70b-versatile",
    "mistral": "mistral/mistral-small-latest",
    "openai": "openai/gpt-4.1-mini",
    "together": "together/Qwen/Qwen3-235B-A22B",
    "vertex": "vertex/gemini-2.5-flash",
    "xai": "xai/grok-4.3",
}
PROVIDERS = sorted(MODELS)
# Bedrock's usual floor of a hundred rows is in test_bedrock_studies.py; here the account has one of its own.
FLOOR = {"min_requests": 1}
# One of each way in which batches travel, for what would take too long with all of them; on request, all.
SHAPES = PROVIDERS if os.environ.get(EVERY) else ["anthropic", "gemini", "openai", "vertex"]
# Where inputs bear names of ours, an upload that is sent again is not there twice; elsewhere, one for each lost answer.
OWN_NAMES = {"anthropic", "bedrock", "fireworks", "gemini", "together", "vertex"}
_TOKEN = re.compile(r"[a-z2-7]{20}")


class Event(NamedTuple):
    kind: str
    at: float
    stage: str


class Scenario:
    """One run against one emulator, as a user on another machine would have it."""

    def __init__(
        self, folder: Path, warm: WarmProcess, truth: Mapping[str, Any] | None = None, provider: str = "openai"
    ) -> None:
        self.folder = folder
        self.model = MODELS[provider]
        self._warm = warm
        base = {"time_scale": TIME_SCALE, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7}
        limits = {"fewest_requests": 1, **(truth or {}).get("limits", {})}
        whole = {**base, **(truth or {}), "limits": limits}
        self.emulator = EmulatorProcess(whole, None, "--strict").start()
        keys = {vendor(name).key_variable: KEY for name in PROVIDERS if name != "bedrock"}
        project = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": KEY,
            "AWS_REGION": "us-east-1",
            "BEDROCK_ROLE_ARN": "arn:aws:iam::123456789012:role/lab",
            "BEDROCK_INPUT_BUCKET": "s3://lab/in",
            "BEDROCK_OUTPUT_BUCKET": "s3://lab",
            "FIREWORKS_ACCOUNT_ID": "lab",
            "GOOGLE_CLOUD_PROJECT": "lab",
            "VERTEX_INPUT_BUCKET": "gs://lab/in",
            "VERTEX_OUTPUT_BUCKET": "gs://lab",
        }
        self.environ = {**keys, **project, "OVERNIGHT_TIME_SCALE": str(whole["time_scale"])}

    def study(self, rows: int = 12, *, name: str = "night", **fields: Any) -> str:
        """Writes a study of so many rows; returns its path."""
        items = self.folder / f"{name}.jsonl"
        texts = ({"id": f"item {n:05d}", "text": f"thing number {n}"} for n in range(rows))
        items.write_text("".join(json.dumps(item) + "\n" for item in texts))
        study = {
            "name": name,
            "task": "generate",
            "items": items.name,
            "prompt": "Describe {text} in a sentence.",
            "models": [self.model],
            **self.cut(5),
            **fields,
        }
        return self.write(study)

    def cut(self, most: int) -> dict[str, Any]:
        """Batches of so many rows at most, and of any few."""
        return {"batch": {"max_requests": most, **(FLOOR if self.model == MODELS["bedrock"] else {})}}

    def write(self, study: Mapping[str, Any]) -> str:
        """Writes a study, returns its path. A day is four seconds here: only a study that says so stops by the clock."""
        path = self.folder / f"{study['name']}.yaml"
        path.write_text(json.dumps({"timeout": "9999h", **study}))
        return str(path)

    @property
    def addresses(self) -> dict[str, str]:
        """Every provider's base URL, at this night's emulator."""
        known = (vendor(name) for name in MODELS)
        places = {one.base_url_variable: self.emulator.url + one.emulator_path for one in known}
        storage = {"STORAGE_EMULATOR_HOST": self.emulator.url, "AWS_ENDPOINT_URL_S3": f"{self.emulator.url}/s3"}
        return {**places, **storage}

    @property
    def going_on(self) -> dict[str, str]:
        """For a pass whose clock goes on where the emulator's is, and not at the system's time again."""
        return {"OVERNIGHT_TEST_NOW": str(self.emulator.now())}

    def call(self, verb: str, *args: Any, environ: Mapping[str, str] | None = None, **options: Any) -> Ending:
        if verb == "resume":
            options.setdefault("timeout", "9999h")  # which is a day where nothing is said
        kill = {"OVERNIGHT_KILL_AT": "0", "OVERNIGHT_CHECKPOINTS": ""}
        surroundings = {**self.addresses, **self.environ, **kill, **(environ or {})}
        return self._warm.call(verb, *args, cwd=self.folder, environ=surroundings, **options)

    def run(self, study: str, *, environ: Mapping[str, str] | None = None, **options: Any) -> Ending:
        ending = self.call("run", study, environ=environ, **options)
        assert ending.error not in ("crash", "endless"), ending.message
        return ending

    def in_passes(self, run: str = "night", most: int = 60) -> Ending:
        """Passes that do not wait, each a process of its own, until the run has ended or there were so many."""
        for _ in range(most):
            ending = self.call("resume", run, once=True, environ=self.going_on)
            if ending.state != "running":
                break
        return ending

    def table(self, name: str = "night") -> pl.DataFrame:
        return pl.read_parquet(self.folder / "runs" / name / "tables" / "results.parquet")

    def attempts(self, name: str = "night") -> pl.DataFrame:
        return pl.read_parquet(self.folder / "runs" / name / "tables" / "attempts.parquet")

    def table_digest(self, name: str = "night") -> str:
        return self.digest_of(self.folder / "runs" / name / "tables" / "results.parquet")

    def digest_of(self, table: Path) -> str:
        return hashlib.sha256(table.read_bytes()).hexdigest()

    def statuses(self, name: str = "night") -> dict[str, int]:
        counts = self.table(name).group_by("status").len()
        return dict(zip(counts["status"], counts["len"], strict=True))

    def findings(self, name: str = "night") -> list[str]:
        """What `verify` says is wrong with the run."""
        return [finding.message for finding in verify(name, runs=self.folder / "runs")]

    def status(self, name: str = "night") -> RunStatus:
        return status(name, runs=self.folder / "runs")[0]

    def work(self, name: str = "night") -> dict[str, Any]:
        """How the run is to be worked on, as its ledger has it."""
        with self.ledger(name) as view:
            found: dict[str, Any] = json.loads(view.facts.get("work") or "{}")
        return found

    def ledger(self, name: str = "night") -> AbstractContextManager[View]:
        return look_at(self.kept(name))

    def kept(self, name: str = "night") -> RunFolder:
        """Where the run is kept, on whatever database the tests are."""
        return folder_of(name, settings(runs=self.folder / "runs"))

    def left(self) -> list[str]:
        """What there is of runs, whatever it is."""
        runs = self.folder / "runs"
        names = [path.name for path in runs.iterdir() if not path.name.startswith(".")] if runs.is_dir() else []
        return sorted({*names, *(folder.name for folder in all_runs(settings(runs=runs)))})

    def raw(self, name: str = "night") -> list[str]:
        """The names of the files in which answers came."""
        return [path.rpartition("/")[2] for path in self.kept(name).files.names("raw")]

    def lose(self, name: str = "night") -> None:
        """All that there is of a run here is gone."""
        kept = self.kept(name)
        if isinstance(kept, SharedRun):
            with kept.locked():
                kept.clear(whole=True)
        shutil.rmtree(self.folder / "runs" / name, ignore_errors=True)

    def events(self, name: str = "night") -> list[Event]:
        """What happened to attempts, and in which stage."""
        with self.ledger(name) as view:
            stages = {attempt.shard: view.stages.arms()[attempt.arm].stage for attempt in view.attempts.everything()}
            return [Event(one.kind, one.at, stages[one.shard]) for one in view.attempts.log() if one.shard]

    def rows_on_record(self, name: str = "night") -> int:
        """Also of a run that was killed, perhaps before it had a ledger."""
        if home_of(self.kept(name)).missing() is not None:
            return 0
        with self.ledger(name) as view:
            return sum(view.counts.outcomes().values())

    def grow_older(self, seconds: float, name: str = "night") -> None:
        """All that happened was so much longer ago."""
        edit(self.folder / "runs" / name, "UPDATE event SET at = at - ?", seconds)

    def findings_if_any(self, name: str = "night") -> list[str]:
        """The same for a run that was killed, perhaps before it was there."""
        return self.findings(name) if self.kept(name).exists() else []

    def log(self) -> dict[str, Any]:
        return self.emulator.log()

    def batches(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.log()["batches"]
        return found

    def assert_paid_once(self, *, but_calls: bool = False) -> None:
        """At most one batch for an attempt; no question answered twice, `but_calls` that were killed."""
        log = self.log()
        ran = [batch["name"] for batch in log["batches"] if batch["executed"]]
        # The name of an input, or the first custom id where there is none, bears the attempt's token.
        ours = [token[0] for token in map(_TOKEN.search, ran) if token is not None]
        assert len(ours) == len(set(ours)), ran
        assert [row for row in log["rows_run_twice"] if any(row["custom_ids"]) or not but_calls] == []

    def assert_nothing_left_over(self, lost: int = 0) -> None:
        """One input for each batch at the provider, and besides those only what uploads with `lost` answers left."""
        inputs = [file["name"] for file in self.log()["files"] if file["input"]]
        with self.ledger() as view:
            carried = {one.token for one in view.attempts.everything() if one.batch_id is not None}
        wanted = sum(any(token in name for name in inputs) for token in carried)
        assert len(inputs) - wanted <= lost, (inputs, carried)

    def close(self) -> None:
        self.emulator.close()


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmProcess]:
    process = WarmProcess()
    yield process
    process.close()


@pytest.fixture
def scenario(tmp_path: Path, warm: WarmProcess) -> Iterator[Callable[..., Scenario]]:
    """Begins nights with a truth of one's own; all emulators are closed at the end."""
    begun: list[Scenario] = []

    def begin(
        truth: Mapping[str, Any] | None = None, faults: Sequence[Mapping[str, Any]] = (), provider: str = "openai"
    ) -> Scenario:
        folder = tmp_path / f"night{len(begun)}"
        folder.mkdir()
        one = Scenario(folder, warm, {**(truth or {}), **({"faults": list(faults)} if faults else {})}, provider)
        begun.append(one)
        return one

    yield begin
    for one in begun:
        one.close()


@pytest.fixture
def in_database(scenario: Callable[..., Scenario]) -> Iterator[Callable[..., Scenario]]:
    """The same, with runs in PostgreSQL, on whatever database the other tests are."""

    def begin(*given: Any, **named: Any) -> Scenario:
        one = scenario(*given, **named)
        one.environ |= own_database.environ()
        return one

    with own_database.in_use():
        yield begin
