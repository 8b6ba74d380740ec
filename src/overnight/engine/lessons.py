"""What the rows of one attempt teach for later estimates: sizes of requests and answers, and how long a batch took."""

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from overnight.core.ask import Model
from overnight.core.attempt import Attempt
from overnight.core.estimate import step_of
from overnight.ledger.account_book import AnswerSize, Lessons, RequestSize, Turnaround
from overnight.ledger.landed import Landed

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

    def add(self, sizes: Sequence[int], landed: Landed) -> None:
        """`sizes` are those of the requests' bodies."""
        requests, answers, longest = self._requests, self._answers, self._longest
        told = zip(sizes, landed.outcome, landed.input, landed.output, landed.written, strict=True)
        for size, outcome, tokens, output, written in told:
            if outcome == "failed":
                continue
            if tokens and is_text(size, tokens):
                sums = requests[_step(size)]
                sums[0] += 1
                sums[1] += size
                sums[2] += tokens
            # More than the limit that the request itself set is not to be believed.
            if output is not None and 0 <= output <= longest:
                sums = answers[_step(output)]
                sums[0] += 1
                sums[1] += output
                sums[2] += written

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
