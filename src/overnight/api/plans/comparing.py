"""`plan --compare-models`: one study priced over many models, the cheapest first. Nothing is sent."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from overnight.api.notebook.html import money, paragraph_html, parts_html, table_html, title_html
from overnight.api.places import named_folder
from overnight.api.plans.counting import ArmPlan
from overnight.api.plans.planned import interval_of
from overnight.api.plans.planning import plan_resolved
from overnight.core.arguments import checked
from overnight.core.errors import OvernightError, StudyError, nearest
from overnight.core.wording import quoted
from overnight.providers import rules_of, vendor
from overnight.settings import Settings, settings
from overnight.study import Study, resolve
from overnight.study.models import ModelEntry, entries

# What is said of a model in a study and holds for others as well; keys, addresses and a vendor's own fields do not.
_SHARED = ("thinking", "temperature", "top_p", "max_tokens", "seed", "stop", "system", "json_schema")
# Tokens that a request and its answer can be together, by the beginning of a model's name; the first that fits counts.
_CONTEXTS = (
    *(("gpt-4.1", 1_047_576), ("gpt-4o", 128_000), ("gpt-5", 400_000), ("o1", 200_000), ("o3", 200_000)),
    *(("o4", 200_000), ("claude-", 200_000), ("gemini-2", 1_048_576), ("gemini-3", 1_048_576)),
)
# A place in the study's list of models, before what is wrong with one.
_IN_STUDY = re.compile(r"^.*?models\[0\](: |\.)")


class ModelCost(msgspec.Struct, frozen=True, kw_only=True):
    """One model in place of the study's own. Money is in nano-dollars, and None where nobody can say."""

    model: str
    requests: int = 0
    batch: int | None = None
    batch_p90: int | None = None
    live: int | None = None
    live_p90: int | None = None
    ceiling: int | None = None
    # How many answers it rests on; 0 is an assumption.
    seen: int = 0
    # Why the study cannot be asked so; or what to know before it is.
    problem: str = ""
    notes: tuple[str, ...] = ()


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The cheapest first; then those without a price, and those that cannot be asked."""

    study: str
    stages: tuple[str, ...]
    models: tuple[ModelCost, ...]

    def _repr_html_(self) -> str:
        headings = ("model", "requests", "seen", "batch", "90%", "live", "90%", "at most", "")
        lines = [
            (one.model, one.requests, one.seen, money(one.batch), money(one.batch_p90), money(one.live),
             money(one.live_p90), money(one.ceiling), one.problem or "; ".join(one.notes))
            for one in self.models
        ]  # fmt: skip
        return parts_html((title_html(self.study, "nothing was sent"), table_html(headings, lines),
                           paragraph_html(f"in place of the models of {', '.join(self.stages)}")))  # fmt: skip


@checked
def compare_models(
    study: Study | str | Path,
    models: Sequence[str],
    *,
    stage: str | None = None,
    as_name: str | None = None,
    emulate: bool | None = None,
    runs: str | Path | None = None,
) -> Comparison:
    """What a study costs with each of these models in place of its own: those of `stage`, or of all first stages.

    Options that the study gives its first model go for all of them. Judges and other later stages stay as they are.
    """
    place = settings(runs=runs, emulate=emulate)
    written = study if isinstance(study, Study) else Study.load(Path(study))
    wanted = list(dict.fromkeys(models))
    if not wanted:
        raise StudyError("--compare-models: no model is named; wanted provider/model, as in openai/gpt-4.1-mini")
    names = _stages(written, stage)
    costs = [_cost(written, names, model, place, as_name) for model in wanted]
    return Comparison(study=written.name, stages=names, models=tuple(sorted(costs, key=_order)))


def _order(one: ModelCost) -> tuple[bool, bool, int, str]:
    known = [amount for amount in (one.batch, one.live) if amount is not None]
    return bool(one.problem), not known, min(known, default=0), one.model


def _stages(written: Study, stage: str | None) -> tuple[str, ...]:
    if written.stages is None:
        if stage is not None and stage != written.name:
            raise StudyError(f"--stage {quoted(stage)}: the study has one stage only; leave it out")
        return (written.name,)
    known = [str(one.get("name")) for one in written.stages]
    if stage is None:
        return tuple(str(one.get("name")) for one in written.stages if one.get("of") is None)
    if stage not in known:
        raise StudyError(f"--stage {quoted(stage)}: no such stage{nearest(stage, known)} (known: {', '.join(known)})")
    return (stage,)


def _cost(written: Study, names: Sequence[str], model: str, place: Settings, as_name: str | None) -> ModelCost:
    """What is wrong with a model is told of it, and keeps nobody from the others."""
    try:
        # Who has no batches is priced live, whatever the study says of its own models.
        mode = "auto" if written.mode == "batch" else written.mode
        resolved = resolve(_with_model(written.replace(mode=mode), names, model))
        folder = named_folder(place, as_name, resolved.name)
        arms = plan_resolved(resolved, place, folder).arms
    except OvernightError as error:
        # Where a study has its models is no place of these.
        return ModelCost(model=model, problem=_IN_STUDY.sub("", str(error).partition("\n")[0]))
    told = interval_of(arms)
    batch, live = (_sum(getattr(arm, way) for arm in arms) for way in ("batch", "live"))
    share = None if told is None or not told.expected else told.p90 / told.expected
    return ModelCost(
        model=model,
        requests=sum(arm.requests for arm in arms),
        batch=batch,
        batch_p90=_times(batch, share),
        live=live,
        live_p90=_times(live, share),
        ceiling=_sum(arm.ceiling for arm in arms),
        seen=min((arm.seen for arm in arms if arm.stage in names or len(names) == 1), default=0),
        notes=tuple(_notes(arms)),
    )


def _with_model(written: Study, names: Sequence[str], model: str) -> Study:
    if written.stages is None:
        return written.replace(models=[_entry(written.models, model)], grid=None)
    stages = [
        {**one, "models": [_entry(one.get("models"), model)], "grid": None} if str(one.get("name")) in names else one
        for one in written.stages
    ]
    return written.replace(stages=[{key: value for key, value in one.items() if value is not None} for one in stages])


def _entry(given: Any, model: str) -> dict[str, Any]:
    """As the study has its first model, but for whose it is."""
    first = next(iter(given or ()), None)
    if isinstance(first, str) or first is None:
        return {"model": model}
    said = first if isinstance(first, Mapping) else msgspec.structs.asdict(entries([first])[0])
    blank = ModelEntry(model=model)
    kept = {name: said[name] for name in _SHARED if said.get(name) is not None and said[name] != getattr(blank, name)}
    thinking = kept.get("thinking")
    if isinstance(thinking, list):
        kept["thinking"] = thinking[0]
    return {"model": model, **kept}


def _notes(arms: Sequence[ArmPlan]) -> Iterator[str]:
    for arm in arms:
        room = next((tokens for start, tokens in _CONTEXTS if arm.model.startswith(start)), None)
        if room is not None and arm.largest + arm.output_tokens / max(arm.requests, 1) > room:
            yield f"{arm.model}: the largest request is about {arm.largest:,} tokens, and {room:,} fit with its answer"
        if arm.expected is None:
            yield f"{arm.provider}/{arm.model}: no price is known"
        elif arm.price_note:
            yield f"{arm.model}: {arm.price_note}"
        rules = rules_of(vendor(arm.provider), arm.model)
        if rules is not None and rules.ends is not None:
            yield f"{arm.model}: ends on {rules.ends}"


def _sum(amounts: Iterator[int | None]) -> int | None:
    known = list(amounts)
    return None if None in known else sum(amount or 0 for amount in known)


def _times(amount: int | None, share: float | None) -> int | None:
    return None if amount is None or share is None else round(amount * share)
