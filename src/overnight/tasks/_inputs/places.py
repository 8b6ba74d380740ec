"""Addresses of what is asked: by statement, round, writer, scenario, input and candidate.

    no_spam/r1w0              round 1: scenarios by the first writer
    no_spam/r1w0s0.2          round 1: inputs by the first writer, for its third scenario of round 0
    no_spam/r1w0s0.2q1        the second input of those: its rating
    no_spam/r1w0s0.2q1c0      the first candidate's answer to it, and the rating of that

None hangs on what came before it: an answer that is asked for again later changes the name of nothing else.
"""

import re
from typing import NamedTuple

_MARK = re.compile(r"r(\d+)w(\d+)(?:s(\d+)\.(\d+)(?:q(\d+)(?:c(\d+))?)?)?")


class ScenarioKey(NamedTuple):
    """Which scenario of a statement: the round that it is of, its writer, and its number in the writer's list."""

    born: int
    writer: int
    number: int


class Place(NamedTuple):
    """What an address is about. Rounds count from 0 here, and from 1 where people read them."""

    statement: str
    round: int
    writer: int
    scenario: ScenarioKey | None = None
    question: int | None = None
    candidate: int | None = None

    @property
    def order(self) -> tuple[int, ...]:
        """Inputs of a statement in the order in which they count."""
        key = self.scenario or ScenarioKey(0, 0, 0)
        return (self.round, self.writer, key.born, key.number, self.question or 0)

    def __str__(self) -> str:
        mark = f"r{self.round}w{self.writer}"
        if self.scenario is not None:
            mark += f"s{self.scenario.born}.{self.scenario.number}"
        if self.question is not None:
            mark += f"q{self.question}"
        if self.candidate is not None:
            mark += f"c{self.candidate}"
        return f"{self.statement}/{mark}"


def statement_of(address: str) -> str:
    return address.rpartition("/")[0]


def place_of(address: str) -> Place:
    statement, _, mark = address.rpartition("/")
    found = _MARK.fullmatch(mark)
    if found is None:
        raise ValueError(f"'{address}' is no address of inputs")
    numbers = [None if part is None else int(part) for part in found.groups()]
    round_n, writer, born, number, question, candidate = numbers
    assert round_n is not None
    assert writer is not None
    scenario = None if born is None or number is None else ScenarioKey(born, writer, number)
    return Place(statement, round_n, writer, scenario, question, candidate)
