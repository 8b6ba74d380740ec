"""A soaked batch of another tool: adopted by its id, by a tracking file or by its output file, with rows that fail.

Every row ends once, with its own answer or a cause; nothing that was answered is asked again; the bill is on record.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from soak_foreign import draw_fault
from soaked_run import KEY, Child, surroundings

from emulator_process import EmulatorProcess

RUN = "theirs"
_PASSES = 60
_BETWEEN_PASSES = 0.05
_TIME_SCALE = 20_000
_MODELS = {"openai": "gpt-4.1-mini", "anthropic": "claude-haiku-4-5"}
_ENDED = {"completed", "expired", "cancelled", "failed", "ended"}


class AdoptedSchedule(msgspec.Struct, frozen=True, kw_only=True):
    seed: int
    provider: str
    rows: int
    # By its id, as a line of a tracking file, or by the file that somebody has downloaded.
    way: str
    ask_again: bool
    passes_only: bool
    faults: list[dict[str, Any]]
    kills: list[float | None]


def adopted_schedule(seed: int) -> AdoptedSchedule:
    draw = random.Random(f"adopted {seed}")
    return AdoptedSchedule(
        seed=seed,
        provider=draw.choice(sorted(_MODELS)),
        rows=draw.choice((1, 5, 12, 30)),
        way=draw.choice(("id", "id", "tracking", "output")),
        ask_again=draw.random() < 0.6,
        passes_only=draw.random() < 0.3,
        faults=[draw_fault(draw) for _ in range(draw.choice((1, 1, 2, 3)))],
        kills=[
            round(draw.uniform(0.0, 0.6), 3) if draw.random() < 0.6 else None for _ in range(draw.choice((0, 1, 2)))
        ],
    )


def soak_adopted(plan: AdoptedSchedule, scratch: Path) -> tuple[list[str], list[str], int]:
    """(what is wrong, the story, how many faults fired)."""
    story: list[str] = []
    truth = {"time_scale": _TIME_SCALE, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7}
    with EmulatorProcess({**truth, "faults": plan.faults}) as emulator:
        batch = Child(lambda: _made(plan, emulator)).wait()
        if plan.way == "output":
            _wait_for_end(emulator)
            saved = Child(lambda: _saved(plan, emulator, batch, scratch)).wait()
            if not saved:
                return [], ["the batch has nothing to download"], 0
        found = _worked(plan, emulator, batch, scratch, story)
        log = emulator.log(calls=False)
        judged = Child(lambda: _judged(plan, scratch, log)).wait()
        found += ["the checks themselves failed"] if judged is None else judged
        return found, story, sum(log["faults_fired"].values())


def _question(number: int) -> str:
    return f"Say something about thing marker{number:04d}"


def _made(plan: AdoptedSchedule, emulator: EmulatorProcess) -> str:
    import anthropic
    import openai

    model = _MODELS[plan.provider]
    bodies: list[dict[str, Any]] = [
        {"model": model, "max_tokens": 500, "messages": [{"role": "user", "content": _question(number)}]}
        for number in range(plan.rows)
    ]
    if plan.provider == "anthropic":
        with anthropic.Anthropic(api_key=KEY, base_url=f"{emulator.url}/anthropic") as client:
            asked: Any = [{"custom_id": f"row-{number}", "params": body} for number, body in enumerate(bodies)]
            return client.messages.batches.create(requests=asked).id
    with openai.OpenAI(api_key=KEY, base_url=emulator.openai_url) as client:
        shape = {"method": "POST", "url": "/v1/chat/completions"}
        lines = [{"custom_id": f"row-{number}", **shape, "body": body} for number, body in enumerate(bodies)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        file = client.files.create(file=("theirs.jsonl", text.encode()), purpose="batch")
        return client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h").id


def _wait_for_end(emulator: EmulatorProcess) -> None:
    while not all(batch["status"] in _ENDED for batch in emulator.log(calls=False)["batches"]):
        time.sleep(0.02)


def _saved(plan: AdoptedSchedule, emulator: EmulatorProcess, batch: str, scratch: Path) -> bool:
    """What the other tool has downloaded, as whole as that was."""
    import anthropic
    import openai

    if plan.provider == "anthropic":
        with anthropic.Anthropic(api_key=KEY, base_url=f"{emulator.url}/anthropic", max_retries=10) as client:
            # A batch may end without an address for its results.
            there = client.messages.batches.retrieve(batch).results_url is not None
            found = client.messages.batches.results(batch) if there else ()
            text = "".join(f"{one.to_json(indent=None)}\n" for one in found)
    else:
        with openai.OpenAI(api_key=KEY, base_url=emulator.openai_url, max_retries=10) as client:
            made = client.batches.retrieve(batch)
            text = client.files.content(made.output_file_id).text if made.output_file_id else ""
    (scratch / "output.jsonl").write_text(text)
    return bool(text)


def _has_answers(scratch: Path) -> bool:
    """A file in which no row has an answer is refused, however often it is saved."""
    return "marker" in (scratch / "output.jsonl").read_text()


def _worked(plan: AdoptedSchedule, emulator: EmulatorProcess, batch: str, scratch: Path, story: list[str]) -> list[str]:
    adopted = False
    for number in range(len(plan.kills) + _PASSES):
        kill = plan.kills[number] if number < len(plan.kills) else None
        moments: list[tuple[float, Callable[[int], None]]] = []
        if kill is not None:
            moments.append((kill, lambda child: os.kill(child, signal.SIGKILL)))
        told = Child(lambda adopted=adopted: _pass(plan, emulator, batch, scratch, adopted=adopted)).wait(moments)
        story.append("killed" if told is None else str(told)[:300])
        if told is None:
            continue
        if "crash" in told:
            return [f"crash: {told['crash']}"]
        # Rows of a batch that was cancelled go on when the user types again what began the run.
        adopted = (adopted or "state" in told) and told.get("state") != "held up"
        # A damaged file is refused whole, and the words say what to do: to save it again.
        refused = plan.way == "output" and told.get("error") == "StudyError"
        if refused and not (Child(lambda: _saved(plan, emulator, batch, scratch)).wait() and _has_answers(scratch)):
            return []
        if told.get("state") in ("done", "rows failed"):
            return []
        if told.get("nothing"):
            return []
        if plan.passes_only:
            time.sleep(_BETWEEN_PASSES)
    return ["no end"]


def _pass(
    plan: AdoptedSchedule, emulator: EmulatorProcess, batch: str, scratch: Path, *, adopted: bool
) -> dict[str, Any]:
    """`adopt` again and again until it has come back, and then `resume`."""
    import traceback

    from overnight import api
    from overnight.api.elsewhere.adoption import NothingToAdopt
    from overnight.core.errors import OvernightError

    os.chdir(scratch)
    surroundings(emulator, _TIME_SCALE)
    patience: dict[str, Any] = {"once": plan.passes_only, "timeout": 30 * 3600.0}
    try:
        if adopted and (run := _run(scratch)) is not None:
            outcome = api.resume(run.name, **patience)
        elif plan.way == "output":
            outcome = api.adopt(plan.provider, output_file="output.jsonl", as_name=RUN)
        elif plan.way == "tracking":
            Path("tracking.json").write_text(json.dumps({"batches": [{"provider": plan.provider, "batch_id": batch}]}))
            outcome = api.adopt(tracking="tracking.json", ask_again=plan.ask_again, **patience)
        else:
            outcome = api.adopt(plan.provider, batch, as_name=RUN, ask_again=plan.ask_again, **patience)
    except NothingToAdopt as error:
        return {"nothing": error.batch.phase != "running", "message": str(error)}
    except OvernightError as error:
        return {"error": type(error).__name__, "message": str(error)}
    except BaseException:  # noqa: BLE001 - the process's edge: whatever it was is reported
        return {"crash": traceback.format_exc()}
    last = outcome[-1] if isinstance(outcome, list) else outcome
    return {"state": last.state, "message": last.message}


def _run(scratch: Path) -> Path | None:
    """The run that was begun, under whatever name."""
    return next((ledger.parent for ledger in scratch.glob("runs/*/ledger.db")), None)


def _has_rows(run: Path) -> bool:
    """One that was killed before it took anything in has left an empty ledger."""
    with sqlite3.connect(run / "ledger.db") as db:
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master WHERE name='slot'").fetchone()
        return bool(tables and db.execute("SELECT count(*) FROM slot").fetchone()[0])


def _judged(plan: AdoptedSchedule, scratch: Path, log: dict[str, Any]) -> list[str]:
    import polars as pl
    from soak_checks import kept_bill

    run = _run(scratch)
    if run is None or not _has_rows(run):
        return []  # the batch has ended, and there is nothing to adopt
    table = pl.read_parquet(run / "tables" / "results.parquet")
    problems = list(kept_bill([run], log)) if plan.way != "output" else []
    problems += _names(plan, table) if plan.way != "output" else []
    for row in table.filter(table["status"] == "answered").iter_rows(named=True):
        if f"marker{int(row['item_id'].removeprefix('row-')):04d}" not in row["answer"]:
            problems.append(f"{row['item_id']} has another question's answer: {row['answer']!r}")
    if not plan.ask_again and len(log["batches"]) != 1:
        problems.append(f"{len(log['batches'])} batches are at the provider, and nothing was to be asked again")
    problems += [f"a question ran {twice['times']} times: {twice['custom_ids']}" for twice in log["rows_run_twice"]]
    return problems


def _names(plan: AdoptedSchedule, table: Any) -> Iterator[str]:
    """Every row is there; who keeps no questions cannot name those that it gave no line for, and they have failed."""
    import polars as pl

    from overnight.api.elsewhere.adoption import UNNAMED

    unnamed = table.filter(pl.col("item_id").str.starts_with(UNNAMED))
    named = set(table["item_id"]) - set(unnamed["item_id"])
    wanted = {f"row-{number}" for number in range(plan.rows)}
    known = named <= wanted if plan.provider == "anthropic" else named == wanted
    if table.height != plan.rows or table["item_id"].n_unique() != plan.rows or not known:
        yield f"{plan.rows} rows were sent, and these are there: {table['item_id'].to_list()}"
    if set(unnamed["status"]) - {"failed"}:
        yield f"a row without a name did not fail: {unnamed['status'].to_list()}"


__all__ = ["AdoptedSchedule", "adopted_schedule", "soak_adopted"]
