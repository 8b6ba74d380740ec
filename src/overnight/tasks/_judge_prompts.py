"""What judges are asked, in every task that has judges: a template for each arm, ended in the form of the verdict.

Arms that are asked the same share one prompt: it is written once for each thing that is judged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, Self

import msgspec

from overnight.core.ask import Arm, Ask, Message
from overnight.core.template import Template
from overnight.study.arms import Branch
from overnight.study.models import takes
from overnight.study.prompts import vote_starts


class NamedText(msgspec.Struct, frozen=True):
    """A template as a run keeps it."""

    name: str
    text: str


class KeptPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """What a run keeps of them; a task adds what is its own.

    Templates are a list: their order says whose votes are whose.
    """

    templates: list[NamedText] = []
    systems: dict[str, str] = {}
    replicates: int = 1

    @classmethod
    def of(cls, prompts: "JudgePrompts", **own: Any) -> Self:
        return cls(
            templates=[NamedText(name, template.text) for name, template in prompts.templates.items()],
            systems={arm: template.text for arm, template in prompts.systems.items()},
            replicates=prompts.replicates,
            **own,
        )

    def arguments(self) -> dict[str, Any]:
        """As a task is made of them."""
        return {
            "templates": {entry.name: Template(entry.text, entry.name) for entry in self.templates},
            "systems": {arm: Template(text, "system") for arm, text in self.systems.items()},
            "replicates": self.replicates,
        }

    def plain(self) -> dict[str, Any]:
        values: dict[str, Any] = msgspec.to_builtins(self)
        return values


class VerdictForm(Protocol):
    """How a verdict is asked for."""

    def asked_in(self, text: str, *, structured: bool) -> str:
        """The template with the form at its end."""
        ...


class Prompt(NamedTuple):
    """What differs between the prompts about one thing. `turned`: two answers stand the other way round."""

    template: Template
    system: Template | None
    turned: bool

    def messages(self, fields: Mapping[str, Any]) -> tuple[Message, ...]:
        asked = Message("user", self.template.render(fields))
        instruction = self.system.render(fields) if self.system else ""
        return (Message("system", instruction), asked) if instruction else (asked,)


class _AskedArm(NamedTuple):
    arm: Arm
    prompt: int
    first_vote: int


class JudgePrompts:
    """`templates` go by template name, `systems` by arm name."""

    def __init__(
        self,
        arms: Sequence[Arm],
        form: VerdictForm,
        templates: Mapping[str, Template] | None,
        systems: Mapping[str, Template] | None,
        replicates: int,
    ) -> None:
        self.templates = dict(templates or {})
        self.systems = dict(systems or {})
        self.replicates = replicates
        self._prompts: list[Prompt] = []
        self._arms = list(self._asked_arms(arms, form))

    @property
    def texts(self) -> list[Template]:
        """All that may name something of what is judged."""
        return [*self.templates.values(), *self.systems.values()]

    @property
    def arms(self) -> list[Arm]:
        """Those that are asked."""
        return [one.arm for one in self._arms]

    def _asked_arms(self, arms: Sequence[Arm], form: VerdictForm) -> Iterator[_AskedArm]:
        votes = vote_starts(self.templates)
        whole: dict[tuple[str, bool], Template] = {}
        for arm in arms:
            if arm.template not in self.templates:
                continue  # opened from a run's record, to read only
            kind = (arm.template, is_structured(arm))
            if kind not in whole:
                text = form.asked_in(self.templates[arm.template].text, structured=kind[1])
                whole[kind] = Template(text, arm.template)
            prompt = Prompt(whole[kind], self.systems.get(arm.name), arm.direction == "reverse")
            if prompt not in self._prompts:
                self._prompts.append(prompt)
            yield _AskedArm(arm, self._prompts.index(prompt), votes[arm.template])

    def asks(
        self, address: str, fields: Callable[[bool], Mapping[str, Any]], *, one_order: bool = False, votes_from: int = 0
    ) -> Iterator[Ask]:
        """What each arm is asked about one thing. `fields`: what templates may name, by whether it is turned.

        `one_order`: nobody is shown it turned. `votes_from`: where its votes begin.
        """
        written: dict[int, tuple[Message, ...]] = {}
        for arm, number, first_vote in self._arms:
            prompt = self._prompts[number]
            if prompt.turned and one_order:
                continue
            if number not in written:
                written[number] = prompt.messages(fields(prompt.turned))
            for replicate in range(self.replicates):
                vote = votes_from + first_vote + replicate
                yield Ask(arm=arm, item=address, messages=written[number], replicate=replicate, vote=vote)


def is_structured(arm: Arm) -> bool:
    """Whether the provider holds this arm's answers to a schema."""
    return arm.model.options.json_schema is not None


def with_schema(branches: Iterable[Branch], schema: Mapping[str, Any]) -> Iterator[Branch]:
    """Arms whose provider holds answers to a schema get this one."""
    for branch in branches:
        arm = branch.arm
        options = msgspec.structs.replace(arm.model.options, json_schema=dict(schema))
        model = msgspec.structs.replace(arm.model, options=options)
        yield branch._replace(arm=msgspec.structs.replace(arm, model=model)) if takes(model) else branch
