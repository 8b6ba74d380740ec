"""What travels together, and the names it travels under."""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable

import msgspec

TOKEN_LENGTH = 20
# The first letters of a token are the run's own: whatever of this run a provider lists is known by them.
_RUN_LENGTH = 8
# o + token + "-" + up to nine digits: legal as a custom id at every provider.
_LONGEST_NUMBER = 9
LONGEST_CUSTOM_ID = 1 + TOKEN_LENGTH + 1 + _LONGEST_NUMBER
# Derived; or that of answers taken over from another run, which never travelled.
_TOKEN = re.compile(rf"[a-z2-7]{{{TOKEN_LENGTH}}}|reused-[^/\\\x00-\x1f\x7f]+-[0-9]+")


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one arm that are sent as one batch, or called as one slice."""

    id: int
    arm: int
    rows: int
    bytes: int
    live: bool = False


def token_of(run_id: str, stage: str, arm: str, shard: int, attempt: int, content: str = "") -> str:
    """The attempt's name at the provider. Derived, so that a restored ledger finds its batches again.

    `content` stands for the questions in their order: a shard that is cut otherwise has another name, so that a batch
    found by its name holds these rows and no others.
    """
    parts = "\x1f".join((stage, arm, str(shard), str(attempt), content))
    own = _letters(run_id, "attempt\x1f" + parts)[: TOKEN_LENGTH - _RUN_LENGTH]
    return _letters(run_id, "run")[:_RUN_LENGTH] + own


def is_of_run(run_id: str, token: str) -> bool:
    """Whether a name that a provider shows was given by this run, whatever its ledger knows of it."""
    return len(token) == TOKEN_LENGTH and token.startswith(_letters(run_id, "run")[:_RUN_LENGTH])


def _letters(run_id: str, text: str) -> str:
    digest = hmac.new(run_id.encode(), text.encode(), hashlib.sha256).digest()
    return base64.b32encode(digest).decode().lower()


def is_token(text: object) -> bool:
    """Whether an attempt's name can be one of ours: it becomes part of file names and of what providers are told."""
    return isinstance(text, str) and _TOKEN.fullmatch(text) is not None


def custom_id(token: str, line: int) -> str:
    return f"o{token}-{line}"


def lines_of(token: str, rows: int = 10**_LONGEST_NUMBER) -> Callable[[str | None], int | None]:
    """The row that a custom id names, for the ids of one attempt of so many rows; None for one that is not of it."""
    head = f"o{token}-"
    begin = len(head)

    def line(text: str | None) -> int | None:
        if text is None:
            return None
        try:
            number = int(text[begin:])
        except ValueError:
            return None
        # Python reads more as a number than we write as one.
        return number if 0 <= number < rows and text == f"{head}{number}" else None

    return line


def line_of(token: str, text: str) -> int | None:
    """The row a custom id names, or None when it is not one of this attempt's."""
    return lines_of(token)(text)
