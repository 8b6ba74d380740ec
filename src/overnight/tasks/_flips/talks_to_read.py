"""Conversations in which a model gave in, to be read as such: each reply with what the judges said of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from overnight.core.handed_on import row_id
from overnight.core.names import short_models
from overnight.core.stage import Stage
from overnight.core.wording import number_of
from overnight.reporting import Conversation, Part, Section, Sentence, Source, Talks, Turn
from overnight.tasks._flips.labels import EXPLICIT_FLIP, SOFT_FLIP
from overnight.tasks._flips.votes import conversations, votes

MOST = 10
_LONGEST_REASON = 300
_FLIPS = (SOFT_FLIP, EXPLICIT_FLIP)
_TALK = ("judged_arm", "item_id", "judged_replicate")


def talks_to_read(source: Source, stage: Stage, judge: str, named: str) -> Iterator[Section]:
    """Of each model about as many, evenly spread; beside each the control of the same question, where there is one."""
    path = source.tables / "verdicts.parquet"
    if not path.is_file():
        return
    verdicts = pl.read_parquet(path, glob=False).filter(pl.col("stage") == stage.name)
    talks = conversations(votes(verdicts)).filter(pl.col("judge") == judge)
    pressed = talks.filter(~pl.col("control").fill_null(value=False))
    gave_in = pressed.filter(pl.col("flipped") == 1).sort("model", "item_id", "judged_arm", "judged_replicate")
    title = f"Conversations to read{named}"
    if gave_in.is_empty():
        judged = pressed.filter(pl.col("flipped").is_not_null()).height
        told = f"In none of the {number_of(judged, 'conversation')} with a label did a model give in."
        yield Section(title=title, parts=[Sentence(told if judged else "No conversation has a label that counts.")])
        return
    picked = gave_in[_spread(gave_in["model"].to_list(), MOST)]
    whose = "all of them" if picked.height == gave_in.height else f"{picked.height} of them, spread over models,"
    told = f"In {gave_in.height:,} of {number_of(pressed.height, 'conversation')} the model gave in; {whose} follow."
    parts: list[Part] = [Sentence(told)]
    neutral = talks.filter(pl.col("control").fill_null(value=False))
    for row in picked.iter_rows(named=True):
        shown = _talk(source, stage, row, verdicts, f"under pressure: {row['type'] or 'further turns'}")
        if shown is None:
            continue
        beside = neutral.filter(
            *(pl.col(name) == row[name] for name in ("model", "item_id", "judged_replicate"))
        ).to_dicts()[:1]
        others = [_talk(source, stage, one, verdicts, "asked again in neutral words") for one in beside]
        level = "" if row["flip_level"] is None else f", at level {row['flip_level']}"
        parts.append(
            Talks(
                title=f"{row['item_id']}: {row['model']} gave in ({_word(row['label'])}{level})",
                talks=[one for one in (shown, *others) if one is not None],
                notes=list(_reasons(_of(verdicts, row))),
            )
        )
    yield Section(title=title, parts=parts)


def _spread(models: Sequence[str], most: int) -> list[int]:
    """Places of rows: from each model in turn, evenly spread over its own."""
    places: dict[str, list[int]] = {}
    for place, model in enumerate(models):
        places.setdefault(model, []).append(place)
    each = max(1, most // len(places))
    found = [own[at * len(own) // min(each, len(own))] for own in places.values() for at in range(min(each, len(own)))]
    left = [place for place in range(len(models)) if place not in found]
    room = max(0, most - len(found))
    more = [left[at * len(left) // room] for at in range(room)] if room and len(left) > room else left[:room]
    return sorted({*found[:most], *more})


def _of(verdicts: pl.DataFrame, talk: Mapping[str, Any]) -> pl.DataFrame:
    return verdicts.filter(*(pl.col(name) == talk[name] for name in _TALK)).sort("turn", "arm", "replicate")


def _talk(
    source: Source, stage: Stage, talk: Mapping[str, Any], verdicts: pl.DataFrame, label: str
) -> Conversation | None:
    """None where the conversation is not on record as the judges saw it."""
    fields = source.item(stage.name, row_id(talk["item_id"], talk["judged_arm"], talk["judged_replicate"]))
    said, members = fields.get("conversation"), fields.get("members")
    if not said or not members:
        return None
    own = _of(verdicts, talk)
    labels = short_models(own["judge"])
    notes: dict[int, list[tuple[str, str]]] = {}
    for row in own.iter_rows(named=True):
        notes.setdefault(row["turn"], []).append((labels[row["judge"]], row["label"]))
    spoken = [place for place, message in enumerate(said) if message["role"] == "assistant"]
    answered = [row["turn"] for row in members if (row["answer"] or "").strip()]
    turn_at = dict(zip(reversed(spoken), reversed(answered), strict=False))
    turns = []
    for place, message in enumerate(said):
        of_model = message["role"] == "assistant"
        told = notes.get(turn_at[place], []) if place in turn_at else []
        turns.append(
            Turn(
                speaker=str(fields.get("model") or "model") if of_model else message["role"],
                text=message["content"],
                own=of_model,
                notes=[f"{judge}: {_word(verdict)}" for judge, verdict in told],
                marked=any(verdict in _FLIPS for _, verdict in told),
            )
        )
    return Conversation(label=label, turns=turns)


def _word(label: str) -> str:
    return label.replace("_", " ")


def _reasons(own: pl.DataFrame) -> Iterator[str]:
    """What each judge gave as its reason, once."""
    for judge, reason in own.select("judge", "explanation").unique(maintain_order=True).iter_rows():
        if reason:
            yield f"{judge}: {reason[:_LONGEST_REASON]}"
