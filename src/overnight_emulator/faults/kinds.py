"""Faults: what the emulator may be told to do wrong, and when.

A fault names an event (`on`), a misdeed (`do`) and, optionally, which of the matching events it strikes.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Any

import msgspec

from overnight_emulator.clock import Clock

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
HttpStatus = Annotated[int, msgspec.Meta(ge=400, le=599)]

_REPLY = frozenset({"status", "code", "type", "message", "retry_after"})
_DEED_AND_REPLY = _REPLY | {"applied"}
_NONE: frozenset[str] = frozenset()
_SECONDS = frozenset({"seconds"})
_BODY = {"trickle": _SECONDS, "endless": _NONE, "bomb": frozenset({"megabytes"}), "deep": _NONE}
_TO = frozenset({"to"})
# Somebody on the way answers in the provider's place: a portal, a proxy, a gateway.
_ON_THE_WAY = {"web_page": frozenset({"status", "applied"}), "redirect": _TO}
_WAIT = frozenset({"seconds", "real_seconds"})
_CALL = {"status": _REPLY, "drop_answer": _NONE, "slow": _WAIT, **_BODY, **_ON_THE_WAY}
_DEED = {"status": _DEED_AND_REPLY, "drop_answer": _NONE, "slow": _WAIT, **_ON_THE_WAY}

_ANY_EVENT = frozenset({"on", "do", "times", "lasts", "skip", "odds", "between", "model", "where"})
_ANY_CALL = _ANY_EVENT | {"key", "header", "path"}

# For each event: the misdeeds it knows, and the keys each of them takes.
KINDS: dict[str, dict[str, frozenset[str]]] = {
    "upload": {
        "drop_answer": _NONE,
        "lose_request": _NONE,
        "vanish": _SECONDS,
        "status": _DEED_AND_REPLY,
        **_ON_THE_WAY,
    },
    "create": {
        "drop_answer": _NONE,
        "lose_request": _NONE,
        "delay_create": _SECONDS,
        "hide": frozenset({"seconds", "drop"}),
        "backdate": frozenset({"seconds", "drop"}),
        "twice": _NONE,
        "cached": _NONE,
        "status": _DEED_AND_REPLY,
        **_ON_THE_WAY,
    },
    "list": {**_CALL, "incomplete": _REPLY, "stale": _SECONDS},
    "retrieve": {**_CALL, "cached": _NONE},
    "cancel": _DEED,
    "delete": _DEED,
    "live": {
        **_CALL,
        "echo_key": _NONE,
        "odd_headers": _NONE,
        "lose_request": _NONE,
        "cut": frozenset({"at", "quiet"}),
        "stream_error": (_REPLY - {"retry_after"}) | {"at"},
        "stall": _WAIT | {"at"},
    },
    "content": {
        **_CALL,
        "cut": frozenset({"at", "quiet", "fitting"}),
        "web_page": _NONE,
        "empty": _NONE,
        "redirect": _TO,
        "garbage_tail": _NONE,
        "echo_key": _NONE,
    },
    "batch": {
        "fail": frozenset({"code", "message"}),
        "expire": frozenset({"share", "silent", "seconds"}),
        "stuck": frozenset({"status"}),
        "slow": _SECONDS,
        "empty_output": frozenset({"as", "seconds"}),
        "status_word": frozenset({"word"}),
        "cancel": _NONE,
        "shuffle": _NONE,
    },
    "row": {
        "error": frozenset({"status", "code", "type", "message"}),
        "omit": _NONE,
        "lose": _NONE,
        "duplicate": _NONE,
        "contradict": _NONE,
        "malformed": _NONE,
        "unknown_id": _NONE,
        "nameless": _NONE,
        "empty_body": _NONE,
        "no_usage": _NONE,
        "odd_usage": frozenset({"count"}),
    },
}


def keys_for(on: str, do: str) -> frozenset[str]:
    """The keys that a fault of this kind takes."""
    narrowing = {"batch": _ANY_EVENT, "row": _ANY_EVENT | {"row"}}.get(on, _ANY_CALL)
    return narrowing | KINDS[on][do]


# One of these keys must be given.
REQUIRED: dict[str, tuple[str, ...]] = {
    "slow": ("seconds", "real_seconds"),
    "stall": ("seconds", "real_seconds"),
    "delay_create": ("seconds",),
    "hide": ("seconds",),
    "backdate": ("seconds",),
    "stale": ("seconds",),
    "redirect": ("to",),
    "status_word": ("word",),
}
# They strike only answers that are sent in pieces.
MID_STREAM = frozenset({"stream_error", "stall"})
STUCK_IN = ("validating", "in_progress", "finalizing")


class Fault(msgspec.Struct, frozen=True, omit_defaults=True, rename={"as_": "as"}):
    on: str
    do: str
    times: Count | None = None
    lasts: Seconds | None = None
    skip: Count = 0
    odds: Share = 1.0
    between: tuple[Seconds, Seconds] | None = None
    model: str | None = None
    where: str | None = None
    key: str | None = None
    header: str | None = None
    path: str | None = None
    row: str | None = None
    status: HttpStatus | str | None = None
    code: str | None = None
    type: str | None = None
    message: str | None = None
    retry_after: Seconds | None = None
    applied: bool = False
    seconds: Seconds | None = None
    real_seconds: Seconds | None = None
    drop: bool = False
    at: Share = 0.6
    quiet: bool = False
    fitting: bool = False
    to: str = ""
    share: Share = 0.5
    silent: bool = False
    word: str = ""
    megabytes: Count | None = None
    count: int | None = None
    as_: str | None = None

    @property
    def http_status(self) -> int:
        return self.status if isinstance(self.status, int) else 500

    def wait(self, clock: Clock) -> float:
        """How long it holds things up, in real seconds."""
        return clock.real_seconds(self.seconds or 0) if self.real_seconds is None else self.real_seconds

    @property
    def drops_connection(self) -> bool:
        return self.do in {"drop_answer", "lose_request", "delay_create", "twice"} or self.drop


class Caller(msgspec.Struct, frozen=True):
    """Who makes a call, and what it looks like. `headers` are lines such as `x-run: 3`, names in small letters."""

    key: str
    path: str
    headers: tuple[str, ...]


class Event(msgspec.Struct, frozen=True):
    """Something a fault may strike.

    `text` is what `where` is looked for in. Odds are drawn from the content and the event's ordinal; for rows from
    the body and how often the same body was run before, so that a row that is asked again can fare better.
    """

    on: str
    text: str = ""
    content: str | bytes = ""
    model: str | None = None
    run_before: int | None = None
    later_page: bool = False
    streamed: bool = False
    row: str = ""
    caller: Caller | None = None


class Counter(msgspec.Struct):
    """How many matching events a fault has met, how many it struck, and when it first did."""

    seen: int = 0
    fired: int = 0
    began: float | None = None


def matches(fault: Fault, event: Event, now: float) -> bool:
    """`now` is in virtual seconds since the emulator was started."""
    if fault.between is not None and not fault.between[0] <= now < fault.between[1]:
        return False
    if fault.do == "incomplete" and not event.later_page:
        return False
    if fault.do in MID_STREAM and not event.streamed:
        return False
    if fault.model is not None and (event.model is None or not fnmatchcase(event.model, fault.model)):
        return False
    if fault.row is not None and not fnmatchcase(event.row, fault.row):
        return False
    if not _is_from(fault, event.caller):
        return False
    return fault.where is None or fault.where in event.text


def _is_from(fault: Fault, caller: Caller | None) -> bool:
    """Whether the call is one of those that a fault is meant for."""
    if fault.key is None and fault.header is None and fault.path is None:
        return True
    if caller is None:
        return False
    if fault.key is not None and not fnmatchcase(caller.key, fault.key):
        return False
    if fault.path is not None and not fnmatchcase(caller.path, fault.path):
        return False
    name, _, value = (fault.header or "").partition(":")
    wanted = f"{name.strip().lower()}: {value.strip() or '*'}"
    return fault.header is None or any(fnmatchcase(line, wanted) for line in caller.headers)


def text_of(*parts: Any) -> str:
    """What `where` is looked for in: strings as they are, anything else as JSON."""
    return "\n".join(part if isinstance(part, str) else msgspec.json.encode(part).decode() for part in parts)
