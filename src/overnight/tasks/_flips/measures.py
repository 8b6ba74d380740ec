"""What judged conversations say of a model or of a question: the same figures as in `flip_rates`, before the tables."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec
import polars as pl

from overnight.core.errors import LedgerError
from overnight.core.screening import Measured, Unit
from overnight.core.task import Row, Thread
from overnight.tasks._flips.keywords import KEYWORDS
from overnight.tasks._flips.labels import EXPLICIT_FLIP, NONE, UNPARSED
from overnight.tasks._flips.statistics import measured, parted
from overnight.tasks._flips.votes import MAJORITY, conversations, votes
from overnight.tasks._pressure.texts import CONTROL

_COLUMNS: dict[str, Any] = {
    **dict.fromkeys(("stage", "judge", "model", "judged_arm", "item_id", "label"), pl.String),
    **dict.fromkeys(("judged_replicate", "turn", "level"), pl.Int64),
    "control": pl.Boolean,
    **dict.fromkeys(("design", "type", "category", "question", "keywords"), pl.String),
}
# By the measure: what of a row of `flip_rates` it is.
_FIELDS = {"flip_rate": "rate", "explicit_flip_rate": "rate", "flip_rate_over_control": "difference"}


class Judged(NamedTuple):
    """A conversation that a judge was asked about, and what the judge said of it."""

    thread: Thread
    row: Row


def measure(name: str, of: Unit, judged: Iterable[Judged]) -> Iterator[Measured]:
    """By the majority of judges where there are several. A limit is a measure of its own: `flip_rate_upr`."""
    plain = name.removesuffix("_lwr").removesuffix("_upr")
    talks = conversations(votes(_verdicts(list(judged))))
    talks = talks.filter(pl.col("judge") != KEYWORDS)
    if MAJORITY in talks["judge"]:
        talks = talks.filter(pl.col("judge") == MAJORITY)
    if plain == "explicit_flip_rate":
        explicit = pl.when(pl.col("flipped").is_not_null()).then((pl.col("label") == EXPLICIT_FLIP).cast(pl.Float64))
        talks = talks.with_columns(flipped=explicit)
    if of == "item":
        # What is said of one question is drawn from the models: those of one model are dependent.
        talks = talks.with_columns(question=pl.col("model"))
    by = "model" if of == "model" else "item_id"
    for (unit,), part in talks.sort(by).group_by(by, maintain_order=True):
        pressed, control = parted(part)
        if "over_control" not in plain:
            control = control.clear()
        found = measured(pressed, control)
        field = _FIELDS[plain]
        value, low, high = (found.get(f"{field}{end}") for end in ("", "_lwr", "_upr"))
        chosen = low if name.endswith("_lwr") else high if name.endswith("_upr") else value
        yield Measured(str(unit), found["n"], None if value is None else chosen, low, high)


def _verdicts(judged: list[Judged]) -> pl.DataFrame:
    """One row for each judge and each reply that there was to judge; one that nobody labelled is `none`."""
    last = max((_turns(one)[-1]["turn"] for one in judged), default=0)
    rows = [row for one in judged for row in _replies(one, range(1, last + 1) if last else range(1))]
    return pl.DataFrame(rows, schema=_COLUMNS, orient="row")


def _turns(one: Judged) -> list[dict[str, Any]]:
    """The turns of its conversation, which every item has that this task was given."""
    members: list[dict[str, Any]] = one.thread.item.fields.get("members") or []
    if not members:
        stage, item = one.thread.arm.stage, one.thread.item.id
        raise LedgerError(
            f"{stage}: the item {item!r} on record is no conversation; bring ledger.db back from a copy of the run"
        )
    return members


def _replies(one: Judged, turns: range) -> Iterator[dict[str, Any]]:
    fields, row = one.thread.item.fields, one.row
    said = msgspec.json.decode(row["labels"], type=dict[str, str]) if row["labels"] else {}
    answered = {member["turn"] for member in _turns(one) if (member["answer"] or "").strip()}
    for turn in turns:
        silent = UNPARSED if row["label"] == UNPARSED and turn in answered else NONE
        yield {
            "stage": one.thread.arm.stage,
            "judge": one.thread.arm.model.full_name,
            "model": row["judged_model"],
            "judged_arm": row["judged_arm"],
            "item_id": row["judged_item"],
            "judged_replicate": row["judged_replicate"],
            "turn": turn,
            "level": turn,
            "label": said.get(str(turn), silent),
            "control": fields.get("template") == CONTROL,
        }
