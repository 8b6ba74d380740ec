"""What has been written so far, from the rows on record: scenarios, inputs, their ratings, and which of them are kept.

A pure function of the rows. The next round and the tables are both made from it, so that they cannot disagree.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from overnight.tasks._inputs.forms import Idea, Rating, Role, read_questions, read_rating, read_scenarios
from overnight.tasks._inputs.places import Place, ScenarioKey, place_of
from overnight.tasks._inputs.rules import InputRules, difficulty_of
from overnight.tasks._inputs.similarity import Nearest, Texts

# Why an input, a scenario or a whole list is not used.
UNREADABLE, EMPTY, BEYOND = "unreadable", "empty", "more than asked"
REPEATED, NEAR = "repeated", "near-duplicate"
UNRATED, UNUSABLE, EASY, NOT_NEEDED = "unrated", "not usable", "too easy", "not needed"
NOT_WRITTEN = "not written"
REASONS = (NOT_WRITTEN, UNREADABLE, EMPTY, BEYOND, REPEATED, NEAR, UNRATED, UNUSABLE, EASY, NOT_NEEDED)


class Asked(NamedTuple):
    """One settled question: who was asked what, and what came."""

    arm: str
    role: Role
    place: Place
    status: str
    answer: str | None


class Scenario(NamedTuple):
    key: ScenarioKey
    idea: Idea


class Lost(NamedTuple):
    """A list or an entry of one that came to nothing. `what` is `scenarios`, `scenario`, `inputs` or `input`."""

    place: Place
    what: str
    why: str
    text: str | None = None
    near: Nearest | None = None


class Written(msgspec.Struct, kw_only=True):
    """One input that was written, and is neither empty nor said before."""

    place: Place
    scenario: Scenario
    text: str
    ratings: list[Rating] = []
    # Judges' answers that could not be read, or did not come.
    unread: int = 0
    # Candidates' answers, by the candidate's number.
    answers: dict[int, str] = {}

    @property
    def grade(self) -> float | None:
        return sum(one.grade for one in self.ratings) / len(self.ratings) if self.ratings else None

    @property
    def difficulty(self) -> float | None:
        return None if self.grade is None else difficulty_of(self.grade)

    @property
    def usable(self) -> bool:
        """More judges than not say so."""
        return 2 * sum(one.usable for one in self.ratings) > len(self.ratings)

    def why_not(self, rules: InputRules) -> str | None:
        if self.grade is None:
            return UNRATED
        if not self.usable:
            return UNUSABLE
        return EASY if self.grade > rules.rating_threshold else None


class Story(msgspec.Struct, kw_only=True):
    """All that was written for one statement."""

    scenarios: list[Scenario] = []
    inputs: list[Written] = []
    lost: list[Lost] = []
    asked: set[tuple[str, str]] = set()

    def kept(self, rules: InputRules, before: int | None = None) -> list[Written]:
        """The inputs that are chosen of those of rounds `before` this one, or of all; in the order of writing."""
        fit = [
            one for one in self.inputs if (before is None or one.place.round < before) and one.why_not(rules) is None
        ]
        if rules.n is None:
            return fit
        chosen = _evenly(fit, rules.n) if rules.uniform else sorted(fit, key=lambda one: _worth(one, rules))[: rules.n]
        return sorted(chosen, key=lambda one: one.place.order)

    def is_complete(self, rules: InputRules, before: int) -> bool:
        """Whether the rounds before this one have written what is wanted: then no more is asked."""
        if rules.n is None or rules.uniform:
            return False
        near = [one for one in self.kept(rules, before) if rules.is_near(one.difficulty or 0.0)]
        return len(near) >= rules.n

    def difficulty(self, key: ScenarioKey, before: int | None = None) -> float | None:
        """The mean of a scenario's inputs that can be used; None where none was rated."""
        found = [
            one.difficulty
            for one in self.inputs
            if one.scenario.key == key and one.usable and (before is None or one.place.round < before)
        ]
        known = [one for one in found if one is not None]
        return sum(known) / len(known) if known else None

    def taken_up(self, writer: int, round_n: int, rules: InputRules) -> Iterator[Scenario]:
        """What the writer is asked for inputs to in a round: its new scenarios, and the best of its earlier ones."""
        own = [one for one in self.scenarios if one.key.writer == writer]
        yield from (one for one in own if one.key.born == round_n)
        earlier = [one for one in own if one.key.born < round_n]
        measured = [(one, self.difficulty(one.key, round_n)) for one in earlier]
        known = [(rules.distance(hard), one.key, one) for one, hard in measured if hard is not None]
        yield from (one for _, _, one in sorted(known)[: rules.selected(len(earlier))])


def _worth(one: Written, rules: InputRules) -> tuple[float, tuple[int, ...]]:
    return rules.distance(one.difficulty or 0.0), one.place.order


def _evenly(fit: Sequence[Written], n: int) -> list[Written]:
    """One of each grade in turn, the hardest grade first."""
    by_grade: dict[int, list[Written]] = defaultdict(list)
    for one in fit:
        by_grade[round(one.grade or 0.0)].append(one)
    in_turn = [(turn, grade, one) for grade in by_grade for turn, one in enumerate(by_grade[grade])]
    return [one for _, _, one in sorted(in_turn, key=lambda row: row[:2])[:n]]


def asked_of(rows: Iterable[Mapping[str, Any]], roles: Mapping[str, Role]) -> Iterator[Asked]:
    """Settled rows of the stage, from the engine or from results.parquet. `roles` go by arm."""
    for row in rows:
        if row["status"] != "pending":
            yield Asked(row["arm"], roles[row["arm"]], place_of(row["item_id"]), row["status"], row["answer"])


def stories(asked: Iterable[Asked], rules: InputRules) -> dict[str, Story]:
    """By statement. The order of the rows does not matter."""
    parts: dict[str, dict[Role, list[Asked]]] = defaultdict(lambda: defaultdict(list))
    for one in asked:
        parts[one.place.statement][one.role].append(one)
    return {statement: _story(of, rules) for statement, of in sorted(parts.items())}


def _story(parts: Mapping[Role, Sequence[Asked]], rules: InputRules) -> Story:
    story = Story(asked={(one.arm, str(one.place)) for of in parts.values() for one in of})
    _add_scenarios(story, parts.get("scenarios", ()), rules)
    _add_inputs(story, parts.get("questions", ()), rules)
    by_name = {one.place._replace(candidate=None): one for one in story.inputs}
    for answered in parts.get("answer", ()):
        found = by_name.get(answered.place._replace(candidate=None))
        if found is not None and answered.status == "answered" and (answered.answer or "").strip():
            found.answers[answered.place.candidate or 0] = answered.answer or ""
    for rated in sorted(parts.get("rating", ()), key=lambda one: (str(one.place), one.arm)):
        found = by_name.get(rated.place._replace(candidate=None))
        if found is None:
            continue
        rating = read_rating(rated.answer) if rated.status == "answered" and rated.answer else None
        if rating is None:
            found.unread += 1
        else:
            found.ratings.append(rating)
    return story


def _add_scenarios(story: Story, lists: Iterable[Asked], rules: InputRules) -> None:
    texts = Texts(rules.likeness)
    for one in sorted(lists, key=lambda asked: (asked.place.round, asked.place.writer)):
        listed = read_scenarios(one.answer) if one.status == "answered" and one.answer else None
        if listed is None:
            story.lost.append(Lost(one.place, "scenarios", _no_list(one)))
            continue
        for number, idea in enumerate(listed):
            key = ScenarioKey(one.place.round, one.place.writer, number)
            place = one.place._replace(scenario=key)
            problem, near = _problem(number, rules.scenarios, None if idea is None else idea.text, str(place), texts)
            if problem is None and idea is not None:
                story.scenarios.append(Scenario(key, idea))
            else:
                story.lost.append(Lost(place, "scenario", problem or EMPTY, idea and idea.text, near))


def _add_inputs(story: Story, lists: Iterable[Asked], rules: InputRules) -> None:
    texts = Texts(rules.likeness)
    scenarios = {one.key: one for one in story.scenarios}
    for one in sorted(lists, key=lambda asked: asked.place.order):
        scenario = None if one.place.scenario is None else scenarios.get(one.place.scenario)
        listed = read_questions(one.answer) if one.status == "answered" and one.answer else None
        if listed is None or scenario is None:
            story.lost.append(Lost(one.place, "inputs", _no_list(one)))
            continue
        for number, text in enumerate(listed):
            place = one.place._replace(question=number)
            problem, near = _problem(number, rules.per_scenario, text, str(place), texts)
            if problem is None and text is not None:
                story.inputs.append(Written(place=place, scenario=scenario, text=text))
            else:
                story.lost.append(Lost(place, "input", problem or EMPTY, text, near))


def _problem(number: int, wanted: int, text: str | None, name: str, texts: Texts) -> tuple[str | None, Nearest | None]:
    if text is None:
        return EMPTY, None
    if number >= wanted:
        return BEYOND, None
    near = texts.keep(name, text)
    if near is None:
        return None, None
    return (REPEATED if near.likeness == 1 else NEAR), near


def _no_list(one: Asked) -> str:
    return UNREADABLE if one.status == "answered" else NOT_WRITTEN
