"""Judges under test, for a run's report: the same pair in both orders, the pull of the place, and agreement."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import polars as pl

from overnight.analysis import holm, rate
from overnight.analysis.verdict_agreement import EVERYBODY
from overnight.core.names import short_names
from overnight.core.stage import Stage
from overnight.core.wording import number_of
from overnight.reporting import Figure, Interval, Intervals, Part, Section, Sentence, Table
from overnight.reporting.wording import known, listed, number_text, p_text, percent_text, span_text

# The chance of a false alarm that is put up with, over all judges together.
_ALARM = 0.05
# Fewer pairs than these cannot tell agreement from luck, however alike the verdicts are.
_FEWEST = 6


def judge_sections(stage: Stage, tables: Mapping[str, pl.DataFrame | None], named: str) -> Iterator[Section]:
    consistency, bias, agreement = (tables[name] for name in ("consistency", "bias", "agreement"))
    parts = list(_both_orders(consistency, bias, stage.name)) if consistency is not None and bias is not None else []
    if parts:
        yield Section(title=f"Does the order matter{named}", parts=parts)
    if agreement is not None and agreement.height:
        yield Section(title=f"Do judges agree{named}", parts=list(_agreement(agreement, stage.name)))


def _both_orders(consistency: pl.DataFrame, bias: pl.DataFrame, stage: str) -> Iterator[Part]:
    held, pulled = consistency.to_dicts(), with_chances(bias.to_dicts())
    labels = short_names([row["arm"] for row in held])
    if not any(row["n_pairs"] for row in held):
        notes = sorted({row["note"] for row in held if row["note"]})
        yield Sentence(f"It cannot be told: {listed(notes) or 'no pair was decided in both orders'}.")
        return
    yield Sentence(consistency_text(held, labels))
    yield Figure(
        name=f"consistency-{stage}",
        title="Do judges hold to a verdict in the other order?",
        caption="Share of pairs with the same winner in both orders, with its 95% interval. A judge that tosses a coin "
        "is at one half; one that always takes the same place is at nought.",
        drawing=Intervals(
            rows=[
                Interval(labels[row["arm"]], row["prop_consistent"], row["prop_lwr"], row["prop_upr"], _pairs(row))
                for row in held
            ],
            axis="pairs with the same winner in both orders",
            reference=0.5,
            percent=True,
        ),
        numbers=Table.of(
            consistency.drop("stage"), dict.fromkeys(("prop_consistent", "prop_lwr", "prop_upr"), "percent")
        ),
    )
    yield Sentence(place_text(pulled, labels))
    yield _places(pulled, labels, stage)


def _pairs(row: Mapping[str, Any]) -> str:
    return number_of(row["n_pairs"] or 0, "pair")


def consistency_text(rows: list[dict[str, Any]], labels: Mapping[str, str]) -> str:
    """The most and the least consistent judge, each with its interval; no word on which is better."""
    known_rows = [row for row in rows if row["n_pairs"]]

    def told(row: Mapping[str, Any]) -> str:
        span = span_text(row["prop_lwr"], row["prop_upr"], percent=True)
        return f"{labels[row['arm']]} in {percent_text(row['prop_consistent'])} ({span}) of {_pairs(row)}"

    ordered = sorted(known_rows, key=lambda row: (-row["prop_consistent"], row["arm"]))
    if len(ordered) == 1:
        return f"The same winner in both orders: {told(ordered[0])}."
    if ordered[0]["prop_consistent"] == ordered[-1]["prop_consistent"]:
        share = percent_text(ordered[0]["prop_consistent"])
        spans = {told(row).partition(" in ")[2] for row in ordered}
        each = spans.pop() if len(spans) == 1 else f"{share} of its pairs"
        return f"The same winner in both orders: each of {len(ordered)} judges in {each}."
    return f"The same winner in both orders: most often {told(ordered[0])}, least often {told(ordered[-1])}."


def with_chances(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With Holm's p-values: several judges are tested at once."""
    adjusted = holm([row["p_inconsistent"] for row in rows])
    return [row | {"p_holm": float(p) if p == p else None} for row, p in zip(rows, adjusted, strict=True)]  # noqa: PLR0124


def place_text(rows: list[dict[str, Any]], labels: Mapping[str, str]) -> str:
    """Who is swayed by the place, by the exact sign test on the pairs that changed their winner with the order."""
    swayed = [row for row in rows if known(row["p_holm"]) and row["p_holm"] < _ALARM]
    count = sum(1 for row in rows if known(row["p_holm"]))
    if not count:
        return "No verdict changed with the order, so that nothing is known of the place."
    if not swayed:
        tests = "an exact sign test" if count == 1 else f"{count} exact sign tests, allowing for their number"
        return f"That the place sways a judge cannot be told ({tests})."
    words = []
    for row in swayed:
        first, second = row["n_inconsistent_pos1_bias"], row["n_inconsistent_pos2_bias"]
        place, times = ("first", first) if first > second else ("second", second)
        words.append(
            f"{labels[row['arm']]} towards the {place} ({times:,} of {first + second:,}, {p_text(row['p_holm'])})"
        )
    return f"The place sways {listed(words, 6)}, on the pairs whose winner changed with the order."


def _places(rows: list[dict[str, Any]], labels: Mapping[str, str], stage: str) -> Figure:
    drawn, numbers = [], []
    for row in rows:
        first, second = row["n_inconsistent_pos1_bias"] or 0, row["n_inconsistent_pos2_bias"] or 0
        found = rate(list(chain([1] * first, [0] * second))) if first + second else None
        share, low, high = (None, None, None) if found is None else (found.rate, found.rate_lwr, found.rate_upr)
        chance = "" if not known(row["p_holm"]) else p_text(row["p_holm"])
        drawn.append(Interval(labels[row["arm"]], share, low, high, chance))
        numbers.append((row["arm"], first, second, share, low, high, row["p_inconsistent"], row["p_holm"]))
    heads = ("arm", "changed_to_first", "changed_to_second", "share_first", "share_lwr", "share_upr", "p", "p_holm")
    columns = dict(zip(heads, map(list, zip(*numbers, strict=True)), strict=True))
    return Figure(
        name=f"position-{stage}",
        title="Where the order changes the winner, which place wins?",
        caption="Of the pairs whose winner changed with the order, the share in which the one shown first won both "
        "times, with its 95% interval. One half is no pull; p is of the exact sign test, for all judges together.",
        drawing=Intervals(rows=drawn, axis="changed towards the one shown first", reference=0.5, percent=True),
        numbers=Table(columns=columns, forms=dict.fromkeys(("share_first", "share_lwr", "share_upr"), "percent")),
    )


def _agreement(agreement: pl.DataFrame, stage: str) -> Iterator[Part]:
    rows = agreement.to_dicts()
    everybody = next((row for row in rows if row["arm_a"] == EVERYBODY), None)
    twos = [row for row in rows if row["arm_a"] != EVERYBODY]
    labels = short_names(sorted({row[name] for row in twos for name in ("arm_a", "arm_b")}))
    if everybody is not None:
        yield Sentence(agreement_text(everybody))
        if everybody["note"]:
            yield Sentence(f"Note: {everybody['note']}.", "note")
    if twos:
        yield Figure(
            name=f"agreement-{stage}",
            title="How much do two judges agree, beyond chance?",
            caption="One is perfect agreement on which of two is better, nought is what tosses give; 95% intervals.",
            drawing=Intervals(
                rows=[
                    Interval(
                        f"{labels[row['arm_a']]} and {labels[row['arm_b']]}",
                        row["kappa"],
                        row["kappa_lwr"],
                        row["kappa_upr"],
                        _pairs(row),
                    )
                    for row in twos
                ],
                axis="agreement beyond chance",
                reference=0.0,
            ),
            numbers=Table.of(agreement.drop("stage"), {"observed": "percent", "expected": "percent"}),
        )


def agreement_text(row: Mapping[str, Any]) -> str:
    """Whether judges agree beyond chance, from the interval of the coefficient."""
    if not known(row["kappa"]):
        return "How far the judges agree cannot be told: no pair has readable verdicts of two of them."
    share = f"{percent_text(row['observed'])} of votes on one pair"
    if row["observed"] == 1 and row["n_pairs"] >= _FEWEST:
        return f"{row['n_judges']} judges say the same in every vote on each of {row['n_pairs']:,} pairs."
    sure = known(row["kappa_lwr"]) and known(row["kappa_upr"]) and row["kappa_lwr"] < row["kappa_upr"]
    if not sure or row["n_pairs"] < _FEWEST:
        return f"{row['n_judges']} judges say the same in {share}; how sure that is cannot be told."
    span = f"{number_text(row['kappa'])} beyond chance ({span_text(row['kappa_lwr'], row['kappa_upr'])})"
    if row["kappa_lwr"] > 0:
        return f"{row['n_judges']} judges say the same in {share}, {span}."
    if row["kappa_upr"] < 0:
        return f"{row['n_judges']} judges contradict each other: they say the same in {share}, {span}."
    return f"No agreement beyond chance can be told: {row['n_judges']} judges say the same in {share}, {span}."
