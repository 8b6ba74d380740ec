"""The two contracts are told apart by what they can do."""

from typing import ClassVar

from overnight.core.task import Rounds
from overnight.tasks.generate import Generate


class Adaptive:
    """A design that looks at the rows so far: one more question for each of them."""

    name = "adaptive"
    version = "1"
    columns: ClassVar = {}
    reads_items = False
    most_turns = 1
    about_rounds = 2

    def start(self, items, seed):
        yield from ()

    def next_round(self, n, items, rows, seed):
        yield from ()

    def read(self, thread):
        yield from ()

    def spec(self):
        return {}


def test_rounds_are_told_from_tasks():
    assert isinstance(Adaptive(), Rounds)
    assert not isinstance(Generate([]), Rounds)
