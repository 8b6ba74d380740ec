"""The task `compare`: judges compare samples in pairs, and the samples are ranked.

Here is what a study says of it: the trait, the pairs and their orders, and the form of the verdict.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

import msgspec

from overnight.core.errors import StudyError
from overnight.core.stage import Stage
from overnight.core.template import Template, columns_text, nearest_column
from overnight.study.arms import Branch, build_arms
from overnight.study.buckets import StudyBuckets
from overnight.study.files import Row, Rows
from overnight.study.identity import changed
from overnight.study.items import ItemSource, open_rows
from overnight.study.models import entries, resolve_models
from overnight.study.origin import Origin, Route
from overnight.study.prompts import TemplateEntry, check_templates, read_systems, read_templates
from overnight.study.stage import WrittenStage
from overnight.study.task_kind import Command, Draft, Made, TaskKind
from overnight.tasks._judge_prompts import with_schema
from overnight.tasks._pairs.answer_form import TAGS, AnswerForm
from overnight.tasks._pairs.pairing import Listed, Listing, Order, PairPlan, Select, pair_count
from overnight.tasks._pairs.questions import PLACES, SAMPLES, Compare, kind_of
from overnight.tasks._pairs.settings import PairsEntry, TraitEntry, check_pairs, check_trait
from overnight.tasks._pairs.stopping import until_text
from overnight.tasks._pairs.tables import (
    PAIR_TABLES,
    ROUND_TABLES,
    make_pair_tables,
    missing_pair_table,
    pair_summary,
)
from overnight.tasks._pairs.traits import Trait, known_trait
from overnight.tasks._prompt_files import prompt_names, prompt_text
from overnight.terminal.parameters import Parameter

if TYPE_CHECKING:
    from overnight.reporting import Section, Source

PAIR_COLUMNS = ("ID1", "ID2")
# From here on the number of pairs is worth a word before they are paid for.
MANY_PAIRS = 10_000
# A fit after each round, before the next is chosen, takes its time.
MOST_STOPPED = 3_000

_TEXT = "text"
# Fields of `pairs` that may only grow: a larger draw holds the smaller one.
_GROWING = ("n", "reverse")


class CompareStage(WrittenStage, frozen=True, kw_only=True):
    """What a stage of this task has besides the common keys."""

    templates: list[str | TemplateEntry] | None = None
    text: str | None = None
    trait: str | TraitEntry | None = None
    pairs: PairsEntry | None = None
    ties: bool = False
    explanation: bool = False
    confidence: bool = False
    tags: list[str] | None = None


class Comparison(NamedTuple):
    """The same, read."""

    trait: Trait
    pairs: PairPlan
    form: AnswerForm

    @property
    def directions(self) -> tuple[Literal["forward", "reverse"], ...]:
        return ("forward", "reverse") if self.pairs.reverse > 0 else ("forward",)


def _shipped_templates() -> dict[str, str]:
    return {name: prompt_text("compare", name) for name in prompt_names("compare")}


def check(stage: CompareStage, origin: Origin) -> None:
    """Everything that can be known without opening a file."""
    if stage.of is not None:
        raise origin.error(("of",), "compare takes samples from `items`, not the rows of another stage")
    for index, entry in enumerate(entries(stage.models)):
        if entry.json_schema is not None:
            raise origin.error(("models", index, "json_schema"), "compare has a form of its own for its answers")
    check_templates(stage.templates, origin)
    check_trait(stage.trait, origin)
    if stage.text is not None and not stage.text:
        raise origin.error(("text",), "wanted the name of a column")
    if stage.tags is not None and (len(stage.tags) != 2 or not all(tag.strip() for tag in stage.tags)):
        raise origin.error(("tags",), f"wanted two texts, such as {TAGS[0]} and {TAGS[1]}")
    if stage.pairs is not None:
        check_pairs(stage.pairs, origin)


def _read(stage: CompareStage) -> Comparison:
    trait = stage.trait or "overall_quality"
    written = stage.pairs or PairsEntry()
    # A list has an order that somebody chose; pairs that are made here have none but that of the items.
    order = written.order or ("random" if written.list is None else "given")
    return Comparison(
        known_trait(trait) if isinstance(trait, str) else Trait(trait.name, trait.description),
        PairPlan(
            select=cast(Select, written.select or "all"),
            n=written.n,
            share=written.share,
            order=cast(Order, order),
            reverse=written.reverse,
            seed=stage.seed if written.seed is None else written.seed,
            rounds=PairPlan().rounds if written.rounds is None else written.rounds,
            until=written.until,
        ),
        AnswerForm(
            ties=stage.ties,
            explanation=stage.explanation,
            confidence=stage.confidence,
            tags=cast(tuple[str, str], tuple(stage.tags or TAGS)),
        ),
    )


def _check_places(templates: Mapping[Route, Template], origin: Origin) -> None:
    """A template shows both samples, and asks for nothing that a pair does not have."""
    for route, template in templates.items():
        for name in template.names:
            if name not in PLACES:
                known = f"{nearest_column(name, PLACES)} (there are: {', '.join(PLACES)})"
                raise origin.error(route, f"template '{template.name}' asks for {{{name}}}, which no pair has{known}")
    for route, template in templates.items():
        missing = [name for name in SAMPLES if name not in template.names]
        if missing and template.name != "system":
            raise origin.error(route, f"template '{template.name}' does not show {{{missing[0]}}}")


def _with_answer_forms(
    branches: Iterable[Branch], templates: Mapping[str, Template], form: AnswerForm
) -> Iterator[Branch]:
    """Arms whose provider holds answers to a schema get one, unless their template asks for tags itself."""
    for branch in branches:
        if form.is_in(templates[branch.arm.template].text):
            yield branch
        else:
            yield from with_schema([branch], form.schema())


def _text_column(source: ItemSource, written: str | None, origin: Origin) -> str:
    """The column of the samples' texts: the one named, `text`, or the only one beside the id."""
    columns = source.columns if source.columns is not None else tuple(next(source.read()).fields)
    others = [column for column in columns if column != source.id_column]
    name = written or (others[0] if len(others) == 1 else _TEXT)
    if name not in columns:
        known = f"{columns_text(columns)}{nearest_column(name, columns)}"
        raise origin.error(("text",), f"{source.name} has no column '{name}'; {known}; name it with `text`")
    return name


def _open_listing(pairs: PairsEntry | None, origin: Origin) -> Listing | None:
    """The listed pairs, read again at every call; None where all pairs are candidates."""
    if pairs is None or pairs.list is None:
        return None
    rows = open_rows(pairs.list, origin, ("pairs", "list"))
    for column in PAIR_COLUMNS:
        if rows.columns is not None and column not in rows.columns:
            near = nearest_column(column, rows.columns)
            raise origin.error(
                ("pairs", "list"), f"{rows.name} has no column '{column}'; {columns_text(rows.columns)}{near}"
            )
    return lambda: _listed(rows)


def _listed(rows: Rows) -> Iterator[Listed]:
    for number, row in rows:
        place = rows.place(number)
        yield Listed(place, *(_sample_id(row, column, place) for column in PAIR_COLUMNS))


def _sample_id(row: Row, column: str, place: str) -> str:
    value = row.get(column)
    if value is None or not str(value).strip():
        raise StudyError(f"{place}: column '{column}' names no sample")
    return str(value)


def _notes_on(comparison: Comparison, source: ItemSource, listing: Listing | None) -> Iterator[str]:
    """What the user should know before paying."""
    if comparison.pairs.reverse == 0 and listing is None:
        yield "each pair is asked in one order only; `pairs: {reverse: 1.0}` asks both, and shows if the place decides"
    if comparison.pairs.select == "adaptive":
        rounds = comparison.pairs.rounds
        yield f"pairs are chosen in about {rounds} rounds; each waits for all verdicts on those before it"
        if comparison.pairs.until is not None:
            yield f"rounds end before that when {until_text(comparison.pairs.until)}; counted is the most there can be"
    if listing is None and comparison.pairs.select == "all":
        samples = sum(1 for _ in source.read())
        if pair_count(samples) >= MANY_PAIRS:
            fewer = "`pairs: {select: sample, n: 2000}` asks fewer"
            yield f"all pairs of {samples:,} samples are {pair_count(samples):,}; {fewer}"


def draft(stage: CompareStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    comparison = _read(stage)
    asked = read_templates(stage.templates or ("default",), origin, _shipped_templates())
    candidates, notes = resolve_models(stage.models, origin, buckets)
    arms = build_arms(stage.name, tuple(asked.texts), candidates, stage.grid, origin, comparison.directions)
    branches = tuple(_with_answer_forms(arms, asked.texts, comparison.form))
    systems = read_systems(branches, stage.system)
    _check_places(asked.by_place | systems.by_place, origin)

    def make(source: ItemSource) -> Made:
        listing = _open_listing(stage.pairs, origin)
        text = _text_column(source, stage.text, origin)
        source.ask_for(text)
        if comparison.pairs.until is not None and sum(1 for _ in source.read()) > MOST_STOPPED:
            raise origin.error(
                ("pairs", "until"), f"the order is followed up to {MOST_STOPPED:,} samples; leave it out"
            )
        task = kind_of(comparison.pairs)(
            [branch.arm for branch in branches],
            templates=asked.texts,
            systems=systems.by_arm,
            trait=comparison.trait,
            pairs=comparison.pairs,
            listing=listing,
            form=comparison.form,
            text=text,
            replicates=stage.replicates,
        )
        return Made(task, tuple(_notes_on(comparison, source, listing)))

    return Draft(
        stage=stage,
        origin=origin,
        branches=branches,
        make=make,
        definition={"templates": asked.definition, "text": stage.text, **_definition(comparison)},
        notes=tuple(notes),
    )


def _definition(comparison: Comparison) -> dict[str, Any]:
    trait, pairs, form = (msgspec.json.decode(msgspec.json.encode(part)) for part in comparison)
    return {"trait": trait, "pairs": pairs, **form}


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Of `pairs`, only what a larger draw holds as well may grow."""
    before, now = old.get("pairs") or {}, new.get("pairs") or {}
    for field, was in before.items():
        here = now.get(field)
        if field == "until":
            continue  # when to stop asking changes no question
        if field in _GROWING and was is not None and here is not None:
            if here < was:
                yield f"pairs.{field}: was {was}, is now {here}; there may only be more"
        elif here != was:
            yield changed(f"pairs.{field}", was, here)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Flags:
    """Compare samples in pairs, and rank them.

    Judges see two samples at a time and say which is better on a trait. The same command again goes on where the
    last one ended; more --pairs add to those on record.

    Examples:
      overnight compare essays.csv --model openai/gpt-4.1 --both-orders
      overnight compare essays/ --trait organization --pairs 2000 \\
        --model openai/gpt-4.1 openai/gpt-4.1-mini
      overnight compare essays.csv --pairs 2000 --adaptive --model openai/gpt-4.1
      overnight compare essays.csv --trait Warmth --description "How much the writer cares." \\
        --model openai/gpt-4.1 --template default short
    """

    trait: Annotated[
        str, Parameter(help="overall_quality, organization, or a name of your own; default: overall_quality.")
    ] = "overall_quality"
    description: Annotated[
        str | None, Parameter(help="What a trait of your own means, in a sentence or two.", metavar="TEXT")
    ] = None
    template: Annotated[
        list[str] | None,
        Parameter(
            help="Templates: files, or default, examiner, gaps, impartial, short, steps; default: default.",
            metavar="NAME|FILE...",
            consume_multiple=True,
        ),
    ] = None
    pairs: Annotated[int | None, Parameter(help="Ask only so many pairs; default: all.", metavar="N")] = None
    adaptive: Annotated[bool, Parameter(help="Choose the --pairs in rounds, by the verdicts on those before them.")] = (
        False
    )
    both_orders: Annotated[bool, Parameter(help="Ask every pair in both orders.")] = False
    ties: Annotated[bool, Parameter(help="Let judges call two samples equal.")] = False
    explanation: Annotated[bool, Parameter(help="Ask for a reason.")] = False
    confidence: Annotated[bool, Parameter(help="Ask how sure the judge is.")] = False
    text: Annotated[
        str | None, Parameter(help="The column of the texts; default: text, or the only other one.", metavar="COLUMN")
    ] = None
    seed: Annotated[int, Parameter(help="Where chance comes in, it begins here; default: 0.", metavar="N")] = 0

    def keys(self) -> dict[str, Any]:
        """As a study writes them."""
        if self.adaptive and self.pairs is None:
            message = "--adaptive: say how many pairs there may be, for instance --pairs 2000"
            raise StudyError(message)
        how = "adaptive" if self.adaptive else "sample"
        chosen = {} if self.pairs is None else {"select": how, "n": self.pairs}
        trait = self.trait if self.description is None else {"name": self.trait, "description": self.description}
        return {
            "text": self.text,
            "trait": trait,
            "templates": self.template,
            "pairs": chosen | ({"reverse": 1.0} if self.both_orders else {}),
            "ties": self.ties,
            "explanation": self.explanation,
            "confidence": self.confidence,
            "seed": self.seed,
        }


def report(source: "Source") -> Iterator["Section"]:
    """What the judges come to, and the pairs that they are divided on with both texts."""
    # Polars takes a third of a second, which a study that is only read need not wait.
    from overnight.tasks._pairs.report import pair_report  # noqa: PLC0415

    def texts_of(stage: Stage, subject: str | None, names: Sequence[str]) -> list[tuple[str, str]]:  # noqa: ARG001 - see the type
        column = stage.task.spec()["text"]
        return [(name, str(source.item(stage.name, name).get(column, ""))) for name in names]

    return pair_report(source, texts_of)


kind = TaskKind(
    name=Compare.name,
    settings=CompareStage,
    check=check,
    draft=draft,
    open=Compare.from_spec,
    fixed=("trait", "text", "ties", "explanation", "confidence", "tags"),
    differences=differences,
    holds_tables=(("pairs", "list"),),
    in_rounds="adaptive pairs are chosen by the verdicts on others; use `select: sample` for this",
    tables=(*PAIR_TABLES, *ROUND_TABLES),
    make_tables=make_pair_tables,
    missing_table=missing_pair_table,
    summary=pair_summary,
    report=report,
    command=Command(
        flags=Flags,
        items_help="A csv, tsv, xlsx, jsonl or parquet file of samples, or a folder of .txt files.",
        items_name="samples",
        positional=True,
        named="compare- and the file's name",
    ),
)
