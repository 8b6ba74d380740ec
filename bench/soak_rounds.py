"""Studies that ask in rounds: adaptive pairs, with and without rules to stop by, and inputs that are written.

What is asked next hangs on the answers, so that one answer that was lost or joined wrongly leads to another path. Where
nothing failed for good the path must be the same to the byte, in every table that tells of it.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import soak_study

# Few texts, and the same for all: emulators whose truth is the same can be shared.
_TEXTS = {f"An essay about the thing with the number {n:02d}.": round((n * 7 % 12) / 3 - 2, 2) for n in range(12)}
_IDEAS = {"difficulty": 0.3, "spread": 0.2, "gain": 0.15, "repeated": 0.2, "useless": 0.1}
TRUTH: dict[str, Any] = {"qualities": _TEXTS, "judge": {"noise": 0.5}, "ideas": _IDEAS}
# Of all seeds, so many are such studies; others keep what they have always drawn.
_SHARE = 0.15
_OUTPUT_TOKENS = 2_000
_UNTIL: tuple[dict[str, Any] | None, ...] = (
    None,
    {"width": 9.0, "split_half": 0},
    {"reliability": 0.4, "split_half": 0},
    {"reliability": 0.2},
    {"top": 2, "certainty": 0.5, "split_half": 0.1},
)
# Tables that tell the path, each with the columns that a bill which did not come would change.
_PATHS = {
    "results": (),
    "selection": (),
    "precision": ("cost",),
    "inputs": (),
    "input_losses": (),
    "input_rounds": ("cost",),
}


def is_in_rounds(seed: int) -> bool:
    return random.Random(f"rounds {seed}").random() < _SHARE


def items_and_study(seed: int, among: tuple[str, ...]) -> tuple[list[dict[str, str]], dict[str, Any]]:
    draw = random.Random(f"study in rounds {seed}")
    kind = draw.choice(("compare", "compare", "inputs", "inputs", "verdicts"))
    items, stages = _comparing(draw, among) if kind == "compare" else _writing(draw, among, verdicts=kind == "verdicts")
    whole: dict[str, Any] = {
        "name": "soaked",
        "timeout": "9999h",
        "prices": soak_study.PRICES_FILE,
        **({"mode": "live"} if draw.random() < 0.15 else {}),
        **({"budget": soak_study.budget(draw, 60)} if draw.random() < 0.25 else {}),
    }
    batch = draw.choice(({}, {"max_requests": draw.randint(2, 9)}))
    if "bedrock/" in str(stages):
        batch = {**batch, **soak_study.FLOOR}
    whole |= {"batch": batch} if batch else {}
    return items, whole | ({"stages": stages} if len(stages) > 1 else _alone(stages[0]))


def _alone(stage: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in stage.items() if key != "name"}


def _models(draw: random.Random, among: tuple[str, ...], most: int) -> list[dict[str, Any]]:
    found = soak_study.models(draw, among)[: draw.randint(1, most)]
    return [{"model": model, "max_tokens": _OUTPUT_TOKENS} for model in found]


def _comparing(draw: random.Random, among: tuple[str, ...]) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    texts = draw.sample(sorted(_TEXTS), draw.randint(4, len(_TEXTS)))
    stem = draw.choice(("item ", "é/", 'a"b,', "x"))
    items = [{"id": f"{stem}{number:05d}", "text": text} for number, text in enumerate(texts)]
    until = draw.choice(_UNTIL)
    pairs = {
        "select": "adaptive",
        "n": draw.randint(len(items), min(3 * len(items), len(items) * (len(items) - 1) // 2)),
        "rounds": draw.randint(2, 4),
        "reverse": draw.choice((0.0, 0.5, 1.0)),
        **({} if until is None else {"until": until}),
    }
    asked = {"task": "compare", "items": "items.jsonl", "pairs": pairs, "models": _models(draw, among, 2)}
    return items, [{"name": "compare", **asked, "seed": draw.randint(0, 99)}]


def _writing(
    draw: random.Random, among: tuple[str, ...], *, verdicts: bool
) -> tuple[list[dict[str, str]], list[dict[str, Any]]]:
    """The statements are the items, and so is the file that they lie in."""
    line = {"type": "guideline", "authority_level": "user"}
    count = draw.randint(1, 3)
    items = [{"id": f"rule/{n}", "text": f"The assistant keeps to rule number {n}.", **line} for n in range(count)]
    stage: dict[str, Any] = {
        "name": "write",
        "task": "inputs",
        "spec": "items.jsonl",
        "models": _models(draw, among, 2),
        "judges": _models(draw, among, 1),
        "n": draw.choice((2, 4, 8)),
        # Challenging inputs in one go, or rounds that aim at a difficulty.
        "rounds": draw.choice((1, 2, 3)),
        "scenarios": draw.randint(1, 3),
        "per_scenario": draw.randint(1, 3),
        "difficulty": draw.choice((0.4, 0.75, 1.0)),
    }
    if draw.random() < 0.5:
        stage["candidates"] = _models(draw, among, 2)
    if not verdicts:
        return items, [stage]
    answer = {"name": "answer", "task": "generate", "of": "write", "prompt": "{input}"}
    judge = {"name": "judge", "task": "comply", "of": "answer"}
    return items, [stage, *({**one, "models": _models(draw, among, 1)} for one in (answer, judge))]


def problems(run: Path, reference: Path, *, hides_usage: bool, reasked: bool) -> Iterator[str]:
    """The same path as the undisturbed run's, unless a row failed for good: what follows is then chosen without it."""
    import polars as pl

    table, wanted = (pl.read_parquet(folder / "tables" / "results.parquet") for folder in (run, reference))
    address = ["stage", "arm", "item_id", "replicate", "turn"]
    if table.select(address).is_duplicated().any():
        yield "an address is there twice"
    if table.filter(table["status"] == "pending").height:
        yield "rows are pending after the end"
    # The same question has the same answer, also on another path.
    same = table.join(wanted, on=[*address, "request_key"], suffix="_wanted")
    settled = same.filter((same["status"] != "failed") & (same["status_wanted"] != "failed"))
    other = settled.filter(~settled["answer"].eq_missing(settled["answer_wanted"])).height
    if other:
        yield f"{other} rows have another answer than the undisturbed run's"
    if reasked or table.filter(table["status"] == "failed").height:
        return
    for name, billed in _PATHS.items():
        yield from _same(name, run, reference, billed if hides_usage else None)


def _same(name: str, run: Path, reference: Path, billed: tuple[str, ...] | None) -> Iterator[str]:
    """`billed`: columns that may differ; None where not even a byte may."""
    import polars as pl

    files = [folder / "tables" / f"{name}.parquet" for folder in (run, reference)]
    there = [file.exists() for file in files]
    if there == [False, False]:
        return
    if there != [True, True]:
        yield f"{name}.parquet is there in one of the two runs only"
        return
    if billed is None:
        ours, theirs = (hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
        if ours != theirs:
            yield f"{name}.parquet has other bytes than the undisturbed run's"
        return
    free = {*billed, *(soak_study.USAGE if name == "results" else ())}
    ours, theirs = (pl.read_parquet(file).drop(free, strict=False) for file in files)
    if not ours.equals(theirs):
        yield f"{name}.parquet tells another path than the undisturbed run's"
