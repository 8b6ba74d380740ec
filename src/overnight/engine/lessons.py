"""What the rows of one attempt teach for later estimates: sizes of requests and answers, and how long a batch took."""

import math
from collections import defaultdict
from functools import lru_cache

from overnight.core.ask import Model
from overnight.core.attempt import Attempt
from overnight.core.estimate import step_of
from overnight.core.result import Result
from overnight.ledger.account_book import AnswerSize, Lessons, RequestSize, Turnaround

# No text makes more tokens than it has bytes, twice over, but for a few that every request has: what does is something
# else than text, or is not to be believed.
_MOST_PER_BYTE, _MOST_BESIDES = 2, 2_000
# No model answers with more.
_MOST_IN_ANSWER = 2_000_000


def is_text(size: int, tokens: int) -> bool:
    """Whether so many bytes can be so many tokens of text."""
    return size > 0 and 0 < tokens <= size * _MOST_PER_BYTE + _MOST_BESIDES


# Sizes that are alike come again and again.
_step = lru_cache(maxsize=4_096)(step_of)


class LessonBook:
    """Sums by step of size, while rows come in."""

    def __init__(self, model: Model, task: str) -> None:
        self._model = model
        self._task = task
        self._longest = model.options.max_tokens or _MOST_IN_ANSWER
        self._answers: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
        self._requests: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])

    def add(self, size: int, result: Result) -> None:
        """`size` is that of the request's body."""
        if result.outcome == "failed":
            return
        usage, answer = result.usage, result.answer
        tokens, written = usage.input, usage.output
        if tokens and is_text(size, tokens):
            sums = self._requests[_step(size)]
            sums[0] += 1
            sums[1] += size
            sums[2] += tokens
        # More than the limit that the request itself set is not to be believed.
        if written is not None and 0 <= written <= self._longest:
            sums = self._answers[_step(written)]
            sums[0] += 1
            sums[1] += written
            if answer:
                sums[2] += len(answer) if answer.isascii() else len(answer.encode())

    def taken(self, attempt: Attempt) -> Lessons:
        """Everything since the last time."""
        model, task = self._model, self._task
        thinking = "" if model.options.thinking is None else str(model.options.thinking)
        answers = [
            AnswerSize(model.provider, model.name, thinking, task, step, *sums) for step, sums in self._answers.items()
        ]
        requests = [RequestSize(model.provider, model.name, step, *sums) for step, sums in self._requests.items()]
        self._answers.clear()
        self._requests.clear()
        return Lessons(answers, requests, turnaround(model.provider, attempt))


def turnaround(provider: str, attempt: Attempt) -> list[Turnaround]:
    """Of a batch of ours that came back whole; it was over when a look at it said so."""
    if attempt.live or attempt.adopted or attempt.overtaken or attempt.submitted_at is None or attempt.ended_at is None:
        return []
    if attempt.ended is None or attempt.ended.phase != "completed":
        return []
    seconds = math.log(max(attempt.ended_at - attempt.submitted_at, 1.0))
    return [Turnaround(provider, step_of(attempt.rows), 1, seconds, seconds**2)]
