"""Two arms beside each other: what both, one or none of them did, the paired difference, and the items of each part."""

from collections.abc import Sequence

from overnight.core.errors import StudyError, UnknownName
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.reporting.page.html import part_html
from overnight.reporting.parts import Figure, Interval, Intervals, Table
from overnight.reporting.shown_text import cut, escaped
from overnight.reporting.wording import known, number_text, p_text, percent_text, span_text
from overnight.serving.arm_comparison import (
    CELLS,
    Comparison,
    Measure,
    chosen_measure,
    compare_arms,
    items_in,
    measures_of,
)
from overnight.serving.known_runs import KnownRun
from overnight.serving.run_tables import RunTable
from overnight.serving.screens.layout import Screen, chip, link, select_html, sentences_html

_MOST_ITEMS = 100
Query = dict[str, str]


def comparison_screen(run: KnownRun, table: RunTable | None, query: Query) -> Screen:
    if table is None:
        return _screen(run, sentences_html(["No row has come so far."]))
    places = table.index.places
    stages = {stage: [arm for one, arm in places if one == stage] for stage, _ in places}
    pairs = {stage: arms for stage, arms in stages.items() if len(arms) > 1}
    if not pairs:
        return _screen(run, sentences_html(["There is one arm only, and nothing to compare it with."]))
    stage = query.get("stage") or next(iter(pairs))
    if stage not in pairs:
        raise UnknownName(f"stage {stage!r} has no two arms; there is {', '.join(pairs)}")
    a = query.get("a") or pairs[stage][0]
    b = query.get("b") or next(arm for arm in pairs[stage] if arm != a)
    for arm in (a, b):
        if arm not in pairs[stage]:
            raise UnknownName(f"stage {stage!r} has no arm {arm!r}")
    if a == b:
        raise StudyError("an arm is compared with another one, not with itself")
    first, second = (table.arm(stage, arm) for arm in (a, b))
    measures = measures_of([first, second])
    measure = chosen_measure(measures, query.get("measure", ""))
    names = short_names(pairs[stage])
    form = _form_html(list(pairs), stage, pairs[stage], (a, b), measures, measure)
    found = compare_arms(first, second, measure)
    wanted = {"stage": stage, "a": a, "b": b, "measure": measure.name}
    note = sentences_html([table.note], kind="note") if table.note else ""
    told = _told_html(run, found, (names[a], names[b]), wanted)
    return _screen(run, form + note + told + _items_html(run, found, query.get("cell", ""), wanted))


def _screen(run: KnownRun, body: str) -> Screen:
    return Screen(title="Two arms", body=body, run=run.name, part="arms")


def _form_html(
    stages: Sequence[str],
    stage: str,
    arms: Sequence[str],
    chosen: tuple[str, str],
    measures: Sequence[Measure],
    measure: Measure,
) -> str:
    names = short_names(arms)
    options = [(arm, names[arm]) for arm in arms]
    parts = [
        select_html("stage", "stage", stage, [(one, one) for one in stages]) if len(stages) > 1 else "",
        select_html("a", "first arm (A)", chosen[0], options),
        select_html("b", "second arm (B)", chosen[1], options),
        select_html("measure", "compared by", measure.name, [(one.name, one.words) for one in measures]),
        '<button type="submit">Compare</button>',
    ]
    return f'<form method="get" class="filters">{"".join(parts)}</form>'


def sentence_of(found: Comparison, names: tuple[str, str]) -> str:
    """What the interval of the difference says, and nothing beyond it."""
    paired, counts, measure = found.paired, found.counts, found.measure
    if paired.n == 0 or not known(paired.difference):
        return f"{number_of(paired.n, 'item')} with both: too few to tell a difference."
    low, high = (
        (counts.difference_lwr, counts.difference_upr)
        if counts is not None
        else (paired.difference_lwr, paired.difference_upr)
    )
    p = counts.p_mid if counts is not None else paired.p
    percent = measure.is_yes_or_no

    def said(value: float) -> str:
        return percent_text(value) if percent else number_text(value, _decimals(found))

    means = f"{said(paired.mean_a)} for {names[0]} and {said(paired.mean_b)} for {names[1]}"
    span = span_text(low, high, percent=percent, decimals=_decimals(found))
    if not (known(low) and known(high)) or low <= 0 <= high:
        verdict = "no difference can be told"
    else:
        more = names[0] if paired.difference > 0 else names[1]
        verdict = f"it is more for {more}" if not percent else f"it is so more often for {more}"
    return (
        f"{measure.words[:1].upper()}{measure.words[1:]}: {means} over {number_of(paired.n, 'item')} that both have. "
        f"The difference is {said(paired.difference)} (95% interval {span}, {p_text(p)}): {verdict}."
    )


def _decimals(found: Comparison) -> int:
    largest = max(abs(found.paired.mean_a), abs(found.paired.mean_b))
    if not largest:
        return 0
    return 6 if largest < 0.01 else 4 if largest < 1 else 1 if largest >= 100 else 2


def _told_html(run: KnownRun, found: Comparison, names: tuple[str, str], wanted: Query) -> str:
    paired, counts = found.paired, found.counts
    told = f'<p class="finding">{escaped(sentence_of(found, names))}</p>'
    if counts is not None:
        words = dict(zip(CELLS, ("both", f"only {names[0]}", f"only {names[1]}", "neither"), strict=True))
        cells = "".join(
            f"<div><dt>{escaped(words[cell])}</dt>"
            f"<dd>{_cell_link(run, f'{getattr(counts, cell):,}', wanted, cell)}</dd></div>"
            for cell in CELLS
        )
        told += f'<dl class="facts">{cells}</dl>'
    else:
        told += f"<p>{_cell_link(run, 'the items on which they differ most', wanted, 'apart')}</p>"
    if paired.n_missing:
        text = f"{number_of(paired.n_missing, 'item')} left out, because one of the two says nothing of it"
        told += f"<p class=note>{_cell_link(run, text, wanted, 'missing')}</p>"
    return told + _figure_html(found, names)


def _cell_link(run: KnownRun, text: str, wanted: Query, cell: str) -> str:
    return link(text, "run", run.name, "arms", query={**wanted, "cell": cell})


def _figure_html(found: Comparison, names: tuple[str, str]) -> str:
    paired, counts = found.paired, found.counts
    if paired.n < 2:
        return ""
    low = paired.difference_lwr if counts is None else counts.difference_lwr
    high = paired.difference_upr if counts is None else counts.difference_upr
    label = f"{names[0]} less {names[1]}"
    points = found.measure.is_yes_or_no
    value, shown_low, shown_high = (100 * one if points else one for one in (paired.difference, low, high))
    figure = Figure(
        name="difference",
        title="How far are the two apart?",
        caption="The paired difference with its 95% interval; where it reaches nought, no difference can be told.",
        drawing=Intervals(
            rows=[Interval(label, value, shown_low, shown_high)],
            axis=f"{found.measure.words}, in percentage points" if points else found.measure.words,
            reference=0.0,
        ),
        numbers=Table(
            columns={
                "items": [paired.n],
                "left out": [paired.n_missing],
                "mean A": [paired.mean_a],
                "mean B": [paired.mean_b],
                "difference": [paired.difference],
                "low": [low],
                "high": [high],
            },
            forms=dict.fromkeys(("mean A", "mean B", "difference", "low", "high"), 6),
        ),
    )
    return part_html(figure)


def _items_html(run: KnownRun, found: Comparison, cell: str, wanted: Query) -> str:
    if not cell:
        return ""
    if cell not in (*CELLS, "missing", "apart"):
        raise UnknownName(f"cell: {cell!r} is none; there are {', '.join(CELLS)}, missing and apart")
    names = items_in(found, cell)
    values = {row["item_id"]: (row["a"], row["b"]) for row in found.items.iter_rows(named=True)}
    lines = "".join(_item_html(run, name, values[name], wanted) for name in names[:_MOST_ITEMS])
    more = f"<p class=note>The first {_MOST_ITEMS} of {len(names):,}.</p>" if len(names) > _MOST_ITEMS else ""
    return f'<section><h2>{number_of(len(names), "item")}</h2><ol class="items">{lines}</ol>{more}</section>'


def _item_html(run: KnownRun, name: str, said: tuple[float | None, float | None], wanted: Query) -> str:
    query = {"id": name, "against": wanted["a"], "arm": wanted["b"]}
    item = link(cut(name, 120), "run", run.name, "item", query=query, more=' class="row"')
    return f"<li>{item} {chip('A ' + _value(said[0]))} {chip('B ' + _value(said[1]))}</li>"


def _value(value: float | None) -> str:
    return "says nothing" if value is None else f"{value:.6g}"
