"""What follows from answers: N rows through two stages, three turns, or a ranking; the cost of a row at several sizes.

    python bench/hand_over.py                         # 10,000 and 100,000 rows of each
    python bench/hand_over.py --stages 1000000
    python bench/hand_over.py --turns 300000
    python bench/hand_over.py --stages 60000 --long 60000 --pairs 100000

Only our own process is measured. `hand over` is the time in which answers become questions, all in the ledger's writer.
A row is one item; it is asked twice in two stages, and three times in three turns. With `--pairs` a row is a judged
pair: five candidates answer each input of a specification, and a judge compares every two of them in both orders. A
judge's prompt is twice as long as that of a plain stage: `--long` is two stages with requests of that length.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from environments import compile_ours
from pipeline import PROMPT, Measured, Stopwatch, write_items

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from emulator_process import EmulatorProcess

TRUTH = {"time_scale": 3000, "latency": {"batch": [10, 20], "live": [0, 0]}, "seed": 7}
HAND_OVER = "hand over"
STEPS = {
    "items, intake": "overnight.api.running:take_stage",
    HAND_OVER: "overnight.engine.flow.flow:Flow.advance",
    "pack": "overnight.engine.packing:Packing.cut",
    "tables": "overnight.api.work:keep_tables",
}
_MODELS = ["openai/gpt-4.1-mini"]
_CANDIDATES = [f"openai/{name}" for name in ("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4o", "gpt-4o-mini")]
_ORDERED_PAIRS = len(_CANDIDATES) * (len(_CANDIDATES) - 1)
_STATEMENTS = 40
# Words of a text; with so many, requests are on average as long as those of a ranking.
_LONG = 320
_ASKED = {"stages": 2.0, "long": 2.0, "turns": 3.0, "pairs": 1 + len(_CANDIDATES) / _ORDERED_PAIRS}


def write_files(kind: str, folder: Path, rows: int) -> None:
    longer = {"words": _LONG} if kind == "long" else {}
    write_items(folder / "items.jsonl", rows // _ORDERED_PAIRS if kind == "pairs" else rows, **longer)
    if kind == "pairs":
        rule = {"text": "The assistant keeps to the point.", "type": "guideline", "authority_level": "user"}
        rules = ({"id": f"rule_{n}", "section": f"Section {n % 5}", **rule} for n in range(_STATEMENTS))
        (folder / "rules.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rules))
        texts = (json.loads(line)["text"] for line in (folder / "items.jsonl").open())
        inputs = ({"statement_id": f"rule_{n % _STATEMENTS}", "input": text} for n, text in enumerate(texts))
        (folder / "inputs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in inputs))


def study_of(kind: str) -> dict[str, Any]:
    if kind == "pairs":
        asked = {"task": "generate", "spec": "rules.jsonl", "inputs": "inputs.jsonl", "models": _CANDIDATES}
        judged = {"task": "rank", "of": "answers", "models": _MODELS}
        return {"name": "bench", "stages": [{"name": "answers", **asked}, {"name": "ranking", **judged}]}
    first = {"name": "first", "task": "generate", "items": "items.jsonl", "prompt": PROMPT, "models": _MODELS}
    if kind == "turns":
        first["turns"] = ["Are you sure? You said: {answer}", "Say it again in one word."]
        return {"name": "bench", "stages": [first]}
    second = {"task": "generate", "of": "first", "prompt": "Is this right? {answer}\n\n{text}", "models": _MODELS}
    return {"name": "bench", "stages": [first, {"name": "second", **second}]}


def work(study: str) -> Measured:
    """In a process of its own: the run, timed."""
    from overnight.core import heap
    from own_time import use_own_time

    heap.let_polars_give_back()  # as the command does
    from overnight import api

    use_own_time()
    watch = Stopwatch()
    for name, place in STEPS.items():
        watch.wrap(name, place)
    wall, cpu = time.perf_counter(), time.process_time()
    run = api.run(study, timeout="300d")
    if run.state != "done":
        raise SystemExit(f"the run ended {run.state}: {run.message}")
    return Measured(
        rows=run.snapshot.settled,
        wall=time.perf_counter() - wall,
        cpu=time.process_time() - cpu,
        peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        steps=dict(watch.steps),
    )


def measure(kind: str, rows: int, scratch: Path | None) -> Measured:
    compile_ours()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=scratch) as folder:
        write_files(kind, Path(folder), rows)
        study = Path(folder) / "study.yaml"
        study.write_text(json.dumps(study_of(kind)))
        with EmulatorProcess(TRUTH, Path(folder) / "state") as emulator:
            environ = {
                **os.environ,
                "OPENAI_BASE_URL": emulator.openai_url,
                "OPENAI_API_KEY": "sk-bench-0123456789abcdefghij",
                "OVERNIGHT_TIME_SCALE": str(TRUTH["time_scale"]),
            }
            done = subprocess.run(
                [sys.executable, __file__, "--work", str(study)],
                cwd=folder,
                env=environ,
                stdout=subprocess.PIPE,
                check=True,
            )
        return msgspec.json.decode(done.stdout, type=Measured)


def line(kind: str, rows: int, measured: Measured) -> str:
    """Costs are for each question that was asked."""
    assert measured.rows == rows * _ASKED[kind], measured
    per_row = 1e6 / measured.rows
    steps = "".join(f"{measured.steps[name].cpu * per_row:15.2f}" for name in STEPS)
    return f"{kind:>7} {rows:>9,}{steps}{measured.cpu * per_row:9.2f}{measured.wall:9.1f}{measured.peak_mb:9.0f}"


def main() -> int:
    parser = argparse.ArgumentParser(description="What one row costs through two stages, three turns, a ranking.")
    parser.add_argument("--stages", type=int, nargs="*", default=[])
    parser.add_argument("--long", type=int, nargs="*", default=[])
    parser.add_argument("--turns", type=int, nargs="*", default=[])
    parser.add_argument("--pairs", type=int, nargs="*", default=[])
    parser.add_argument("--scratch", type=Path, help="where the runs and the emulator's state are kept meanwhile")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.work:
        sys.stdout.buffer.write(msgspec.json.encode(work(asked.work)))
        return 0
    sizes = {"stages": asked.stages, "long": asked.long, "turns": asked.turns, "pairs": asked.pairs}
    if not any(sizes.values()):
        sizes = {kind: [10_000, 100_000] for kind in sizes if kind != "long"}
    print(f"{'':>7} {'rows':>9}{''.join(f'{name:>15}' for name in STEPS)}{'all':>9}{'':>9}{'':>9}")
    print(f"{'':>7} {'':>9}{'CPU µs/question' * len(STEPS)}{'CPU µs':>9}{'wall s':>9}{'peak MB':>9}")
    for kind, rows in ((kind, rows) for kind, chosen in sizes.items() for rows in chosen):
        print(line(kind, rows, measure(kind, rows, asked.scratch)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
