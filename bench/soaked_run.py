"""One soaked run: commands in forked processes that can be killed at any moment, against an emulator that can, too."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from soak_incidents import Incident, Incidents
from soak_schedule import Schedule, Step
from soak_study import PRICES_FILE, prices

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from emulator_process import EmulatorProcess

RUN = "soaked"
# Where a run is brought to from its database, when it is over.
HOME = "home"
KEY = "sk-soak-0123456789abcdefghijklmnop"
PROJECT = {
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
# Plain commands after the schedule, until the run is over. Held-up and undecided runs need a few.
_LAST_COMMANDS = 40
# Passes that do not wait, and how long a cron job sleeps between two of them, in real seconds.
_LAST_PASSES = 300
_BETWEEN_PASSES = 0.05
# How long a command waits, in virtual time. A provider may never show what it has run: after so many that ended
# in looking for it, the user says that it is to be asked again.
_TIMEOUT = "6h"
_LOOKED_ENOUGH = 4
# No command takes this long, in real seconds, unless it hangs.
PATIENCE = 120.0
OVER = ("done", "rows failed")


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended: by a signal, with a state, or with an error (`crash` is a fault of our own)."""

    signal: int | None = None
    state: str | None = None
    message: str = ""
    error: str | None = None


def surroundings(emulator: EmulatorProcess, time_scale: float) -> None:
    """In a forked process: every provider is at the emulator, and time passes as fast as there."""
    from overnight.providers import vendors
    from own_time import use_own_time

    try:
        now = emulator.now()
    except OSError:  # it is dead at the moment, and comes back
        now = None
    use_own_time(now)
    for seller in vendors().values():
        os.environ[seller.key_variable] = KEY
        os.environ[seller.base_url_variable] = emulator.url + seller.emulator_path
    del os.environ["AWS_PROFILE"]  # the name of a profile, and no key
    os.environ.update(PROJECT, STORAGE_EMULATOR_HOST=emulator.url, AWS_ENDPOINT_URL_S3=f"{emulator.url}/s3")
    os.environ["OVERNIGHT_TIME_SCALE"] = str(time_scale)


class Hung(Exception):
    """A command that did not come to an end."""


class Child:
    """A piece of work in a process of its own; what it returns comes back as JSON."""

    def __init__(self, work: Callable[[], Any]) -> None:
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            try:
                os.write(write, json.dumps(work()).encode())
            except BaseException:  # noqa: BLE001 - the process's edge: what is above on the stack is the parent's
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(write)
        self._read = read
        self._begun = time.monotonic()

    def wait(self, moments: list[tuple[float, Callable[[int], None]]] | None = None) -> Any:
        """None when the process was killed. The moments happen to it while it works."""
        pending = sorted(moments or [], key=lambda moment: moment[0])
        parts: list[bytes] = []
        with os.fdopen(self._read, "rb", buffering=0) as pipe:
            while True:
                elapsed = time.monotonic() - self._begun
                while pending and pending[0][0] <= elapsed:
                    pending.pop(0)[1](self.pid)
                if elapsed > PATIENCE:
                    os.kill(self.pid, signal.SIGKILL)
                    os.waitpid(self.pid, 0)
                    raise Hung
                wait = min(pending[0][0] - elapsed, 1.0) if pending else 1.0
                if select.select([pipe], [], [], max(0.0, wait))[0]:
                    chunk = pipe.read(1 << 16)
                    if not chunk:
                        break
                    parts.append(chunk)
        os.waitpid(self.pid, 0)
        return json.loads(b"".join(parts)) if parts else None


def forked(work: Callable[[], Any], moments: list[tuple[float, Callable[[int], None]]] | None = None) -> Any:
    return Child(work).wait(moments)


def _ending(answer: Any) -> Ending:
    return Ending(signal=signal.SIGKILL) if answer is None else msgspec.convert(answer, Ending)


class SoakedRun:
    """A study, its emulator, and the commands that work on it. The emulator keeps its port over its deaths."""

    def __init__(self, folder: Path, plan: Schedule, emulator: EmulatorProcess, *, in_database: bool = False) -> None:
        self.folder = folder
        self._in_database = in_database
        self.plan = plan
        self.emulator = emulator
        self.story: list[str] = []
        self._twins: list[Child] = []
        # Whether the user has said that rows are to be asked again though they were run.
        self.reasked = False
        # Live calls, and batches without a tag, cannot be found again: there a whole folder is not set back.
        whole_folder = not plan.live and not plan.untagged
        self._incidents = Incidents(folder / "runs" / RUN, folder / "aside", whole_folder=whole_folder)
        # What happened to the folder, by kind; a schedule may draw what cannot happen.
        self.incidents: Counter[str] = Counter()
        folder.mkdir(parents=True)
        (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in plan.items))
        (folder / "study.yaml").write_text(json.dumps(plan.study))
        (folder / PRICES_FILE).write_text(json.dumps(prices()))

    def perform(self) -> None:
        for step in self.plan.steps:
            undo = self._incidents.begin(step.incident) if step.incident is not None else None
            ending = self._step(step)
            self._tell(step.verb, ending, step)
            if undo is not None and step.incident is not None:
                self._count(step.incident)
                self.story.append(undo(_refused(ending)))
            self._incidents.back_up()

    def damage_late(self) -> Ending:
        """A file of a run that is over is damaged: the same command mends it, or refuses, until it is put back."""
        damage = self.plan.late_damage
        undo = None if damage is None else self._incidents.begin(damage)
        if damage is None or undo is None:
            return self.command("run", ())
        self._count(damage)
        ending = self.command("run", ())
        self._tell("run", ending)
        self.story.append(undo(_refused(ending)))
        return self.finish()

    def _count(self, incident: Incident) -> None:
        self.incidents[f"{incident.kind} {incident.part}" if incident.kind == "damage" else incident.kind] += 1

    def finish(self, *, passes: bool = False) -> Ending:
        """Commands until the run is over; the last one's ending.

        With `passes`, nobody waits: the study is handed over, and a cron job comes by. What only the user can decide
        (rows of a cancelled batch are asked again, the budget is raised) is said by handing the study over again.
        """
        ending, hand_over, looked = Ending(), True, 0
        for number in range(_LAST_PASSES if passes else _LAST_COMMANDS):
            verb = ("submit" if hand_over else "once") if passes else "run"
            if looked >= (_LAST_PASSES // 12 if passes else _LOOKED_ENOUGH):
                verb, looked, self.reasked = "reask", 0, True
            ending = self.command(verb, ())
            if verb != "once" or ending.error or number % 25 == 0:
                self._tell(verb, ending)
            looked += "looked for again" in ending.message
            if _refused(ending) and self._incidents.put_back_newest():
                self.story.append("an old ledger was refused at last, the newest one is back")
                continue
            if ending.state == "undecided":
                self._decide()
            if ending.state == "over budget":
                self._raise_budget()
            if ending.state in OVER or ending.error in ("crash", "StudyError"):
                break
            hand_over = ending.error is not None or ending.state in ("over budget", "held up", "cancelled")
            if verb == "once":
                time.sleep(_BETWEEN_PASSES)
        return ending

    def command(self, verb: str, moments: Any, *, kill_at: int = 0) -> Ending:
        return _ending(forked(lambda: self._child(verb, kill_at), list(moments)))

    def _step(self, step: Step) -> Ending:
        moments: list[tuple[float, Callable[[int], None]]] = []
        if step.kill_after is not None:
            moments.append((step.kill_after, lambda child: os.kill(child, signal.SIGKILL)))
        if step.emulator_dies_after is not None:
            back = step.emulator_dies_after + step.emulator_pause
            moments.append((step.emulator_dies_after, lambda _: self.emulator.kill()))
            moments.append((back, lambda _: self.emulator.restart()))
        if step.twin_after is not None:
            again = lambda _: self._twins.append(Child(lambda: self._child(step.twin_verb, 0)))  # noqa: E731
            moments.append((step.twin_after, again))
        ending = self.command(step.verb, moments, kill_at=step.kill_at)
        while self._twins:
            self.incidents["second process"] += 1
            self._tell(f"{step.twin_verb} (in a second terminal)", _ending(self._twins.pop().wait()))
        if step.emulator_dies_after is not None:
            self.emulator.restart()
        return ending

    def _child(self, verb: str, kill_at: int) -> dict[str, Any]:
        from overnight import api
        from overnight.core import checkpoint
        from overnight.core.errors import OvernightError

        os.chdir(self.folder)
        surroundings(self.emulator, self.plan.truth["time_scale"])
        if self._in_database:
            _use_database()
        checkpoint.rearm({"OVERNIGHT_KILL_AT": str(kill_at)})
        try:
            match verb:
                case "run":
                    outcome: Any = api.run("study.yaml", timeout=_TIMEOUT)
                case "reask":
                    outcome = api.run("study.yaml", timeout=_TIMEOUT, reask="failed")
                case "submit":
                    outcome = api.submit("study.yaml")
                case "pull":
                    return _brought_home(api)
                case "decide":
                    return {"message": "; ".join(_decided(api))}
                case "rebuild":
                    return {"message": str(api.rebuild(RUN))}
                case "status":
                    return {"message": str(api.status(RUN)[0].to_do)}
                case "cancel":
                    outcome = api.cancel(RUN)
                case _:
                    outcome = api.resume(RUN, once=verb == "once", timeout=_TIMEOUT)
        except OvernightError as error:
            return {"error": type(error).__name__, "message": str(error)}
        except BaseException:  # noqa: BLE001 - the process's edge: whatever it was is reported
            return {"error": "crash", "message": traceback.format_exc()}
        last = outcome[-1] if isinstance(outcome, list) else outcome
        return {"message": "told another process"} if last is None else {"state": last.state, "message": last.message}

    def _decide(self) -> None:
        """As the user would: keep the first candidate."""
        self._tell("decide", self.command("decide", ()))

    def _raise_budget(self) -> None:
        """As the user would: by more than it can take."""
        study = self.folder / "study.yaml"
        known = json.loads(study.read_text())
        known["budget"]["total"] = round(known["budget"]["total"] * 10, 4)
        study.write_text(json.dumps(known))
        self.story.append(f"the budget is raised to {known['budget']['total']}")

    def _tell(self, verb: str, ending: Ending, step: Step | None = None) -> None:
        how = ending.state or ending.error or (f"signal {ending.signal}" if ending.signal else "")
        asked = "" if step is None else f" {msgspec.json.encode(step).decode()}"
        self.story.append(f"{verb}: {how} {ending.message.strip()[-2000:]}{asked}".strip())


def _use_database() -> None:
    """Runs are in PostgreSQL, but for the folder that they are brought home to."""
    import overnight.settings
    import own_database

    os.environ[own_database.WANTED] = "postgres"
    own_database.use_own_database()
    in_database = overnight.settings._database  # noqa: SLF001 - as tests do it

    def place(runs: str, where: str) -> Any:
        return None if Path(runs).name == HOME else in_database(runs, where)

    overnight.settings._database = place  # noqa: SLF001


def _brought_home(api: Any) -> dict[str, Any]:
    """The run as a folder, with the tables that were made from the database; the database goes."""
    import psycopg
    from psycopg import sql

    import own_database

    moved = api.pull(RUN, to=HOME)
    shutil.copytree(Path("runs") / RUN / "tables", Path(HOME) / RUN / "tables", dirs_exist_ok=True)
    name = own_database.address_of(Path("runs")).partition("?")[0].rpartition("/")[2]
    with psycopg.connect(own_database.postgres_server.url(), autocommit=True) as db:
        db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
    return {"state": "done", "message": moved.where}


def warm_up() -> None:
    """Import what every command needs: forked processes then have it for nothing."""
    import aiohttp
    import polars as pl
    import yaml

    import overnight.api
    from overnight.providers import vendors

    vendors()
    del aiohttp, pl, yaml, overnight


def emulator_for(plan: Schedule, *, faults: bool) -> EmulatorProcess:
    """On a port of its own, so that it comes back at the same address."""
    truth = dict(plan.truth)
    if faults and plan.faults:
        truth["faults"] = plan.faults
    truth["limits"] = {"fewest_requests": 1, **(plan.limits if faults else {})}
    return EmulatorProcess(truth, None, f"--port={_free_port()}").start()


class CalmEmulators:
    """Emulators without faults outlive a run: what they answer depends on the truth alone."""

    def __init__(self) -> None:
        self._running: dict[str, EmulatorProcess] = {}

    def of(self, plan: Schedule) -> EmulatorProcess:
        name = json.dumps(plan.truth, sort_keys=True)
        if name not in self._running:
            self._running[name] = emulator_for(plan, faults=False)
        return self._running[name]

    def close(self) -> None:
        for emulator in self._running.values():
            emulator.close()


def _refused(ending: Ending) -> bool:
    """Whether a command would not work on the folder as it is; one that finds an old ledger is held up."""
    return ending.error is not None or (ending.state == "held up" and "the ledger is older" in ending.message)


def _decided(api: Any) -> list[str]:
    stuck = [batch for batch in api.status(RUN)[0].batches if batch.state == "stuck"]
    told = []
    for batch in stuck:
        text = next(line for line in api.status(RUN)[0].to_do if f"shard {batch.shard} " in line)
        candidate = text.split("(")[1].split(")")[0].split(", ")[0]
        told.append(api.resolve_shard(RUN, batch.shard, batch_id=candidate))
    return told


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
