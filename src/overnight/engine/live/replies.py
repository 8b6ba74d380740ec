"""What a live call's reply comes down to. Pure: what follows from it is done elsewhere."""

from typing import Literal

from overnight.core.result import MOST_TOKENS, Result
from overnight.providers.contract import Reply

Fared = Literal[
    "landed",  # an answer, or a definite no: on record as a try
    "busy",  # not run: the provider is too busy, or asked us to come again
    "limited",  # not run: one of our limits
    "unreachable",  # not a byte of it left
    "lost",  # sent, and no whole answer came: run and billed, for all we know
    "dead",  # the account cannot ask anything
]

_BUSY = frozenset({409, 425, 503, 529})
_DEAD = frozenset({"unauthorized", "no_credit"})
# A call is turned away so often, at pauses that the whole account keeps, before that is the row's answer.
BUDGETS: dict[Fared, int] = {"busy": 20, "limited": 30}
# Pauses in a row without a single call getting through: then somebody has to look at it.
UNREACHABLE_PAUSES = 7
MOST_PAUSES = 40
INTERRUPTED = "the process ended while the call was under way"


def fared(reply: Reply, result: Result | None) -> Fared:
    if not reply.sent:
        return "unreachable"
    if reply.status is None or reply.problem is not None:
        return "lost"
    if result is not None and result.cause in _DEAD:
        return "dead"
    if reply.status == 429:
        return "limited"
    return "busy" if reply.status in _BUSY else "landed"


def used_tokens(result: Result) -> int | None:
    """What a call took of the limit on tokens; None when the answer does not say."""
    usage = result.usage
    if usage.input is None or usage.output is None or max(usage.input, usage.output) > MOST_TOKENS:
        return None
    return usage.input + usage.output


def live_retry_delay(tries: int) -> float:
    """How long rows that failed live for passing reasons wait before they are called again."""
    return 0.0 if tries <= 0 else min(60.0, 2.0**tries)
