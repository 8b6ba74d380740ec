"""What came back over HTTP, read whole, and what its headers say about times."""

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import msgspec

from overnight.providers.reading.complaints import is_xml_error
from overnight.providers.reading.figures import moment_of, seconds_of

# Codes of the 4xx family that say nothing against the request itself.
UNSETTLED: frozenset[int] = frozenset({407, 408, 409, 425, 499})
# What a gateway in front of a provider may say in its own words, and be right.
_ANYBODYS: frozenset[int] = frozenset({413, 429})


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: read whole, except for the rows of a download, which went to its sink."""

    status: int
    body: bytes = b""
    date: float | None = None
    retry_after: float | None = None
    length: int | None = None
    headers: Mapping[str, str] = {}

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def on_the_way(self) -> bool:
        """Whether somebody between us and the provider has answered: a portal that wants a sign-in, a proxy's page.

        Every provider words its refusals in JSON, and S3 in XML. What is in no such form is no verdict on what we sent.
        """
        worded = self.body.lstrip()[:1] in (b"{", b"[") or is_xml_error(self.body)
        return not self.ok and self.status not in _ANYBODYS and not worded

    @property
    def definitely_refused(self) -> bool:
        """Whether this answer to a create says no, and not only that nobody knows."""
        definite = 400 <= self.status < 500 and self.status not in UNSETTLED
        return not self.on_the_way and (definite or self.status == 529)

    @property
    def is_web_page(self) -> bool:
        return self.body.lstrip()[:1] == b"<" and not is_xml_error(self.body)


class Sending(msgspec.Struct, frozen=True, kw_only=True):
    """One create, tried once. `sent` is False only when not a byte of it can have left this machine."""

    sent: bool
    status: int | None = None
    reply: Response | None = None
    problem: str | None = None


def epoch_of(http_date: str | None) -> float | None:
    """An HTTP date as seconds since 1970."""
    if not http_date:
        return None
    try:
        return moment_of(parsedate_to_datetime(http_date[:100]).timestamp())
    except (ValueError, OverflowError, OSError, TypeError, IndexError):
        return None


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """How long the provider asks us to wait, in seconds."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return seconds_of(seconds) if math.isfinite(seconds) else None
    until = epoch_of(headers.get("retry-after"))
    if until is None:
        return None
    return seconds_of(until - (epoch_of(headers.get("date")) or time.time()))
