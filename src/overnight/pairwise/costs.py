"""What judging pairs would cost: a few of them are judged, and the rest is reckoned from what those took."""

import random
import tempfile
from collections.abc import Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import Any, Literal

import msgspec
import polars as pl

from overnight.core.arguments import checked
from overnight.core.ask import Model
from overnight.core.errors import StudyError, nearest
from overnight.core.estimate import line_of
from overnight.core.wording import quoted
from overnight.pairwise._frames import pairs_of
from overnight.pairwise._rows import with_keys
from overnight.pairwise.multi_batch import Collected, llm_resume_multi_batches, llm_submit_pairs_multi_batch
from overnight.pairwise.templates import build_prompt
from overnight.prices import PriceBook
from overnight.prices.rates import Processing
from overnight.providers import vendor

STRATEGIES = ("stratified_prompt_bytes", "random", "first")
_STRATA = 5
_BYTES_PER_TOKEN = 4.0
# Nano-dollars in a dollar, as rates have them.
_NANO = 1e9


class CostEstimate(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """`summary` in one row; the pilot's pairs and results, and the pairs that are left."""

    summary: pl.DataFrame
    test_pairs: pl.DataFrame
    pilot: pl.DataFrame | None
    remaining_pairs: pl.DataFrame


class _Prices(msgspec.Struct, frozen=True):
    """Dollars per million tokens at the live price, and what a batch takes of it."""

    input: float
    output: float
    discount: float


@checked
def estimate_llm_pairs_cost(
    pairs: Any,
    model: str,
    trait_name: str,
    trait_description: str,
    prompt_template: str,
    backend: str = "openai",
    mode: Literal["batch", "live"] = "batch",
    n_test: int = 25,
    test_strategy: str = "stratified_prompt_bytes",
    seed: int | None = None,
    cost_per_million_input: float | None = None,
    cost_per_million_output: float | None = None,
    batch_discount: float | None = None,
    budget_quantile: float = 0.9,
    output_dir: str | Path | None = None,
    **options: Any,
) -> CostEstimate:
    """Judge `n_test` pairs by batch, for real, and reckon from their tokens what all pairs cost.

    Prices are those of the catalogue unless given. Expected costs take the mean length of an answer, budget costs the
    length that `budget_quantile` of them stay below.
    """
    frame = pairs_of(pairs)
    prices = _prices(backend, model, cost_per_million_input, cost_per_million_output, batch_discount, mode)
    prompts = [
        len(build_prompt(prompt_template, trait_name, trait_description, first, second).encode())
        for first, second in frame.select("text1", "text2").iter_rows()
    ]
    chosen = _chosen(prompts, n_test, test_strategy, seed)
    rest = [row for row in range(frame.height) if row not in set(chosen)]
    asked = (model, trait_name, trait_description, prompt_template, backend)
    judged = _judged(frame[chosen], asked, output_dir, options) if chosen else None
    sizes = dict(zip(with_keys(frame[chosen])["pair_uid"], (prompts[row] for row in chosen), strict=True))
    tokens = _Tokens(judged, sizes, budget_quantile)
    pilot = None if judged is None else judged.combined
    facts = {
        "backend": vendor(backend).name,
        "mode": mode,
        "model": model,
        "endpoint": options.get("endpoint"),
        "n_total": frame.height,
        "n_test": len(chosen),
        "n_remaining": len(rest),
        "cost_per_million_input": prices.input,
        "cost_per_million_output": prices.output,
        "batch_discount": prices.discount,
        "budget_quantile": budget_quantile,
        **tokens.facts([prompts[row] for row in rest]),
    }
    summary = pl.DataFrame([facts | _costs(facts, prices)])
    return CostEstimate(summary=summary, test_pairs=frame[chosen], pilot=pilot, remaining_pairs=frame[rest])


def _prices(
    backend: str, model: str, given_in: float | None, given_out: float | None, discount: float | None, mode: str
) -> _Prices:
    asked = Model(provider=vendor(backend).name, name=model)
    live, batch = (_rate(asked, processing) for processing in ("live", "batch"))
    tokens_in, tokens_out = (
        found if given is None else given for given, found in ((given_in, live[0]), (given_out, live[1]))
    )
    if tokens_in is None or tokens_out is None:
        unknown = quoted(f"{backend}/{model}")
        raise StudyError(f"no price is known for {unknown}; give cost_per_million_input and cost_per_million_output")
    if discount is None:
        known = mode == "batch" and given_in is None and live[0] and batch[0] is not None
        discount = (batch[0] or 0.0) / live[0] if known and live[0] else 1.0
    return _Prices(tokens_in, tokens_out, discount if mode == "batch" else 1.0)


def _rate(model: Model, processing: Processing) -> tuple[float | None, float | None]:
    price = PriceBook().price(model, processing)
    if price is None:
        return None, None
    rate = price.rate
    return (
        None if rate.input is None else rate.input / _NANO,
        None if rate.output is None else rate.output / _NANO,
    )


def _chosen(sizes: Sequence[int], n_test: int, strategy: str, seed: int | None) -> list[int]:
    """Which pairs are judged first; by size, so that short and long prompts are all there."""
    if strategy not in STRATEGIES:
        wanted = f"wanted {', '.join(STRATEGIES)}"
        raise StudyError(f"test_strategy: {wanted}, found {quoted(strategy)}{nearest(strategy, STRATEGIES)}")
    wanted_number = min(max(n_test, 0), len(sizes))
    if strategy == "first":
        return list(range(wanted_number))
    draw = random.Random(seed)
    if strategy == "random":
        return sorted(draw.sample(range(len(sizes)), wanted_number))
    by_size = sorted(range(len(sizes)), key=lambda row: sizes[row])
    strata = [by_size[len(by_size) * part // _STRATA : len(by_size) * (part + 1) // _STRATA] for part in range(_STRATA)]
    for stratum in strata:
        draw.shuffle(stratum)
    # One of each stratum in turn, until there are enough.
    in_turn = [stratum[place] for place in range(len(by_size)) for stratum in strata if place < len(stratum)]
    return sorted(in_turn[:wanted_number])


def _judged(
    pairs: pl.DataFrame, asked: tuple[str, str, str, str, str], output_dir: str | Path | None, options: dict[str, Any]
) -> Collected:
    folder = Path(tempfile.mkdtemp(prefix="overnight-pilot-")) if output_dir is None else Path(output_dir)
    llm_submit_pairs_multi_batch(pairs, *asked, output_dir=folder, **options)
    return llm_resume_multi_batches(output_dir=folder)


class _Tokens:
    """What the pilot took, and what that says of other prompts."""

    def __init__(self, pilot: Collected | None, sizes: Mapping[str, int], quantile: float) -> None:
        # An answer without a winner was paid for as well.
        tables = () if pilot is None else (pilot.combined, pilot.failed_attempts)
        columns = ("pair_uid", "prompt_tokens", "completion_tokens")
        rows = [row for table in tables if table is not None for row in table.select(*columns).iter_rows()]
        told = [(sizes[uid], *counts) for uid, *counts in rows if None not in counts]
        self._pilot = pl.DataFrame(
            told, schema=dict.fromkeys(("bytes", "prompt_tokens", "completion_tokens"), pl.Int64), orient="row"
        )
        self._line = line_of((sent, tokens, 1) for sent, tokens, _ in told)
        self._quantile = quantile

    def facts(self, rest: Sequence[int]) -> dict[str, float | None]:
        spent_in, spent_out = (int(self._pilot[name].sum()) for name in ("prompt_tokens", "completion_tokens"))
        left_in = sum(self._tokens_in(size) for size in rest)
        mean, high = self._answer()
        expected, budget = (None if length is None else length * len(rest) for length in (mean, high))
        return {
            "pilot_prompt_tokens": spent_in,
            "pilot_completion_tokens": spent_out,
            "est_remaining_prompt_tokens": ceil(left_in),
            "est_remaining_completion_tokens_expected": expected,
            "est_remaining_completion_tokens_budget": budget,
            "expected_total_prompt_tokens": spent_in + ceil(left_in),
            "expected_total_completion_tokens": None if expected is None else spent_out + expected,
            "budget_total_completion_tokens": None if budget is None else spent_out + budget,
        }

    def _answer(self) -> tuple[float | None, float | None]:
        lengths = self._pilot["completion_tokens"]
        if not len(lengths):
            return None, None
        return sum(lengths) / len(lengths), lengths.quantile(self._quantile, interpolation="linear")

    def _tokens_in(self, size: int) -> float:
        """By the line through the pilot's prompts that a plan goes by, too; else by a rule of thumb."""
        return size / _BYTES_PER_TOKEN if self._line is None else self._line.tokens(size)


def _costs(facts: dict[str, Any], prices: _Prices) -> dict[str, float | None]:
    """The pilot goes by batch as the rest does, so all of it has the batch's price."""

    def cost(tokens: float | None, price: float) -> float | None:
        return None if tokens is None else tokens * price * prices.discount / 1e6

    spent_in = cost(facts["expected_total_prompt_tokens"], prices.input)
    found: dict[str, float | None] = {}
    for kind in ("expected", "budget"):
        spent_out = cost(facts[f"{kind}_total_completion_tokens"], prices.output)
        whole = None if spent_in is None or spent_out is None else spent_in + spent_out
        found |= {f"{kind}_cost_input": spent_in, f"{kind}_cost_output": spent_out, f"{kind}_cost_total": whole}
    return found
