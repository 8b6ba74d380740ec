"""A provider's own words about a failure, made safe to show: no key, no page of HTML, no novel."""

import re

import msgspec

# An account that cannot pay says so in the error's code or type, under more than one HTTP status.
NO_CREDIT: frozenset[str] = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "enforced_spend_limit_reached",
    }
)
LONGEST_MESSAGE = 500
_KEY_LIKE = re.compile(r"\b(?:sk|sess)-[A-Za-z0-9_*.…\-]{5,}[A-Za-z0-9_*…\-]|\b(Bearer)\s+\S{12,}", re.IGNORECASE)


class Complaint(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's own words about a failure."""

    message: str = ""
    code: str = ""
    type: str = ""
    param: str = ""

    @property
    def no_credit(self) -> bool:
        return self.code in NO_CREDIT or self.type in NO_CREDIT


def scrub(text: str, secret: str = "") -> str:
    """The text without anything that looks like a key, and no longer than a log line should be."""
    if len(secret) >= 4:
        text = text.replace(secret, "[key]")
    text = _KEY_LIKE.sub(lambda found: "Bearer [key]" if found[1] else "[key]", text)
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def complaint_of(body: bytes, secret: str = "") -> Complaint:
    """The error object of a reply; a body in no known shape gives its first words, a web page none."""
    try:
        decoded = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        text = body[:LONGEST_MESSAGE].decode("utf-8", "replace").strip()
        return Complaint(message="" if text.startswith("<") else scrub(text, secret))
    error = decoded.get("error", decoded) if isinstance(decoded, dict) else {}
    if isinstance(error, str):
        return Complaint(message=scrub(error, secret))
    if not isinstance(error, dict):
        return Complaint()
    words = {field: error.get(field) for field in ("message", "code", "type", "param")}
    return Complaint(**{field: scrub(str(word), secret) for field, word in words.items() if word is not None})
