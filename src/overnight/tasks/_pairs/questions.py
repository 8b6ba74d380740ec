"""Questions about pairs: judges see two samples at a time and say which is better on a trait.

The items are the samples; what is asked about are pairs of them. An arm of the direction `reverse` sees its pairs the
other way round. What a sample's text contains is never looked at: it goes into the prompt as it is, once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from overnight.core.ask import Arm, Ask, Item, thinking_text
from overnight.core.errors import RowDamaged, StudyError
from overnight.core.task import ColumnKind, Row, Thread
from overnight.core.template import Template, columns_text, nearest_column, text_of
from overnight.core.wording import number_of
from overnight.study.size import refuse_too_many
from overnight.tasks._judge_prompts import JudgePrompts, KeptPrompts, is_structured
from overnight.tasks._pairs.adapting import Places, Tally, next_pairs
from overnight.tasks._pairs.answer_form import AnswerForm, Reading
from overnight.tasks._pairs.pairing import Listing, Pair, PairPlan, pair_id, pair_of, planned_pairs, shown_pair
from overnight.tasks._pairs.stopping import Until, why_enough
from overnight.tasks._pairs.traits import Trait, known_trait

# What a template may name; the samples it must.
SAMPLES = ("SAMPLE_1", "SAMPLE_2")
PLACES = ("TRAIT_NAME", "TRAIT_DESCRIPTION", *SAMPLES)
# Further votes on a pair begin here: replicates and templates that are added later never meet them.
_VOTES_ON_A_PAIR = 10**12


class _Spec(KeptPrompts, frozen=True, kw_only=True):
    """All that makes the task but its arms and a list of pairs."""

    trait: Trait | None = None
    pairs: PairPlan = PairPlan()
    form: AnswerForm = AnswerForm()
    text: str = "text"


class Compare:
    """Templates are filled with the trait and two samples, and end in the form of the answer."""

    name = "compare"
    version = "1"
    reads_items = False
    most_turns = 1
    columns: Mapping[str, ColumnKind] = {
        "template": "text",
        "thinking": "text",
        "parsed": "boolean",
        "first_id": "text",
        "second_id": "text",
        "direction": "text",
        "verdict": "text",
        "winner_id": "text",
        "confidence": "number",
        "explanation": "text",
    }

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        templates: Mapping[str, Template] | None = None,
        systems: Mapping[str, Template] | None = None,
        trait: Trait | None = None,
        pairs: PairPlan = PairPlan(),  # noqa: B008 - frozen
        listing: Listing | None = None,
        form: AnswerForm = AnswerForm(),  # noqa: B008 - frozen
        text: str = "text",
        replicates: int = 1,
    ) -> None:
        """`templates` go by template name, `systems` by arm name; `listing` gives pairs instead of all there are."""
        self._prompts = JudgePrompts(arms, form, templates, systems, replicates)
        self._trait = trait or known_trait("overall_quality")
        self._pairs = pairs
        self._listing = listing
        self._form = form
        self._text = text

    @property
    def plan(self) -> PairPlan:
        """How its pairs are chosen."""
        return self._pairs

    @classmethod
    def from_spec(cls, arms: Sequence[Arm], spec: Mapping[str, Any]) -> "Compare":
        known = msgspec.convert(spec, _Spec)
        return kind_of(known.pairs)(
            arms, trait=known.trait, pairs=known.pairs, form=known.form, text=known.text, **known.arguments()
        )

    def spec(self) -> dict[str, Any]:
        return _Spec.of(self._prompts, trait=self._trait, pairs=self._pairs, form=self._form, text=self._text).plain()

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - the pairs have a seed of theirs
        texts = {item.id: self._text_of(item) for item in items}
        for pair in planned_pairs(list(texts), self._pairs, self._listing, self._refuse_too_many):
            yield from self._asks(pair, texts)

    def _refuse_too_many(self, pairs: int) -> None:
        arms, replicates = self._prompts.arms, self._prompts.replicates
        forward = sum(arm.direction != "reverse" for arm in arms)
        asked = pairs * forward + int(pairs * self._pairs.reverse) * (len(arms) - forward)
        made_of = (number_of(pairs, "pair"), number_of(len(arms), "arm"), number_of(replicates, "replicate"))
        refuse_too_many(asked * replicates, " x ".join(made_of))

    def _asks(self, pair: Pair, texts: Mapping[str, str]) -> Iterator[Ask]:
        samples = (texts[pair.first], texts[pair.second])

        def fields(turned: bool) -> dict[str, str]:
            shown = samples[::-1] if turned else samples
            return dict(zip(PLACES, (self._trait.name, self._trait.description, *shown), strict=True))

        votes_from = (pair.occurrence - 1) * _VOTES_ON_A_PAIR
        return self._prompts.asks(pair_id(pair), fields, one_order=not pair.both_orders, votes_from=votes_from)

    def _text_of(self, item: Item) -> str:
        if self._text not in item.fields:
            columns = item.fields.keys()
            known = f"{columns_text(columns)}{nearest_column(self._text, columns)}"
            raise StudyError(f"sample '{item.id}' has no column '{self._text}' with its text; {known}")
        text = text_of(item.fields[self._text])
        if not text.strip():
            raise StudyError(f"sample '{item.id}': its text, column '{self._text}', is empty")
        return text

    def follow_up(self, thread: Thread) -> Sequence[Ask]:  # noqa: ARG002 - a verdict is the last word
        return ()

    def read(self, thread: Thread) -> Iterator[Row]:
        arm, pair = thread.arm, pair_of(thread.item.id)
        first, second = (pair.second, pair.first) if arm.direction == "reverse" else (pair.first, pair.second)
        for result in thread.turns:
            reading = Reading("none")
            if result.outcome == "answered" and result.answer is not None:
                reading = self._form.read(result.answer, structured=is_structured(arm))
            yield {
                "template": arm.template,
                "thinking": thinking_text(arm.model.options.thinking),
                "parsed": None if reading.verdict == "none" else reading.verdict != "unparsed",
                "first_id": first,
                "second_id": second,
                "direction": arm.direction,
                "verdict": reading.verdict,
                "winner_id": {"first": first, "second": second}.get(reading.verdict),
                "confidence": reading.confidence,
                "explanation": reading.explanation,
            }


class CompareInRounds(Compare):
    """Pairs are chosen by the verdicts on those before them: `start` only tells how much there will be to ask."""

    @property
    def about_rounds(self) -> int:
        return self._pairs.rounds

    def next_round(self, n: int, items: Iterable[Item], rows: Iterable[Row], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - the verdicts say how far it is
        texts = {item.id: self._text_of(item) for item in items}
        ids = list(texts)
        known = list(rows)
        if known and self._pairs.until is not None and self._is_enough(known, self._pairs.until):
            return
        tallies = _tallies(ids, known)
        for one, other in next_pairs(len(ids), tallies, self._pairs, seed ^ self._pairs.seed):
            pair = shown_pair(Pair(ids[one], ids[other]), (one + other + 1) % 2, self._pairs)
            yield from self._asks(pair, texts)

    def _is_enough(self, rows: Sequence[Row], until: Until) -> bool:
        # numpy and scipy take half a second, which a run without such a rule need not wait.
        from overnight.tasks._pairs.certainty import known_by, readable, split_half  # noqa: PLC0415

        read = readable(rows)
        known = known_by(read, until, halves=False)
        # The halves are only looked at when all else is as wanted.
        if why_enough(known, msgspec.structs.replace(until, split_half=0.0)) is None:
            return False
        return why_enough(known._replace(split_half=split_half(read)), until) is not None


def _tallies(ids: Sequence[str], rows: Iterable[Row]) -> dict[Places, Tally]:
    """All judges' verdicts on each pair that was asked; those that gave none count for nothing."""
    places = {name: place for place, name in enumerate(ids)}
    tallies: dict[Places, Tally] = {}
    for row in rows:
        for name in (row["first_id"], row["second_id"]):
            if name not in places:
                raise RowDamaged(name, "is a sample that the run does not have")
        first, second = places[row["first_id"]], places[row["second_id"]]
        pair = (min(first, second), max(first, second))
        wins, verdicts = tallies.get(pair, Tally(0.0, 0))
        share = {"first": 1.0, "second": 0.0, "tie": 0.5}.get(row["verdict"])
        if share is not None:
            wins, verdicts = wins + (share if first < second else 1 - share), verdicts + 1
        tallies[pair] = Tally(wins, verdicts)
    return tallies


def kind_of(pairs: PairPlan) -> type[Compare]:
    """Pairs that are all known at once, or chosen in rounds."""
    return CompareInRounds if pairs.select == "adaptive" else Compare
