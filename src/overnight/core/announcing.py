"""A create goes out right after it was announced, or not at all.

Whoever announces a create and is suspended before it is sent may wake up when others have looked for its batch, found
none, and asked anew. Hence the last look before the first byte: at a clock that counts sleep, too.
"""

from contextvars import ContextVar

from overnight.core.clock import steady

# Much less than anybody waits before a create that was announced is taken for lost (`engine/decisions.py`).
SECONDS = 30.0
_asked_at: ContextVar[float | None] = ContextVar("announced", default=None)


class TooLate(OSError):
    """The announcement is too old. Nothing was sent."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"not sent: it was announced {seconds:,.0f} s ago, which is too long; this process slept")


def announce() -> None:
    """Said before the announcement is put on record, by the task that sends."""
    _asked_at.set(steady())


def check_announcement() -> None:
    """TooLate, said right before the first byte goes out."""
    asked_at = _asked_at.get()
    if asked_at is not None and (passed := steady() - asked_at) > SECONDS:
        raise TooLate(passed)
