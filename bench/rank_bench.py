"""Rankings side by side: from a frame of text ids to abilities, each contender in a process of its own.

    python bench/rank_bench.py                       10 million comparisons of 1,000 items, and of 10,000
    python bench/rank_bench.py --quick               a hundredth of that
    python bench/rank_bench.py --size 1000000x100    another size
    python bench/rank_bench.py --without-rivals      no venv is made, nothing is installed

Every rival has a virtual environment of its own, made at need under `.venv-rivals`. Seconds run from a loaded frame to
the result (imports and reading the file are left out; compiling is not, where a rival compiles); megabytes are the
process's peak, the frame included. evalica gives no errors; fed counted pairs instead of rows (its faster way, counting
included) it is listed a second time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from environments import python_with

ERRORS = {
    "overnight": "exact",
    "overnight, position": "exact",
    "overnight, clusters": "sandwich",
    "evalica": "none",
    "evalica, counted": "none",
    "arena-rank": "sandwich",
}
# What each rival's own environment needs beside the reading of the file.
PACKAGES = {"evalica": "evalica polars", "arena-rank": "arena-rank polars pyarrow"}
# Beyond, products of large matrices would be all that is measured (minutes, gigabytes).
MOST_ITEMS = {"overnight, clusters": 2_000, "arena-rank": 2_000}
FULL = [(10_000_000, 1_000), (10_000_000, 10_000)]
QUICK = [(100_000, 1_000), (200_000, 2_000)]


def make_frame(path: Path, n_rows: int, n_items: int) -> None:
    """Random pairs of items with normal abilities, a slight pull to the first, and prompts of ten rows."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    ability = rng.normal(size=n_items)
    ids = pl.Series([f"provider/model-{at:05d}" for at in range(n_items)])
    first = rng.integers(0, n_items, n_rows, dtype=np.int32)
    second = (first + rng.integers(1, n_items, n_rows, dtype=np.int32)) % n_items
    lead = ability[first] - ability[second] + 0.2
    won = rng.random(n_rows) < 1 / (1 + np.exp(-lead))
    columns = {
        "object1": ids.gather(first),
        "object2": ids.gather(second),
        "result": won.astype(float),
        "prompt": np.arange(n_rows) // 10,
    }
    pl.DataFrame(columns).write_parquet(path)


def fit_ours(frame: Any, contender: str) -> Callable[[], dict[str, float]]:
    from overnight.rank import fit_bt_model

    options: dict[str, Any] = {
        "overnight": {},
        "overnight, position": {"position": True},
        "overnight, clusters": {"position": True, "cluster": "prompt"},
    }[contender]

    def run() -> dict[str, float]:
        fit = fit_bt_model(frame, **options)
        assert fit.converged
        assert bool((fit.se > 0).all())
        return dict(zip(fit.items, fit.theta.tolist(), strict=True))

    return run


def fit_evalica(frame: Any, contender: str) -> Callable[[], dict[str, float]]:
    import evalica
    import numpy as np
    import polars as pl

    def run() -> dict[str, float]:
        source, weights = frame, None
        if contender == "evalica, counted":
            source = frame.group_by("object1", "object2", "result").len()
            weights = source["len"].cast(pl.Float64).to_list()
        winners = source.select(pl.when(pl.col("result") == 1.0).then(1).otherwise(2)).to_series().to_list()
        found = evalica.bradley_terry(
            source["object1"].to_list(), source["object2"].to_list(), winners, weights=weights
        )
        logs = np.log(found.scores)
        return dict((logs - logs.mean()).items())

    return run


def fit_arena(frame: Any, _contender: str) -> Callable[[], dict[str, float]]:
    import numpy as np
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    table = frame.select("object1", "object2", "result").to_pandas()

    def run() -> dict[str, float]:
        pairs = PairDataset.from_pandas(table, ["object1", "object2"], "result", outcome_map=float)
        model = BradleyTerry(len(pairs.competitors))
        found = model.compute_ratings_and_cis(pairs)
        ratings = np.asarray(found["ratings"]) / model.alpha
        return dict(zip(found["competitors"], (ratings - ratings.mean()).tolist(), strict=True))

    return run


FITS = {"overnight": fit_ours, "evalica": fit_evalica, "arena-rank": fit_arena}


def package(contender: str) -> str:
    return contender.split(",", maxsplit=1)[0]


def worker(contender: str, path: Path) -> None:
    import polars as pl

    run = FITS[package(contender)](pl.read_parquet(path), contender)
    begun, spent = time.perf_counter(), time.process_time()
    abilities = run()
    found = {
        "seconds": time.perf_counter() - begun,
        "cpu": time.process_time() - spent,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "abilities": abilities,
    }
    print(json.dumps(found))


def measure(python: Path, contender: str, path: Path, repeats: int) -> dict[str, Any]:
    found = []
    for _ in range(repeats):
        command = [str(python), __file__, "--worker", contender, "--frame", str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    return {
        "contender": contender,
        "best": min(one["seconds"] for one in found),
        "cpu": statistics.median(one["cpu"] for one in found),
        "megabytes": max(one["megabytes"] for one in found),
        "abilities": found[0]["abilities"],
    }


def compare(n_rows: int, n_items: int, pythons: dict[str, Path], repeats: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="rank-bench-") as folder:
        path = Path(folder) / "frame.parquet"
        make = [sys.executable, __file__, "--make", str(n_rows), str(n_items), "--frame", str(path)]
        subprocess.run(make, check=True)
        rows = [
            measure(pythons[package(contender)], contender, path, repeats)
            for contender in ERRORS
            if package(contender) in pythons and n_items <= MOST_ITEMS.get(contender, n_items)
        ]
    reference = rows[0]["abilities"]
    for row in rows:
        theirs = row.pop("abilities")
        row["difference"] = max(abs(theirs[item] - ability) for item, ability in reference.items())
    return rows


def lines(n_rows: int, n_items: int, rows: list[dict[str, Any]]) -> Iterator[str]:
    yield f"{n_rows:,} comparisons of {n_items:,} items (load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores)"
    yield f"{'':22}{'best s':>9}{'CPU s':>9}{'peak MB':>9}{'errors':>10}  furthest from the first"
    for row in rows:
        yield (
            f"{row['contender']:22}{row['best']:9.2f}{row['cpu']:9.2f}{row['megabytes']:9,.0f}"
            f"{ERRORS[row['contender']]:>10}  {row['difference']:.1e}"
        )


def race(sizes: list[tuple[int, int]], repeats: int, *, rivals: bool) -> Iterator[str]:
    """A table for every size."""
    found = {"overnight": python_with(None), **{name: python_with(PACKAGES[name]) for name in PACKAGES if rivals}}
    pythons = {name: python for name, python in found.items() if python is not None}
    for n_rows, n_items in sizes:
        yield ""
        yield from lines(n_rows, n_items, compare(n_rows, n_items, pythons, repeats))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--without-rivals", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--size", action="append", metavar="ROWSxITEMS", help="instead of the usual sizes; repeatable")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--frame", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        worker(given.worker, given.frame)
    elif given.make:
        make_frame(given.frame, *given.make)
    else:
        sizes = [(int(rows), int(items)) for rows, items in (size.split("x") for size in given.size or ())]
        for line in race(sizes or (QUICK if given.quick else FULL), given.repeats, rivals=not given.without_rivals):
            print(line, flush=True)


if __name__ == "__main__":
    main()
