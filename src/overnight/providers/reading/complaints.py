"""A provider's own words about a failure, made safe to show: no key, no page of HTML, no novel."""

import re
from typing import Any

import msgspec

from overnight.providers.reading.figures import seconds_of
from overnight.providers.reading.secrets import without_secrets

# An account that cannot pay says so in the error's code or type, under more than one HTTP status.
NO_CREDIT: frozenset[str] = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "enforced_spend_limit_reached",
        "BILLING_DISABLED",
        "billing_error",
    }
)
# Google and Anthropic say it in words: the code is that of any full quota, or of any invalid request.
_UNPAID = re.compile(
    r"credit balance is too low|prepay\w* credits?|billing account .*(?:not active|disabled|closed)|requires billing",
    re.IGNORECASE,
)
_DEAD_KEY = re.compile(r"(?:incorrect|invalid) api key", re.IGNORECASE)
_DEAD_KEYS = frozenset({"API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "ACCESS_TOKEN_EXPIRED", "UNAUTHENTICATED"})
LONGEST_MESSAGE = 500
_LARGEST_CODE = 10**9
_KEY_LIKE = re.compile(
    r"\b(?:sk|sess)-[A-Za-z0-9_*.…\-]{5,}[A-Za-z0-9_*…\-]|\bAIza[\w\-]{16,}|\bya29\.[\w.\-]{8,}|\b(Bearer)\s+\S{12,}",
    re.IGNORECASE,
)
# A user name and password in an address, as in that of a proxy.
_USERINFO = re.compile(r"://[^/\s@]{1,300}@")
_XML_ERROR = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<Error>")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


class Complaint(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's own words about a failure."""

    message: str = ""
    code: str = ""
    type: str = ""
    param: str = ""
    retry_after: float | None = None

    @property
    def no_credit(self) -> bool:
        return self.code in NO_CREDIT or self.type in NO_CREDIT or _UNPAID.search(self.message) is not None

    @property
    def dead_key(self) -> bool:
        """Said so by name, where the status does not tell."""
        return self.code in _DEAD_KEYS


def scrub(text: str, secret: str = "") -> str:
    """The text without anything that looks like a key, and no longer than a log line should be."""
    text = _USERINFO.sub("://", without_secrets(text, secret))
    text = _KEY_LIKE.sub(lambda found: "Bearer [key]" if found[1] else "[key]", text)
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def complaint_of(body: bytes, secret: str = "") -> Complaint:
    """The error object of a reply; a body in no known shape gives its first words, a web page none."""
    if is_xml_error(body):
        return _xml_complaint(body, secret)
    try:
        decoded = msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        text = body[:LONGEST_MESSAGE].decode("utf-8", "replace").strip()
        return Complaint(message="" if text.startswith("<") else scrub(text, secret))
    return complaint_in(decoded, secret)


def is_xml_error(body: bytes) -> bool:
    """Whether it is one of S3's, and no page of the web."""
    return _XML_ERROR.match(body) is not None


def _xml_complaint(body: bytes, secret: str) -> Complaint:
    text = body[:10_000].decode("utf-8", "replace")
    code, message = (re.search(rf"<{tag}>([^<]*)</{tag}>", text) for tag in ("Code", "Message"))
    return Complaint(message=scrub(message[1] if message else "", secret), code=scrub(code[1] if code else "", secret))


def complaint_in(decoded: Any, secret: str = "") -> Complaint:
    """The same, of JSON that is read already. Google answers some calls with a list of one."""
    if isinstance(decoded, list):
        decoded = decoded[0] if decoded else {}
    error = decoded.get("error", decoded) if isinstance(decoded, dict) else {}
    if isinstance(error, str):
        return _bare_complaint(error, decoded, secret)
    if not isinstance(error, dict):
        return Complaint()
    if "detail" in error and "message" not in error:
        return Complaint(message=scrub(_details(error["detail"]), secret))
    if isinstance(error.get("status"), str):
        return _google_complaint(error, secret)
    details = error.get("details")
    finer = details.get("error_code") if isinstance(details, dict) else None
    words = {"code": finer} | {
        field: error.get(field) for field in ("message", "code", "type", "param") if error.get(field)
    }
    said = {field: scrub(_word(word), secret) for field, word in words.items() if word is not None}
    return msgspec.convert(said, Complaint)


def _bare_complaint(words: str, decoded: Any, secret: str) -> Complaint:
    """xAI has a code beside the text, and none of its own for a key that is not accepted."""
    code = _word(decoded.get("code")) if isinstance(decoded, dict) else ""
    if code and _DEAD_KEY.search(words):
        code = "API_KEY_INVALID"
    return Complaint(message=scrub(words, secret), code=scrub(code, secret))


def _details(found: Any) -> str:
    """Mistral's words: a text, or a list of what is wrong where."""
    if isinstance(found, list):
        return "; ".join(_word(one.get("msg")) for one in found[:3] if isinstance(one, dict))
    return _word(found)


def _word(found: Any) -> str:
    """Text, or a number; objects are no words, and one that is nested deeply cannot even be written out."""
    if isinstance(found, str):
        return found
    return str(found) if isinstance(found, int | float) and abs(found) < _LARGEST_CODE else ""


def _google_complaint(error: dict[str, Any], secret: str) -> Complaint:
    """Google's code is the HTTP status; the word for the failure is `status`, the closer reason in the details."""
    given = error.get("details")
    details = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    reason = next((one["reason"] for one in details if isinstance(one.get("reason"), str)), error["status"])
    delay = next(
        (_SECONDS.fullmatch(one["retryDelay"]) for one in details if isinstance(one.get("retryDelay"), str)), None
    )
    return Complaint(
        message=scrub(_word(error.get("message")), secret),
        code=scrub(reason, secret),
        type=scrub(error["status"], secret),
        retry_after=seconds_of(delay[1]) if delay else None,
    )
