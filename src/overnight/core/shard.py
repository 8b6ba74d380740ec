"""What travels together, and the names it travels under."""

import base64
import hashlib
import hmac
import re

import msgspec

TOKEN_LENGTH = 20
# o + token + "-" + up to nine digits: legal as a custom id at every provider.
LONGEST_CUSTOM_ID = 1 + TOKEN_LENGTH + 1 + 9
_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


class Shard(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of one arm that are sent as one batch, or called as one slice."""

    id: int
    arm: int
    rows: int
    bytes: int
    live: bool = False


def token_of(run_id: str, stage: str, arm: str, shard: int, attempt: int) -> str:
    """The attempt's name at the provider. Derived, so that a restored ledger finds its batches again."""
    parts = "\x1f".join((stage, arm, str(shard), str(attempt)))
    digest = hmac.new(run_id.encode(), parts.encode(), hashlib.sha256).digest()
    return base64.b32encode(digest).decode().lower()[:TOKEN_LENGTH]


def custom_id(token: str, line: int) -> str:
    return f"o{token}-{line}"


def line_of(token: str, text: str) -> int | None:
    """The row a custom id names, or None when it is not one of this attempt's."""
    head, _, number = text.partition("-")
    if head != "o" + token or _NUMBER.fullmatch(number) is None:
        return None
    return int(number)
