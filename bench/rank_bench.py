"""Rankings side by side: from a frame of text ids to abilities, each contender in a process of its own.

    python bench/rank_bench.py                       10 million comparisons of 1,000 items, and of 10,000
    python bench/rank_bench.py --quick               a hundredth of that
    python bench/rank_bench.py --size 1000000x100    another size
    python bench/rank_bench.py --without-rivals      no venv is made, nothing is installed

Rivals are installed with pip into a venv under a temporary folder. Seconds run from a loaded frame to the result
(imports and reading the file are left out); megabytes are the process's peak, the frame included. evalica gives no
errors; fed counted pairs instead of rows (its faster way, counting included) it is listed a second time.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

OURS = ("overnight", "overnight, position", "overnight, clusters")
RIVALS = ("evalica", "evalica, counted")
MOST_ITEMS_CLUSTERED = 2_000  # beyond, two products of large matrices would be all that is measured
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


def worker(contender: str, path: Path) -> None:
    import polars as pl

    frame = pl.read_parquet(path)
    run = (fit_ours if contender.startswith("overnight") else fit_evalica)(frame, contender)
    begun = time.perf_counter()
    abilities = run()
    seconds = time.perf_counter() - begun
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "megabytes": megabytes, "abilities": abilities}))


def measure(python: Path, contender: str, path: Path, repeats: int) -> dict[str, Any]:
    found = []
    for _ in range(repeats):
        command = [str(python), __file__, "--worker", contender, "--frame", str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    seconds = [one["seconds"] for one in found]
    return {
        "contender": contender,
        "best": min(seconds),
        "median": statistics.median(seconds),
        "megabytes": max(one["megabytes"] for one in found),
        "abilities": found[0]["abilities"],
    }


def rival_python(folder: Path) -> Path:
    venv.create(folder / "rivals", with_pip=True)
    python = folder / "rivals" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "evalica", "polars"], check=True)
    return python


def compare(n_rows: int, n_items: int, folder: Path, rivals: Path | None, repeats: int) -> list[dict[str, Any]]:
    path = folder / f"{n_rows}x{n_items}.parquet"
    subprocess.run([sys.executable, __file__, "--make", str(n_rows), str(n_items), "--frame", str(path)], check=True)
    ours = OURS if n_items <= MOST_ITEMS_CLUSTERED else OURS[:-1]
    rows = [measure(Path(sys.executable), contender, path, repeats) for contender in ours]
    if rivals is not None:
        rows += [measure(rivals, contender, path, repeats) for contender in RIVALS]
    reference = rows[0].pop("abilities")
    rows[0]["difference"] = 0.0
    for row in rows[1:]:
        theirs = row.pop("abilities")
        row["difference"] = max(abs(theirs[item] - ability) for item, ability in reference.items())
    path.unlink()
    return rows


def report(n_rows: int, n_items: int, rows: list[dict[str, Any]]) -> None:
    print(f"\n{n_rows:,} comparisons of {n_items:,} items")
    print(f"{'':22}{'best s':>9}{'median s':>10}{'peak MB':>9}{'errors':>8}  furthest from the first")
    for row in rows:
        errors = "exact" if row["contender"].startswith("overnight") else "none"
        print(
            f"{row['contender']:22}{row['best']:9.2f}{row['median']:10.2f}{row['megabytes']:9.0f}{errors:>8}"
            f"  {row['difference']:.1e}"
        )


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
        with tempfile.TemporaryDirectory(prefix="rank-bench-") as folder:
            rivals = None if given.without_rivals else rival_python(Path(folder))
            wanted = [tuple(map(int, size.split("x"))) for size in given.size or ()]
            for n_rows, n_items in wanted or (QUICK if given.quick else FULL):
                report(n_rows, n_items, compare(n_rows, n_items, Path(folder), rivals, given.repeats))


if __name__ == "__main__":
    main()
