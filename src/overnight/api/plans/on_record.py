"""What a run has on record of a stage, held against the questions that are planned, a few thousand at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from overnight.api.plans.counting import ArmCount
from overnight.api.plans.key_set import KeySet
from overnight.core.ask import Ask
from overnight.core.stage import Stage
from overnight.engine.flow.sampling import Address, address
from overnight.ledger.transaction import View

T = TypeVar("T")
# Questions that are held against the record together: each time is a turn to a database that may be far away. So many
# characters of them at most, so that long texts take little memory.
_AT_ONCE, _CHARACTERS = 2_000, 2_000_000
# What becomes of a question.
Fate = Literal["on record", "shared", "new"]


def together(coming: Iterable[T], ask_of: Callable[[T], Ask]) -> Iterator[list[T]]:
    """Questions, or what has one, in such groups."""
    some: list[T] = []
    characters = 0
    for one in coming:
        some.append(one)
        characters += sum(len(message.content) for message in ask_of(one).messages)
        if len(some) == _AT_ONCE or characters >= _CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


class OnRecord:
    """The addresses of a stage. They are looked up for some questions, and then known of these: there may be millions.

    `by_number`: of what hangs on answers no more can be told beforehand.
    """

    def __init__(self, view: View | None, stage: str, *, by_number: bool) -> None:
        """No view: nothing is on record."""
        self._view = view
        self._stage = stage
        self._left = {} if view is None else view.questions.rows_by_arm(stage)
        self._by_number = by_number
        # All that is on record of the items that were looked up last.
        self._items: frozenset[str] = frozenset()
        self._known: frozenset[Address] = frozenset()

    def look_up(self, asks: Iterable[Ask]) -> None:
        """These are what is asked about next, each of them once."""
        if self._view is not None and self._left and not self._by_number:
            items = frozenset(ask.item for ask in asks)
            if not items <= self._items:  # further turns are of the items that their first ones were of
                self._items = items
                self._known = frozenset(self._view.questions.known_addresses(self._stage, items))

    def has(self, ask: Ask) -> bool:
        if not self._by_number:
            return address(ask) in self._known
        left = self._left.get(ask.arm.name, 0)
        self._left[ask.arm.name] = left - 1
        return left > 0


class Shared:
    """Which first questions of a stage are asked already: on record, or by another address that is planned."""

    def __init__(self, view: View | None, stage: Stage, arms: Mapping[str, ArmCount]) -> None:
        """No view: nothing that is on record is shared."""
        self._view = view
        self._stage = stage
        self._arms = arms
        self._seen = KeySet()

    def among(self, asks: Sequence[Ask], keys: Sequence[bytes]) -> list[tuple[Fate, bool]]:
        """What becomes of each, and whether what its arm follows it up with is shared, too."""
        if not self._stage.dedupe:  # each is a question of its own
            return [("new", False)] * len(asks)
        arms = [self._arms[ask.arm.name] for ask in asks]
        if self._view is not None:
            for name, key in self._view.questions.known_keys(self._stage.name, dict.fromkeys(keys)):
                self._seen.add(key)
                if name in self._arms:
                    self._arms[name].is_new(key)
        found: list[tuple[Fate, bool]] = []
        for arm, key in zip(arms, keys, strict=True):
            is_first, is_new_to_arm = self._seen.add(key), arm.is_new(key)
            found.append(("new", False) if is_first else ("shared", not is_new_to_arm))
        return found
