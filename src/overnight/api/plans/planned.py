"""A plan: what a study would send and cost, told to programs, people and notebooks."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from overnight.api.notebook.html import Cell, money, paragraph_html, parts_html, table_html, title_html
from overnight.api.phases import PhasePlan
from overnight.api.plans.cost_notes import cost_notes
from overnight.api.plans.counting import ArmPlan
from overnight.api.plans.finishing import Finishing
from overnight.core.estimate import Interval, interval, together
from overnight.core.money import Budget
from overnight.core.wording import number_of
from overnight.prices import dollars


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One request as the provider would see it."""

    arm: str
    item: str
    request: Any


class Pilot(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that were asked before a plan was made: how many of their run are settled, and what it has cost so far."""

    run: str
    rows: int
    spent: int
    state: str
    message: str
    exit_code: int

    @property
    def text(self) -> str:
        rows = number_of(self.rows, "row")
        ended = "" if self.exit_code == 0 else f" ({self.message})"
        paid = f"{rows} of run '{self.run}' for {dollars(self.spent)}{ended}"
        return f"pilot: {paid}; they are kept, and the rest is counted by them"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    study: str
    arms: tuple[ArmPlan, ...]
    notes: tuple[str, ...]
    shown: tuple[Shown, ...]
    written: tuple[str, ...]
    budget: Budget | None = None
    # Of a ready-made file, which is sent as it stands.
    ready: bool = False
    # Where stages come after others: what each phase comes to. The sums above count everything as moving on.
    phases: tuple[PhasePlan, ...] = ()
    # When it would be over; None where no batch is planned.
    finishing: Finishing | None = None
    # What was asked before, and paid; None where nothing was sent.
    pilot: Pilot | None = None

    @property
    def ceiling(self) -> int | None:
        """What everything can cost at most, turns and later stages too; None as soon as one arm is unknown."""
        return _known_sum(arm.ceiling for arm in self.arms)

    @property
    def expected(self) -> int | None:
        """The same with answers as long as they are expected to be."""
        return _known_sum(arm.expected for arm in self.arms)

    @property
    def p90(self) -> int | None:
        """What is enough in nine of ten cases."""
        found = interval_of(self.arms)
        return None if found is None else round(found.p90)

    @property
    def cost_notes(self) -> tuple[str, ...]:
        """What to know about the cost before paying it."""
        asked = () if self.pilot is None else (self.pilot.text,)
        return (*asked, *cost_notes(self.arms, self.ceiling, self.budget, ready=self.ready))

    @property
    def sent_text(self) -> str:
        return "nothing was sent" if self.pilot is None else "nothing else was sent"

    def total(self, field: str) -> int:
        return sum(int(getattr(arm, field) or 0) for arm in self.arms)

    def __repr__(self) -> str:
        requests = number_of(self.total("requests"), "request")
        sums = f"about {money(self.expected)}, 90% {money(self.p90)}, at most {money(self.ceiling)}"
        return f"Plan({self.study!r}, {requests}, {sums})"

    def _repr_html_(self) -> str:
        """Summed by model; a request that was asked for is shown as it would be sent."""
        models: dict[tuple[str, str], list[ArmPlan]] = {}
        for arm in self.arms:
            models.setdefault((arm.stage, f"{arm.provider}/{arm.model}"), []).append(arm)
        lines = [(*place, *_sums(own)) for place, own in models.items()]
        if len(lines) > 1:
            lines.append(("", "all", *_sums(self.arms)))
        headings = ("stage", "model", "rows", "requests", "batches", "est. tokens", "seen", "about", "90%", "at most")
        shown = (f"{one.arm}, {one.item}: {msgspec.json.encode(one.request).decode()}" for one in self.shown)
        ends = () if self.finishing is None else (self.finishing.text,)
        notes = (*(phase.text for phase in self.phases), *ends, *self.notes, *self.cost_notes)
        said = (paragraph_html(text) for text in (*notes, *shown, *(f"wrote {file}" for file in self.written)))
        return parts_html((title_html(self.study, self.sent_text), table_html(headings, lines), *said))


def _sums(arms: Sequence[ArmPlan]) -> tuple[Cell, ...]:
    """What some arms come to, in the order of the headings."""
    counts = (sum(int(getattr(arm, name)) for arm in arms) for name in ("rows", "requests", "batches", "input_tokens"))
    expected, ceiling = (_known_sum(getattr(arm, name) for arm in arms) for name in ("expected", "ceiling"))
    found = interval_of(arms)
    seen = min((arm.seen for arm in arms), default=0)
    return (*counts, seen, money(expected), money(None if found is None else round(found.p90)), money(ceiling))


def interval_of(arms: Sequence[ArmPlan]) -> Interval | None:
    """What some arms come to together; None as soon as one is unknown."""
    expected = _known_sum(arm.expected for arm in arms)
    if expected is None:
        return None
    return interval(expected, together(arm.risks for arm in arms), _known_sum(arm.ceiling for arm in arms))


def _known_sum(amounts: Iterable[int | None]) -> int | None:
    known = list(amounts)
    return None if None in known else sum(amount or 0 for amount in known)


def cost_text(planned: Plan) -> str:
    """`fruit: 300 requests, about $0.12 (90%: up to $0.15)`: before they are sent."""
    requests = number_of(planned.total("requests"), "request")
    about = "at an unknown price" if planned.expected is None else f"about {dollars(planned.expected)}"
    if planned.p90 is not None:
        about += f" (90%: up to {dollars(planned.p90)})"
    most = "" if planned.ceiling is None else f", at most {dollars(planned.ceiling)}"
    return f"{planned.study}: {requests}, {about}{most}"
