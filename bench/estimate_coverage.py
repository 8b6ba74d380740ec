"""Do estimates hold what they say? Seeded studies on the emulator, whose tokens for a character nobody tells us.

    python bench/estimate_coverage.py                 200 small studies, and 40 with a thousand answers first
    python bench/estimate_coverage.py --studies 20
    python bench/estimate_coverage.py --first 7000    other studies, and other rates of tokens

Each study asks a sample first (`run --limit`), is planned (`plan`), and then run to its end. Counted: how often the
rest cost what lies in the 90% interval, how often it cost no more than the 90th percentile, and how far `about` was
off. Texts, models, turns and a judging stage differ from study to study; all is through the product's own verbs.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

MODELS = (
    "anthropic/claude-haiku-4-5",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash-lite",
    "openai/gpt-4.1",
    "openai/gpt-4.1-mini",
    "openai/gpt-4o-mini",
)
# Tokens for a character, of any model: which it is, the emulator alone is told.
FEWEST, MOST = 0.15, 0.45
WORDS = ("stone", "river", "house", "garden", "window", "table", "bottle", "evening", "question", "children", "money")
SHAPES = ("plain", "talk", "judged")


class Outcome(NamedTuple):
    seed: int
    shape: str
    expected: float
    p90: float
    low: float
    high: float
    cost: float

    @property
    def error(self) -> float:
        return self.expected / self.cost - 1


def items(draw: random.Random, count: int) -> list[dict[str, str]]:
    """Texts of very different lengths."""
    longest = draw.choice((20, 80, 300))
    return [
        {"ID": str(number), "text": " ".join(draw.choices(WORDS, k=1 + int(longest * draw.random() ** 2)))}
        for number in range(count)
    ]


def study(seed: int, count: int) -> tuple[str, dict[str, Any]]:
    draw = random.Random(seed)
    shape = SHAPES[seed % len(SHAPES)]
    first = {
        "name": "answers",
        "task": "generate",
        "items": items(draw, count),
        "prompt": "Say what you think of this: {text}",
        "models": draw.sample(MODELS, 2),
        **({"turns": ["Are you sure? {answer}", "Why?"]} if shape == "talk" else {}),
    }
    judge = {
        "name": "judged",
        "task": "generate",
        "of": "answers",
        "prompt": "Is this a good answer to {text}? It reads: {answer}",
        "models": draw.sample(MODELS, 1),
    }
    # A day is some seconds here: a busy machine takes longer, and a sample that is cut short is no sample.
    return shape, {
        "name": f"study-{seed}",
        "timeout": "9999h",
        "stages": [first, judge] if shape == "judged" else [first],
    }


def rates(first: int) -> dict[str, float]:
    draw = random.Random(f"rates {first}")
    return {name.partition("/")[2]: round(draw.uniform(FEWEST, MOST), 3) for name in MODELS}


def outcome(seed: int, count: int, first: int, runs: Path) -> Outcome:
    import overnight as on
    from overnight.api.plans.planned import interval_of

    shape, written = study(seed, count)
    asked = on.Study(**written)
    sample = on.run(asked, limit=first, emulate=True, runs=runs)
    paid = sum(sample.costs()["settled"])
    told = interval_of(on.plan(asked, emulate=True, runs=runs).arms)
    assert told is not None
    assert sample.snapshot.pending == 0, sample.message
    whole = on.run(asked, emulate=True, runs=runs)
    assert whole.snapshot.pending == whole.snapshot.failed == 0, whole.message
    return Outcome(seed, shape, *(amount / 1e9 for amount in (told.expected, told.p90, told.low, told.high)),
                   sum(whole.costs()["settled"]) - paid)  # fmt: skip


def report(title: str, outcomes: list[Outcome]) -> None:
    errors = [abs(one.error) for one in outcomes]
    worst = max(outcomes, key=lambda one: abs(one.error)).seed
    inside = sum(one.low <= one.cost <= one.high for one in outcomes)
    below = sum(one.cost <= one.p90 for one in outcomes)
    print(
        f"{title:32} {len(outcomes):4} studies: 90% interval holds {inside / len(outcomes):6.1%}, "
        f"90th percentile {below / len(outcomes):6.1%}; error: median {statistics.median(errors):.2%}, "
        f"largest {max(errors):.2%} (seed {worst}), mean {statistics.mean(one.error for one in outcomes):+.2%}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--large", type=int, default=40, help="studies with a thousand answers first")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    os.environ.setdefault("OVERNIGHT_TIME_SCALE", "10000")
    with tempfile.TemporaryDirectory(prefix="overnight-estimates-") as folder:
        truth = Path(folder, "truth.yaml")
        truth.write_bytes(msgspec.yaml.encode({"tokens_per_character": {"default": 0.25, **rates(options.first)}}))
        os.environ["OVERNIGHT_TRUTH"] = str(truth)
        small = [
            outcome(seed, 100, 40, Path(folder, "runs"))
            for seed in range(options.first, options.first + options.studies)
        ]
        for shape in SHAPES:
            if own := [one for one in small if one.shape == shape]:
                report(f"40 rows first of 200, {shape}", own)
        if small:
            report("40 rows first of 200, all", small)
        beyond = options.first + 100_000
        large = [outcome(beyond + seed, 1_500, 1_000, Path(folder, "runs")) for seed in range(options.large)]
        if large:
            report("1,000 rows first of 3,000", large)


if __name__ == "__main__":
    main()
