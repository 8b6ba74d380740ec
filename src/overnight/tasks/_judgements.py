"""Judges in short: what each said of the pairs, and whether it held to it when they were shown the other way round."""

from typing import Any

import polars as pl

from overnight.core.arguments import checked

_WHO = ("stage", "judge", "template", "thinking")
_WORDS = ("first", "second", "tie", "none", "unparsed")


@checked
def judgements(verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row for each judge, template and thinking setting: its verdicts by kind, and what both orders tell.

    `consistent` is the share of pairs with the same winner in both orders, `p_position` the exact sign test on the
    others: small where the place decides. Both are empty where pairs were shown in one order.
    """
    rows = [
        _row(dict(zip(_WHO, who, strict=True)), said) for who, said in verdicts.group_by(*_WHO, maintain_order=True)
    ]
    schema: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(_WHO, pl.String),
        **dict.fromkeys((*_WORDS, "pairs"), pl.Int64),
        **dict.fromkeys(("consistent", "p_position"), pl.Float64),
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _row(who: dict[str, Any], said: pl.DataFrame) -> dict[str, Any]:
    counts = dict(said["verdict"].value_counts().iter_rows())
    return who | {word: counts.get(word, 0) for word in _WORDS} | _both_orders(said)


def _both_orders(said: pl.DataFrame) -> dict[str, Any]:
    nothing = {"pairs": None, "consistent": None, "p_position": None}
    if said["direction"].n_unique() < 2:
        return nothing
    # numpy and scipy take half a second, which those who ask about one order need not wait.
    from overnight.analysis import check_positional_bias, compute_reverse_consistency  # noqa: PLC0415

    renamed = said.rename({"first_id": "ID1", "second_id": "ID2", "winner_id": "better_id"})
    orders = (renamed.filter(pl.col("direction") == direction) for direction in ("forward", "reverse"))
    consistency = compute_reverse_consistency(*orders)
    if consistency.details.is_empty():
        return nothing
    # Only the exact test is wanted, not the bootstrap.
    bias = check_positional_bias(consistency, n_boot=1, seed=0).summary.row(0, named=True)
    return {"pairs": bias["n_pairs"], "consistent": bias["prop_consistent"], "p_position": bias["p_inconsistent"]}
