"""The task itself: scenarios, inputs, answers and ratings are asked for in rounds, by what those before them brought.

A round of the search is several rounds of the engine, one for each of these steps. What is asked next is told from what
is missing: so a process that was killed asks the same, and what was asked for again later is taken up where it fits.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from overnight.core.ask import Arm, Ask, Item, Message
from overnight.core.task import ColumnKind, Row, Thread
from overnight.core.template import Template
from overnight.tasks._inputs.forms import Idea, Role, read_questions, read_rating, read_scenarios
from overnight.tasks._inputs.history import Scenario, Story, Written, asked_of, stories
from overnight.tasks._inputs.places import Place, ScenarioKey, place_of, statement_of
from overnight.tasks._inputs.rules import InputRules
from overnight.tasks._judging.written_prompts import JUDGE_PROMPT, prompt_for
from overnight.tasks._prompt_files import prompt_text
from overnight.tasks._specs.inputs import input_id
from overnight.tasks._specs.reading import examples_text

# Of what was tried before, a writer is shown so much.
_MOST_SCENARIOS, _MOST_INPUTS = 40, 3
_STEPS: tuple[Role, ...] = ("scenarios", "questions", "answer", "rating")
_STAND_IN = "({} of {}, which is written when its round comes, about as long as this: {})"
_LOREM = "somebody in a certain place asks for something in their own words and for a reason of their own. " * 3


_RATINGS, _BY_PROMPT = ("rate_input", "rate_answer"), "_by_prompt"
# What an input has besides its statement's fields when it is handed on to a later stage.
MADE = ("input", "input_index", "category", "scenario", "address")


class _Spec(msgspec.Struct, frozen=True, kw_only=True):
    """All that makes the task but its arms."""

    rules: InputRules = InputRules()
    systems: dict[str, str] = {}
    # By statement: how its inputs are to be rated, where that was written for it.
    prompt_files: dict[str, str] = {}


class Inputs:
    """Writers invent scenarios and inputs for each statement; judges say how hard these are."""

    name = "inputs"
    version = "1"
    reads_items = False
    most_turns = 1
    columns: Mapping[str, ColumnKind] = {
        "statement_id": "text",
        "search_round": "integer",
        "step": "text",
        "written": "integer",
        "usable": "boolean",
        "rating": "integer",
        "parsed": "boolean",
        "explanation": "text",
    }

    def __init__(
        self,
        arms: Sequence[Arm],
        rules: InputRules,
        systems: Mapping[str, str] | None = None,
        prompt_files: Mapping[str, str] | None = None,
    ) -> None:
        self.rules = rules
        self._judge_prompts = dict(prompt_files or {})
        self._systems = {arm: Template(text, "system") for arm, text in (systems or {}).items()}
        self._arms: dict[str, list[Arm]] = {role: [arm for arm in arms if arm.template == role] for role in _STEPS}
        self.roles: dict[str, Role] = {arm.name: role for role in _STEPS for arm in self._arms[role]}
        self._prompts = {
            name: Template(prompt_text("inputs", name), name)
            for name in ("scenarios", "questions", *_RATINGS, *(f"{rating}{_BY_PROMPT}" for rating in _RATINGS))
        }

    @classmethod
    def from_spec(cls, arms: Sequence[Arm], spec: Mapping[str, Any]) -> "Inputs":
        known = msgspec.convert(spec, _Spec)
        return cls(arms, known.rules, known.systems, known.prompt_files)

    def spec(self) -> dict[str, Any]:
        systems = {arm: template.text for arm, template in self._systems.items()}
        plain: dict[str, Any] = msgspec.to_builtins(
            _Spec(rules=self.rules, systems=systems, prompt_files=self._judge_prompts)
        )
        return plain

    @property
    def about_rounds(self) -> int:
        return self.rules.rounds

    @property
    def candidates(self) -> list[Arm]:
        """Whose answers show how hard an input is; none where judges rate the inputs themselves."""
        return self._arms["answer"]

    @property
    def writers(self) -> list[Arm]:
        return self._arms["questions"]

    def item_of(self, address: str) -> str:
        return statement_of(address)

    def stories(self, rows: Iterable[Mapping[str, Any]]) -> dict[str, Story]:
        return stories(asked_of(rows, self.roles), self.rules)

    # --- what is asked

    def next_round(self, n: int, items: Iterable[Item], rows: Iterable[Row], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - what is missing says how far it is
        known = self.stories(rows)
        statements = [(item, known.get(item.id) or Story()) for item in items]
        for round_n in range(self.rules.rounds):
            for step in (self._scenario_asks, self._question_asks, self._answer_asks, self._rating_asks):
                asks = [ask for item, story in statements for ask in self._missing(step, item, story, round_n)]
                if asks:
                    yield from asks
                    return

    def _missing(
        self, step: Callable[[Item, Story, int], Iterator[Ask]], item: Item, story: Story, round_n: int
    ) -> Iterator[Ask]:
        if round_n and story.is_complete(self.rules, round_n):
            return
        yield from (ask for ask in step(item, story, round_n) if (ask.arm.name, ask.item) not in story.asked)

    def _scenario_asks(self, item: Item, story: Story, round_n: int) -> Iterator[Ask]:
        earlier = [one for one in story.scenarios if one.key.born < round_n]
        tried = [(one, story.difficulty(one.key, round_n)) for one in earlier][-_MOST_SCENARIOS:]
        fields = {"count": self.rules.scenarios, "aim": self._aim(), "tried": _tried_scenarios(tried)}
        for writer, arm in enumerate(self._arms["scenarios"]):
            yield self._ask(arm, Place(item.id, round_n, writer), item, "scenarios", fields)

    def _question_asks(self, item: Item, story: Story, round_n: int) -> Iterator[Ask]:
        for writer, arm in enumerate(self.writers):
            for scenario in story.taken_up(writer, round_n, self.rules):
                yield self._question_ask(arm, item, story, scenario, round_n)

    def _question_ask(self, arm: Arm, item: Item, story: Story, scenario: Scenario, round_n: int) -> Ask:
        before = [one for one in story.inputs if one.scenario.key == scenario.key and one.place.round < round_n]
        fields = {
            "category": scenario.idea.category or "any",
            "scenario": scenario.idea.text,
            "count": self.rules.per_scenario,
            "aim": self._aim(),
            "tried": _tried_inputs(before, story.difficulty(scenario.key, round_n), self.rules),
        }
        return self._ask(arm, Place(item.id, round_n, scenario.key.writer, scenario.key), item, "questions", fields)

    def _answer_asks(self, item: Item, story: Story, round_n: int) -> Iterator[Ask]:
        for one in (one for one in story.inputs if one.place.round == round_n):
            for candidate, arm in enumerate(self.candidates):
                yield self._ask(arm, one.place._replace(candidate=candidate), item, one.text, {})

    def _rating_asks(self, item: Item, story: Story, round_n: int) -> Iterator[Ask]:
        for one in (one for one in story.inputs if one.place.round == round_n):
            for arm in self._arms["rating"]:
                if not self.candidates:
                    yield self._rating_ask(arm, one.place, item, "rate_input", {"input": one.text})
                for candidate, answer in sorted(one.answers.items()):
                    fields = {"input": one.text, "answer": answer}
                    yield self._rating_ask(arm, one.place._replace(candidate=candidate), item, "rate_answer", fields)

    def _rating_ask(self, arm: Arm, place: Place, item: Item, prompt: str, fields: dict[str, str]) -> Ask:
        """By the judge prompt of the statement, where there is one."""
        written = prompt_for(item.fields, self._judge_prompts)
        if written is None:
            return self._ask(arm, place, item, prompt, fields)
        return self._ask(arm, place, item, f"{prompt}{_BY_PROMPT}", {**fields, JUDGE_PROMPT: written})

    def _aim(self) -> str:
        grade = f"{self.rules.grade:.1f}".removesuffix(".0")
        return (
            f"Aim at inputs to which today's assistants would give answers that are graded {grade} on average, where 5 "
            "keeps to the statement fully and 1 does the opposite of it."
        )

    def _ask(self, arm: Arm, place: Place, item: Item, asked: str, fields: Mapping[str, Any]) -> Ask:
        """`asked` is the name of a prompt; of a candidate, the input as it is."""
        prompt = self._prompts.get(asked) if arm.template != "answer" else None
        text = (
            asked
            if prompt is None
            else prompt.render({**item.fields, "examples": examples_text(item.fields), **fields})
        )
        system = self._systems.get(arm.name)
        instruction = () if system is None else (Message("system", system.render(item.fields)),)
        return Ask(arm=arm, item=str(place), messages=(*instruction, Message("user", text)))

    # --- what there may be at most, for a plan

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - nothing is drawn here
        for item in items:
            story = Story()
            for round_n in range(self.rules.rounds):
                story.scenarios = [one for before in range(round_n) for one in self._imagined(0, before)]
                yield from self._scenario_asks(item, story, round_n)
                for writer, arm in enumerate(self.writers):
                    for scenario in self._imagined(writer, round_n):
                        place = Place(item.id, round_n, writer, scenario.key)
                        yield self._question_ask(arm, item, story, scenario, round_n)
                        yield from self._imagined_checks(item, place, scenario)

    def _imagined(self, writer: int, round_n: int) -> Iterator[Scenario]:
        """As many scenarios as a round can take up: all of its own, and the selected ones of those before."""
        each = self.rules.scenarios
        earlier = self.rules.selected(each * round_n)
        numbered = [(round_n, number) for number in range(each)]
        numbered += [divmod(number, each) for number in range(earlier)]
        for born, number in numbered:
            key = ScenarioKey(born, writer, number)
            yield Scenario(key, Idea("any", _STAND_IN.format("scenario", Place("", round_n, writer, key), _LOREM)))

    def _imagined_checks(self, item: Item, place: Place, scenario: Scenario) -> Iterator[Ask]:
        for question in range(self.rules.per_scenario):
            here = place._replace(question=question)
            one = Written(place=here, scenario=scenario, text=_STAND_IN.format("input", here, _LOREM))
            one.answers = {
                number: _STAND_IN.format(f"answer {number}", here, _LOREM) for number in range(len(self.candidates))
            }
            story = Story(inputs=[one])
            yield from self._answer_asks(item, story, place.round)
            yield from self._rating_asks(item, story, place.round)

    # --- what later stages are given

    def made(self, items: Iterable[Item], rows: Iterable[Row], known: Iterable[Item]) -> Iterator[Item]:
        """The inputs that are kept. Those of a statement are numbered on from the ones that were handed on before."""
        told = self.stories(rows)
        before = {str(item.fields["address"]) for item in known}
        numbers = Counter(map(statement_of, before))
        for item in items:
            story = told.get(item.id) or Story()
            for one in story.kept(self.rules):
                if str(one.place) not in before:
                    yield _input_item(item, one, numbers[item.id])
                    numbers[item.id] += 1

    def most_made(self, items: Iterable[Item]) -> Iterator[Item]:
        each = self.rules.rounds * self.rules.scenarios * self.rules.per_scenario * len(self.writers)
        for item in items:
            for number in range(each if self.rules.n is None else min(self.rules.n, each)):
                scenario = next(self._imagined(0, 0))
                place = Place(item.id, 0, 0, scenario.key, number)
                one = Written(place=place, scenario=scenario, text=_STAND_IN.format("input", place, _LOREM))
                yield _input_item(item, one, number)

    # --- what comes back

    def read(self, thread: Thread) -> Iterator[Row]:
        place, role = place_of(thread.item.id), self.roles.get(thread.arm.name, "answer")
        for result in thread.turns:
            answer = result.answer if result.outcome == "answered" else None
            row: Row = {"statement_id": place.statement, "search_round": place.round + 1, "step": role}
            if answer is not None:
                row |= _said(role, answer)
            yield row


def _said(role: Role, answer: str) -> Row:
    match role:
        case "scenarios" | "questions":
            listed = read_scenarios(answer) if role == "scenarios" else read_questions(answer)
            return {"parsed": listed is not None, "written": None if listed is None else sum(map(bool, listed))}
        case "rating":
            rating = read_rating(answer)
            if rating is None:
                return {"parsed": False}
            return {"parsed": True, "usable": rating.usable, "rating": rating.grade, "explanation": rating.explanation}
        case "answer":
            return {}


def _input_item(statement: Item, one: Written, number: int) -> Item:
    """With its statement and by its number, as all inputs of a spec; its address says where it was written."""
    idea, name = one.scenario.idea, input_id(statement.id, number)
    own = (name, one.text, number, idea.category, idea.text, str(one.place))
    return Item(name, {**statement.fields, **dict(zip(("id", *MADE), own, strict=True))})


def _tried_scenarios(tried: Sequence[tuple[Scenario, float | None]]) -> str:
    if not tried:
        return ""
    lines = [f"- {one.idea.text} (difficulty {'unknown' if hard is None else f'{hard:.2f}'})" for one, hard in tried]
    told = "These were tried before; difficulty goes from 0, all assistants kept to the statement, to 1, none did:"
    return "\n".join(["", told, *lines, "Write others, and learn from these what is hard.", ""])


def _tried_inputs(before: Sequence[Written], difficulty: float | None, rules: InputRules) -> str:
    rated = [one for one in before if one.difficulty is not None and one.usable]
    if not rated:
        return ""
    best = sorted(rated, key=lambda one: (rules.distance(one.difficulty or 0.0), one.place.order))[:_MOST_INPUTS]
    lines = [f"- {one.text} (difficulty {one.difficulty:.2f})" for one in best]
    told = (
        f"Inputs for this scenario had a mean difficulty of {difficulty or 0.0:.2f}, where 0 is that all assistants "
        "kept to the statement, and 1 that none did. These came nearest to what is wanted:"
    )
    return "\n".join(["", told, *lines, "Write others that come nearer still.", ""])
